//! A stack: a live engine on a drive, or on devices that are live engines themselves.
//!
//! What the engine above asks of a device is a request of a client of the engine below. A flush goes to every device
//! and is done when all are: so no record of the layer above becomes durable before the data it speaks of (rule 8,
//! lower devices first). When the epoch of a layer below ends, what it had not flushed may be gone although it was
//! answered, so the layer above must not go on with it, not even until its next flush: it might copy such content over
//! something that is still needed. Its epoch ends at once (rule 10), and recovery finds what is durable.

mod passing;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::fatal::Fatal;
use super::{Counts, Io, IoResult, Offered, Performer, Progress, Reply, Request, Setup, Steps, Waiting};
use imbrex_core::block::Pba;
use imbrex_core::contents::Contents;
use imbrex_core::layer::{CannotGrow, Outlook, Standing, TranslationLayer, Unwritten, Violation};
use passing::Asked;

/// What a stack is made of.
pub struct StackSetup {
    /// The runner whose clients are served.
    pub top: Setup,
    /// What its devices are made of, numbered from [`Pba::DISK`]; empty when it stands on a drive.
    pub below: Vec<StackSetup>,
}

impl StackSetup {
    /// What a block reads as that was never written: nothing older than the devices below give.
    #[must_use]
    pub fn unwritten(&self) -> Unwritten {
        let own = (self.top.make)().facts().unwritten;
        self.below.iter().map(Self::unwritten).max().map_or(own, |below| own.min(below))
    }
}

/// A live engine and what it stands on.
pub struct Stack {
    top: Performer,
    below: Vec<Stack>,
    /// Operations of the top that devices below have.
    asked: BTreeMap<u64, Asked>,
    /// Operations of drives that have been fetched: the device below, and the number there.
    out: BTreeMap<u64, (usize, u64)>,
    next_out: u64,
    /// The epochs that layers below have ended, as far as the top knows.
    ended_below: u64,
}

impl Stack {
    /// Starts on drives that have never been used, or whose content is to be given up.
    ///
    /// # Errors
    /// The reason when a layer cannot be served live or its map does not fit its journal.
    pub fn format(setup: StackSetup) -> Result<Self, Fatal> {
        Self::start(setup, &mut Performer::format)
    }

    /// Starts on drives that have never been used but for the last, which was formatted before and keeps what it holds.
    ///
    /// # Errors
    /// The reason when a layer cannot be served live or its map does not fit its journal.
    pub fn format_before(setup: StackSetup) -> Result<Self, Fatal> {
        let (drives, mut begun) = (setup.below.len(), 0);
        Self::start(setup, &mut |setup| {
            begun += 1;
            if begun == drives { Performer::open(setup) } else { Performer::format(setup) }
        })
    }

    /// Starts on formatted drives.
    ///
    /// # Errors
    /// The reason when a layer cannot be served live or its map does not fit its journal.
    pub fn open(setup: StackSetup) -> Result<Self, Fatal> {
        Self::open_suspecting(setup, Vec::new())
    }

    /// Starts on formatted drives, of which blocks are known that could not be read: those that still cannot become
    /// `Lost`. `suspects` are those of each drive, in order.
    ///
    /// # Errors
    /// As [`Stack::open`].
    pub fn open_suspecting(setup: StackSetup, suspects: Vec<BTreeSet<Pba>>) -> Result<Self, Fatal> {
        let mut suspects = suspects.into_iter();
        Self::start(setup, &mut |setup| Performer::open_suspecting(setup, suspects.next().unwrap_or_default()))
    }

    /// Begins drive by drive, and then what stands on them.
    fn start(setup: StackSetup, begin: &mut dyn FnMut(Setup) -> Result<Performer, Fatal>) -> Result<Self, Fatal> {
        let mut below = Vec::new();
        for setup in setup.below {
            below.push(Self::start(setup, begin)?);
        }
        let top = begin(setup.top)?;
        let (asked, out) = (BTreeMap::new(), BTreeMap::new());
        let mut stack = Self { top, below, asked, out, next_out: 0, ended_below: 0 };
        stack.settle();
        Ok(stack)
    }

    /// How many drives there are.
    #[must_use]
    pub fn drives(&self) -> usize {
        self.below.iter().map(Self::drives).sum::<usize>().max(1)
    }

    /// Takes a request of `client`, to be answered under the number `id`.
    pub fn submit(&mut self, client: u32, id: u64, request: Request) {
        self.submit_all(client, id, [request]);
    }

    /// Takes requests of `client` that came together; see [`Performer::submit_all`].
    pub fn submit_all(&mut self, client: u32, first: u64, requests: impl IntoIterator<Item = Request>) {
        self.top.submit_all(client, first, requests);
        self.settle();
    }

    /// Says that writes which were acknowledged before this start may be lost, and that no client has been told.
    pub fn presume_loss(&mut self) {
        self.top.presume_loss();
    }

    /// Forgets a client that has gone.
    pub fn forget(&mut self, client: u32) {
        self.top.forget(client);
    }

    /// Says that the drives have been idle for `ns` nanoseconds.
    pub fn idle(&mut self, ns: u64) -> Offered {
        self.offer(&mut |runner| runner.idle(ns))
    }

    /// Says that cleaning was asked for.
    pub fn clean_asked(&mut self) -> Offered {
        self.offer(&mut Performer::clean_asked)
    }

    /// Says that the layer whose clients are served shall clean all that it can, and those below nothing for that: a
    /// cache writes home what is newer than the disk behind it.
    pub fn drain(&mut self) -> Offered {
        let offered = self.top.clean_asked();
        self.settle();
        offered
    }

    /// Says that writes are expected for which there should be so much room in the layer whose clients are served. Those
    /// below are told to have as much as is worth having.
    pub fn clean_ahead(&mut self, room: u64) -> Offered {
        let mut offered = self.top.clean_ahead(room);
        for device in &mut self.below {
            if let Some(Outlook { most, .. }) = device.standing().outlook {
                offered = offered.max(device.clean_ahead(most));
            }
        }
        self.settle();
        offered
    }

    /// Whether a layer below has less room than is worth having, and can gain some.
    #[must_use]
    pub fn is_short_below(&self) -> bool {
        let is_short = |Outlook { room, most, gain, .. }| room < most && gain > 0;
        self.below.iter().any(|device| device.standing().outlook.is_some_and(is_short) || device.is_short_below())
    }

    /// Asks the layer whose clients are served for at least `blocks` more blocks; see [`Performer::grow`].
    ///
    /// # Errors
    /// Why it cannot grow so.
    pub fn grow(&mut self, blocks: u64) -> Option<Result<(), CannotGrow>> {
        let asked = self.top.grow(blocks);
        self.settle();
        asked
    }

    /// Offers its growth time, though requests wait; see [`Performer::go_on_growing`].
    pub fn go_on_growing(&mut self) -> Offered {
        let offered = self.top.go_on_growing();
        self.settle();
        offered
    }

    /// Lets every runner clean, the top first.
    fn offer(&mut self, to: &mut dyn FnMut(&mut Performer) -> Offered) -> Offered {
        let mut offered = to(&mut self.top);
        for device in &mut self.below {
            offered = offered.max(device.offer(to));
        }
        self.settle();
        offered
    }

    /// How long the drives must have been idle before that is of any use to every layer, in nanoseconds.
    #[must_use]
    pub fn idle_after_ns(&self) -> u64 {
        let own = self.top.layer().map_or(0, TranslationLayer::idle_after_ns);
        self.below.iter().map(Self::idle_after_ns).fold(own, u64::max)
    }

    /// The next operation to carry out, and the number of the drive that it is for. On a drive, its device is
    /// [`Pba::DISK`].
    pub fn poll_io(&mut self) -> Option<(usize, Io)> {
        self.poll_io_if(&|_| true)
    }

    /// The next operation that is for one of the requests `ids`, if there is one.
    pub fn poll_io_for(&mut self, ids: &Range<u64>) -> Option<(usize, Io)> {
        self.poll_io_if(&|request| request.is_some_and(|id| ids.contains(&id)))
    }

    /// The next operation that is for a request, or none, which `is_wanted`.
    fn poll_io_if(&mut self, is_wanted: &dyn Fn(Option<u64>) -> bool) -> Option<(usize, Io)> {
        let Self { top, below, asked, out, next_out, .. } = self;
        if below.is_empty() {
            return top.poll_io_if(is_wanted).map(|io| (0, io));
        }
        let above = |request: Option<u64>| asked.get(&request?)?.request;
        let mut first = 0;
        for (index, device) in below.iter_mut().enumerate() {
            if let Some((drive, io)) = device.poll_io_if(&|request| is_wanted(above(request))) {
                let id = *next_out;
                *next_out += 1;
                out.insert(id, (index, io.id));
                return Some((first + drive, Io { id, kind: io.kind, request: above(io.request) }));
            }
            first += device.drives();
        }
        None
    }

    /// The next operations, at most `most` of them.
    #[must_use]
    pub fn waiting(&self, most: usize) -> Vec<Waiting> {
        if self.below.is_empty() {
            return self.top.waiting().take(most).collect();
        }
        let above = |waiting: Waiting| {
            let request = waiting.request.and_then(|id| self.asked.get(&id)?.request);
            Waiting { request, ..waiting }
        };
        self.below.iter().flat_map(|device| device.waiting(most)).map(above).take(most).collect()
    }

    /// Asks for a checkpoint of every layer.
    pub fn checkpoint(&mut self) {
        self.top.checkpoint();
        self.below.iter_mut().for_each(Self::checkpoint);
        self.settle();
    }

    /// How many operations [`Stack::poll_io`] has to give.
    #[must_use]
    pub fn pending_io(&self) -> usize {
        if self.below.is_empty() { self.top.pending_io() } else { self.below.iter().map(Self::pending_io).sum() }
    }

    /// The runner of the layer whose clients are served.
    #[must_use]
    pub fn top(&self) -> &Performer {
        &self.top
    }

    /// How the layer whose clients are served stands; as one that has nothing to say while it is not.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.top.layer().map_or_else(Standing::default, TranslationLayer::standing)
    }

    /// Takes the result of an operation.
    pub fn complete(&mut self, id: u64, result: IoResult) {
        self.complete_all([(id, result)]);
    }

    /// Takes the results of operations, by their numbers.
    pub fn complete_all(&mut self, results: impl IntoIterator<Item = (u64, IoResult)>) {
        if self.below.is_empty() {
            return self.top.complete_all(results);
        }
        for (id, result) in results {
            if let Some((index, inner)) = self.out.remove(&id) {
                self.below[index].complete(inner, result);
            }
        }
        self.settle();
    }

    /// The next answer to a request.
    pub fn poll_reply(&mut self) -> Option<Reply> {
        self.top.poll_reply()
    }

    /// Whether requests are being served, rather than recovery running.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.top.is_serving()
    }

    /// Why the store cannot be used, if it cannot.
    #[must_use]
    pub fn dead(&self) -> Option<&Fatal> {
        self.below.iter().find_map(Self::dead).or_else(|| self.top.dead())
    }

    /// What has been done so far, by all engines; the epochs are those of the top.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.below.iter().map(Self::counts).fold(self.top.counts(), |sum, below| Counts {
            commits: sum.commits + below.commits,
            checkpoints: sum.checkpoints + below.checkpoints,
            entries_read: sum.entries_read + below.entries_read,
            replayed: sum.replayed + below.replayed,
            ..sum
        })
    }

    /// What lies where, of the runners in the order of [`Stack::progress`]; nothing of a layer that does not say so.
    #[must_use]
    pub fn contents(&self) -> Vec<Option<Contents>> {
        let below = self.below.iter().flat_map(Self::contents);
        std::iter::once(self.top.layer().and_then(TranslationLayer::contents)).chain(below).collect()
    }

    /// How the runners stand: the top first, then those below it in the order of their drives.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        let below = self.below.iter().flat_map(Self::progress);
        std::iter::once(self.top.progress()).chain(below).collect()
    }

    /// The steps of cleaning, of all runners.
    #[must_use]
    pub fn steps(&self) -> Steps {
        self.below.iter().map(Self::steps).fold(self.top.steps(), |sum, below| Steps {
            begun: sum.begun + below.begun,
            under_way: sum.under_way + below.under_way,
            moved: sum.moved + below.moved,
        })
    }

    /// The most blocks that a step of cleaning moves by the configuration of any layer, if one says so.
    #[must_use]
    pub fn step_blocks(&self) -> Option<u32> {
        self.below.iter().map(Self::step_blocks).fold(self.top.facts().step_blocks, Option::max)
    }

    /// Bounds the steps of every layer; see [`Performer::bound_step`].
    pub fn bound_step(&mut self, blocks: u32) {
        self.top.bound_step(blocks);
        self.below.iter_mut().for_each(|device| device.bound_step(blocks));
    }

    /// Verifies the layers' invariants, and that folding the records of each gives its state.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        self.below.iter().try_for_each(Self::check)?;
        self.top.check()
    }

    /// Epochs that have ended, of all layers.
    fn ended(&self) -> u64 {
        self.top.counts().rebuilds + self.below.iter().map(Self::ended).sum::<u64>()
    }
}
