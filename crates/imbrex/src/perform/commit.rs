//! Making records durable: group commit, checkpoint, and what may happen only afterwards.
//!
//! A commit takes what is queued up to a point, waits for the moves planned before that point, flushes the device,
//! writes the entries, flushes again, and then lets resets and frees take effect, redo moves write, and flushes be
//! answered. When half the ring is in use, commits carry regions of a checkpoint as well; when the last region is
//! durable the ring's tail moves to where the checkpoint began.

use std::collections::VecDeque;

use bytes::Bytes;

use super::journal::{self, Entry, Header};
use super::room::redo_entry_blocks;
use super::rules::Rule;
use super::running::Running;
use super::{Core, IoKind, IoResult, Purpose, Setup};
use crate::block::{Extent, Pba};
use crate::plan::{Op, Plan, Record, Unit};

/// Something that waits for the journal.
pub(super) struct Item {
    /// Moves with lower numbers were planned before it.
    pub before: u64,
    pub what: What,
}

pub(super) enum What {
    Record(Record),
    /// A region of a checkpoint: one entry holds all of it.
    Region(Vec<Record>),
    /// Redo moves, if there are any, and redo records: one entry holds the images and the records.
    Redo {
        moves: Vec<u64>,
        records: Vec<Record>,
        /// Blocks of the images.
        images: u32,
    },
    Reset(Unit),
    Free(Extent<Pba>),
    /// A flush to be answered.
    Barrier(u64),
}

impl Item {
    /// Whether somebody waits for it, so that a commit starts for its sake.
    pub fn is_urgent(&self) -> bool {
        matches!(self.what, What::Barrier(_) | What::Redo { .. })
    }

    /// The redo moves it waits for, if there are any.
    fn redo_moves(&self) -> Option<&[u64]> {
        match &self.what {
            What::Redo { moves, .. } => Some(moves),
            _ => None,
        }
    }
}

/// A commit under way.
pub(super) struct Commit {
    pub items: Vec<Item>,
    before: u64,
    phase: Phase,
    /// The checkpoint's beginning, if its last region is in this commit.
    completes: Option<u64>,
    entries: u64,
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
    FlushJournal,
}

/// Items that may wait for the journal before no more is planned.
pub(super) fn most_items(setup: &Setup) -> usize {
    2 * setup.gather
}

impl Running {
    /// Begins or continues a commit. Says whether it has ended, which takes no device operation when it has nothing to
    /// write: whoever waited for space must be asked again, since no completion will.
    ///
    /// # Errors
    /// The reason when the ring has no room left.
    pub(super) fn advance_commit(&mut self, core: &mut Core) -> Result<bool, String> {
        if self.commit.is_none() && self.wants_commit(core.setup.gather) {
            self.begin_commit(core);
        }
        if self.commit.as_ref().is_some_and(|c| c.phase == Phase::Moves) {
            self.leave_moves(core);
        }
        if self.commit.as_ref().is_some_and(|c| c.phase == Phase::Ready) {
            self.write_entries(core)?;
            return Ok(self.commit.is_none());
        }
        Ok(false)
    }

    pub(super) fn has_uncommitted(&self) -> bool {
        self.commit.is_some() || self.items.iter().any(|i| matches!(i.what, What::Reset(_) | What::Free(_)))
    }

    /// Whether planning has to pause until the rest of a checkpoint is on its way: it restates what was planned, so it
    /// cannot come before a redo plan in the queue, and redo plans without a pause would never let it come at all.
    pub(super) fn owes_checkpoint(&self) -> bool {
        self.ring.needs_checkpoint() && self.commit.as_ref().is_none_or(|commit| commit.completes.is_none())
    }

    /// Whether images wait for the journal that, with those of another plan, would be more than it keeps room for.
    pub(super) fn has_many_images(&self, setup: &Setup) -> bool {
        if self.redo_entry_blocks == 0 {
            return false;
        }
        let items = self.items.iter().chain(self.commit.iter().flat_map(|commit| &commit.items));
        let blocks = items.map(|item| match item.what {
            What::Redo { images, .. } => redo_entry_blocks(setup.block_bytes, images),
            _ => 0,
        });
        blocks.sum::<usize>() > self.redo_entry_blocks
    }

    fn wants_commit(&self, gather: usize) -> bool {
        self.starting
            || self.closing
            || self.ring.needs_checkpoint()
            || self.items.len() >= gather
            || (self.awaiting_space && !self.items.is_empty())
            || self.urgent > 0
    }

    fn begin_commit(&mut self, core: &Core) {
        let redo = self.items.iter().position(|item| matches!(item.what, What::Redo { .. }));
        let completes = if redo.is_none() { self.add_checkpoint(core) } else { None };
        let cut = redo.map_or(self.items.len(), |at| at + 1);
        let items: Vec<Item> = self.items.drain(..cut).collect();
        self.urgent -= items.iter().filter(|item| item.is_urgent()).count();
        let before = items.iter().map(|item| item.before).max().unwrap_or(self.next_seq);
        self.commit =
            Some(Commit { items, before, phase: Phase::Moves, completes, entries: 0, steps: VecDeque::new() });
    }

    /// Adds regions of a checkpoint when the ring fills up. Where the checkpoint began, if this was its last region.
    fn add_checkpoint(&mut self, core: &Core) -> Option<u64> {
        if !self.ring.wants_checkpoint() && !self.closing {
            return None;
        }
        let records = self.items.iter().filter(|item| matches!(item.what, What::Record(_))).count();
        let goal = if self.ring.needs_checkpoint() || self.closing { usize::MAX } else { 2 * records };
        let (start, mut region) = self.ring.checkpoint.take().unwrap_or((self.ring.head, 0));
        let mut restated = 0;
        loop {
            let mut plan = Plan::new();
            let next = self.layer.restate(region, &mut plan);
            let records: Vec<Record> = plan
                .ops()
                .iter()
                .filter_map(|op| match op {
                    Op::Record { record, .. } => Some(*record),
                    _ => None,
                })
                .collect();
            restated += records.len();
            if !records.is_empty() {
                records.iter().for_each(|record| self.remember(core, *record));
                self.push_item(What::Region(records));
            }
            match next {
                None => {
                    self.closing = false;
                    return Some(start);
                }
                Some(_) if restated > goal => {
                    self.ring.checkpoint = next.map(|next| (start, next));
                    return None;
                }
                Some(next) => region = next,
            }
        }
    }

    /// Goes on once the moves planned before the commit are done.
    fn leave_moves(&mut self, core: &mut Core) {
        let keeps = core.setup.rules.keeps(Rule::RecordsAfterMoves);
        let Some(commit) = &self.commit else { return };
        let moves_done = self.order.oldest().is_none_or(|oldest| oldest >= commit.before) || !keeps;
        if !moves_done {
            return;
        }
        if let Some(moves) = commit.items.iter().find_map(Item::redo_moves) {
            let moves = moves.to_vec();
            self.take_images(&moves, core.setup.block_bytes);
        }
        let Some(commit) = &self.commit else { return };
        let images_known = commit.items.iter().all(|item| match &item.what {
            What::Redo { moves, .. } => self.images(moves, core.setup.block_bytes).is_some(),
            _ => true,
        });
        if !images_known {
            return;
        }
        if self.dirty && keeps {
            self.dirty = false;
            self.set_phase(Phase::FlushData);
            core.issue(Purpose::Commit, IoKind::Flush);
        } else {
            self.set_phase(Phase::Ready);
        }
    }

    fn set_phase(&mut self, phase: Phase) {
        if let Some(commit) = &mut self.commit {
            commit.phase = phase;
        }
    }

    /// Takes the result of a device operation of the commit.
    pub(super) fn commit_result(&mut self, core: &mut Core, result: &IoResult) {
        if matches!(result, IoResult::Failed) && core.setup.rules.keeps(Rule::FailuresEnd) {
            self.failed = true;
        }
        let Some(phase) = self.commit.as_ref().map(|c| c.phase).filter(|_| !self.failed) else { return };
        match phase {
            Phase::Moves | Phase::Ready => {}
            Phase::FlushData => self.set_phase(Phase::Ready),
            Phase::Write { left: 1 } => self.next_step(core),
            Phase::Write { left } => self.set_phase(Phase::Write { left: left - 1 }),
            Phase::FlushJournal => self.committed(core),
        }
    }

    /// Writes the commit's records. With none to write the commit is done.
    fn write_entries(&mut self, core: &mut Core) -> Result<(), String> {
        let entries = self.entries(core);
        let Some(commit) = &mut self.commit else { return Ok(()) };
        commit.entries = entries.len() as u64;
        let completes = commit.completes;
        let durable = self.ring.end;
        let mut steps = VecDeque::new();
        for (i, entry) in entries.iter().enumerate() {
            let closes = i + 1 == entries.len();
            // Recovery accepts a commit only whole, so the checkpoint's last entry may say that it is.
            if closes {
                self.ring.tail = completes.unwrap_or(self.ring.tail);
                self.ring.unmarked = !entry.images.is_empty();
            }
            let header = Header {
                identity: core.setup.identity,
                start: self.ring.head,
                epoch: self.ring.epoch,
                tail: self.ring.tail,
                durable,
                redone: durable,
                gap: (self.ring.head - self.ring.end) as u32,
                closes,
                ..Header::default()
            };
            let blocks = journal::encode(entry, header, core.setup.block_bytes);
            if self.ring.used() + blocks.len() as u64 > self.ring.capacity() {
                return Err("the journal is full; format the store with a larger one".to_owned());
            }
            self.ring.write(core.setup.media.as_ref(), &blocks, &mut steps);
        }
        if steps.is_empty() {
            self.committed(core);
        } else {
            commit.steps = steps;
            self.next_step(core);
        }
        Ok(())
    }

    /// Begins the next step of writing; after the last one, makes all of them durable.
    fn next_step(&mut self, core: &mut Core) {
        let Some(commit) = &mut self.commit else { return };
        let step = commit.steps.pop_front();
        commit.phase = step.as_ref().map_or(Phase::FlushJournal, |step| Phase::Write { left: step.len() });
        for kind in step.unwrap_or_else(|| vec![IoKind::Flush]) {
            core.issue(Purpose::Commit, kind);
        }
    }

    /// The commit's records and images as entries; an empty one where a new life or the end of a redo plan must be
    /// noted.
    fn entries(&self, core: &Core) -> Vec<Entry> {
        let mut entries = vec![Entry::default()];
        for item in self.commit.iter().flat_map(|commit| &commit.items) {
            let (records, images) = match &item.what {
                What::Record(record) => (std::slice::from_ref(record), Vec::new()),
                What::Region(records) => (records.as_slice(), Vec::new()),
                What::Redo { moves, records, .. } => {
                    (records.as_slice(), self.images(moves, core.setup.block_bytes).unwrap_or_default())
                }
                What::Reset(_) | What::Free(_) | What::Barrier(_) => continue,
            };
            add_to_entries(&mut entries, records, images, &core.setup);
        }
        if entries[0] == Entry::default() && !self.starting && !self.ring.unmarked {
            entries.clear();
        }
        entries
    }

    /// The commit is durable: lets happen what waited for it.
    fn committed(&mut self, core: &mut Core) {
        let Some(commit) = self.commit.take() else { return };
        core.counts.commits += commit.entries;
        if commit.entries > 0 {
            self.ring.durable_tail = self.ring.tail;
        }
        if commit.completes.is_some() {
            core.counts.checkpoints += 1;
            self.ring.checkpointed();
        }
        self.starting = false;
        for item in commit.items {
            match item.what {
                What::Record(_) | What::Region(_) => {}
                What::Redo { moves, .. } => self.release(core, &moves),
                What::Reset(unit) => self.release_reset(core, unit),
                What::Free(space) => self.space_freed(space),
                What::Barrier(id) => self.flushed(core, id),
            }
        }
        // Space may have come back or may be coming: the layer knows, and is asked again.
        self.awaiting_space = false;
    }
}

/// Adds records that belong together to the last entry, or to a new one when that has no room.
fn add_to_entries(entries: &mut Vec<Entry>, records: &[Record], images: Vec<(Pba, Bytes)>, setup: &Setup) {
    let Some(last) = entries.last_mut() else { return };
    let count = last.records.len() + records.len();
    let full = journal::entry_blocks(count, last.images.len() + images.len(), setup.block_bytes) > setup.entry_blocks;
    if full && !(last.records.is_empty() && last.images.is_empty()) {
        entries.push(Entry { records: records.to_vec(), images });
    } else {
        last.records.extend(records);
        last.images.extend(images);
    }
}
