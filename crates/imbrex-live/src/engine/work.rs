//! Carrying operations out, by workers and by threads that wait for an answer.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use imbrex::perform::{Failure, Io, IoKind, IoResult, Request};

use super::caller::{Call, Caller};
use super::machine::{Cleaning, Held, Machine, Shared};
use super::streams::Arrival;
use crate::panics;

/// Longer operations are left to workers: a thread that waits for an answer should not be late for it.
const SMALL_BYTES: usize = 256 << 10;

/// The most operations that a thread carries out for requests that came together before it says so.
const MOST_AT_ONCE: usize = 32;

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

/// Submits a request and stays until it is answered.
pub(super) fn submit<'a>(
    shared: &'a Shared,
    machine: Held<'a>,
    client: u32,
    request: Request,
    arrival: Option<Arrival<'_>>,
) -> Result<Bytes, Failure> {
    let mut answer = Err(Failure::Stopped);
    submit_all(shared, machine, client, [request], arrival, &mut |answers| {
        answers.into_iter().for_each(|(_, result)| answer = result);
    });
    answer
}

/// The answer to one of several requests, and its place among them.
pub(super) type Answered = (usize, Result<Bytes, Failure>);

/// Submits requests together and stays until all are answered. `answer` is told the answers that have come together, with
/// the place of each among the requests, while the lock is not held.
pub(super) fn submit_all<'a>(
    shared: &'a Shared,
    mut machine: Held<'a>,
    client: u32,
    requests: impl IntoIterator<Item = Request>,
    arrival: Option<Arrival<'_>>,
    answer: &mut dyn FnMut(Vec<Answered>),
) {
    panics::injected("request");
    let caller = Caller::here();
    let asked = enter(shared, &mut machine, client, requests, &caller);
    drop(arrival);
    shared.look_at_steps(&mut machine);
    let (first, mut left) = (asked.ids.start, asked.ids.end - asked.ids.start);
    loop {
        machine.deliver();
        let mut answers = caller.take();
        if answers.is_empty() {
            let next = next_for(shared, &mut machine, &asked);
            if !next.is_empty() {
                machine = carry_out(shared, machine, next);
                continue;
            }
        }
        shared.wake(&machine);
        drop(machine);
        if answers.is_empty() {
            answers = caller.wait();
        }
        if !answers.is_empty() {
            left -= answers.len() as u64;
            let result = |answer: Result<Bytes, Failure>| answer.map_err(|why| told(shared, why, asked.are_reads));
            answer(answers.into_iter().map(|(id, answer)| ((id - first) as usize, result(answer))).collect());
        }
        if left == 0 {
            return;
        }
        machine = shared.machine();
    }
}

/// What a client is told of a failure: what the host has no room for fails for that reason.
fn told(shared: &Shared, failure: Failure, is_read: bool) -> Failure {
    match failure {
        Failure::Io if !is_read && shared.room.is_out() => Failure::Full,
        other => other,
    }
}

/// Requests that a thread waits for.
struct Asked {
    ids: Range<u64>,
    are_reads: bool,
    any_flush: bool,
}

/// Gives requests to the runner.
fn enter(
    shared: &Shared,
    machine: &mut Machine,
    client: u32,
    requests: impl IntoIterator<Item = Request>,
    caller: &Arc<Caller>,
) -> Asked {
    let first = machine.next_id;
    machine.last_request = Instant::now();
    let Machine { stack, callers, next_id, last_request, .. } = machine;
    let (mut are_reads, mut any_flush) = (true, false);
    let requests = requests.into_iter().inspect(|request| {
        // While the lock is held, so that a recording has the order in which the layer gets requests.
        if let Some(tape) = shared.tape.get() {
            tape.note(request, *last_request);
        }
        callers.insert(*next_id, Call::of(request, caller));
        *next_id += 1;
        are_reads &= matches!(request, Request::Read(_));
        any_flush |= matches!(request, Request::Flush | Request::Fua { .. });
    });
    stack.submit_all(client, first, requests);
    Asked { ids: first..machine.next_id, are_reads, any_flush }
}

/// Waits until no block that is written is being read for a change of a part of it.
fn when_free<'a>(shared: &Shared, mut machine: Held<'a>, request: &Request) -> Held<'a> {
    let (Request::Write(at, _) | Request::Trim(at) | Request::Zero(at)) = request else { return machine };
    while machine.is_merging(*at) {
        machine = shared.wait_for_change(machine);
    }
    machine
}

/// The next operations for the caller that waits for what it asked: one that is for that, and of several requests all
/// writes up to a read, since workers can read at the same time; or else a small one; for a flush, a flush of a drive,
/// which waits for nothing else. Others are handed to workers.
fn next_for(shared: &Shared, machine: &mut Machine, asked: &Asked) -> Vec<(usize, Io)> {
    let is_batch = asked.ids.end - asked.ids.start > 1;
    let most = if is_batch { MOST_AT_ONCE } else { 1 };
    let mut own = Vec::new();
    while own.len() < most
        && let Some((drive, io)) = machine.stack.poll_io_for(&asked.ids)
    {
        let is_read = matches!(io.kind, IoKind::Read(_));
        own.push((drive, io));
        if is_read {
            break;
        }
    }
    if !own.is_empty() {
        return own;
    }
    while let Some((drive, io)) = machine.stack.poll_io() {
        let is_small = match &io.kind {
            IoKind::Write(_, content) => content.len() <= SMALL_BYTES,
            IoKind::Read(at) => at.blocks as usize * shared.members[drive].block_bytes() as usize <= SMALL_BYTES,
            IoKind::Flush => asked.any_flush,
            IoKind::Reset(_) | IoKind::Report => false,
        };
        if is_small {
            return vec![(drive, io)];
        }
        machine.handed.push_back((drive, io));
    }
    Vec::new()
}

/// Carries operations out without the lock.
fn carry_out<'a>(shared: &'a Shared, mut machine: Held<'a>, operations: Vec<(usize, Io)>) -> Held<'a> {
    let count = operations.len();
    machine.under_way += count;
    machine.has_served |= machine.stack.is_serving();
    let waits = machine.has_served && !machine.stack.is_serving();
    shared.wake(&machine);
    drop(machine);
    let perform = |(drive, io): (usize, Io)| (io.id, perform(shared, drive, &io.kind, waits));
    let results: Vec<(u64, IoResult)> = operations.into_iter().map(perform).collect();
    let mut machine = shared.machine();
    let was_serving = machine.stack.is_serving();
    machine.stack.complete_all(results);
    shared.look_at_steps(&mut machine);
    machine.under_way -= count;
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
                machine = carry_out(shared, machine, vec![(drive, io)]);
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
