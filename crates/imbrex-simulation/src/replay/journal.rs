//! The journal that a live device writes, as far as it costs time and delays the return of space.
//!
//! Records, resets and frees gather until a live device would commit them of its own accord. They are then written to a
//! ring at the front of the conventional space; a layer that waits for space has that done early. There are no flushes
//! to wait for. Resets and frees wait for the records before them. Once half the ring has been written since the last
//! checkpoint, the whole state is written as the next one. The content of the journal is of no interest here.

use std::collections::VecDeque;

use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::plan::{Place, Record, Unit};
use imbrex_engine::journal::{Coding, Draft};

/// Where the journal begins: at the front of the conventional space.
pub(super) const START: Pba = Pba::disk(0);
/// Resets and frees that there is memory for from the beginning: a plan may add many to those that gather.
const WAITING: usize = 4096;

/// What waits for the records before it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Effect {
    Reset(Unit),
    Free(Extent<Pba>),
}

pub(super) struct Journal {
    start: Pba,
    blocks: u64,
    block_bytes: usize,
    /// Records of a checkpoint, at most.
    pub(super) most_records: u64,
    /// Records, resets and frees that gather at most.
    gather: usize,
    /// The block written next, and how many were written since the last checkpoint.
    head: u64,
    since_checkpoint: u64,
    /// Records not yet written: how many, and as an entry.
    pending: usize,
    entry: Draft,
    /// A checkpoint while it is made, kept for its memory.
    checkpoint: Draft,
    waiting: VecDeque<Effect>,
}

impl Journal {
    /// An empty journal of `blocks` blocks from `start` on, for which so much gathers.
    pub(super) fn new(start: Pba, blocks: u32, most_records: u64, block_bytes: u32, gather: usize) -> Self {
        Self {
            start,
            blocks: u64::from(blocks),
            most_records,
            block_bytes: block_bytes as usize,
            gather,
            head: 0,
            since_checkpoint: 0,
            pending: 0,
            entry: Draft::new(Coding::Compact),
            checkpoint: Draft::new(Coding::Compact),
            waiting: VecDeque::with_capacity(WAITING),
        }
    }

    pub(super) fn add_record(&mut self, record: &Record) {
        self.pending += 1;
        self.entry.push(record);
    }

    /// Whether `effect` may happen now; otherwise it waits for the records before it.
    pub(super) fn defer(&mut self, effect: Effect) -> bool {
        let wait = self.pending > 0;
        if wait {
            self.waiting.push_back(effect);
        }
        !wait
    }

    pub(super) fn next_effect(&mut self) -> Option<Effect> {
        self.waiting.pop_front()
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pending > 0
    }

    /// Whether as much has gathered as may.
    pub(super) fn is_full(&self) -> bool {
        self.pending + self.waiting.len() >= self.gather
    }

    /// The blocks that the pending records take together with `images` redo images. Nothing is pending then.
    pub(super) fn take_pending(&mut self, images: usize) -> u64 {
        let blocks = self.entry.blocks_with(0, images, self.block_bytes) as u64;
        self.pending = 0;
        self.entry.clear();
        blocks
    }

    /// Whether half the ring has been written since the last checkpoint.
    pub(super) fn checkpoint_due(&self) -> bool {
        self.since_checkpoint >= self.blocks / 2
    }

    /// The blocks of a checkpoint whose records make this entry.
    pub(super) fn checkpoint_blocks(&self, entry: &Draft) -> u64 {
        entry.blocks(self.block_bytes) as u64
    }

    /// An entry for a checkpoint, with the memory of the last one.
    pub(super) fn take_checkpoint(&mut self) -> Draft {
        std::mem::replace(&mut self.checkpoint, Draft::new(Coding::Compact))
    }

    /// The checkpoint is written; the other half of the ring is for what follows it.
    pub(super) fn checkpoint_written(&mut self, mut entry: Draft) {
        entry.clear();
        self.checkpoint = entry;
        self.since_checkpoint = 0;
    }

    /// Where the next blocks go: at most `wanted`, up to the end of the ring.
    pub(super) fn advance(&mut self, wanted: u64) -> Extent<Pba> {
        let blocks = wanted.min(self.blocks - self.head);
        let start = self.start.plus(self.head);
        self.head = (self.head + blocks) % self.blocks;
        self.since_checkpoint += blocks;
        Extent::new(start, blocks as u32)
    }
}

/// Whether a move's source is read before the redo entry: it is part of the entry, or leaves no mark on the media.
pub(super) fn is_staged(to: &Place, redo: bool) -> bool {
    redo || !matches!(to, Place::At(target) if !target.is_ram())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_waits_for_the_records_before_it() {
        let mut journal = Journal::new(Pba::disk(0), 16, 100, 4096, 191);
        let space = Effect::Free(Extent::new(Pba::disk(100), 1));
        assert!(journal.defer(space), "nothing is pending");
        journal.add_record(&Record::Note { key: 7, value: u64::MAX });
        assert!(!journal.defer(space));
        assert_eq!(journal.take_pending(0), 1);
        assert!(journal.next_effect().is_some() && journal.next_effect().is_none());
    }

    #[test]
    fn what_has_gathered_is_written() {
        let mut journal = Journal::new(Pba::disk(0), 16, 100, 4096, 191);
        while !journal.is_full() {
            journal.add_record(&Record::Note { key: 7, value: u64::MAX });
        }
        assert_eq!(journal.take_pending(0), 1);
        assert_eq!(journal.take_pending(2), 3);
    }

    #[test]
    fn the_ring_wraps_and_asks_for_checkpoints() {
        let mut journal = Journal::new(Pba::disk(8), 16, 100, 512, 20);
        assert_eq!(journal.advance(10), Extent::new(Pba::disk(8), 10));
        assert!(journal.checkpoint_due());
        journal.checkpoint_written(Draft::new(Coding::Compact));
        assert_eq!(journal.advance(10), Extent::new(Pba::disk(18), 6));
        assert_eq!(journal.advance(4), Extent::new(Pba::disk(8), 4));
        assert!(journal.checkpoint_due());
    }
}
