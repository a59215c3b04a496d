//! When the host last wrote each block. The unit of time is a block written by the host.

use crate::parts::page_table::{Layout, PageTable};
use crate::parts::paged_map::{ENTRY, NONE, PagedMap};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::memory::Memory;

/// When the blocks that a band takes were written.
#[derive(Copy, Clone, Debug)]
pub(super) enum Written {
    /// Just now by the host, one after another.
    Now,
    /// By the host at this time; they have waited in the write buffer since.
    At(u64),
    /// Before; they are moved from bands the youngest of which is of this time, or found after a crash.
    Before(u64),
}

/// A clock, and the time of each block where that is needed.
pub(super) struct Times {
    /// Blocks the host has written.
    clock: u64,
    /// When each block was written, not set for the beginning.
    blocks: Option<PagedMap>,
}

impl Times {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.blocks.as_ref().map_or_else(Memory::default, PagedMap::memory)
    }

    /// Times beyond this are not told apart: 4 PiB of blocks of 4 KiB written in one epoch.
    const LAST: u64 = NONE - 1;

    /// Nothing has been written. The times of `blocks` blocks are kept, if any.
    pub fn new(blocks: Option<u64>) -> Self {
        Self { clock: 0, blocks: blocks.map(PagedMap::new) }
    }

    /// The times are in pages, of which at most `most` are in memory.
    pub fn cache(&mut self, layout: Layout, most: u64) {
        self.blocks = self.blocks.take().map(|_| PagedMap::cached(layout, most));
    }

    /// The pages, if only some of them are in memory.
    pub fn table(&self) -> Option<&PageTable> {
        self.blocks.as_ref()?.table()
    }

    /// The same, to be changed.
    pub fn table_mut(&mut self) -> Option<&mut PageTable> {
        self.blocks.as_mut()?.table_mut()
    }

    pub fn now(&self) -> u64 {
        self.clock
    }

    /// The host has written `blocks` blocks.
    #[inline]
    pub fn pass(&mut self, blocks: u32) {
        self.clock = self.after(blocks);
    }

    /// When the host writes the last of `blocks` more blocks.
    pub fn after(&self, blocks: u32) -> u64 {
        (self.clock + u64::from(blocks)).min(Self::LAST)
    }

    /// Bytes that are known of a block.
    pub fn entry_bytes(&self) -> u32 {
        self.blocks.as_ref().map_or(0, |_| ENTRY as u32)
    }

    /// Whether a few numbers say when the blocks from `first` to `end` were written.
    #[inline]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        self.blocks.as_ref().is_none_or(|blocks| blocks.is_regular(first, end))
    }

    /// Reads what a look at the time of a block will, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.blocks.as_ref().map_or(0, |blocks| blocks.prefetch(lba.0))
    }

    /// When a block was written, 0 for the beginning or where the times of blocks are not kept.
    #[inline]
    pub fn of(&self, lba: Lba) -> u64 {
        let time = self.blocks.as_ref().map_or(NONE, |blocks| blocks.get(lba.0));
        if time == NONE { 0 } else { time }
    }

    /// The times of the blocks of `at`, in runs: the first one's, how many there are, and by how much each is later than
    /// the one before, by one or by nothing.
    #[inline]
    pub fn runs(&self, at: Extent<Lba>, mut each: impl FnMut(u64, u32, u64)) {
        let mut rest = at;
        while !rest.is_empty() {
            let unset = (NONE, rest.blocks);
            let (time, run) = self.blocks.as_ref().map_or(unset, |blocks| blocks.run(rest.start.0, rest.blocks));
            let (first, step) = if time == NONE { (0, 0) } else { (time, 1) };
            each(first, run, step);
            rest = rest.skip(run);
        }
    }

    /// The host has written the blocks of `at`; those that were written before keep their times.
    pub fn enter(&mut self, at: Extent<Lba>, written: Written) {
        let first = (self.clock + 1).saturating_sub(at.blocks.into());
        let Some(blocks) = &mut self.blocks else { return };
        match written {
            Written::Now => blocks.set_run(at.start.0, at.blocks, first),
            Written::At(time) => at.iter().for_each(|lba| blocks.set(lba.0, time)),
            Written::Before(_) => {}
        }
    }

    #[cfg(test)]
    pub fn nearly_over() -> u64 {
        Self::LAST - 1
    }

    #[cfg(test)]
    pub fn set_clock(&mut self, clock: u64) {
        self.clock = clock;
    }
}
