//! Serving: planning requests and cleaning, and what becomes of them when an operation fails.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::commit::{self, Commit, Item, Ring, What};
use super::operation::{Move, Operation};
use super::order::{Footprint, Order};
use super::recover::Recovery;
use super::rules::Rule;
use super::{Core, Failure, IoResult, Pending, Purpose, Queue, Request, Setup, State};
use crate::block::{self, Access, Address, Extent, Lba, Pba};
use crate::layer::{Pressure, Step, TranslationLayer, Violation};
use crate::plan::{Op, Place, Plan, Record, Unit};

/// Operations of plans that may be under way before no more are planned.
const OPERATIONS_LIMIT: usize = 1024;

/// A request that has been planned, in part or whole.
pub(super) struct Active {
    /// The host's content for a write.
    pub data: Bytes,
    /// Where a read's content is gathered.
    pub buffer: Vec<u8>,
    /// Moves under way.
    moves: u32,
    /// Whether more is to be planned.
    unplanned: bool,
    failed: Option<Failure>,
}

/// A write or trim of which blocks remain to be planned.
struct Unplanned {
    id: u64,
    access: Access,
    at: Extent<Lba>,
    /// Blocks planned so far.
    done: u32,
}

/// A plan as the layer made it.
struct Made {
    plan: Plan,
    /// The request it serves, and the block of the request that `Place::Host(0)` is.
    request: Option<(u64, u32)>,
    /// Whether it is a clean plan.
    cleaning: bool,
}

/// A layer that serves requests.
pub(super) struct Running {
    pub layer: Box<dyn TranslationLayer>,
    pub ram: Vec<Bytes>,
    plan: Plan,
    /// A plan kept back to be numbered after its successor; only with rule 1 switched off.
    kept_back: Option<Made>,
    pub next_seq: u64,
    pub order: Order,
    pub operations: BTreeMap<u64, Operation>,
    pub ready: VecDeque<u64>,
    pub requests: BTreeMap<u64, Active>,
    pub queue: Queue,
    /// Writes and trims in order; the first may be blocked.
    unplanned: VecDeque<Unplanned>,
    /// Flushes whose layer is not done.
    flushing: VecDeque<(u64, u32)>,
    /// Moves of the clean plan in flight.
    pub cleaning: u32,
    /// Whether the layer waits for space to come back.
    pub awaiting_space: bool,
    /// Whether something was written since the last device flush was issued.
    pub dirty: bool,
    pub items: VecDeque<Item>,
    pub commit: Option<Commit>,
    pub ring: Ring,
    /// Whether the entry that begins this life is not durable yet.
    pub starting: bool,
    pub failed: bool,
    pub suspects: BTreeSet<Pba>,
    /// What the layer did that no layer may do.
    broken: Option<String>,
    /// When auditing: the records that were folded to begin this life and all planned since.
    history: Vec<Record>,
}

impl Running {
    pub fn new(
        layer: Box<dyn TranslationLayer>,
        setup: &Setup,
        ring: Ring,
        queue: Queue,
        history: Vec<Record>,
    ) -> Self {
        let ram = vec![Bytes::from(vec![0; setup.block_bytes]); layer.ram_blocks() as usize];
        Self {
            layer,
            ram,
            plan: Plan::new(),
            kept_back: None,
            next_seq: 0,
            order: Order::default(),
            operations: BTreeMap::new(),
            ready: VecDeque::new(),
            requests: BTreeMap::new(),
            queue,
            unplanned: VecDeque::new(),
            flushing: VecDeque::new(),
            cleaning: 0,
            awaiting_space: false,
            dirty: false,
            items: VecDeque::new(),
            commit: None,
            ring,
            starting: true,
            failed: false,
            suspects: BTreeSet::new(),
            broken: None,
            history: if setup.audit { history } else { Vec::new() },
        }
    }

    /// Takes the plan of the layer's [`TranslationLayer::recovered`].
    pub fn begin(&mut self, core: &mut Core, plan: Plan) {
        self.number(core, &Made { plan, request: None, cleaning: false });
    }

    pub fn is_serving(&self) -> bool {
        !self.starting && !self.failed
    }

    /// Takes the result of a device operation.
    pub fn completed(&mut self, core: &mut Core, purpose: Purpose, result: IoResult) {
        match purpose {
            Purpose::Commit => self.commit_result(core, &result),
            Purpose::Operation(seq) if !self.failed => self.operation_result(core, seq, result),
            Purpose::Operation(_) | Purpose::Recovery(_) => {}
        }
    }

    /// Does all that can be done without the edge. The next state when this life has ended.
    pub fn advance(&mut self, core: &mut Core) -> Option<State> {
        loop {
            if self.failed {
                core.recall();
                return core.taken.is_empty().then(|| self.end_life(core));
            }
            self.start_ready(core);
            let planned = !self.starting && self.plan_more(core);
            if let Err(why) = self.broken.take().map_or(Ok(()), Err).and_then(|()| self.advance_commit(core)) {
                self.fail_all(core);
                let mut queue = std::mem::take(&mut self.queue);
                return Some(core.die(why, &mut queue));
            }
            if planned || !self.ready.is_empty() || self.failed {
                continue;
            }
            match self.kept_back.take() {
                Some(made) => self.number_kept(core, &made),
                None => return None,
            }
        }
    }

    /// Rule 10: answers what was under way with errors and begins to rebuild the layer.
    fn end_life(&mut self, core: &mut Core) -> State {
        self.fail_all(core);
        core.clients.values_mut().for_each(|must_fail| *must_fail = true);
        core.counts.rebuilds += 1;
        let suspects = std::mem::take(&mut self.suspects);
        State::Recovering(Box::new(Recovery::open(&core.setup, suspects, std::mem::take(&mut self.queue))))
    }

    /// Answers every request that was planned, and every flush, with an error. A flush that merely waited must fail too:
    /// it would vouch for writes that were answered before it and are gone now.
    fn fail_all(&mut self, core: &mut Core) {
        for (id, _) in std::mem::take(&mut self.requests) {
            core.reply(id, Err(Failure::Io));
        }
        let items = self.items.drain(..).chain(self.commit.take().into_iter().flat_map(|c| c.items));
        let mut flushes: Vec<u64> = self.flushing.drain(..).map(|(id, _)| id).collect();
        flushes.extend(items.filter_map(|item| match item.what {
            What::Barrier(id) => Some(id),
            _ => None,
        }));
        self.queue.retain(|(id, pending)| {
            let is_flush = matches!(pending.request, Request::Flush);
            flushes.extend(is_flush.then_some(*id));
            !is_flush
        });
        flushes.into_iter().for_each(|id| core.reply(id, Err(Failure::Io)));
    }

    /// Whether the operations under way and the records that wait for the journal leave room for another plan.
    fn may_plan(&self, core: &Core) -> bool {
        self.order.len() < OPERATIONS_LIMIT && self.items.len() < commit::most_items(&core.setup)
    }

    /// Plans what can be planned; says whether anything was.
    fn plan_more(&mut self, core: &mut Core) -> bool {
        let mut planned = self.plan_blocked(core);
        while self.may_plan(core)
            && self.unplanned.len() < OPERATIONS_LIMIT
            && let Some((id, pending)) = self.queue.pop_front()
        {
            self.accept(core, id, pending);
            planned = true;
        }
        planned | self.plan_flushes(core)
    }

    fn accept(&mut self, core: &mut Core, id: u64, pending: Pending) {
        let capacity = self.layer.capacity();
        let Pending { client, request } = pending;
        let block_bytes = core.setup.block_bytes;
        let (access, at, data) = match request {
            Request::Flush => return self.flushing.push_back((id, client)),
            Request::Read(at) => (Access::Read, at, Bytes::new()),
            Request::Write(at, data) => (Access::Write, at, data),
            Request::Trim(at) => (Access::Trim, at, Bytes::new()),
        };
        let fits = access != Access::Write || data.len() == at.blocks as usize * block_bytes;
        if at.is_empty() || !at.is_within(capacity) || !fits {
            return core.reply(id, Err(Failure::OutOfRange));
        }
        let buffer = if access == Access::Read { vec![0; at.blocks as usize * block_bytes] } else { Vec::new() };
        let active = Active { data, buffer, moves: 0, unplanned: true, failed: None };
        self.requests.insert(id, active);
        if access == Access::Read {
            let mut plan = std::mem::take(&mut self.plan);
            self.layer.read(at, &mut plan);
            self.enqueue(core, plan, Some((id, 0)), false);
            self.planned_whole(core, id);
        } else {
            self.unplanned.push_back(Unplanned { id, access, at, done: 0 });
            self.plan_blocked(core);
        }
    }

    /// Plans writes and trims in order, cleaning when the first is blocked.
    fn plan_blocked(&mut self, core: &mut Core) -> bool {
        let mut any = false;
        while self.may_plan(core)
            && let Some(&Unplanned { id, access, at, done }) = self.unplanned.front()
        {
            let mut plan = std::mem::take(&mut self.plan);
            let rest = at.skip(done);
            let taken = match access {
                Access::Trim => self.layer.trim(rest, &mut plan),
                _ => self.layer.write(rest, &mut plan),
            };
            self.enqueue(core, plan, Some((id, done)), false);
            if taken == 0 {
                let step = self.clean(core, Pressure::Blocked(rest));
                if step == Some(Step::Nothing) {
                    self.unplanned.pop_front();
                    self.fail_full(core, id);
                } else if step != Some(Step::Done) {
                    return any || matches!(step, Some(Step::More | Step::Hold));
                }
                any = true;
                continue;
            }
            any = true;
            if let Some(front) = self.unplanned.front_mut() {
                front.done += taken;
            }
            if done + taken == at.blocks {
                self.unplanned.pop_front();
                self.planned_whole(core, id);
            }
        }
        any
    }

    /// One clean step, unless one is in flight or space has yet to come back. Rule 1.
    fn clean(&mut self, core: &mut Core, why: Pressure) -> Option<Step> {
        if self.cleaning > 0 || self.awaiting_space {
            return None;
        }
        let waiting: Vec<block::Request> = self
            .unplanned
            .iter()
            .take(64)
            .map(|u| block::Request { access: u.access, at: u.at.skip(u.done) })
            .collect();
        let mut plan = std::mem::take(&mut self.plan);
        let step = self.layer.clean(why, &waiting, &mut plan);
        self.enqueue(core, plan, None, true);
        match step {
            Step::Wait => self.awaiting_space = true,
            Step::Nothing if matches!(why, Pressure::Blocked(_)) && self.has_uncommitted() => {
                self.awaiting_space = true;
                return None;
            }
            _ => {}
        }
        Some(step)
    }

    pub fn clean_idle(&mut self, core: &mut Core, ns: u64) {
        if self.is_serving() && self.unplanned.is_empty() {
            self.clean(core, Pressure::Idle { ns });
        }
    }

    fn plan_flushes(&mut self, core: &mut Core) -> bool {
        let mut any = false;
        while let Some(&(id, client)) = self.flushing.front() {
            any = true;
            if core.clients.insert(client, false) == Some(true) {
                self.flushing.pop_front();
                core.reply(id, Err(Failure::Io));
                continue;
            }
            if !core.setup.rules.keeps(Rule::FlushWaits) {
                self.flushing.pop_front();
                core.reply(id, Ok(Bytes::new()));
                continue;
            }
            let mut plan = std::mem::take(&mut self.plan);
            let step = self.layer.flush(&mut plan);
            let moved = !plan.is_empty();
            self.enqueue(core, plan, None, false);
            if step == Step::Done {
                self.flushing.pop_front();
                self.items.push_back(Item { before: self.next_seq, what: What::Barrier(id) });
            } else if step == Step::Wait || !moved {
                self.awaiting_space = true;
                return any;
            }
        }
        any
    }

    /// Numbers a plan as it is made. Rule 1.
    fn enqueue(&mut self, core: &mut Core, plan: Plan, request: Option<(u64, u32)>, cleaning: bool) {
        let mut made = Made { plan, request, cleaning };
        if core.setup.rules.keeps(Rule::PlansInOrder) {
            self.number(core, &made);
            made.plan.clear();
            self.plan = made.plan;
        } else if !made.plan.is_empty() {
            self.swap_with_next(core, made);
        }
    }

    /// What happens with rule 1 switched off: a plan is numbered after its successor.
    fn swap_with_next(&mut self, core: &mut Core, made: Made) {
        if let Some(active) = made.request.and_then(|(id, _)| self.requests.get_mut(&id)) {
            active.moves += 1;
        }
        match self.kept_back.take() {
            None => self.kept_back = Some(made),
            Some(earlier) => {
                self.number_kept(core, &made);
                self.number_kept(core, &earlier);
            }
        }
    }

    fn number_kept(&mut self, core: &mut Core, made: &Made) {
        self.number(core, made);
        if let Some((id, _)) = made.request {
            self.request_progress(core, id);
        }
    }

    /// Turns a plan's moves into operations and queues the rest for the journal.
    fn number(&mut self, core: &mut Core, made: &Made) {
        let mut redo = Vec::new();
        let mut redo_records = Vec::new();
        let mut redo_from = None;
        let keeps_redo = core.setup.rules.keeps(Rule::RedoFirst);
        for op in made.plan.ops() {
            match *op {
                Op::Move { from, to, blocks, redo: held, .. } => {
                    let held = held && keeps_redo;
                    let Made { request, cleaning, .. } = *made;
                    let first = self.next_seq;
                    self.add_move(core, Move { from, to, blocks, request, held, content: None, cleaning });
                    if held {
                        redo_from.get_or_insert((self.items.len(), first));
                        redo.extend(first..self.next_seq);
                    }
                }
                Op::Record { record, redo } => {
                    if matches!(record, Record::Map { to, .. } if to.is_ram())
                        && core.setup.rules.keeps(Rule::NoRecordOfRam)
                    {
                        self.broken = Some(format!("the layer recorded a place in RAM: {record:?}"));
                    }
                    self.remember(core, record);
                    if redo && keeps_redo {
                        redo_records.push(record);
                    } else {
                        self.push_item(What::Record(record));
                    }
                }
                Op::Reset(unit) => self.push_item(What::Reset(unit)),
                Op::Free(space) => self.push_item(What::Free(space)),
                Op::Count(..) => {}
            }
        }
        if let Some((at, before)) = redo_from {
            self.items.insert(at, Item { before, what: What::Redo { moves: redo, records: redo_records } });
        }
        if !core.setup.rules.keeps(Rule::ReuseAfterRecords) {
            self.take_effect_at_once(core);
        }
    }

    /// Keeps a record for [`Running::check`].
    pub(super) fn remember(&mut self, core: &Core, record: Record) {
        if core.setup.audit {
            self.history.push(record);
        }
    }

    pub(super) fn push_item(&mut self, what: What) {
        self.items.push_back(Item { before: self.next_seq, what });
    }

    /// Makes a Move an operation; several where places that are known to be unreadable and to hold nothing that is needed
    /// lie in its source. Zeros stand in for them.
    fn add_move(&mut self, core: &mut Core, m: Move) {
        if let Place::At(to) = m.to {
            core.blank.retain(|place| !Extent::new(to, m.blocks).contains(*place));
        }
        let Place::At(from) = m.from else { return self.add_whole_move(core, m) };
        let mut done = 0;
        while done < m.blocks {
            let rest = Extent::new(from, m.blocks).skip(done);
            let next = core.blank.range(rest.start..rest.end()).next().map(|place| place.since(rest.start) as u32);
            let (source, blocks) = match next {
                Some(0) => (Place::Zero, 1),
                Some(readable) => (Place::At(rest.start), readable),
                None => (Place::At(rest.start), rest.blocks),
            };
            let part = Move { from: source, to: m.to.continued(done), blocks, content: None, ..m };
            self.add_whole_move(core, part);
            done += blocks;
        }
    }

    fn add_whole_move(&mut self, core: &Core, m: Move) {
        if let Some(active) = m.request.and_then(|(id, _)| self.requests.get_mut(&id)) {
            active.moves += 1;
        }
        self.cleaning += u32::from(m.cleaning);
        let footprint = Footprint::of_move(m.from, m.to, m.blocks, core.setup.media.as_ref());
        self.add_operation(core, Operation::Move(m), footprint);
    }

    fn add_operation(&mut self, core: &Core, operation: Operation, footprint: Footprint) {
        let seq = self.next_seq;
        self.next_seq += 1;
        let ordered = core.setup.rules.keeps(Rule::ConflictsInOrder);
        let footprint = if ordered { footprint } else { Footprint::default() };
        self.operations.insert(seq, operation);
        if self.order.add(seq, footprint) {
            self.ready.push_back(seq);
        }
    }

    /// Rule 4: a reset may run now. Operations planned before it that touch its unit go first.
    pub(super) fn release_reset(&mut self, core: &mut Core, unit: Unit) {
        let space = core.setup.media.extent_of(unit);
        core.blank.retain(|place| !space.contains(*place));
        let footprint = Footprint::of_reset(unit, core.setup.media.as_ref());
        self.add_operation(core, Operation::Reset(unit), footprint);
    }

    /// Rule 4: space is the layer's again.
    pub(super) fn space_freed(&mut self, space: Extent<Pba>) {
        self.layer.freed(space);
        self.awaiting_space = false;
    }

    /// What happens with rule 4 switched off.
    fn take_effect_at_once(&mut self, core: &mut Core) {
        for item in std::mem::take(&mut self.items) {
            match item.what {
                What::Reset(unit) => self.release_reset(core, unit),
                What::Free(space) => self.space_freed(space),
                _ => self.items.push_back(item),
            }
        }
    }

    /// A request's last block has been planned.
    fn planned_whole(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.requests.get_mut(&id) {
            active.unplanned = false;
        }
        self.reply_if_complete(core, id);
    }

    /// One of a request's moves has completed.
    pub(super) fn request_progress(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.requests.get_mut(&id) {
            active.moves -= 1;
        }
        self.reply_if_complete(core, id);
    }

    pub(super) fn fail_request(&mut self, request: Option<(u64, u32)>) {
        if let Some(active) = request.and_then(|(id, _)| self.requests.get_mut(&id)) {
            active.failed = Some(Failure::Io);
        }
    }

    fn reply_if_complete(&mut self, core: &mut Core, id: u64) {
        if self.requests.get(&id).is_some_and(|active| active.moves == 0 && !active.unplanned)
            && let Some(active) = self.requests.remove(&id)
        {
            core.reply(id, active.failed.map_or(Ok(Bytes::from(active.buffer)), Err));
        }
    }

    /// No cleaning makes room for the rest of a write.
    fn fail_full(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.requests.get_mut(&id) {
            active.failed = Some(Failure::Full);
        }
        self.planned_whole(core, id);
    }

    /// Verifies the layer, and that folding the records gives its state.
    pub fn check(&self, setup: &Setup) -> Result<(), Violation> {
        self.layer.check()?;
        if !setup.audit {
            return Ok(());
        }
        let mut folded = (setup.make)();
        for record in &self.history {
            folded.apply(record).map_err(|e| Violation(format!("a record does not fold: {e}")))?;
        }
        let (folded, planned) = (restated(folded.as_ref()), restated(self.layer.as_ref()));
        if folded != planned {
            return Err(Violation(format!("the fold of the records is {folded:?}, the layer's state {planned:?}")));
        }
        Ok(())
    }
}

/// The records that describe a layer's whole durable state.
fn restated(layer: &dyn TranslationLayer) -> Vec<Op> {
    let mut plan = Plan::new();
    let mut next = Some(0);
    while let Some(from) = next {
        next = layer.restate(from, &mut plan);
    }
    plan.ops().to_vec()
}
