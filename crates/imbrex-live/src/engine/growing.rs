//! Growing: the request for it, the steps that make space, and when clients see the new size.

use std::sync::atomic::Ordering;
use std::time::Instant;

use imbrex::layer::CannotGrow;
use imbrex::perform::{Failure, Offered, Request, Steps};

use super::machine::{Held, PATIENCE, Shared};
use super::rest::{SOON, rest};
use super::{SELF, work};

/// Why a volume is not to grow, or may not be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotGrowing {
    /// The layer cannot.
    #[error(transparent)]
    Layer(#[from] CannotGrow),
    /// Nothing is served.
    #[error("nothing can be asked of the volume: {0}")]
    Unserved(Failure),
    /// What was asked for may not outlast the server.
    #[error("it may not be durable that the volume is to grow: {0}; see how it stands, and ask again")]
    Volatile(Failure),
}

/// Asks for `blocks` blocks more, as soon as anything can be planned, and makes that durable.
pub(super) fn ask(shared: &Shared, blocks: u64) -> Result<(), NotGrowing> {
    let mut machine = shared.machine();
    let asked = loop {
        let stopped = shared.stopping.load(Ordering::Relaxed).then_some(Failure::Stopped);
        if let Some(failure) = stopped.or_else(|| machine.stack.dead().cloned().map(Failure::Dead)) {
            return Err(NotGrowing::Unserved(failure));
        }
        match machine.stack.grow(blocks) {
            Some(asked) => break asked,
            None => machine = shared.wait_for_change_within(machine, SOON),
        }
    };
    asked?;
    let told = flush(shared, machine).map_err(NotGrowing::Volatile);
    shared.changed.notify_all();
    told
}

/// Lets clients know of blocks that have been added, or that recovery found. They are durable first: a client that has seen them must find them
/// after a power cut.
pub(super) fn tell_capacity<'a>(shared: &'a Shared, machine: Held<'a>) -> Held<'a> {
    let known = shared.capacity.load(Ordering::Relaxed);
    let is_more = machine.capacity().is_some_and(|capacity| capacity > known);
    if !is_more || shared.stopping.load(Ordering::Relaxed) || !machine.stack.is_serving() {
        return machine;
    }
    if let Err(why) = flush(shared, machine) {
        tracing::warn!(%why, "clients do not learn yet that the volume has grown");
    }
    shared.machine()
}

/// Makes all blocks durable that have been added, and lets clients know of them. No loss is reported to it: that is for
/// clients.
fn flush(shared: &Shared, machine: Held<'_>) -> Result<(), Failure> {
    let (epoch, capacity) = (machine.stack.counts().rebuilds, machine.capacity().unwrap_or(0));
    let durable = work::submit(shared, machine, SELF, Request::Fua { epoch }, None);
    // It is no client, and no loss is to wait for a flush of it.
    shared.machine().stack.forget(SELF);
    durable?;
    shared.capacity.fetch_max(capacity, Ordering::Relaxed);
    Ok(())
}

/// One step of a growth, and its moves to their end.
pub(super) fn step<'a>(shared: &'a Shared, mut machine: Held<'a>) -> Held<'a> {
    let since = Instant::now();
    let offered = machine.stack.go_on_growing();
    shared.look_at_steps(&mut machine);
    machine.deliver();
    shared.wake(&machine);
    match offered {
        // Another step is under way, or space has to come back first.
        Offered::Later => return shared.wait_for_change_within(machine, SOON),
        Offered::Declined => return pause(shared, machine),
        Offered::Taken => {}
    }
    let begun = machine.stack.steps().begun;
    // One that makes room for a write may begin as soon as it has ended.
    let goes_on = |now: Steps| now.under_way > 0 && now.begun == begun;
    while goes_on(machine.stack.steps()) && !machine.ended {
        machine = shared.wait_for_change(machine);
    }
    shared.turns.step_ended();
    rest(shared, machine, since)
}

/// Waits for as long as a layer is left alone that has no use for the time it was offered.
fn pause<'a>(shared: &'a Shared, mut machine: Held<'a>) -> Held<'a> {
    let since = Instant::now();
    while let Some(left) = PATIENCE.checked_sub(since.elapsed()).filter(|_| !machine.ended) {
        machine = shared.wait_for_change_within(machine, left);
    }
    machine
}
