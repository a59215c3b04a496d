//! Making records durable: group commit.
//!
//! A commit takes what is queued up to a point, waits for the moves planned before that point, flushes the device,
//! writes the entries, flushes again, and is durable. What may happen only then – resets and frees take effect, redo
//! moves write, flushes are answered – is up to the caller that takes its items back.

use std::collections::VecDeque;

use bytes::Bytes;

use super::core::{Core, Purpose};
use super::execution::Execution;
use super::fatal::Fatal;
use super::items::{Item, Items, What};
use super::joint::Joint;
use super::journal::Draft;
use super::operations::Operations;
use super::ring::{Due, Ring};
use super::room::redo_entry_blocks;
use super::rules::Rule;
use super::{IoKind, Setup};
use imbrex_core::block::Pba;
use imbrex_core::plan::Record;

/// A commit under way.
struct Commit {
    items: Vec<Item>,
    before: u64,
    /// The redo moves, in order.
    moves: Vec<u64>,
    /// Blocks of the journal that their images take at most.
    redo_blocks: usize,
    phase: Phase,
    /// The checkpoint's beginning, if its last region is in this commit.
    completes: Option<u64>,
    entries: u64,
    /// Whether more of a checkpoint comes: all at a time would take too much memory.
    is_open: bool,
    /// What is still to be written, step by step.
    steps: VecDeque<Vec<IoKind>>,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Phase {
    /// Waits for the moves planned before it.
    Moves,
    /// Waits for the device flush that makes them durable.
    FlushData,
    /// They are durable.
    Ready,
    /// Waits for the writes of a step.
    Write {
        left: usize,
    },
    /// Waits for more of the checkpoint that it is to complete.
    More,
    FlushJournal,
}

/// What waits for the journal, the commit under way, and the journal's ring.
pub(super) struct Commits {
    items: Items,
    under_way: Option<Commit>,
    ring: Ring,
    /// Journal blocks that the largest redo entry takes.
    redo_entry_blocks: usize,
}

/// Items that may wait for the journal before no more is planned.
fn most_items(setup: &Setup) -> usize {
    2 * setup.gather
}

impl Commits {
    /// For a layer whose redo moves write at most `most_redo_blocks` blocks of a plan.
    pub fn new(setup: &Setup, ring: Ring, most_redo_blocks: u32) -> Self {
        let redo_entry_blocks = redo_entry_blocks(setup.block_bytes, most_redo_blocks);
        Self { items: Items::default(), under_way: None, ring, redo_entry_blocks }
    }

    pub fn items(&self) -> &Items {
        &self.items
    }

    pub fn items_mut(&mut self) -> &mut Items {
        &mut self.items
    }

    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    pub fn ring_mut(&mut self) -> &mut Ring {
        &mut self.ring
    }

    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether there is room for the items of another plan.
    pub fn have_room(&self, setup: &Setup) -> bool {
        self.items.len() < most_items(setup) && !self.are_open() && !self.owe_checkpoint() && !self.have_many_images()
    }

    /// Whether space may come back when something is durable that is not.
    pub fn may_give_space(&self) -> bool {
        self.is_under_way() || self.items.give_space()
    }

    /// Whether planning has to pause until the rest of a checkpoint is on its way: it covers what was planned, so it
    /// cannot come before a redo plan in the queue, and redo plans without a pause would never let it come at all.
    fn owe_checkpoint(&self) -> bool {
        self.ring.needs_checkpoint() && self.under_way.as_ref().is_none_or(|commit| commit.completes.is_none())
    }

    /// Whether images wait for the journal that, with those of another plan, would be more than it keeps room for.
    fn have_many_images(&self) -> bool {
        let under_way = self.under_way.as_ref().map_or(0, |commit| commit.redo_blocks);
        self.items.journal_blocks() + under_way > self.redo_entry_blocks
    }

    /// Whether a commit is due for the sake of the queue or the ring.
    pub fn are_due(&self, gather: usize) -> bool {
        matches!(self.ring.due(), Due::Rest | Due::Share) || self.items.len() >= gather || self.items.has_urgent()
    }

    /// Begins a commit.
    pub fn begin(&mut self, setup: &Setup, completes: Option<u64>, operations: &Operations) {
        let mut joint = Joint::new(operations, most_items(setup));
        let items = self.items.take_commit(|item| joint.take(item));
        let before = items.iter().map(|item| item.before).max().unwrap_or(operations.next_number());
        self.under_way = Some(Commit {
            before,
            moves: joint.moves,
            redo_blocks: items.iter().map(Item::journal_blocks).sum(),
            items,
            phase: Phase::Moves,
            completes,
            entries: 0,
            is_open: false,
            steps: VecDeque::new(),
        });
    }

    /// The commit that has begun is to complete a checkpoint of which it has a part only.
    pub fn leave_open(&mut self) {
        self.under_way.iter_mut().for_each(|commit| commit.is_open = true);
    }

    /// Whether a commit is under way to which more will be added, so that nothing may be planned.
    pub fn are_open(&self) -> bool {
        self.under_way.as_ref().is_some_and(|commit| commit.is_open)
    }

    /// Whether all has been written that is in that commit so far.
    pub fn want_more(&self) -> bool {
        self.under_way.as_ref().is_some_and(|commit| commit.phase == Phase::More)
    }

    /// Goes on with that commit, and leaves it `open` for more; `completes` is where the checkpoint began, if these are
    /// its last records.
    ///
    /// # Errors
    /// The reason when the ring has no room left.
    pub fn write_more(
        &mut self,
        core: &mut Core,
        records: &[Record],
        completes: Option<u64>,
        open: bool,
    ) -> Result<(), Fatal> {
        let Some(commit) = self.under_way.as_mut() else { return Ok(()) };
        let mut entries = Entries::new(&core.setup);
        records.iter().for_each(|record| entries.add(record));
        commit.entries += entries.drafts.len() as u64;
        (commit.completes, commit.is_open) = (completes, open);
        commit.steps = self.ring.add(&core.setup, &entries.drafts, completes, commit.is_open)?;
        commit.next_step(core);
        Ok(())
    }

    /// Goes on once the moves planned before the commit are done.
    pub fn leave_moves(&mut self, core: &mut Core, execution: &mut Execution) {
        let keeps = core.setup.rules.keeps(Rule::RecordsAfterMoves);
        let Some(commit) = self.under_way.as_mut().filter(|commit| commit.phase == Phase::Moves) else { return };
        if keeps && execution.operations().any_before(commit.before, &commit.moves) {
            return;
        }
        execution.take_images(&commit.moves, core.setup.block_bytes);
        if !execution.have_images(&commit.moves) {
            return;
        }
        commit.phase = if keeps && execution.take_unflushed() {
            core.issue(Purpose::Commit, IoKind::Flush);
            Phase::FlushData
        } else {
            Phase::Ready
        };
    }

    /// Writes the records of a commit that is ready for it; `begins_epoch` if it is the first of an epoch. With none to
    /// write the commit is done: then its items.
    ///
    /// # Errors
    /// The reason when the ring has no room left.
    pub fn write(
        &mut self,
        core: &mut Core,
        execution: &Execution,
        begins_epoch: bool,
    ) -> Result<Option<Vec<Item>>, Fatal> {
        let Some(commit) = self.under_way.as_mut().filter(|commit| commit.phase == Phase::Ready) else {
            return Ok(None);
        };
        let mut entries = commit.entries(&core.setup, execution);
        // An empty one is written where a new epoch, the end of a redo plan or of a checkpoint must be noted.
        if entries[0].is_empty() && !begins_epoch && !self.ring.is_unmarked() && commit.completes.is_none() {
            entries.clear();
        }
        commit.entries = entries.len() as u64;
        commit.steps = self.ring.add(&core.setup, &entries, commit.completes, commit.is_open)?;
        if commit.steps.is_empty() {
            return Ok(self.end(core));
        }
        commit.next_step(core);
        Ok(None)
    }

    /// A device operation of the commit has been done. The commit's items, if that makes it durable.
    pub fn operation_done(&mut self, core: &mut Core) -> Option<Vec<Item>> {
        let commit = self.under_way.as_mut()?;
        if commit.phase == Phase::FlushJournal {
            return self.end(core);
        }
        commit.operation_done(core);
        None
    }

    /// The commit is durable. Its items.
    fn end(&mut self, core: &mut Core) -> Option<Vec<Item>> {
        let commit = self.under_way.take()?;
        core.counts.commits += commit.entries;
        if commit.entries > 0 {
            self.ring.entries_durable();
        }
        if commit.completes.is_some() {
            core.counts.checkpoints += 1;
            self.ring.checkpointed();
        }
        Some(commit.items)
    }

    /// Takes the flushes that wait to be answered; nothing will be durable any more.
    pub fn take_flushes(&mut self) -> Vec<u64> {
        let items = self.items.take_all().chain(self.under_way.take().into_iter().flat_map(|commit| commit.items));
        let flush = |item: Item| if let What::Flush(flush) = item.what { Some(flush.id) } else { None };
        items.filter_map(flush).collect()
    }
}

impl Commit {
    /// The commit's records and images as entries: at least one, which may be empty.
    fn entries(&self, setup: &Setup, execution: &Execution) -> Vec<Draft> {
        let mut entries = Entries::new(setup);
        for item in &self.items {
            match &item.what {
                What::Record(record) => entries.add(record),
                What::Region(records) => records.iter().for_each(|record| entries.add(record)),
                What::Redo(redo) => {
                    let images = execution.images(&redo.moves, setup.block_bytes).unwrap_or_default();
                    entries.add_together(&redo.records, images);
                }
                What::Reset(_) | What::Free(_) | What::Flush(_) | What::Page(_) => {}
            }
        }
        entries.drafts
    }

    fn operation_done(&mut self, core: &mut Core) {
        match self.phase {
            Phase::FlushData => self.phase = Phase::Ready,
            Phase::Write { left: 1 } => self.next_step(core),
            Phase::Write { left } => self.phase = Phase::Write { left: left - 1 },
            Phase::Moves | Phase::Ready | Phase::More | Phase::FlushJournal => {}
        }
    }

    /// Begins the next step of writing; after the last one, makes all of them durable, unless more is to come.
    fn next_step(&mut self, core: &mut Core) {
        let step = self.steps.pop_front();
        if step.is_none() && self.is_open {
            self.phase = Phase::More;
            return;
        }
        self.phase = step.as_ref().map_or(Phase::FlushJournal, |step| Phase::Write { left: step.len() });
        for kind in step.unwrap_or_else(|| vec![IoKind::Flush]) {
            core.issue(Purpose::Commit, kind);
        }
    }
}

/// The entries of a commit while they are made.
struct Entries<'a> {
    setup: &'a Setup,
    /// At least one.
    drafts: Vec<Draft>,
}

impl<'a> Entries<'a> {
    fn new(setup: &'a Setup) -> Self {
        Self { setup, drafts: vec![Draft::new(setup.coding)] }
    }

    /// The entry that has room for `records` records and `images` images, or is empty.
    fn with_room(&mut self, records: usize, images: usize) -> Option<&mut Draft> {
        let Setup { block_bytes, entry_blocks, coding, .. } = *self.setup;
        let is_full = |last: &Draft| last.blocks_with(records, images, block_bytes) > entry_blocks && !last.is_empty();
        if self.drafts.last().is_some_and(is_full) {
            self.drafts.push(Draft::new(coding));
        }
        self.drafts.last_mut()
    }

    /// Adds a record. A commit counts whole or not at all, so no two of them have to be in one entry.
    fn add(&mut self, record: &Record) {
        if let Some(last) = self.with_room(1, 0) {
            last.push(record);
        }
    }

    /// Adds images with their records.
    fn add_together(&mut self, records: &[Record], images: Vec<(Pba, Bytes)>) {
        if let Some(last) = self.with_room(records.len(), images.len()) {
            records.iter().for_each(|record| last.push(record));
            last.extend_images(images);
        }
    }
}
