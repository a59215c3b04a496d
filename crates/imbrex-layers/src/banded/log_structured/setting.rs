//! What can be changed of a log that runs.

use super::config::Weights;
use super::lifetimes::Strategy;

/// What a log is set to.
#[derive(Copy, Clone, Debug)]
pub(super) enum Setting {
    /// What live blocks count for when a band is chosen to compact.
    Weights(Weights),
    /// How blocks are divided into streams by what is left of their lives, and how far compaction looks ahead.
    Strategy(Strategy),
}
