//! How much of each chunk is filled.

use crate::parts::slot_table::SlotTable;
use imbrex_core::memory::Memory;

/// How many slots of each chunk are live, and how many are in use, which is live or pending. Where a chunk is one slot,
/// the slot table says that, and nothing is counted.
pub(super) struct Filled {
    counts: Vec<Count>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Count {
    pub live: u32,
    pub used: u32,
}

impl Filled {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::room::<Count>(self.counts.len() as u64)
    }

    /// Nothing is in any of `chunks` chunks of this length.
    pub fn new(chunks: u32, chunk_blocks: u32) -> Self {
        let counted = if chunk_blocks == 1 { 0 } else { chunks as usize };
        Self { counts: vec![Count { live: 0, used: 0 }; counted] }
    }

    /// Nothing is in any chunk.
    pub fn clear(&mut self) {
        self.counts.fill(Count { live: 0, used: 0 });
    }

    /// What is in a chunk, given the table, which knows of the last change.
    #[inline]
    pub fn of(&self, chunk: u32, table: &SlotTable) -> Count {
        // Where nothing is counted, the chunk is the slot of that number.
        let slot = || Count { live: u32::from(table.owner(chunk).is_some()), used: u32::from(!table.is_free(chunk)) };
        self.counts.get(chunk as usize).copied().unwrap_or_else(slot)
    }

    /// A block has come into a slot of the chunk that held none.
    #[inline]
    pub fn came(&mut self, chunk: u32) {
        if let Some(count) = self.counts.get_mut(chunk as usize) {
            count.live += 1;
            count.used += 1;
        }
    }

    /// A block has left its slot, which is pending.
    #[inline]
    pub fn left(&mut self, chunk: u32) {
        if let Some(count) = self.counts.get_mut(chunk as usize) {
            count.live -= 1;
        }
    }

    /// A pending slot of the chunk is free.
    #[inline]
    pub fn freed(&mut self, chunk: u32) {
        if let Some(count) = self.counts.get_mut(chunk as usize) {
            count.used -= 1;
        }
    }
}
