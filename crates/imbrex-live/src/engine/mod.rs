//! The engine: a volume's runner among threads.
//!
//! A thread that asks for something carries out what is for its request itself, and other small operations while it
//! waits, so that a request that needs one operation costs no change of thread; who asks for a flush flushes drives,
//! too. What else may take long — large operations of others, other flushes, resets — is left to workers. The one lock
//! covers planning and bookkeeping and is never held during an operation.

mod admission;
mod batch;
mod bytes;
mod caller;
mod cleaner;
mod extents;
mod growing;
mod held;
mod intake;
mod machine;
mod pace;
mod places;
mod rest;
mod room;
mod standing;
mod streams;
mod traffic;
mod turns;
mod watch;
mod work;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ::bytes::Bytes;
use hdrhistogram::Histogram;
use imbrex::contents::Contents;
use imbrex::perform::{Counts, Failure, Fatal, Progress, Request, Stack};

use crate::record::tape::Tape;
use crate::threads;
use crate::volume::{Members, ServerMemory, Volume, VolumeError};
pub use admission::{HeldBack, Pacing};
pub use batch::Written;
pub use extents::Known;
pub use growing::NotGrowing;
pub use machine::Cleaning;
use machine::{Machine, Shared};
pub use room::KEPT;
pub use standing::Standing;
pub use streams::{Carriers, InOrder};
pub use traffic::Traffic;
pub use watch::{RequestKind, StepTimes};

/// The client number under which the engine itself flushes at the end. It comes late, so a loss is reported to it only
/// if no other client got the report.
const SELF: u32 = u32::MAX;

/// How an engine works.
#[derive(Copy, Clone, Debug)]
pub struct EngineOptions {
    /// Threads that carry operations out, beside those that ask.
    pub workers: usize,
    /// How long nothing must have been asked before cleaning is offered the time.
    pub idle_after: Duration,
    /// How long a cleaning step may take, if that matters: steps are made as small as that needs, and longer ones are
    /// counted.
    pub step_limit: Option<Duration>,
    /// How much of the time background cleaning may take, in per cent.
    pub throttle: u8,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let step_limit = Some(Duration::from_millis(100));
        Self { workers: 4, idle_after: Duration::from_millis(500), step_limit, throttle: 100 }
    }
}

/// A volume that is served.
pub struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    block_bytes: u32,
    memory: ServerMemory,
}

impl Engine {
    /// Starts serving; requests wait until recovery is done.
    ///
    /// # Errors
    /// When a layer cannot be served as it is configured.
    pub fn start(volume: Volume, options: EngineOptions) -> Result<Self, VolumeError> {
        Self::start_for(volume, options, Arc::new(InOrder))
    }

    /// Starts serving requests that threads of a frontend bring, which may overtake each other.
    ///
    /// # Errors
    /// As for [`Engine::start`].
    pub fn start_for(volume: Volume, options: EngineOptions, carriers: Arc<dyn Carriers>) -> Result<Self, VolumeError> {
        let setup = volume.setup()?;
        let memory = ServerMemory::of(&setup, &volume.superblocks);
        // The capacity when it was formatted; recovery may know of a growth.
        let capacity = (setup.top.make)().capacity();
        let block_bytes = volume.members[0].block_bytes();
        let stack = Stack::open(setup)?;
        let machine = Machine::new(stack, &options);
        let shared = Arc::new(Shared::new(volume.members, machine, options, capacity, carriers));
        let mut threads = Vec::new();
        for _ in 0..options.workers.max(1) {
            threads.push(thread("worker", &shared, work::work));
        }
        threads.push(thread("cleaner", &shared, cleaner::clean));
        Ok(Self { shared, threads: Mutex::new(threads), block_bytes, memory })
    }

    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// The memory that a server of the volume takes.
    #[must_use]
    pub fn memory(&self) -> &ServerMemory {
        &self.memory
    }

    /// Blocks that clients see, from when the engine serves.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shared.capacity.load(Ordering::Relaxed)
    }

    /// Asks for at least `blocks` blocks more, which is durable when it returns. The capacity follows at once or as
    /// space is made.
    ///
    /// # Errors
    /// Why there are not to be more, or why it is not known whether there are.
    pub fn grow(&self, blocks: u64) -> Result<(), NotGrowing> {
        growing::ask(&self.shared, blocks)
    }

    /// Waits until recovery is done.
    ///
    /// # Errors
    /// Why the volume cannot be used.
    pub fn wait_until_serving(&self) -> Result<(), Failure> {
        let mut machine = self.shared.machine();
        loop {
            if let Some(why) = machine.stack.dead() {
                return Err(Failure::Dead(why.clone()));
            }
            if machine.stack.is_serving() {
                drop(growing::tell_capacity(&self.shared, machine));
                return Ok(());
            }
            machine = self.shared.wait_for_change(machine);
        }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// Why it failed.
    pub fn call(&self, client: u32, request: Request) -> Result<Bytes, Failure> {
        work::call(&self.shared, client, request, None)
    }

    /// Does what a client asked for, and makes that durable before it is answered (FUA). Anything else that may be
    /// lost is still reported by a flush.
    ///
    /// # Errors
    /// When it failed or may be lost.
    pub fn durably(&self, client: u32, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let _asking = self.shared.asking();
        let epoch = self.shared.machine().stack.counts().rebuilds;
        work()?;
        self.shared.timed(RequestKind::Flush, || self.call(client, Request::Fua { epoch }).map(drop))
    }

    /// Says that writes which were acknowledged before this start may be lost, and that clients which do not know it
    /// are going to come back: the first flush fails.
    pub fn presume_loss(&self) {
        self.shared.machine().stack.presume_loss();
    }

    /// Records what the layer is asked for from now on.
    pub(crate) fn record(&self, tape: &Arc<Tape>) {
        // There is one recording in an engine's life.
        let _ = self.shared.tape.set(Arc::clone(tape));
    }

    /// Forgets a client that has gone. If a flush of it would have to fail, so does the first one of the next client.
    pub fn forget(&self, client: u32) {
        self.shared.machine().stack.forget(client);
    }

    /// What clients asked for and what the drives did for it, since the start.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.traffic.now()
    }

    /// What lies where, of the runners, the one that serves the host first; nothing of a layer that does not say so.
    /// Nobody is served while they are asked, which takes milliseconds for each terabyte.
    #[must_use]
    pub fn contents(&self) -> Vec<Option<Contents>> {
        self.shared.machine().stack.contents()
    }

    /// How the engine stands, and how long ago that was so: a little, where planning takes long. It is told within a tenth
    /// of a second, and keeps nobody waiting.
    #[must_use]
    pub fn standing(&self) -> (Standing, Duration) {
        self.shared.machine.standing()
    }

    /// How the runners stand, the one that serves the host first, and what they have done together.
    #[must_use]
    pub fn progress(&self) -> (Vec<Progress>, Counts) {
        let machine = self.shared.machine();
        (machine.stack.progress(), machine.stack.counts())
    }

    /// Why the volume cannot be used any more, if it cannot.
    #[must_use]
    pub fn dead(&self) -> Option<String> {
        self.shared.machine().stack.dead().map(Fatal::to_string)
    }

    /// Whether clients' writes are refused, since the host has no room for them.
    #[must_use]
    pub fn is_host_full(&self) -> bool {
        self.shared.room.is_out()
    }

    /// The stores.
    #[must_use]
    pub fn members(&self) -> &Members {
        &self.shared.members
    }

    /// How long requests of a kind took, in nanoseconds: all of them, and those during which cleaning was under way.
    #[must_use]
    pub fn latencies(&self, kind: RequestKind) -> (Histogram<u64>, Histogram<u64>) {
        (self.shared.latencies.get(kind), self.shared.beside_cleaning.get(kind))
    }

    /// How long a step of cleaning may take, if that was said.
    #[must_use]
    pub fn step_limit(&self) -> Option<Duration> {
        self.shared.options.step_limit
    }

    /// Lets background cleaning take so much of the time, from 1 to 100 per cent.
    pub fn set_throttle(&self, percent: u8) {
        let mut machine = self.shared.machine();
        machine.throttle = percent.clamp(1, 100);
        machine.tell();
        drop(machine);
        self.shared.changed.notify_all();
    }

    /// Pauses background cleaning, lets it go on, or asks for it now.
    pub fn set_cleaning(&self, cleaning: Cleaning) {
        let mut machine = self.shared.machine();
        if cleaning != Cleaning::Now {
            machine.cleaning_before = cleaning;
        }
        machine.cleaning = cleaning;
        machine.tell();
        drop(machine);
        self.shared.changed.notify_all();
    }

    /// Whether background cleaning is paused or was asked for.
    #[must_use]
    pub fn cleaning(&self) -> Cleaning {
        self.shared.machine().cleaning
    }

    /// How many requests of clients are under way.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.machine().callers.len()
    }

    /// How many requests there have been.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.shared.machine().next_id
    }

    /// Lets nothing wait for room on the host any more: it fails instead, so that the engine can be stopped.
    pub fn wait_no_more(&self) {
        self.shared.ending.store(true, Ordering::Relaxed);
    }

    /// Answers what is under way, makes everything durable, writes a checkpoint and ends. Later requests fail.
    ///
    /// # Errors
    /// When what was acknowledged could not be made durable, or may have been lost before and that was not reported.
    pub fn stop(&self) -> Result<(), Failure> {
        if self.shared.stopping.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.wait_no_more();
        self.shared.wait_until_quiet();
        let flushed = work::ask(&self.shared, SELF, Request::Flush, None);
        self.shared.machine().stack.checkpoint();
        self.shared.work.notify_all();
        self.shared.wait_until_quiet();
        self.shared.machine().ended = true;
        self.shared.work.notify_all();
        self.shared.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        flushed.map(drop)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Err(why) = self.stop() {
            tracing::error!(%why, "what was written last may not be durable");
        }
    }
}

/// A thread of the engine. Without it there would be no engine, so that one that cannot be had is no error but a panic.
fn thread(name: &str, shared: &Arc<Shared>, work: fn(&Shared)) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    let thread = threads::own(name).spawn(move || work(&shared));
    thread.unwrap_or_else(|why| panic!("there is no thread for a {name}: {why}"))
}
