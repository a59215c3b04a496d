//! The live engine: carries plans out on real data under the ordering rules, and survives power loss.
//!
//! It is a deterministic state machine. Requests go in through [`Performer::submit`], device operations come out
//! through [`Performer::poll_io`], their results go in through [`Performer::complete`], replies come out through
//! [`Performer::poll_reply`]. It starts no thread, reads no clock and performs no I/O, so with a memory store and a
//! seed it is the crash explorer, and with a disk and threads at its device boundary it is a server.
//!
//! | file | ordering rules |
//! |---|---|
//! | `running.rs` | 1 (one clean plan at a time), 10 (failures) |
//! | `running/flushing.rs` | 8 (flush) |
//! | `epoch/` | 1 (plans in order), 4 (resets and frees after records), 10 (failures) |
//! | `order.rs`, `numbered.rs`, `operations.rs`, `execution.rs` | 2 (operations that touch the same blocks), 5 (redo moves wait) |
//! | `execution/together.rs`, `content.rs` | 2 (writes behind each other are one operation) |
//! | `items.rs`, `joint.rs`, `commit.rs`, `ring.rs` | 3 (records after moves), 5 (redo entries) |
//! | `pages/`, `epoch/paging.rs` | 11, 12, 13 (pages of a map that is not in memory as a whole) |
//! | `recover/`, `scan.rs`, `runs.rs`, `chain.rs`, `copies.rs`, `again.rs` | what recovery makes of the journal |
//! | `losses.rs` | 10 (which client a loss is reported to) |
//! | `stack.rs` | engines on engines: 8 (lower devices first), 10 |
//!
//! Each of them knows those below it only: [`Performer`] goes from recovery to serving and back; `running.rs` decides
//! what is planned, and asks an epoch of the layer (`epoch`) for it; an epoch has its plans carried out by
//! `execution.rs` and made durable by `commit.rs`.
//!
//! Rules 6, 7 and 9 bind layers and stores; rule 6 is checked here.
#![forbid(unsafe_code)]

mod again;
mod chain;
mod commit;
mod content;
mod copies;
mod core;
mod epoch;
mod execution;
mod fatal;
mod items;
mod joint;
pub mod journal;
mod losses;
mod memory;
mod numbered;
mod operations;
mod order;
pub mod pages;
mod progress;
mod protocol;
mod ram;
mod reading;
mod recover;
mod requests;
mod ring;
mod room;
pub mod rules;
mod running;
mod runs;
mod scan;
mod setup;
mod stack;

use std::collections::BTreeSet;

use core::{Core, Pending};
pub use fatal::Fatal;
use imbrex_core::block::Pba;
use imbrex_core::layer::{CannotGrow, Facts, Pressure, Standing, TranslationLayer, UnitReport, Violation};
pub use memory::RunnerMemory;
pub use progress::{Counts, Offered, Planned, Progress, Steps};
pub use protocol::{Failure, Io, IoKind, IoResult, Reply, Request, Waiting};
pub use reading::{JournalEntry, JournalState};
use recover::{NewEpoch, Recovery};
use ring::Slots;
pub use room::{GATHER, JournalLength, JournalNeed, JournalTooShort};
use running::{End, Running};
pub use setup::{MapHome, Setup};
pub use stack::{Stack, StackSetup};

/// The live engine.
pub struct Performer {
    core: Core,
    state: State,
}

enum State {
    Recovering(Box<Recovery>),
    Running(Box<Running>),
    Dead(Fatal),
}

impl Performer {
    /// Starts on a store that has never been used, or whose content is to be given up.
    ///
    /// # Errors
    /// The reason when the layer cannot be served live or its map does not fit the journal.
    pub fn format(setup: Setup) -> Result<Self, Fatal> {
        let recovery = Recovery::format(&setup);
        Self::start(setup, recovery)
    }

    /// Starts on a formatted store: reads the journal first.
    ///
    /// # Errors
    /// The reason when the layer cannot be served live or its map does not fit the journal.
    pub fn open(setup: Setup) -> Result<Self, Fatal> {
        Self::open_suspecting(setup, BTreeSet::new())
    }

    /// Starts on a formatted store, of which blocks are known that could not be read: those that still cannot become
    /// `Lost`.
    ///
    /// # Errors
    /// As [`Performer::open`].
    pub fn open_suspecting(setup: Setup, suspects: BTreeSet<Pba>) -> Result<Self, Fatal> {
        Self::start(setup, Recovery::open(suspects))
    }

    fn start(setup: Setup, recovery: Recovery) -> Result<Self, Fatal> {
        let facts = (setup.make)().facts();
        if let Some(why) = facts.loses_flushed {
            return Err(why.into());
        }
        let have = Slots::new(&setup.journal, setup.media.as_ref()).room();
        setup.journal_need(&facts.journal).check(have)?;
        let core = Core::new(setup, facts);
        let mut performer = Self { core, state: State::Recovering(Box::new(recovery)) };
        performer.advance();
        Ok(performer)
    }

    /// Takes a request of `client`, to be answered under the number `id`.
    pub fn submit(&mut self, client: u32, id: u64, request: Request) {
        self.submit_all(client, id, [request]);
    }

    /// Takes requests of `client` that came together, to be answered under the numbers from `first` on. What a layer
    /// writes for them in one place goes to the drive together.
    pub fn submit_all(&mut self, client: u32, first: u64, requests: impl IntoIterator<Item = Request>) {
        self.core.losses.meet(client);
        let mut id = first;
        for request in requests {
            if let State::Dead(why) = &self.state {
                self.core.reply(id, Err(Failure::Dead(why.clone())));
            } else {
                self.core.queue.push_back((id, Pending { client, request }));
            }
            // A caller may have given the last number of all.
            id = id.wrapping_add(1);
        }
        self.advance();
    }

    /// Says that writes which were acknowledged before this start may be lost, and that no client has been told.
    pub fn presume_loss(&mut self) {
        self.core.losses.presume();
    }

    /// Forgets a client that has gone. If a flush of it would have to fail, so does the first one of the next client.
    pub fn forget(&mut self, client: u32) {
        self.core.losses.forget(client);
    }

    /// Says that the disk has been idle for `ns` nanoseconds: one step of cleaning may be planned.
    pub fn idle(&mut self, ns: u64) -> Offered {
        self.clean(Pressure::Idle { ns })
    }

    /// Says that cleaning was asked for: one step may be planned, as long as anything can be cleaned.
    pub fn clean_asked(&mut self) -> Offered {
        self.clean(Pressure::Asked)
    }

    /// Says that writes are expected for which there should be so much room: one step may be planned.
    pub fn clean_ahead(&mut self, room: u64) -> Offered {
        self.clean(Pressure::Ahead { room })
    }

    /// Asks the layer for at least `blocks` more blocks. That is durable with the next flush. Nothing comes of it while
    /// nothing can be planned: the caller may ask again.
    ///
    /// # Errors
    /// Why it cannot grow so.
    pub fn grow(&mut self, blocks: u64) -> Option<Result<(), CannotGrow>> {
        let asked = match &mut self.state {
            State::Running(running) => running.grow(&mut self.core, blocks),
            State::Recovering(_) | State::Dead(_) => None,
        };
        self.advance();
        asked
    }

    /// Offers time for a step of the growth that was asked for, though requests wait: it comes as soon as no other step
    /// is under way, and before the next one that makes room for a write. Until it does the answer is
    /// [`Offered::Later`], and the offer stands; then it is what became of it, once.
    pub fn go_on_growing(&mut self) -> Offered {
        let offered = match &mut self.state {
            State::Running(running) => running.go_on_growing(&mut self.core),
            State::Recovering(_) | State::Dead(_) => Offered::Later,
        };
        self.advance();
        offered
    }

    fn clean(&mut self, why: Pressure) -> Offered {
        let offered = match &mut self.state {
            State::Running(running) => running.clean_ahead(&mut self.core, why),
            State::Recovering(_) | State::Dead(_) => Offered::Later,
        };
        self.advance();
        offered
    }

    /// The next device operation to carry out.
    pub fn poll_io(&mut self) -> Option<Io> {
        self.poll_io_if(&|_| true)
    }

    /// The next device operation that is for a request, or for none, which `is_wanted`.
    pub fn poll_io_if(&mut self, is_wanted: &dyn Fn(Option<u64>) -> bool) -> Option<Io> {
        let at = self.core.out.iter().position(|io| is_wanted(io.request))?;
        self.core.out.remove(at)
    }

    /// The operations that are to be fetched.
    pub fn waiting(&self) -> impl Iterator<Item = Waiting> {
        self.core.out.iter().map(|io| Waiting { request: io.request, is_read: matches!(io.kind, IoKind::Read(_)) })
    }

    /// Says that a device may have lost what it has completed since its last flush: the layer's epoch ends, as when an
    /// operation fails.
    pub fn device_restarted(&mut self) {
        match &mut self.state {
            State::Running(running) => running.device_restarted(),
            // It flushes before and after what it does, and begins again when a flush fails.
            State::Recovering(recovery) => recovery.device_restarted(),
            State::Dead(_) => {}
        }
        self.advance();
    }

    /// What the devices would report if nothing had failed.
    fn unit_report(&self) -> UnitReport {
        self.core.setup.media.unit_report()
    }

    /// Asks for a checkpoint, whatever the journal's length: the next start has less to read.
    pub fn checkpoint(&mut self) {
        if let State::Running(running) = &mut self.state {
            running.ask_for_checkpoint();
        }
        self.advance();
    }

    /// How many device operations [`Performer::poll_io`] has to give.
    #[must_use]
    pub fn pending_io(&self) -> usize {
        self.core.out.len()
    }

    /// What the layer stated when it was made.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.core.facts
    }

    /// The layer, to be looked at while requests are served.
    #[must_use]
    pub fn layer(&self) -> Option<&dyn TranslationLayer> {
        match &self.state {
            State::Running(running) => Some(running.epoch().layer()),
            State::Recovering(_) | State::Dead(_) => None,
        }
    }

    /// Takes the result of a device operation.
    pub fn complete(&mut self, id: u64, result: IoResult) {
        self.complete_all([(id, result)]);
    }

    /// Takes the results of device operations, by their numbers.
    pub fn complete_all(&mut self, results: impl IntoIterator<Item = (u64, IoResult)>) {
        for (id, result) in results {
            let Some(purpose) = self.core.asked.remove(id) else { continue };
            match &mut self.state {
                State::Recovering(recovery) => recovery.completed(&mut self.core, purpose, result),
                State::Running(running) => running.completed(&mut self.core, purpose, result),
                State::Dead(_) => {}
            }
        }
        self.advance();
    }

    /// The next answer to a request.
    pub fn poll_reply(&mut self) -> Option<Reply> {
        self.core.replies.pop_front()
    }

    /// Whether requests are being served, rather than recovery running.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        matches!(&self.state, State::Running(running) if running.epoch().is_serving())
    }

    /// Why the store cannot be used, if it cannot.
    #[must_use]
    pub fn dead(&self) -> Option<&Fatal> {
        match &self.state {
            State::Dead(why) => Some(why),
            _ => None,
        }
    }

    /// What has been done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.core.counts
    }

    /// How the runner stands.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut progress =
            Progress { tally: self.core.tally, counters: self.core.facts.counters, ..Progress::default() };
        progress.journal_blocks = self.core.setup.journal.first().map_or(0, |copy| copy.blocks.into());
        if let State::Running(running) = &self.state {
            progress.journal_used = running.epoch().journal_used();
            progress.blocked = running.blocked() as u64;
            Standing { occupancy: progress.occupancy, growth: progress.growth, dirty: progress.dirty, .. } =
                running.epoch().layer().standing();
        }
        progress
    }

    /// The steps of cleaning.
    #[must_use]
    pub fn steps(&self) -> Steps {
        let under_way = matches!(&self.state, State::Running(running) if running.epoch().is_cleaning());
        Steps { under_way: under_way.into(), ..self.core.steps }
    }

    /// Limits a step of cleaning to `blocks` blocks from now on, where the layer can make it smaller. The limit stays
    /// when a new epoch of the layer begins.
    pub fn bound_step(&mut self, blocks: u32) {
        self.core.step_bound = Some(blocks);
        if let State::Running(running) = &mut self.state {
            running.layer_mut().bound_step(blocks);
        }
    }

    /// Verifies the layer's invariants, and that folding the records gives its state.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        match &self.state {
            State::Running(running) => running.epoch().check(&self.core.setup),
            _ => Ok(()),
        }
    }

    /// Moves from one state to the next as long as no operation of a device has to end first.
    fn advance(&mut self) {
        loop {
            let next = match &mut self.state {
                State::Recovering(recovery) => recovery.advance(&mut self.core).map(|end| self.begin(end)),
                State::Running(running) => running.advance(&mut self.core).map(|end| self.go_on(end)),
                State::Dead(_) => None,
            };
            match next {
                Some(state) => self.state = state,
                None => return,
            }
        }
    }

    /// What follows on recovery.
    fn begin(&mut self, recovered: Result<NewEpoch, Fatal>) -> State {
        match recovered {
            Ok(epoch) => State::Running(Box::new(Running::new(&mut self.core, epoch))),
            Err(why) => self.die(why),
        }
    }

    /// What follows on serving.
    fn go_on(&mut self, end: End) -> State {
        match end {
            End::Epoch(suspects) => State::Recovering(Box::new(Recovery::open(suspects))),
            End::GivenUp(why) => self.die(why),
        }
    }

    fn die(&mut self, why: Fatal) -> State {
        self.core.die(&why);
        State::Dead(why)
    }
}
