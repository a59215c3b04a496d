//! Background cleaning: one step after the other while there are no requests, or when it was asked for.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use imbrex::perform::Offered;

use super::growing;
use super::machine::{Cleaning, Held, Machine, PATIENCE, Shared};
use super::rest::{SOON, rest};
use crate::panics;

/// How soon a step is asked for again while writes are throttled for it; [`SOON`] is for steps that no write waits for.
const AT_ONCE: Duration = Duration::from_millis(1);

/// Why a layer may clean.
#[derive(Copy, Clone)]
enum Reason {
    /// Writes are expected for which there should be so much room.
    Ahead(u64),
    /// Nothing has been asked for so long.
    Idle(Duration),
    /// Cleaning was asked for.
    Asked,
    /// The volume is to grow.
    Growth,
}

/// What the cleaner does until the engine has ended.
pub(super) fn clean(shared: &Shared) {
    let mut machine = shared.machine();
    let mut has_grown = false;
    while !machine.ended {
        panics::injected("cleaner");
        machine = growing::tell_capacity(shared, machine);
        let offered = offer(shared, &machine, has_grown);
        has_grown = matches!(offered, Ok(Reason::Growth));
        machine = match offered {
            Err(wait) => {
                machine.cleaner_rests = true;
                machine = shared.wait_for_change_within(machine, wait);
                machine.cleaner_rests = false;
                machine
            }
            Ok(Reason::Growth) => growing::step(shared, machine),
            Ok(reason) => step(shared, machine, reason),
        };
    }
}

/// Why there may be a step now, or how long to wait before the next look. A growth has every second step while
/// cleaning is asked for.
fn offer(shared: &Shared, machine: &Machine, has_grown: bool) -> Result<Reason, Duration> {
    let is_stopping = shared.stopping.load(Ordering::Relaxed);
    let is_asked = machine.cleaning == Cleaning::Now;
    match machine.cleaning {
        Cleaning::Paused => Err(PATIENCE),
        // It would move blocks to where there is no room.
        _ if !shared.may_write(0) => Err(PATIENCE),
        _ if is_stopping || !machine.stack.is_serving() => Err(PATIENCE),
        _ if machine.stack.standing().growth.is_some() && !(is_asked && has_grown) => match shared.turns.are_served() {
            true => Ok(Reason::Growth),
            false if is_asked => Ok(Reason::Asked),
            false => Err(SOON),
        },
        Cleaning::Now => Ok(Reason::Asked),
        Cleaning::WhenIdle => {
            machine.wanted_room().map_or_else(|| in_idle_time(shared, machine), |room| Ok(Reason::Ahead(room)))
        }
    }
}

/// Why there may be a step in idle time now, or how long to wait before the next look.
fn in_idle_time(shared: &Shared, machine: &Machine) -> Result<Reason, Duration> {
    let quiet = machine.last_request.elapsed();
    match shared.options.idle_after.checked_sub(quiet) {
        Some(rest) if !rest.is_zero() => Err(rest),
        _ if !machine.callers.is_empty() => Err(shared.options.idle_after.max(SOON)),
        _ => Ok(Reason::Idle(quiet)),
    }
}

/// One step for that reason, and its moves to their end.
fn step<'a>(shared: &'a Shared, mut machine: Held<'a>, why: Reason) -> Held<'a> {
    let since = Instant::now();
    let offered = match why {
        Reason::Idle(idle) => machine.stack.idle(u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX)),
        Reason::Ahead(room) => machine.stack.clean_ahead(room),
        Reason::Asked | Reason::Growth => machine.stack.clean_asked(),
    };
    shared.look_at_steps(&mut machine);
    machine.deliver();
    shared.wake(&machine);
    match (offered, why) {
        (Offered::Declined, Reason::Ahead(_)) => {
            let now = machine.now();
            machine.admission.nothing_gained(now);
            return machine;
        }
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
        let pause = if matches!(why, Reason::Ahead(_)) { AT_ONCE } else { SOON };
        machine = shared.wait_for_change_within(machine, pause);
    }
    rest(shared, machine, since)
}

/// Waits until there may be something to clean again: when there has been a request, for which it looks from time to
/// time, or when the drives have been idle for as long as the layers want, if `offered` was less.
fn until_asked<'a>(shared: &'a Shared, mut machine: Held<'a>, offered: Duration) -> Held<'a> {
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
