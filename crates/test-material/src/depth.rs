//! How much a test tries: little where somebody waits for it, more where nobody does.

use std::env;

/// What `make soak` sets.
const DEEP: &str = "IMBREX_DEEP";

/// How many cases a test tries: `many` in `make soak`, `few` otherwise.
#[must_use]
pub fn cases(few: usize, many: usize) -> usize {
    if env::var_os(DEEP).is_some() { many } else { few }
}
