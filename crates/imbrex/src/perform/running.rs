//! Serving: planning requests and cleaning, and what becomes of them when an operation fails.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::commit::{self, Commit, Item, What};
use super::numbering::Made;
use super::operation::Operation;
use super::order::Order;
use super::recover::Recovery;
use super::request::Active;
use super::ring::Ring;
use super::room;
use super::rules::Rule;
use super::{Core, Failure, IoResult, Offered, Purpose, Queue, Request, Setup, State};
use crate::block::{self, Access, Extent, Lba, Pba};
use crate::layer::{Pressure, Step, TranslationLayer, Violation};
use crate::plan::{Op, Plan, Record};

/// Operations of plans that may be under way before no more are planned.
const OPERATIONS_LIMIT: usize = 1024;

/// Lives in a row that end before their first commit is durable, after which the store is given up: nothing would
/// change.
const STILLBORN_LIMIT: u32 = 5;

/// A write or trim of which blocks remain to be planned.
pub(super) struct Unplanned {
    pub id: u64,
    pub access: Access,
    pub at: Extent<Lba>,
    /// Blocks planned so far.
    pub done: u32,
}

/// What a flush vouches for.
#[derive(Copy, Clone)]
pub(super) enum Covers {
    /// Everything that was replied to; `client` is told what was lost.
    All { client: u32 },
    /// What was replied to in one life of the layer.
    Life(u64),
}

/// A layer that serves requests.
pub(super) struct Running {
    pub layer: Box<dyn TranslationLayer>,
    pub ram: Vec<Bytes>,
    pub plan: Plan,
    /// A plan kept back to be numbered after its successor; only with rule 1 switched off.
    pub kept_back: Option<Made>,
    pub next_seq: u64,
    pub order: Order,
    pub operations: BTreeMap<u64, Operation>,
    pub ready: VecDeque<u64>,
    pub requests: BTreeMap<u64, Active>,
    pub queue: Queue,
    /// Writes and trims in order; the first may be blocked.
    pub unplanned: VecDeque<Unplanned>,
    /// Flushes whose layer is not done.
    pub flushing: VecDeque<(u64, Covers)>,
    /// For each flush that waits for the journal, how many writes had been replied to.
    pub vouching: VecDeque<u64>,
    /// Moves of the clean plan in flight.
    pub cleaning: u32,
    /// Whether the layer waits for space to come back.
    pub awaiting_space: bool,
    /// Whether something was written since the last device flush was issued.
    pub dirty: bool,
    pub items: VecDeque<Item>,
    /// Of them, those that somebody waits for.
    pub urgent: usize,
    pub commit: Option<Commit>,
    pub ring: Ring,
    /// Journal blocks that the largest redo entry takes.
    pub redo_entry_blocks: usize,
    /// Whether the entry that begins this life is not durable yet.
    pub starting: bool,
    /// Whether a checkpoint was asked for.
    pub closing: bool,
    pub failed: bool,
    pub suspects: BTreeSet<Pba>,
    /// Places that should hold what could not be read for a request of the host, until they are written.
    pub unread: BTreeSet<Pba>,
    /// What the layer did that no layer may do.
    pub broken: Option<String>,
    /// When auditing: the records that were folded to begin this life and all planned since.
    pub history: Vec<Record>,
}

impl Running {
    pub fn new(
        layer: Box<dyn TranslationLayer>,
        setup: &Setup,
        ring: Ring,
        queue: Queue,
        history: Vec<Record>,
    ) -> Self {
        let redo_entry_blocks = room::redo_entry_blocks(setup.block_bytes, layer.most_redo_blocks());
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
            vouching: VecDeque::new(),
            cleaning: 0,
            awaiting_space: false,
            dirty: false,
            items: VecDeque::new(),
            urgent: 0,
            commit: None,
            ring,
            redo_entry_blocks,
            starting: true,
            closing: false,
            failed: false,
            suspects: BTreeSet::new(),
            unread: BTreeSet::new(),
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
            let committed = match self.broken.take().map_or(Ok(()), Err).and_then(|()| self.advance_commit(core)) {
                Ok(committed) => committed,
                Err(why) => {
                    self.fail_all(core);
                    let mut queue = std::mem::take(&mut self.queue);
                    return Some(core.die(why, &mut queue));
                }
            };
            if planned || committed || !self.ready.is_empty() || self.failed {
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
        core.lose();
        core.counts.rebuilds += 1;
        core.stillborn = if self.starting { core.stillborn + 1 } else { 0 };
        if core.stillborn == STILLBORN_LIMIT {
            let why =
                format!("the first commit of {STILLBORN_LIMIT} lives in a row failed: the journal cannot be written");
            return core.die(why, &mut std::mem::take(&mut self.queue));
        }
        // What was found to hold nothing that is needed, or recorded as lost, was so in this life, of which not all is
        // durable.
        let mut suspects = std::mem::take(&mut core.blank);
        suspects.append(&mut self.suspects);
        State::Recovering(Box::new(Recovery::open(suspects, std::mem::take(&mut self.queue))))
    }

    /// Answers every request that was planned, and every flush, with an error. A flush that merely waited must fail
    /// too: it would vouch for writes that were answered before it and are gone now.
    fn fail_all(&mut self, core: &mut Core) {
        for (id, _) in std::mem::take(&mut self.requests) {
            core.reply(id, Err(Failure::Io));
        }
        self.urgent = 0;
        let items = self.items.drain(..).chain(self.commit.take().into_iter().flat_map(|c| c.items));
        let mut flushes: Vec<u64> = self.flushing.drain(..).map(|(id, _)| id).collect();
        flushes.extend(items.filter_map(|item| match item.what {
            What::Barrier(id) => Some(id),
            _ => None,
        }));
        self.queue.retain(|(id, pending)| {
            let is_flush = matches!(pending.request, Request::Flush | Request::Fua { .. });
            flushes.extend(is_flush.then_some(*id));
            !is_flush
        });
        flushes.into_iter().for_each(|id| core.reply(id, Err(Failure::Io)));
    }

    /// Whether the operations under way and the records that wait for the journal leave room for another plan.
    fn may_plan(&self, core: &Core) -> bool {
        let room = self.order.len() < OPERATIONS_LIMIT && self.items.len() < commit::most_items(&core.setup);
        room && !self.owes_checkpoint() && !self.has_many_images(&core.setup)
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

    /// Plans writes and trims in order, cleaning when the first is blocked.
    pub fn plan_blocked(&mut self, core: &mut Core) -> bool {
        let (mut any, mut promised) = (false, false);
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
            any = true;
            if taken == 0 {
                if promised {
                    self.broken = Some(format!("the layer said that a write of {rest:?} fits, and took none of it"));
                    return any;
                }
                match self.clean(core, Pressure::Blocked(rest)) {
                    Some(Step::Done) => promised = true,
                    Some(Step::Nothing) => {
                        self.unplanned.pop_front();
                        self.fail_full(core, id);
                    }
                    Some(Step::More | Step::Hold) => return any,
                    Some(Step::Wait) | None => return promised,
                }
                continue;
            }
            promised = false;
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

    /// A step that no write waits for.
    pub fn clean_ahead(&mut self, core: &mut Core, why: Pressure) -> Offered {
        let may = self.is_serving() && self.unplanned.is_empty() && self.may_plan(core);
        match may.then(|| self.clean(core, why)).flatten() {
            None => Offered::Later,
            Some(Step::Nothing) => Offered::Declined,
            Some(_) => Offered::Taken,
        }
    }

    /// Has the layer move what lies in RAM for the flushes that wait; says whether anything came of it.
    fn plan_flushes(&mut self, core: &mut Core) -> bool {
        let mut any = false;
        while let Some(&(id, covers)) = self.flushing.front() {
            let is_lost = match covers {
                Covers::All { client } => core.tell(client),
                Covers::Life(life) => life != core.counts.rebuilds,
            };
            let result = if is_lost {
                Err(Failure::Io)
            } else if !core.setup.rules.keeps(Rule::FlushWaits) {
                Ok(Bytes::new())
            } else if self.awaiting_space {
                return any;
            } else {
                let (step, moved) = self.flush_layer(core);
                any |= moved;
                match step {
                    Step::Done => {
                        self.flushing.pop_front();
                        self.vouching.push_back(core.answered);
                        self.push_item(What::Barrier(id));
                        any = true;
                        continue;
                    }
                    Step::Nothing if !self.has_uncommitted() => Err(Failure::Full),
                    Step::More | Step::Hold if moved => continue,
                    _ => {
                        self.awaiting_space = true;
                        return any;
                    }
                }
            };
            any = true;
            self.flushing.pop_front();
            core.reply(id, result);
        }
        any
    }

    /// What a flush covers is durable.
    pub fn flushed(&mut self, core: &mut Core, id: u64) {
        core.vouched = self.vouching.pop_front().unwrap_or(core.vouched);
        core.reply(id, Ok(Bytes::new()));
    }

    /// One step of the layer's flush, and whether it planned anything.
    fn flush_layer(&mut self, core: &mut Core) -> (Step, bool) {
        let mut plan = std::mem::take(&mut self.plan);
        let step = self.layer.flush(&mut plan);
        let moved = !plan.is_empty();
        self.enqueue(core, plan, None, false);
        (step, moved)
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
