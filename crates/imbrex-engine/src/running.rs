//! Serving: planning requests and cleaning, and what becomes of them when an epoch of the layer ends.

mod flushing;
mod located;
mod paging;

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::content::Content;
use super::core::{Core, Pending, Purpose};
use super::epoch::{Epoch, Serves};
use super::fatal::Fatal;
use super::recover::NewEpoch;
use super::requests::Part;
use super::{Failure, IoResult, Offered, Request};
use flushing::Covers;
use imbrex_core::block::{self, Access, Extent, Lba, Pba};
use imbrex_core::layer::{CannotGrow, Pressure, Step, TranslationLayer, Write};
use imbrex_core::plan::Plan;
use located::reads_where_it_lies;
use paging::Reading;

/// Requests that may wait for room, or for pages of the map, before no more are taken from the queue.
const UNPLANNED_LIMIT: usize = 1024;

/// Epochs in a row that end before their first commit is durable, after which the store is given up: nothing would
/// change.
const FAILED_STARTS_LIMIT: u32 = 5;

/// What a request wants of blocks.
struct Wanted {
    id: u64,
    access: Access,
    at: Extent<Lba>,
    /// Whether it changes what is read, so that its loss matters to a client.
    is_write: bool,
}

impl Wanted {
    fn of(id: u64, access: Access, at: Extent<Lba>) -> Self {
        Self { id, access, at, is_write: access == Access::Write }
    }
}

/// A write or trim of which blocks remain to be planned.
struct Unplanned {
    id: u64,
    access: Access,
    at: Extent<Lba>,
    /// Bytes of the client's request.
    bytes: u64,
    /// Blocks planned so far.
    done: u32,
}

/// How serving ends.
pub(super) enum End {
    /// The layer's epoch has, and a new one may begin: these places could not be read.
    Epoch(BTreeSet<Pba>),
    /// The store cannot be used.
    GivenUp(Fatal),
}

/// A layer that serves requests.
pub(super) struct Running {
    epoch: Epoch,
    /// Writes and trims in order; the first may be blocked.
    unplanned: VecDeque<Unplanned>,
    /// Whether the first has been tried in vain since there was room, of a layer with pages of its map.
    finds_no_room: bool,
    /// Reads that wait for pages of the map.
    reading: VecDeque<Reading>,
    /// Places that hold nothing that can be read, until that is recorded: nothing else is planned before.
    lost: BTreeSet<Pba>,
    /// Flushes whose layer is not done.
    flushing: VecDeque<(u64, Covers)>,
    /// What became of the time that a growth was offered: [`Offered::Later`] while its step has still to be planned,
    /// and nothing when the caller that offered it knows.
    turn: Option<Offered>,
}

impl Running {
    pub fn new(core: &mut Core, new: NewEpoch) -> Self {
        let lost = new.unreadable.clone();
        Self {
            epoch: Epoch::begin(core, new),
            unplanned: VecDeque::new(),
            finds_no_room: false,
            reading: VecDeque::new(),
            lost,
            flushing: VecDeque::new(),
            turn: None,
        }
    }

    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    pub fn layer_mut(&mut self) -> &mut dyn TranslationLayer {
        self.epoch.layer_mut()
    }

    /// How many writes wait for room or for their turn.
    pub fn blocked(&self) -> usize {
        self.unplanned.len()
    }

    /// A device may have lost what it has completed since its last flush. Rule 10.
    pub fn device_restarted(&mut self) {
        self.epoch.end();
    }

    pub fn ask_for_checkpoint(&mut self) {
        self.epoch.ask_for_checkpoint();
    }

    /// Takes the result of a device operation.
    pub fn completed(&mut self, core: &mut Core, purpose: Purpose, result: IoResult) {
        self.epoch.completed(core, purpose, result);
    }

    /// Does all that can be done before an operation of a device ends. How serving ends, if it has.
    pub fn advance(&mut self, core: &mut Core) -> Option<End> {
        loop {
            if self.epoch.is_ending() {
                core.recall();
                return core.is_idle().then(|| self.end(core));
            }
            self.epoch.start_ready(core);
            let planned = self.epoch.has_begun() && self.plan_more(core);
            let committed = match self.epoch.advance_commit(core) {
                Ok(committed) => committed,
                Err(why) => {
                    self.fail_all(core);
                    return Some(End::GivenUp(why));
                }
            };
            let goes_on = planned || committed || self.epoch.any_ready() || self.epoch.is_ending();
            if !goes_on && !self.epoch.number_kept_back(core) {
                return None;
            }
        }
    }

    /// Rule 10: answers what was under way with errors; the layer is to be rebuilt.
    fn end(&mut self, core: &mut Core) -> End {
        self.fail_all(core);
        core.losses.end_epoch();
        core.counts.rebuilds += 1;
        core.failed_starts = if self.epoch.has_begun() { 0 } else { core.failed_starts + 1 };
        if core.failed_starts == FAILED_STARTS_LIMIT {
            return End::GivenUp(Fatal::FirstCommitFails { times: FAILED_STARTS_LIMIT });
        }
        // What was found to hold nothing that is needed, or recorded as lost, was so in this epoch, of which not all is
        // durable.
        let mut suspects = std::mem::take(&mut core.blank);
        suspects.append(&mut self.epoch.take_suspects());
        End::Epoch(suspects)
    }

    /// Answers every request that was planned, and every flush, with an error. A flush that merely waited must fail
    /// too: it would confirm writes that were acknowledged before it and are gone now.
    fn fail_all(&mut self, core: &mut Core) {
        self.epoch.requests_mut().fail_all(core);
        let flushes = self.flushing.drain(..).map(|(id, _)| id).chain(self.epoch.take_flushes());
        flushes.for_each(|id| core.reply(id, Err(Failure::Io)));
        core.fail_queued_flushes();
    }

    /// Plans what can be planned; says whether anything was.
    fn plan_more(&mut self, core: &mut Core) -> bool {
        self.epoch.let_go();
        let mut planned = self.plan_lost(core);
        if !self.lost.is_empty() {
            return planned;
        }
        planned |= self.plan_reads(core);
        planned |= self.plan_growth(core);
        planned |= self.plan_blocked(core);
        while self.epoch.may_plan(&core.setup)
            && self.unplanned.len() + self.reading.len() < UNPLANNED_LIMIT
            && let Some((id, pending)) = core.queue.pop_front()
        {
            self.accept(core, id, pending);
            planned = true;
        }
        planned | self.plan_flushes(core)
    }

    fn accept(&mut self, core: &mut Core, id: u64, Pending { client, request }: Pending) {
        match request {
            Request::Flush => self.flushing.push_back((id, Covers::All { client })),
            Request::Fua { epoch } => self.flushing.push_back((id, Covers::Epoch(epoch))),
            Request::Read(at) => self.accept_access(core, Wanted::of(id, Access::Read, at), Content::default(), None),
            Request::Write(at, data) => self.accept_access(core, Wanted::of(id, Access::Write, at), data.into(), None),
            Request::Batched { at, contents, from } => {
                let bytes = at.blocks as usize * core.setup.block_bytes;
                // Of one that is not all there nothing is, and it is refused.
                let own = Content::part(contents, from, bytes).unwrap_or_default();
                self.accept_access(core, Wanted::of(id, Access::Write, at), own, None);
            }
            Request::Merged { at, content, given_bytes, .. } => {
                self.accept_access(core, Wanted::of(id, Access::Write, at), content.into(), Some(given_bytes));
            }
            Request::Trim(at) => self.accept_access(core, Wanted::of(id, Access::Trim, at), Content::default(), None),
            Request::Zero(at) => self.accept_zeros(core, id, at),
        }
    }

    /// Accepts a write of zeros: as a trim where that leaves zeros, and is lost like a write.
    fn accept_zeros(&mut self, core: &mut Core, id: u64, at: Extent<Lba>) {
        if core.facts.trims_to_zeros {
            let trim = Wanted { is_write: true, ..Wanted::of(id, Access::Trim, at) };
            return self.accept_access(core, trim, Content::default(), None);
        }
        let blocks = if at.is_within(self.epoch.layer().capacity()) { at.blocks as usize } else { 0 };
        let zeros = Bytes::from(vec![0; blocks * core.setup.block_bytes]);
        self.accept_access(core, Wanted::of(id, Access::Write, at), zeros.into(), None);
    }

    /// Accepts an access, of which `given_bytes` bytes were given, if not all.
    fn accept_access(
        &mut self,
        core: &mut Core,
        Wanted { id, access, at, is_write }: Wanted,
        data: Content,
        given_bytes: Option<u64>,
    ) {
        let bytes = at.blocks as usize * core.setup.block_bytes;
        let fits = access != Access::Write || data.len() == bytes;
        if at.is_empty() || !at.is_within(self.epoch.layer().capacity()) || !fits {
            return core.reply(id, Err(Failure::OutOfRange));
        }
        let is_read = access == Access::Read;
        self.epoch.requests_mut().begin(id, data, if is_read { bytes } else { 0 }, is_write);
        if is_read && self.epoch.has_pages() {
            self.reading.push_back(Reading::new(Wanted { id, access, at, is_write }));
        } else if is_read {
            self.plan_read(core, Part { id, first: 0 }, at);
            self.epoch.requests_mut().planned_whole(core, id);
        } else {
            let bytes = given_bytes.unwrap_or(bytes as u64);
            self.unplanned.push_back(Unplanned { id, access, at, bytes, done: 0 });
            self.plan_blocked(core);
        }
    }

    /// Plans a read, or a part of one.
    fn plan_read(&mut self, core: &mut Core, part: Part, at: Extent<Lba>) {
        self.epoch.plan(core, Serves::Request(part), |layer, plan| {
            let (mut located, before) = (Plan::new(), plan.ops().len());
            if cfg!(debug_assertions) {
                layer.locate(at, &mut located);
            }
            layer.read(at, plan);
            let read = &plan.ops()[before..];
            debug_assert!(reads_where_it_lies(at, located.ops(), read), "{at:?} is not read where it lies");
        });
    }

    /// Plans writes and trims in order, cleaning when the first is blocked.
    fn plan_blocked(&mut self, core: &mut Core) -> bool {
        let (mut any, mut tried, mut promised) = (false, false, false);
        while self.epoch.may_plan(&core.setup)
            && let Some(&Unplanned { id, at, done, .. }) = self.unplanned.front()
        {
            let rest = at.skip(done);
            if !self.finds_no_room {
                if !self.bring_first(core, rest) {
                    self.bring_ahead(core);
                    return any;
                }
                let taken = self.plan_first(core);
                (any, tried) = (true, true);
                if taken > 0 {
                    promised = false;
                    continue;
                }
                if promised {
                    self.epoch.break_off(format!("the layer said that a write of {rest:?} fits, and took none of it"));
                    return any;
                }
                // Until there is room, its pages may leave for what makes room: together there may be too many.
                self.finds_no_room = self.epoch.has_pages();
                self.epoch.let_go();
            }
            match self.clean(core, Pressure::Blocked(rest)) {
                Some(Step::Done) => (promised, self.finds_no_room) = (true, false),
                Some(Step::Nothing) => {
                    self.finds_no_room = false;
                    self.unplanned.pop_front();
                    self.epoch.requests_mut().fail_full(core, id);
                }
                Some(Step::More | Step::Hold) => return true,
                // Space that came back meanwhile is found by the write.
                Some(Step::Wait) if !tried => self.finds_no_room = false,
                Some(Step::Wait) | None => return promised,
            }
        }
        any
    }

    /// Lets the layer plan what it can of the first write or trim; says how many blocks that was.
    fn plan_first(&mut self, core: &mut Core) -> u32 {
        let Some(first) = self.unplanned.front_mut() else { return 0 };
        let Unplanned { id, access, at, bytes, done } = *first;
        let rest = at.skip(done);
        // An epoch that begins in the middle of a request knows the rest of it only.
        let bytes = if done == 0 { bytes } else { u64::from(rest.blocks) * core.setup.block_bytes as u64 };
        let serves = Serves::Request(Part { id, first: done });
        let taken = self.epoch.plan(core, serves, |layer, plan| match access {
            Access::Trim => layer.trim(rest, plan),
            _ => layer.write(Write { at: rest, request_bytes: Some(bytes) }, plan),
        });
        first.done += taken;
        if taken > 0 && first.done == at.blocks {
            self.unplanned.pop_front();
            self.epoch.requests_mut().planned_whole(core, id);
        }
        taken
    }

    /// One clean step, unless one is in flight or space has yet to come back. Rule 1.
    fn clean(&mut self, core: &mut Core, why: Pressure) -> Option<Step> {
        if self.epoch.is_cleaning() || self.epoch.awaits_space() || !self.bring_for_cleaning(core) {
            return None;
        }
        let waiting: Vec<block::Request> = self
            .unplanned
            .iter()
            .take(64)
            .map(|u| block::Request { access: u.access, at: u.at.skip(u.done) })
            .collect();
        let step = self.epoch.plan(core, Serves::Cleaning, |layer, plan| layer.clean(why, &waiting, plan));
        let is_blocked = matches!(why, Pressure::Blocked(_));
        let may_be_full = step == Step::Nothing && is_blocked && self.epoch.may_get_space();
        if step == Step::Wait || may_be_full {
            self.epoch.await_space();
        }
        (!may_be_full).then_some(step)
    }

    /// A step that no write waits for.
    pub fn clean_ahead(&mut self, core: &mut Core, why: Pressure) -> Offered {
        let may = self.epoch.is_serving() && self.unplanned.is_empty() && self.epoch.may_plan(&core.setup);
        match may.then(|| self.clean(core, why)).flatten() {
            None => Offered::Later,
            Some(Step::Nothing) => Offered::Declined,
            Some(_) => Offered::Taken,
        }
    }

    /// Lets the layer add space, if anything can be planned.
    pub fn grow(&mut self, core: &mut Core, blocks: u64) -> Option<Result<(), CannotGrow>> {
        let may = self.epoch.is_serving() && self.epoch.may_plan(&core.setup);
        may.then(|| {
            self.epoch.plan(core, Serves::Cleaning, |layer, plan| match layer.growing() {
                Some(growing) => growing.grow(blocks, plan),
                None => Err(CannotGrow::Never),
            })
        })
    }

    /// A step of the growth that was asked for: now, or else before the next one that makes room for a write.
    pub fn go_on_growing(&mut self, core: &mut Core) -> Offered {
        if self.turn.is_none() {
            self.turn = Some(Offered::Later);
            self.plan_growth(core);
        }
        self.turn.take_if(|turn| *turn != Offered::Later).unwrap_or(Offered::Later)
    }

    /// Plans the step that a growth has been offered time for, as soon as there may be one; says whether it has.
    fn plan_growth(&mut self, core: &mut Core) -> bool {
        let may = self.epoch.is_serving() && self.epoch.may_plan(&core.setup);
        if self.turn != Some(Offered::Later) || !may {
            return false;
        }
        let step = match self.epoch.layer().standing().growth {
            Some(_) => self.clean(core, Pressure::Idle { ns: 0 }),
            None => Some(Step::Nothing),
        };
        self.turn = step.map_or(self.turn, |step| match step {
            Step::Nothing => Some(Offered::Declined),
            _ => Some(Offered::Taken),
        });
        step.is_some_and(|step| step != Step::Nothing)
    }
}
