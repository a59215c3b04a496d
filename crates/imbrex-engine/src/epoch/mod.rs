//! An epoch of the layer: the layer, and all that has been planned by it and is not performed or not durable.
//!
//! Plans go in, numbered as they are made (rule 1). Their moves are carried out by [`Execution`], the rest waits for
//! the journal in [`Commits`]; what becomes durable takes effect here (rule 4). An epoch begins with a commit of its
//! own and ends when an operation fails (rule 10).

mod audit;
mod checkpoint;
mod numbering;
mod paging;

use std::collections::BTreeSet;

use bytes::Bytes;

use super::commit::Commits;
use super::core::{Core, Purpose};
use super::execution::{EndsEpoch, Execution};
use super::fatal::Fatal;
use super::items::{Flush, Item, What};
use super::pages::Pager;
use super::recover::NewEpoch;
use super::requests::{Part, Requests};
use super::rules::Rule;
use super::{IoResult, Setup};
use audit::Audit;
pub(super) use checkpoint::longest_checkpoint_part;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::{Freed, TranslationLayer, Violation};
use imbrex_core::plan::Plan;

/// Operations of plans that may be under way before no more are planned.
pub(super) const OPERATIONS_LIMIT: usize = 1024;

/// A plan as the layer made it.
struct Made {
    plan: Plan,
    serves: Serves,
}

/// What a plan serves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Serves {
    Request(Part),
    /// Writes that need space.
    Cleaning,
    /// A flush, or the layer's new epoch.
    Everybody,
}

impl Serves {
    fn request(self) -> Option<Part> {
        match self {
            Self::Request(part) => Some(part),
            Self::Cleaning | Self::Everybody => None,
        }
    }
}

/// How far an epoch has come.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Phase {
    /// The entry that begins it is not durable yet: nothing may be planned.
    Starting,
    /// Requests are served.
    Serving,
    /// Something has failed: what is under way drains.
    Ending {
        /// Whether the entry that began it was durable before.
        has_begun: bool,
    },
}

impl Phase {
    fn has_begun(self) -> bool {
        matches!(self, Self::Serving | Self::Ending { has_begun: true })
    }

    /// An entry is durable.
    fn begun(self) -> Self {
        match self {
            Self::Starting | Self::Serving => Self::Serving,
            Self::Ending { .. } => Self::Ending { has_begun: true },
        }
    }

    /// Something has failed.
    fn ending(self) -> Self {
        Self::Ending { has_begun: self.has_begun() }
    }
}

/// An epoch of the layer.
pub(super) struct Epoch {
    layer: Box<dyn TranslationLayer>,
    phase: Phase,
    execution: Execution,
    commits: Commits,
    /// The cache of the map's pages, if it is not in memory as a whole.
    pager: Option<Pager>,
    /// Pages that are asked for, so that asking allocates nothing.
    asked: Vec<u64>,
    /// Whether the layer waits for space to come back.
    awaits_space: bool,
    /// Why the store cannot be used, such as what the layer did that no layer may do.
    breach: Option<Fatal>,
    /// An empty plan, so that planning allocates nothing.
    scratch: Plan,
    /// A plan kept back to be numbered after its successor; only with rule 1 switched off.
    kept_back: Option<Made>,
    audit: Audit,
}

impl Epoch {
    /// Begins an epoch.
    pub fn begin(core: &mut Core, new: NewEpoch) -> Self {
        let NewEpoch { layer, records, lost, awaited, plan, ring, .. } = new;
        let mut epoch = Self {
            execution: Execution::new(&core.facts, core.setup.block_bytes),
            commits: Commits::new(&core.setup, ring, core.facts.journal.redo_blocks),
            pager: core.setup.map_home.map(|home| Pager::new(home, awaited)),
            asked: Vec::new(),
            breach: Self::refuse_pages(&core.setup, layer.as_ref()),
            layer,
            phase: Phase::Starting,
            awaits_space: false,
            scratch: Plan::new(),
            kept_back: None,
            audit: Audit::new(core.setup.audit, records),
        };
        lost.into_iter().for_each(|record| epoch.queue(What::Record(record)));
        epoch.number(core, &Made { plan, serves: Serves::Everybody });
        epoch
    }

    pub fn layer(&self) -> &dyn TranslationLayer {
        self.layer.as_ref()
    }

    pub fn layer_mut(&mut self) -> &mut dyn TranslationLayer {
        self.layer.as_mut()
    }

    pub fn requests_mut(&mut self) -> &mut Requests {
        &mut self.execution.requests
    }

    pub fn has_begun(&self) -> bool {
        self.phase.has_begun()
    }

    pub fn is_serving(&self) -> bool {
        self.phase == Phase::Serving
    }

    pub fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending { .. })
    }

    /// Rule 10: planning stops, and what is under way drains.
    pub fn end(&mut self) {
        self.phase = self.phase.ending();
    }

    /// The layer did what no layer may do: the store cannot be used.
    pub fn break_off(&mut self, why: String) {
        self.give_up(Fatal::Breach(why));
    }

    /// The store cannot be used.
    pub fn give_up(&mut self, why: Fatal) {
        self.breach = Some(why);
    }

    /// Whether the operations under way and the records that wait for the journal leave room for another plan.
    pub fn may_plan(&self, setup: &Setup) -> bool {
        self.execution.operations().len() < OPERATIONS_LIMIT && self.commits.have_room(setup)
    }

    /// Whether moves of a clean plan are under way.
    pub fn is_cleaning(&self) -> bool {
        self.execution.operations().cleaning() > 0
    }

    pub fn awaits_space(&self) -> bool {
        self.awaits_space
    }

    /// The layer plans nothing more until space comes back, or something else is durable.
    pub fn await_space(&mut self) {
        self.awaits_space = true;
    }

    /// Whether space may come back when something is durable that is not.
    pub fn may_get_space(&self) -> bool {
        self.commits.may_give_space()
    }

    /// Rule 4: space is the layer's again.
    fn space_freed(&mut self, space: Extent<Pba>) {
        self.layer.freed(space, Freed::GivenUp);
        self.awaits_space = false;
    }

    /// Adds what waits for the journal, behind all that has been planned.
    fn queue(&mut self, what: What) {
        let before = self.execution.operations().next_number();
        self.commits.items_mut().push(Item { before, what });
    }

    /// A flush for which the layer has nothing left to move is answered when all that has been planned is durable.
    pub fn queue_flush(&mut self, core: &Core, id: u64) {
        self.queue(What::Flush(Flush { id, acknowledged: core.losses.acknowledged() }));
    }

    /// Takes the result of a device operation.
    pub fn completed(&mut self, core: &mut Core, purpose: Purpose, result: IoResult) {
        match purpose {
            Purpose::Commit => self.commit_result(core, &result),
            Purpose::Operation(number) if !self.is_ending() => self.operation_result(core, number, result),
            Purpose::PageRead(_) | Purpose::PageWrite(_) if !self.is_ending() => {
                self.page_result(core, purpose, &result);
            }
            Purpose::Operation(_) | Purpose::PageRead(_) | Purpose::PageWrite(_) | Purpose::Recovery(_) => {}
        }
    }

    fn operation_result(&mut self, core: &mut Core, number: u64, result: IoResult) {
        match self.execution.result(core, number, result) {
            Ok(reset) => reset.into_iter().for_each(|space| self.space_freed(space)),
            Err(EndsEpoch) => self.end(),
        }
        // How the layer stands takes longer to say than most requests take to plan: it is asked only if that matters.
        let is_quiet = self.execution.operations().len() == 0;
        if is_quiet && self.execution.takes_much_ram() && !self.layer.standing().holds_ram {
            self.execution.clear_ram();
        }
    }

    fn commit_result(&mut self, core: &mut Core, result: &IoResult) {
        if matches!(result, IoResult::Failed) && core.setup.rules.keeps(Rule::FailuresEnd) {
            self.end();
        }
        if !self.is_ending()
            && let Some(items) = self.commits.operation_done(core)
        {
            self.committed(core, items);
        }
    }

    /// Starts the operations that became ready.
    pub fn start_ready(&mut self, core: &mut Core) {
        if self.execution.start_ready(core, self.layer.as_mut()).is_err() {
            self.end();
        }
    }

    /// Whether operations may start that have not.
    pub fn any_ready(&self) -> bool {
        self.execution.operations().any_ready()
    }

    /// Begins or continues a commit. Says whether it has ended, which takes no device operation when it has nothing to
    /// write: a request that waited for space must be tried again, since no completion will.
    ///
    /// # Errors
    /// Why the store cannot be used.
    pub fn advance_commit(&mut self, core: &mut Core) -> Result<bool, Fatal> {
        if let Some(why) = self.breach.take() {
            return Err(why);
        }
        self.bring_awaited(core);
        if !self.commits.is_under_way() && self.wants_commit(core.setup.gather) {
            self.begin_commit(core);
        }
        self.commits.leave_moves(core, &mut self.execution);
        let ended = self.commits.write(core, &self.execution, !self.has_begun())?;
        let has_ended = ended.is_some();
        ended.into_iter().for_each(|items| self.committed(core, items));
        if self.commits.want_more() {
            // A page that has been written since the drive was flushed is not durable: the next commit flushes it.
            let has_no_pages = self.pager.is_none();
            let (records, completes) =
                self.checkpoint_some(&core.setup, longest_checkpoint_part(&core.setup), has_no_pages);
            let is_open = completes.is_none() && self.has_regions_left();
            self.commits.write_more(core, &records, completes, is_open)?;
        }
        Ok(has_ended)
    }

    /// Whether more is added to a commit that is under way, so that nothing may be planned.
    pub fn is_checkpointing(&self) -> bool {
        self.commits.are_open()
    }

    fn wants_commit(&self, gather: usize) -> bool {
        !self.has_begun()
            || (self.commits.are_due(gather) && !self.waits_for_pages())
            || (self.awaits_space && !self.commits.items().is_empty())
            || self.pages_want_commit()
    }

    /// A commit is durable: lets happen what waited for it.
    fn committed(&mut self, core: &mut Core, items: Vec<Item>) {
        self.phase = self.phase.begun();
        self.pager.iter_mut().for_each(Pager::commit_ended);
        items.into_iter().for_each(|item| self.take_effect(core, item.what));
        // Space may have come back or may be coming: the layer knows, and is asked again.
        self.awaits_space = false;
    }

    fn take_effect(&mut self, core: &mut Core, what: What) {
        match what {
            What::Record(_) | What::Region(_) => {}
            What::Redo(redo) => self.execution.release(core, &redo.moves),
            What::Reset(unit) => self.execution.add_reset(core, unit),
            What::Free(space) => self.space_freed(space),
            What::Page(copy) => self.write_page(core, copy),
            What::Flush(Flush { id, acknowledged }) => {
                core.losses.settle(acknowledged);
                core.reply(id, Ok(Bytes::new()));
            }
        }
    }

    /// The next commit is to complete a checkpoint.
    pub fn ask_for_checkpoint(&mut self) {
        self.commits.ring_mut().ask_for_checkpoint();
    }

    /// Blocks of the journal that are in use.
    pub fn journal_used(&self) -> u64 {
        self.commits.ring().used()
    }

    /// Takes the flushes that wait for the journal; nothing will be durable any more.
    pub fn take_flushes(&mut self) -> Vec<u64> {
        self.commits.take_flushes()
    }

    /// Takes the places that could not be read.
    pub fn take_suspects(&mut self) -> BTreeSet<Pba> {
        self.execution.take_suspects()
    }

    /// Verifies the layer, and that folding the records gives its state.
    pub fn check(&self, setup: &Setup) -> Result<(), Violation> {
        self.layer.check()?;
        self.audit.check(setup, self.layer.as_ref())
    }
}
