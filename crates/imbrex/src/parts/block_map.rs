//! A sparse map from logical blocks to 32-bit places, for a persistent buffer that is small beside its disk.
//!
//! Most lookups of a buffer miss, and cleaning asks for all blocks of a zone in order; both are answered by one bit a
//! block. The places themselves lie in a table of open addressing with twice as many entries as the buffer has slots,
//! eight neighbouring blocks to a cache line. An array indexed by block would need no hash, but where 1 % of the blocks
//! are buffered it takes 400 bytes and two misses for each; this takes 16 bytes and a bit.

use super::bitmap::Bitmap;
use crate::block::{Extent, Lba};

/// Bits of an entry that hold the place; the rest hold the block's number plus one, so that 0 is no entry.
const PLACE_BITS: u32 = 28;
/// Neighbouring blocks that share a cache line of the table.
const LINE: u64 = 8;

/// Where each mapped logical block lies.
#[derive(Clone)]
pub struct BlockMap {
    present: Bitmap,
    entries: Vec<u64>,
    mapped: u64,
}

impl BlockMap {
    /// Places are below this.
    pub const PLACES: u32 = 1 << PLACE_BITS;

    /// An empty map of logical blocks below `capacity`, of which at most `most` are mapped at a time.
    ///
    /// # Panics
    /// When the capacity is 2^36 blocks or more, or `most` is more than [`BlockMap::PLACES`].
    #[must_use]
    pub fn new(capacity: u64, most: u32) -> Self {
        assert!(capacity < 1 << (u64::BITS - PLACE_BITS) && most <= Self::PLACES);
        Self { present: Bitmap::new(capacity), entries: vec![0; entries_for(most)], mapped: 0 }
    }

    /// Makes room for `most` mapped blocks at a time.
    ///
    /// # Panics
    /// When that is more than [`BlockMap::PLACES`].
    pub fn widen(&mut self, most: u32) {
        assert!(most <= Self::PLACES);
        let entries = entries_for(most);
        if entries > self.entries.len() {
            for entry in std::mem::replace(&mut self.entries, vec![0; entries]) {
                if entry != 0 {
                    let at = self.find(Lba((entry >> PLACE_BITS) - 1));
                    self.entries[at] = entry;
                }
            }
        }
    }

    /// How many blocks are mapped.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Where the block lies.
    #[inline]
    #[must_use]
    pub fn get(&self, lba: Lba) -> Option<u32> {
        self.present.contains(lba.0).then(|| place_of(self.entries[self.find(lba)]))
    }

    /// Loads what [`BlockMap::get`] and [`BlockMap::set`] would need, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn touch(&self, lba: Lba) -> u64 {
        self.present.touch(lba.0) ^ self.entries[self.home(lba)]
    }

    /// Loads what looking up every mapped block of `range` would need. Lookups branch on what they find and so wait for
    /// each other's cache misses; these loads do not.
    #[must_use]
    pub fn touch_range(&self, range: Extent<Lba>) -> u64 {
        self.blocks(range).fold(0, |sum, lba| sum ^ self.entries[self.home(lba)])
    }

    /// Maps the block and returns its former place.
    #[inline]
    pub fn set(&mut self, lba: Lba, to: u32) -> Option<u32> {
        debug_assert!(to < Self::PLACES);
        let new = self.present.insert(lba.0);
        let at = self.find(lba);
        let was = self.entries[at];
        self.entries[at] = (lba.0 + 1) << PLACE_BITS | u64::from(to);
        self.mapped += u64::from(new);
        debug_assert!(2 * self.mapped <= self.entries.len() as u64);
        (!new).then(|| place_of(was))
    }

    /// Unmaps the block and returns its former place.
    #[inline]
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        if !self.present.contains(lba.0) {
            return None;
        }
        self.present.remove(lba.0);
        self.mapped -= 1;
        let at = self.find(lba);
        let was = place_of(self.entries[at]);
        self.close_gap(at);
        Some(was)
    }

    /// Unmaps every block of `range`, telling `each` what lay where.
    pub fn remove_range(&mut self, range: Extent<Lba>, mut each: impl FnMut(Lba, u32)) {
        let mut from = range.start.0;
        while let Some(at) = self.present.next(from, range.end().0) {
            let lba = Lba(at);
            if let Some(to) = self.remove(lba) {
                each(lba, to);
            }
            from = at + 1;
        }
    }

    /// The mapped blocks of `range`, ascending.
    pub fn blocks(&self, range: Extent<Lba>) -> impl Iterator<Item = Lba> {
        let end = range.end().0;
        let mut from = range.start.0;
        std::iter::from_fn(move || {
            let at = self.present.next(from, end)?;
            from = at + 1;
            Some(Lba(at))
        })
    }

    /// The mapped blocks of `range` and their places, ascending.
    pub fn range(&self, range: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        self.blocks(range).map(|lba| (lba, place_of(self.entries[self.find(lba)])))
    }

    /// The first mapped block in `[from, end)`.
    #[must_use]
    pub fn next(&self, from: Lba, end: Lba) -> Option<Lba> {
        self.present.next(from.0, end.0).map(Lba)
    }

    /// The last mapped block of `range`.
    #[must_use]
    pub fn last(&self, range: Extent<Lba>) -> Option<Lba> {
        self.present.last(range.start.0, range.end().0).map(Lba)
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

/// Twice as many as are ever mapped, in whole lines.
fn entries_for(most: u32) -> usize {
    (2 * u64::from(most)).next_multiple_of(LINE).max(2 * LINE) as usize
}

fn place_of(entry: u64) -> u32 {
    (entry & ((1 << PLACE_BITS) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn keeps_what_it_has_when_it_is_widened() {
        let mut map = BlockMap::new(1 << 20, 8);
        for block in 0..1000u32 {
            map.widen(block + 1);
            map.set(Lba(u64::from(block) * 37), block);
        }
        assert_eq!(map.mapped(), 1000);
        assert!((0..1000u32).all(|block| map.get(Lba(u64::from(block) * 37)) == Some(block)));
    }

    proptest! {
        #[test]
        fn behaves_like_an_ordered_map(steps in prop::collection::vec((0u8..4, 0u64..5000, 1u32..1500), 1..300)) {
            let mut map = BlockMap::new(5000, 300);
            let mut plain = BTreeMap::new();
            for (number, (kind, at, n)) in steps.into_iter().enumerate() {
                let range = Extent::new(Lba(at), n);
                match kind {
                    0 | 1 => prop_assert_eq!(map.set(Lba(at), number as u32), plain.insert(at, number as u32)),
                    2 => prop_assert_eq!(map.remove(Lba(at)), plain.remove(&at)),
                    _ => {
                        let mut gone = Vec::new();
                        map.remove_range(range, |lba, to| gone.push((lba.0, to)));
                        let expected: Vec<_> = plain.range(at..range.end().0).map(|(&l, &t)| (l, t)).collect();
                        plain.retain(|l, _| !(at..range.end().0).contains(l));
                        prop_assert_eq!(gone, expected);
                    }
                }
                prop_assert_eq!(map.get(Lba(at)), plain.get(&at).copied());
                prop_assert_eq!(map.mapped(), plain.len() as u64);
                let window = Extent::new(Lba(at / 2), 1000);
                let inside: Vec<_> = plain.range(window.start.0..window.end().0).map(|(&l, &t)| (Lba(l), t)).collect();
                prop_assert_eq!(map.last(window), inside.last().map(|e| e.0));
                prop_assert_eq!(map.next(window.start, window.end()), inside.first().map(|e| e.0));
                prop_assert_eq!(map.range(window).collect::<Vec<_>>(), inside);
            }
        }

        /// A table as full as it gets, of blocks that crowd a few lines.
        #[test]
        fn finds_everything_when_full(stride in 1u64..200, order in any::<u64>()) {
            let mut map = BlockMap::new(1 << 20, 64);
            let block = |i: u64| Lba(i * stride);
            (0..64).for_each(|i| assert_eq!(map.set(block(i), i as u32), None));
            for i in (0..64).map(|i| (i * 37 + order % 64) % 64) {
                prop_assert_eq!(map.remove(block(i)), Some(i as u32));
                prop_assert_eq!(map.get(block(i)), None);
            }
            prop_assert_eq!(map.mapped(), 0);
        }
    }
}
