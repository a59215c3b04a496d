//! Carrying operations out, by workers and by threads that wait for an answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use imbrex::perform::{Failure, Io, IoKind, IoResult, Request};

use super::caller::Caller;
use super::machine::{Cleaning, Held, Machine, Shared};
use super::streams::Arrival;
use crate::panics;

/// Longer operations are left to workers: a thread that waits for an answer should not be late for it.
const SMALL_BYTES: usize = 256 << 10;

/// How long to wait before an operation that found no room is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// Has a request of a client answered. A write that has arrived is submitted after the earlier ones of its stream.
pub(super) fn call(
    shared: &Shared,
    client: u32,
    request: Request,
    arrival: Option<Arrival<'_>>,
) -> Result<Bytes, Failure> {
    if shared.stopping.load(Ordering::Relaxed) {
        return Err(Failure::Stopped);
    }
    ask(shared, client, request, arrival)
}

/// Answers a request of a client, while stopping too.
pub(super) fn ask(
    shared: &Shared,
    client: u32,
    request: Request,
    arrival: Option<Arrival<'_>>,
) -> Result<Bytes, Failure> {
    arrival.iter().for_each(|arrival| arrival.wait(|| shared.writes.is_full()));
    let machine = match &request {
        Request::Write(at, _) => admitted(shared, shared.machine(), at.blocks),
        _ => shared.machine(),
    };
    let machine = when_free(shared, machine, &request);
    submit(shared, machine, client, request, arrival)
}

/// Throttles a write of `blocks` blocks as long as pacing says. It goes on as soon as more room has come.
pub(super) fn admitted<'a>(shared: &'a Shared, mut machine: Held<'a>, blocks: u32) -> Held<'a> {
    let begun = machine.now();
    machine.look_ahead(begun);
    let is_paused = machine.cleaning == Cleaning::Paused;
    let delay = if is_paused { Duration::ZERO } else { machine.admission.admit(begun, blocks.into()) };
    if machine.cleaner_rests && !is_paused && machine.wanted_room().is_some() {
        shared.changed.notify_all();
    }
    if delay.is_zero() {
        return machine;
    }
    let gains = machine.admission.gains();
    // The thread that stops the engine waits for it.
    machine.held_back += 1;
    while let Some(left) = (begun + delay).checked_sub(machine.now()).filter(|left| !left.is_zero())
        && machine.admission.gains() == gains
        && !shared.ending.load(Ordering::Relaxed)
    {
        machine = shared.wait_for_change_within(machine, left);
    }
    machine.held_back -= 1;
    let now = machine.now();
    machine.admission.held_back(now - begun);
    machine
}

/// Submits a request and stays until it is answered. What the host has no room for fails for that reason.
pub(super) fn submit<'a>(
    shared: &'a Shared,
    machine: Held<'a>,
    client: u32,
    request: Request,
    arrival: Option<Arrival<'_>>,
) -> Result<Bytes, Failure> {
    let is_read = matches!(request, Request::Read(_));
    answered(shared, machine, client, request, arrival).map_err(|failure| match failure {
        Failure::Io if !is_read && shared.room.is_out() => Failure::Full,
        other => other,
    })
}

fn answered<'a>(
    shared: &'a Shared,
    mut machine: Held<'a>,
    client: u32,
    request: Request,
    arrival: Option<Arrival<'_>>,
) -> Result<Bytes, Failure> {
    panics::injected("request");
    let caller = Caller::of(&request);
    let is_flush = matches!(request, Request::Flush | Request::Fua { .. });
    let id = machine.next_id;
    machine.next_id += 1;
    machine.last_request = Instant::now();
    // While the lock is held, so that a recording has the order in which the layer gets requests.
    if let Some(tape) = shared.tape.get() {
        tape.note(&request, machine.last_request);
    }
    machine.callers.insert(id, Arc::clone(&caller));
    machine.stack.submit(client, id, request);
    drop(arrival);
    shared.look_at_steps(&mut machine);
    loop {
        machine.deliver();
        if let Some(result) = caller.take() {
            shared.wake(&machine);
            return result;
        }
        match next_for(shared, &mut machine, id, is_flush) {
            Some((drive, io)) => machine = carry_out(shared, machine, drive, io),
            None => {
                shared.wake(&machine);
                drop(machine);
                loop {
                    thread::park();
                    if let Some(result) = caller.take() {
                        return result;
                    }
                    if caller.is_called() {
                        break;
                    }
                }
                machine = shared.machine();
            }
        }
    }
}

/// Waits until no block that is written is being read for a change of a part of it.
fn when_free<'a>(shared: &Shared, mut machine: Held<'a>, request: &Request) -> Held<'a> {
    let (Request::Write(at, _) | Request::Trim(at) | Request::Zero(at)) = request else { return machine };
    while machine.is_merging(*at) {
        machine = shared.wait_for_change(machine);
    }
    machine
}

/// The next operation for the caller that waits for the answer to the request `id`: one that is for it, or else a small
/// one; for a flush, a flush of a drive, which waits for nothing else. Others are handed to workers.
fn next_for(shared: &Shared, machine: &mut Machine, id: u64, is_flush: bool) -> Option<(usize, Io)> {
    if let Some(own) = machine.stack.poll_io_for(id) {
        return Some(own);
    }
    while let Some((drive, io)) = machine.stack.poll_io() {
        let is_small = match &io.kind {
            IoKind::Write(_, content) => content.len() <= SMALL_BYTES,
            IoKind::Read(at) => at.blocks as usize * shared.members[drive].block_bytes() as usize <= SMALL_BYTES,
            IoKind::Flush => is_flush,
            IoKind::Reset(_) | IoKind::Report => false,
        };
        if is_small {
            return Some((drive, io));
        }
        machine.handed.push_back((drive, io));
    }
    None
}

/// Carries an operation out without the lock.
fn carry_out<'a>(shared: &'a Shared, mut machine: Held<'a>, drive: usize, io: Io) -> Held<'a> {
    machine.under_way += 1;
    machine.has_served |= machine.stack.is_serving();
    let waits = machine.has_served && !machine.stack.is_serving();
    shared.wake(&machine);
    drop(machine);
    let result = perform(shared, drive, &io.kind, waits);
    let mut machine = shared.machine();
    let was_serving = machine.stack.is_serving();
    machine.stack.complete(io.id, result);
    shared.look_at_steps(&mut machine);
    machine.under_way -= 1;
    machine.deliver();
    if machine.merges_waiting > 0
        || machine.is_watched_and_quiet()
        || was_serving != machine.stack.is_serving()
        || machine.stack.dead().is_some()
    {
        shared.changed.notify_all();
    }
    machine
}

/// The result of an operation. One that finds no room fails, or is tried until there is some if it `waits`: what begins
/// a new epoch cannot be done without, and a layer whose epochs cannot begin is given up.
fn perform(shared: &Shared, drive: usize, kind: &IoKind, waits: bool) -> IoResult {
    let member = &shared.members[drive];
    shared.traffic.count(kind, member.block_bytes());
    loop {
        let error = match member.perform(kind) {
            Ok(result) => return result,
            Err(error) => error,
        };
        shared.traffic.failures.fetch_add(1, Ordering::Relaxed);
        let no_room = error.is_no_room();
        if !no_room || !shared.room.is_out() {
            tracing::warn!(drive, %error, "an operation failed");
        }
        if no_room {
            shared.room.ran_out(shared.available());
        }
        if !(no_room && waits) || shared.ending.load(Ordering::Relaxed) {
            return IoResult::Failed;
        }
        thread::sleep(AGAIN);
    }
}

/// What a worker does until the engine has ended.
pub(super) fn work(shared: &Shared) {
    let mut machine = shared.machine();
    while !machine.ended {
        machine.deliver();
        match machine.handed.pop_front().or_else(|| machine.stack.poll_io()) {
            Some((drive, io)) => {
                panics::injected("worker");
                machine = carry_out(shared, machine, drive, io);
            }
            None => {
                if machine.is_watched_and_quiet() {
                    shared.changed.notify_all();
                }
                machine.idle_workers += 1;
                machine = machine.wait(&shared.work, None);
                machine.idle_workers -= 1;
            }
        }
    }
}
