//! A story as one SVG that moves.

use super::Story;

/// The picture.
pub fn picture(_story: &Story, _title: &str) -> String {
    String::new()
}
