//! The time of day, for what is told to people.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, by the clock of the host.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
