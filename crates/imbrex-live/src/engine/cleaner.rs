//! Background cleaning: one step after the other while nobody asks for anything, or when it was asked for.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use imbrex::perform::Offered;

use super::machine::{Cleaning, Machine, PATIENCE, Shared};

/// How long to wait before asking again for a step that could not be planned.
const SOON: Duration = Duration::from_millis(10);

/// Why a layer may clean.
#[derive(Copy, Clone)]
enum Reason {
    /// Nothing has been asked for so long.
    Idle(Duration),
    /// Cleaning was asked for.
    Asked,
}

/// What the cleaner does until the engine has ended.
pub(super) fn clean(shared: &Shared) {
    let mut machine = shared.machine();
    while !machine.ended {
        machine = match offer(shared, &machine) {
            Err(wait) => shared.wait_for_change_within(machine, wait),
            Ok(reason) => step(shared, machine, reason),
        };
    }
}

/// Why there may be a step now, or how long to wait before the next look.
fn offer(shared: &Shared, machine: &Machine) -> Result<Reason, Duration> {
    let is_stopping = shared.stopping.load(Ordering::Relaxed);
    match machine.cleaning {
        Cleaning::Paused => Err(PATIENCE),
        _ if is_stopping || !machine.stack.is_serving() => Err(PATIENCE),
        Cleaning::Now => Ok(Reason::Asked),
        Cleaning::WhenIdle => {
            let quiet = machine.last_request.elapsed();
            match shared.options.idle_after.checked_sub(quiet) {
                Some(rest) if !rest.is_zero() => Err(rest),
                _ if !machine.callers.is_empty() => Err(shared.options.idle_after.max(SOON)),
                _ => Ok(Reason::Idle(quiet)),
            }
        }
    }
}

/// One step, and its moves to their end.
fn step<'a>(shared: &'a Shared, mut machine: MutexGuard<'a, Machine>, reason: Reason) -> MutexGuard<'a, Machine> {
    let since = Instant::now();
    let offered = match reason {
        Reason::Idle(idle) => machine.stack.idle(u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX)),
        Reason::Asked => machine.stack.clean_asked(),
    };
    shared.look_at_steps(&mut machine);
    machine.deliver();
    shared.wake(&machine);
    match (offered, reason) {
        (Offered::Declined, Reason::Asked) => {
            machine.cleaning = machine.cleaning_before;
            shared.changed.notify_all();
            return machine;
        }
        (Offered::Declined, Reason::Idle(idle)) if machine.under_way + machine.waiting() == 0 => {
            return until_asked(shared, machine, idle);
        }
        _ => {}
    }
    while machine.stack.steps().under_way > 0 && !machine.ended {
        machine = shared.wait_for_change(machine);
    }
    if offered != Offered::Taken {
        // Space has to come back first, or others are being served.
        machine = shared.wait_for_change_within(machine, SOON);
    }
    rest(shared, machine, since)
}

/// Waits until there may be something to clean again: when somebody has asked for anything, which nobody says, or when
/// the drives have been idle for as long as the layers want, if `offered` was less.
fn until_asked<'a>(
    shared: &'a Shared,
    mut machine: MutexGuard<'a, Machine>,
    offered: Duration,
) -> MutexGuard<'a, Machine> {
    let last_request = machine.last_request;
    let wanted = Duration::from_nanos(machine.stack.idle_after_ns());
    while machine.last_request == last_request && machine.cleaning == Cleaning::WhenIdle && !machine.ended {
        let left = wanted.saturating_sub(last_request.elapsed());
        if left.is_zero() && offered < wanted {
            break;
        }
        let often = shared.options.idle_after.max(SOON);
        let wait = if offered < wanted { often.min(left) } else { often };
        machine = shared.wait_for_change_within(machine, wait);
    }
    machine
}

/// Leaves the time after a step that began at `since` to others, as much as the throttle says.
fn rest<'a>(shared: &'a Shared, mut machine: MutexGuard<'a, Machine>, since: Instant) -> MutexGuard<'a, Machine> {
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
