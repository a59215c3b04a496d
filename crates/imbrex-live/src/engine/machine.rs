//! What the engine's threads share.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, OnceLock};
use std::time::{Duration, Instant};

use imbrex::block::{Extent, Lba};
use imbrex::layer::TranslationLayer;
use imbrex::perform::{Io, Reply, Stack, Waiting};
use imbrex::plan::Plan;

use super::EngineOptions;
use super::admission::Admission;
use super::caller::{Call, Caller};
use super::held::{self, Lock};
use super::intake::Intake;
use super::pace::Pace;
use super::room::Room;
use super::streams::{Carriers, Streams};
use super::traffic::Counters;
use super::turns::{Place, Turns};
use super::watch::{Ended, Latencies, RequestKind, StepClock};
use crate::record::tape::Tape;
use crate::volume::Members;

/// Threads that wait look again after so long, whatever happens.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// The most threads that are woken at a time.
const MOST_WOKEN: usize = 16;

/// For how many steps of cleaning a write is throttled at most, so that others do not have to wait longer.
const STEPS_HELD_BACK: u32 = 5;

/// How long a step counts there when steps may take any time.
const NO_LIMIT: Duration = Duration::from_millis(100);

/// What is done about background cleaning.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Cleaning {
    /// It is offered idle time.
    #[default]
    WhenIdle,
    /// It waits until it is let go on; a write that finds no room still cleans.
    Paused,
    /// It goes on now, until there is nothing left to clean.
    Now,
}

/// The engine's state.
pub(super) struct Shared {
    pub members: Members,
    pub machine: Lock<Machine>,
    /// There may be an operation for a worker.
    pub work: Condvar,
    /// Something that threads wait for may have come about.
    pub changed: Condvar,
    pub stopping: AtomicBool,
    /// Whether nothing waits for room any more.
    pub ending: AtomicBool,
    pub options: EngineOptions,
    /// Blocks that clients may see: as many as there durably are.
    pub capacity: AtomicU64,
    /// Who waits for what while the volume grows.
    pub turns: Turns,
    pub traffic: Counters,
    pub room: Room,
    pub streams: Streams,
    /// What is read and what is written, so that reads are served while writes wait for room.
    pub reads: Intake,
    pub writes: Intake,
    pub latencies: Latencies,
    /// What the layer is asked for goes there, if it is recorded.
    pub tape: OnceLock<Arc<Tape>>,
    /// How long those requests took during which cleaning was under way.
    pub beside_cleaning: Latencies,
    /// Twice the steps of cleaning that have begun, and one more while one is under way.
    steps: AtomicU64,
}

/// The engine's lock, while a thread has it.
pub(super) type Held<'a> = held::Held<'a, Machine>;

/// The runner and what belongs to it.
pub(super) struct Machine {
    pub stack: Stack,
    /// Requests that threads wait for.
    pub callers: HashMap<u64, Call>,
    pub next_id: u64,
    /// Operations left to workers.
    pub handed: VecDeque<(usize, Io)>,
    pub idle_workers: usize,
    /// Whether the cleaner waits for something to do.
    pub cleaner_rests: bool,
    /// Writes that are throttled and will be requests.
    pub held_back: usize,
    /// Threads that wait until nothing is under way.
    pub watchers: usize,
    /// Operations that threads carry out.
    pub under_way: usize,
    /// Blocks that are read to be written again with a part of them changed.
    pub merging: Vec<Extent<Lba>>,
    /// Threads that wait until nobody changes the blocks that they are to change a part of.
    pub merges_waiting: usize,
    pub last_request: Instant,
    /// When it was made: the controller counts its times from here.
    began: Instant,
    /// Says when to clean before a write waits for it, and how long to throttle writes.
    pub admission: Admission,
    pub cleaning: Cleaning,
    /// What is done again when what was asked for is cleaned.
    pub cleaning_before: Cleaning,
    /// How much of the time background cleaning may take, in per cent.
    pub throttle: u8,
    pub clock: StepClock,
    /// Keeps steps of cleaning short, if there is a limit and a layer whose steps have a size.
    pub pace: Option<Pace>,
    /// Whether the volume has been served since the start.
    pub has_served: bool,
    pub ended: bool,
}

/// What a client asks for, all its requests to the runner together.
pub(super) struct Asking<'a> {
    shared: &'a Shared,
    place: Place,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.shared.turns.go(self.place) {
            // Or it would be told between looking and waiting.
            drop(self.shared.machine());
            self.shared.changed.notify_all();
        }
    }
}

impl Machine {
    pub fn new(mut stack: Stack, options: &EngineOptions) -> Self {
        let pace = options.step_limit.zip(stack.step_blocks()).map(|(limit, most)| Pace::new(limit, most));
        if let Some(pace) = pace {
            stack.bound_step(pace.blocks());
        }
        Self {
            stack,
            callers: HashMap::new(),
            next_id: 0,
            handed: VecDeque::new(),
            idle_workers: 0,
            cleaner_rests: false,
            held_back: 0,
            watchers: 0,
            under_way: 0,
            merging: Vec::new(),
            merges_waiting: 0,
            last_request: Instant::now(),
            began: Instant::now(),
            admission: Admission::new(options.step_limit.unwrap_or(NO_LIMIT) * STEPS_HELD_BACK),
            cleaning: Cleaning::default(),
            cleaning_before: Cleaning::default(),
            throttle: options.throttle,
            clock: StepClock::default(),
            pace,
            has_served: false,
            ended: false,
        }
    }

    /// The time that the controller knows.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Blocks that clients see, while requests are served.
    pub fn capacity(&self) -> Option<u64> {
        self.stack.top().layer().map(TranslationLayer::capacity)
    }

    /// Asks the layer where blocks lie; false if there is none now that has them.
    pub fn locate(&self, at: Extent<Lba>, plan: &mut Plan) -> bool {
        let layer = self.stack.top().layer().filter(|layer| at.is_within(layer.capacity()));
        layer.inspect(|layer| layer.locate(at, plan)).is_some()
    }

    /// Tells the controller how the layer stands.
    pub fn look_ahead(&mut self, now: Duration) {
        self.admission.look(now, self.stack.standing().outlook);
    }

    /// The room that cleaning is to make before a write waits for it, if it is wanted: by the layer whose clients are
    /// served, or by one below.
    pub fn wanted_room(&self) -> Option<u64> {
        let now = self.now();
        let below = || (self.stack.is_short_below() && self.admission.may_ask(now)).then_some(0);
        self.admission.wants(now).or_else(below)
    }

    /// Hands replies to the threads that wait for them.
    pub fn deliver(&mut self) {
        while let Some(Reply { id, result }) = self.stack.poll_reply() {
            if let Some(call) = self.callers.remove(&id) {
                call.caller.give((id, result));
            }
        }
    }

    /// Whether a part of some of the blocks is being changed.
    pub fn is_merging(&self, at: Extent<Lba>) -> bool {
        self.merging.iter().any(|run| run.overlaps(&at))
    }

    /// Whether a request that has not been answered changes some of the blocks, or a part of them.
    pub fn is_changing(&self, at: Extent<Lba>) -> bool {
        let mut changes = self.callers.values().filter_map(|call| call.changes);
        self.is_merging(at) || changes.any(|run| run.overlaps(&at))
    }

    /// Operations that no thread carries out yet.
    pub fn waiting(&self) -> usize {
        self.handed.len() + self.stack.pending_io()
    }

    /// Whether nothing is asked for and nothing under way, and a thread waits to be told so.
    pub fn is_watched_and_quiet(&self) -> bool {
        self.watchers > 0 && self.is_quiet()
    }

    /// Whether nothing is asked for and nothing under way.
    pub fn is_quiet(&self) -> bool {
        self.callers.is_empty() && self.held_back == 0 && self.under_way == 0 && self.waiting() == 0
    }
}

impl Shared {
    pub fn new(
        members: Members,
        machine: Machine,
        options: EngineOptions,
        capacity: u64,
        carriers: Arc<dyn Carriers>,
    ) -> Self {
        Self {
            members,
            machine: Lock::new(machine),
            work: Condvar::new(),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            options,
            capacity: AtomicU64::new(capacity),
            turns: Turns::default(),
            traffic: Counters::default(),
            room: Room::new(),
            streams: Streams::new(carriers),
            reads: Intake::default(),
            writes: Intake::default(),
            latencies: Latencies::new(),
            tape: OnceLock::new(),
            beside_cleaning: Latencies::new(),
            steps: AtomicU64::new(0),
        }
    }

    pub fn machine(&self) -> Held<'_> {
        self.machine.take()
    }

    /// Wakes the threads that there are operations for: one that waits for a request, for those of it; workers for
    /// others.
    pub fn wake(&self, machine: &Machine) {
        if machine.merges_waiting > 0 {
            self.changed.notify_all();
        }
        if machine.waiting() == 0 {
            return;
        }
        let mut others = machine.handed.len();
        let mut before: Option<&Arc<Caller>> = None;
        for Waiting { request, is_read } in machine.stack.waiting(MOST_WOKEN) {
            let caller = request.and_then(|id| machine.callers.get(&id)).map(|call| &call.caller);
            // One thread alone would read for its requests one after the other.
            let is_more = is_read && before.zip(caller).is_some_and(|(before, now)| Arc::ptr_eq(before, now));
            match caller {
                Some(caller) if !is_more => caller.call(),
                _ => others += 1,
            }
            before = caller;
        }
        for _ in 0..others.min(machine.idle_workers) {
            self.work.notify_one();
        }
    }

    /// Whether the host has room for `bytes` bytes of clients, as far as is known.
    pub fn may_write(&self, bytes: u64) -> bool {
        self.room.may_write(bytes, || self.available())
    }

    /// Bytes that the host has left, of several the one that has the least.
    pub fn available(&self) -> Option<u64> {
        self.members.iter().filter_map(|member| member.available()).min()
    }

    /// Measures steps of cleaning, and chooses the size of the next ones.
    pub fn look_at_steps(&self, machine: &mut Machine) {
        let (limit, now) = (self.options.step_limit, machine.stack.steps());
        let stands = 2 * now.begun + u64::from(now.under_way > 0);
        // The next one may have begun.
        if self.steps.swap(stands, Ordering::Relaxed) != stands {
            self.changed.notify_all();
        }
        let Some(Ended { moved, took, is_longest }) = machine.clock.look(now, limit) else { return };
        let time = machine.now();
        machine.admission.moved(time, moved, took);
        machine.look_ahead(time);
        // One line for each record, and not for each step of a drive that is too slow.
        if is_longest && limit.is_some_and(|limit| took > limit) {
            tracing::warn!(?took, ?limit, "a step of cleaning took longer than it may, and than any before");
        }
        if let Some(pace) = &mut machine.pace {
            let before = pace.blocks();
            pace.took(moved, took);
            if pace.blocks() != before {
                machine.stack.bound_step(pace.blocks());
            }
        }
    }

    /// Does something that a client asked for, and measures how long that takes.
    pub fn timed<T>(&self, kind: RequestKind, work: impl FnOnce() -> T) -> T {
        let (since, steps, _asking) = (Instant::now(), self.steps_now(), self.asking());
        let result = work();
        self.took(kind, since, steps, 1);
        result
    }

    /// So many things that a client asked for `since` then are done. Cleaning stood at `steps` when they were asked.
    pub fn took(&self, kind: RequestKind, since: Instant, steps: u64, count: usize) {
        let took = since.elapsed();
        self.latencies.record(kind, took, count);
        if self.steps_since(steps) > 0 {
            self.beside_cleaning.record(kind, took, count);
        }
    }

    /// A client asks for something, until the result is dropped.
    pub fn asking(&self) -> Asking<'_> {
        Asking { shared: self, place: self.turns.come() }
    }

    /// Where cleaning stands, for [`Shared::took`].
    pub fn steps_now(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// How many steps of cleaning have been under way since it stood there.
    fn steps_since(&self, then: u64) -> u64 {
        self.steps_now() / 2 - then / 2 + then % 2
    }

    /// Waits for something to change.
    pub fn wait_for_change<'a>(&self, machine: Held<'a>) -> Held<'a> {
        self.wait_for_change_within(machine, PATIENCE)
    }

    /// Waits for something to change, but not longer than `limit`.
    pub fn wait_for_change_within<'a>(&self, machine: Held<'a>, limit: Duration) -> Held<'a> {
        machine.wait(&self.changed, Some(limit))
    }

    /// Waits until nothing is asked for and nothing is under way.
    pub fn wait_until_quiet(&self) {
        let mut machine = self.machine();
        machine.watchers += 1;
        while !machine.is_quiet() {
            self.wake(&machine);
            machine = self.wait_for_change(machine);
        }
        machine.watchers -= 1;
    }
}
