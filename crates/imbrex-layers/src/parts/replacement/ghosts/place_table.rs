//! A hash table from logical blocks to 28-bit places, by open addressing.
//!
//! Eight neighbouring blocks share a cache line. Its users keep it at most half full.

use imbrex_core::block::Lba;
use imbrex_core::memory::Memory;

/// Bits of an entry that hold the place; the rest hold the block's number plus one, so that 0 is no entry.
pub(super) const PLACE_BITS: u32 = 28;
/// Neighbouring blocks that share a cache line.
const LINE: u64 = 8;

/// The places of blocks.
#[derive(Clone, Default)]
pub(super) struct PlaceTable {
    entries: Vec<u64>,
}

impl PlaceTable {
    /// Entries of a table for at most `most` blocks.
    fn places_for(most: u64) -> u64 {
        (2 * most).next_multiple_of(LINE).max(2 * LINE)
    }

    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::room::<u64>(self.entries.len() as u64)
    }

    /// Without an entry, for at most `most` blocks: with twice as many entries, in whole lines.
    pub fn for_blocks(most: u64) -> Self {
        Self { entries: vec![0; Self::places_for(most) as usize] }
    }

    /// Where the block lies, if it has an entry.
    #[inline]
    pub fn get(&self, lba: Lba) -> Option<u32> {
        let entry = self.entries[self.find(lba)];
        (entry != 0).then(|| place_of(entry))
    }

    /// Gives the block a place; its former one.
    #[inline]
    pub fn set(&mut self, lba: Lba, to: u32) -> Option<u32> {
        let at = self.find(lba);
        let was = std::mem::replace(&mut self.entries[at], (lba.0 + 1) << PLACE_BITS | u64::from(to));
        (was != 0).then(|| place_of(was))
    }

    /// Takes the block's entry away; its place.
    #[inline]
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        let at = self.find(lba);
        let was = self.entries[at];
        if was == 0 {
            return None;
        }
        self.close_gap(at);
        Some(place_of(was))
    }

    /// The entry where the search for a block begins. Lines are scattered by the golden ratio, blocks of a line are
    /// not.
    #[inline]
    fn home(&self, lba: Lba) -> usize {
        let lines = self.entries.len() as u64 / LINE;
        let scattered = (lba.0 / LINE).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The product's upper half: the part of the lines that `scattered` is of all numbers.
        let line = ((u128::from(scattered) * u128::from(lines)) >> u64::BITS) as u64;
        (line * LINE + lba.0 % LINE) as usize
    }

    /// The block's entry, or the empty one where it would be put.
    #[inline]
    fn find(&self, lba: Lba) -> usize {
        let mut at = self.home(lba);
        while self.entries[at] != 0 && self.entries[at] >> PLACE_BITS != lba.0 + 1 {
            at = self.after(at);
        }
        at
    }

    /// The entry behind another; behind the last comes the first.
    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.entries.len() { 0 } else { at + 1 }
    }

    /// Empties an entry and moves those behind it that a search would no longer reach.
    #[inline]
    fn close_gap(&mut self, gap: usize) {
        let entries = self.entries.len();
        let behind = |from: usize, at: usize| if at >= from { at - from } else { at + entries - from };
        let mut gap = gap;
        let mut at = gap;
        loop {
            at = self.after(at);
            let entry = self.entries[at];
            if entry == 0 {
                break;
            }
            let home = self.home(Lba((entry >> PLACE_BITS) - 1));
            // The entry may move into the gap unless its home lies behind the gap.
            if behind(home, at) >= behind(gap, at) {
                self.entries[gap] = entry;
                gap = at;
            }
        }
        self.entries[gap] = 0;
    }
}

fn place_of(entry: u64) -> u32 {
    (entry & ((1 << PLACE_BITS) - 1)) as u32
}
