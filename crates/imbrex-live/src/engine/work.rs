//! Carrying operations out, by workers and by those who wait for an answer.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use imbrex::perform::{Failure, Io, IoKind, IoResult, Request};

use super::machine::{Caller, Machine, Shared};

/// Longer operations are left to workers: whoever waits for an answer should not be late for it.
const SMALL_BYTES: usize = 256 << 10;

/// Has a request of a client answered.
pub(super) fn call(shared: &Shared, client: u32, request: Request) -> Result<Bytes, Failure> {
    if shared.stopping.load(Ordering::Relaxed) {
        return Err(Failure::Dead("it is being stopped".to_owned()));
    }
    ask(shared, client, request)
}

/// The same, while stopping too.
pub(super) fn ask(shared: &Shared, client: u32, request: Request) -> Result<Bytes, Failure> {
    let machine = when_free(shared, shared.machine(), &request);
    submit(shared, machine, client, request)
}

/// Submits a request and stays until it is answered.
pub(super) fn submit<'a>(
    shared: &'a Shared,
    mut machine: MutexGuard<'a, Machine>,
    client: u32,
    request: Request,
) -> Result<Bytes, Failure> {
    let caller = Caller::of(&request);
    let id = machine.next_id;
    machine.next_id += 1;
    machine.last_request = Instant::now();
    machine.callers.insert(id, Arc::clone(&caller));
    machine.stack.submit(client, id, request);
    shared.look_at_steps(&mut machine);
    loop {
        machine.deliver();
        if let Some(result) = caller.take() {
            shared.wake(&machine);
            return result;
        }
        match next_for(shared, &mut machine, id) {
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
fn when_free<'a>(shared: &Shared, mut machine: MutexGuard<'a, Machine>, request: &Request) -> MutexGuard<'a, Machine> {
    let (Request::Write(at, _) | Request::Trim(at)) = request else { return machine };
    while machine.is_merging(*at) {
        machine = shared.wait_for_change(machine);
    }
    machine
}

/// The next operation for whoever waits for the answer to the request `id`: one that is for it, or else a small one.
/// Others are handed to workers.
fn next_for(shared: &Shared, machine: &mut Machine, id: u64) -> Option<(usize, Io)> {
    if let Some(own) = machine.stack.poll_io_for(id) {
        return Some(own);
    }
    while let Some((drive, io)) = machine.stack.poll_io() {
        let is_small = match &io.kind {
            IoKind::Write(_, content) => content.len() <= SMALL_BYTES,
            IoKind::Read(at) => at.blocks as usize * shared.members[drive].block_bytes() as usize <= SMALL_BYTES,
            IoKind::Reset(_) | IoKind::Flush | IoKind::Report => false,
        };
        if is_small {
            return Some((drive, io));
        }
        machine.handed.push_back((drive, io));
    }
    None
}

/// Carries an operation out without the lock.
fn carry_out<'a>(
    shared: &'a Shared,
    mut machine: MutexGuard<'a, Machine>,
    drive: usize,
    io: Io,
) -> MutexGuard<'a, Machine> {
    machine.under_way += 1;
    shared.wake(&machine);
    drop(machine);
    let member = &shared.members[drive];
    shared.traffic.count(&io.kind, member.block_bytes());
    let result = member.perform(&io.kind).unwrap_or_else(|error| {
        shared.traffic.failures.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(drive, %error, "an operation failed");
        IoResult::Failed
    });
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

/// What a worker does until the engine has ended.
pub(super) fn work(shared: &Shared) {
    let mut machine = shared.machine();
    while !machine.ended {
        machine.deliver();
        match machine.handed.pop_front().or_else(|| machine.stack.poll_io()) {
            Some((drive, io)) => machine = carry_out(shared, machine, drive, io),
            None => {
                if machine.is_watched_and_quiet() {
                    shared.changed.notify_all();
                }
                machine.idle_workers += 1;
                machine = shared.work.wait(machine).unwrap_or_else(PoisonError::into_inner);
                machine.idle_workers -= 1;
            }
        }
    }
}
