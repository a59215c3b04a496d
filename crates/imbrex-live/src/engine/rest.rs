//! How long work that no client waits for leaves the disk to others.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::machine::{Held, Shared};

/// How long to wait before asking again for a step that could not be planned.
pub(super) const SOON: Duration = Duration::from_millis(10);

/// Leaves the time after a step that began at `since` to others, as much as the throttle says.
pub(super) fn rest<'a>(shared: &'a Shared, mut machine: Held<'a>, since: Instant) -> Held<'a> {
    let worked = since.elapsed();
    while !machine.ended && !shared.stopping.load(Ordering::Relaxed) {
        let whole = worked * 100 / u32::from(machine.throttle.clamp(1, 100));
        match whole.checked_sub(since.elapsed()) {
            Some(left) if !left.is_zero() => machine = shared.wait_for_change_within(machine, left),
            _ => break,
        }
    }
    machine
}
