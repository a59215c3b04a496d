//! The journal that a live device writes, as far as it costs time and delays the return of space.
//!
//! Records gather until they fill a journal block, which is written to a ring at the front of the conventional space; a
//! layer that waits for space has the block written early. Resets and frees wait for the block that holds the records
//! before them. Once half the ring has been written since the last checkpoint, the whole state is written as the next
//! one. The content of the journal is of no interest here.

use std::collections::VecDeque;

use crate::block::{Address, Extent, Pba};
use crate::plan::Unit;

/// Bytes of a journal block.
pub(super) const ENTRY_BYTES: u64 = 4096;
/// Bytes of a journal block's head: checksum, sequence number, length.
const HEAD_BYTES: u64 = 64;
/// Bytes of an encoded record.
const RECORD_BYTES: u64 = 24;
/// Records of a journal block.
const ENTRY_RECORDS: u64 = (ENTRY_BYTES - HEAD_BYTES) / RECORD_BYTES;
/// Resets and frees that wait at most; more of them force the journal block out.
const MAX_WAITING: usize = 4096;

/// What waits for the records before it.
#[derive(Copy, Clone, Debug)]
pub(super) enum Effect {
    Reset(Unit),
    Free(Extent<Pba>),
}

pub(super) struct Journal {
    start: Pba,
    /// Journal blocks in the ring, and drive blocks of each.
    entries: u64,
    entry_blocks: u32,
    /// The journal block written next, and how many since the last checkpoint.
    head: u64,
    since_checkpoint: u64,
    /// Records not yet written.
    pending: u64,
    waiting: VecDeque<Effect>,
}

impl Journal {
    /// A journal of `entries` blocks of 4096 bytes from `start` on.
    pub(super) fn new(start: Pba, entries: u32, block_bytes: u32) -> Self {
        Self {
            start,
            entries: u64::from(entries),
            entry_blocks: entry_blocks(block_bytes),
            head: 0,
            since_checkpoint: 0,
            pending: 0,
            waiting: VecDeque::with_capacity(MAX_WAITING),
        }
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn add_record(&mut self) {
        self.pending += 1;
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

    /// Whether the pending records must be written now.
    pub(super) fn is_full(&self) -> bool {
        self.pending >= ENTRY_RECORDS || self.waiting.len() >= MAX_WAITING
    }

    /// Journal blocks that the pending records take together with `records` more and `image_bytes` of redo images.
    /// Nothing is pending then.
    pub(super) fn take_pending(&mut self, records: u64, image_bytes: u64) -> u64 {
        let records = std::mem::take(&mut self.pending) + records;
        records.div_ceil(ENTRY_RECORDS) + image_bytes.div_ceil(ENTRY_BYTES)
    }

    /// Whether a checkpoint is due.
    pub(super) fn checkpoint_due(&self) -> bool {
        self.since_checkpoint >= self.entries / 2
    }

    /// Journal blocks of a checkpoint of so many records, if half the ring holds them.
    pub(super) fn checkpoint_entries(&self, records: u64) -> Result<u64, u64> {
        let needed = records.div_ceil(ENTRY_RECORDS).max(1);
        if needed <= self.entries / 2 { Ok(needed) } else { Err(needed) }
    }

    /// The checkpoint is written; the other half of the ring is for what follows it.
    pub(super) fn checkpoint_written(&mut self) {
        self.since_checkpoint = 0;
    }

    /// Where the next journal blocks go: at most `wanted`, up to the end of the ring. Returns how many, and where.
    pub(super) fn advance(&mut self, wanted: u64) -> (u64, Extent<Pba>) {
        // An extent of 2^20 blocks keeps the product below in range for any block size.
        let entries = wanted.min(self.entries - self.head).min(1 << 20);
        let start = self.start.plus(self.head * u64::from(self.entry_blocks));
        self.head = (self.head + entries) % self.entries;
        self.since_checkpoint += entries;
        (entries, Extent::new(start, entries as u32 * self.entry_blocks))
    }
}

/// Drive blocks of a journal block.
pub(super) fn entry_blocks(block_bytes: u32) -> u32 {
    (ENTRY_BYTES as u32).div_ceil(block_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_waits_for_the_records_before_it() {
        let mut journal = Journal::new(Pba::disk(0), 16, 4096);
        let space = Effect::Free(Extent::new(Pba::disk(100), 1));
        assert!(journal.defer(space), "nothing is pending");
        journal.add_record();
        assert!(!journal.defer(space));
        assert_eq!(journal.take_pending(0, 0), 1);
        assert!(journal.next_effect().is_some() && journal.next_effect().is_none());
    }

    #[test]
    fn the_ring_wraps_and_asks_for_checkpoints() {
        let mut journal = Journal::new(Pba::disk(8), 16, 512);
        assert_eq!(journal.advance(10), (10, Extent::new(Pba::disk(8), 80)));
        assert!(journal.checkpoint_due());
        assert_eq!(journal.checkpoint_entries(ENTRY_RECORDS + 1), Ok(2));
        assert_eq!(journal.advance(10), (6, Extent::new(Pba::disk(88), 48)));
        assert_eq!(journal.advance(4), (4, Extent::new(Pba::disk(8), 32)));
        assert_eq!(journal.checkpoint_entries(ENTRY_RECORDS * 8 + 1), Err(9));
    }
}
