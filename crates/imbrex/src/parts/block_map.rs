//! A sparse map from logical blocks to 28-bit places, for a persistent buffer that is small beside its disk.
//!
//! Most lookups of a buffer miss, and cleaning asks for all blocks of a zone in order; both are answered by a set of
//! the mapped blocks. The places themselves lie in a hash table. An array indexed by block would need no hash, but
//! where 1 % of the blocks are buffered it takes 400 bytes and two misses for each.
//!
//! Memory follows what is mapped. The table doubles when it is half full, and its entries move to the larger one a few
//! at a time, with each block that is new: nobody waits for all of them.

use super::place_table::{PLACE_BITS, PlaceTable};
use super::sparse_bitmap::SparseBitmap;
use crate::block::{Extent, Lba};
use crate::memory::Memory;

/// Blocks that the first table has room for.
const FIRST: u64 = 4096;
/// Entries of the former table that are looked at with each new block. Two would do to be done when the next one is
/// full.
const AT_ONCE: usize = 8;

/// Where each mapped logical block lies.
#[derive(Clone)]
pub struct BlockMap {
    present: SparseBitmap,
    table: PlaceTable,
    /// The table before, as long as not all of its entries have moved. Those before `moved` have.
    former: Option<PlaceTable>,
    moved: usize,
    mapped: u64,
    most: u64,
}

impl BlockMap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        // While entries move there are two tables.
        self.present.memory(self.most) + PlaceTable::most_memory(self.most) * 2
    }

    /// Places are below this.
    pub const PLACES: u32 = 1 << PLACE_BITS;

    /// An empty map of logical blocks below `capacity`, of which at most `most` are mapped at a time.
    ///
    /// # Panics
    /// When the capacity is 2^36 blocks or more, or `most` is more than [`BlockMap::PLACES`].
    #[must_use]
    pub fn new(capacity: u64, most: u32) -> Self {
        assert!(capacity < 1 << (u64::BITS - PLACE_BITS) && most <= Self::PLACES);
        let (present, most) = (SparseBitmap::new(capacity), u64::from(most));
        Self { present, table: PlaceTable::for_blocks(most.min(FIRST)), former: None, moved: 0, mapped: 0, most }
    }

    /// Makes room for `most` mapped blocks at a time.
    ///
    /// # Panics
    /// When that is more than [`BlockMap::PLACES`].
    pub fn widen(&mut self, most: u32) {
        assert!(most <= Self::PLACES);
        self.most = self.most.max(most.into());
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
        if self.present.contains(lba.0) { self.place(lba) } else { None }
    }

    /// Where a mapped block lies.
    #[inline]
    fn place(&self, lba: Lba) -> Option<u32> {
        self.table.get(lba).or_else(|| self.former.as_ref()?.get(lba))
    }

    /// Loads what [`BlockMap::get`] and [`BlockMap::set`] would need, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.present.prefetch(lba.0) ^ self.table.prefetch(lba)
    }

    /// Loads what looking up every mapped block of `range` would need. Lookups branch on what they find and so wait for
    /// each other's cache misses; these loads do not.
    #[must_use]
    pub fn prefetch_range(&self, range: Extent<Lba>) -> u64 {
        self.blocks(range).fold(0, |sum, lba| sum ^ self.table.prefetch(lba))
    }

    /// Maps the block and returns its former place.
    #[inline]
    pub fn set(&mut self, lba: Lba, to: u32) -> Option<u32> {
        debug_assert!(to < Self::PLACES);
        if self.present.insert(lba.0) {
            self.mapped += 1;
            debug_assert!(self.mapped <= self.most);
            self.make_room();
            self.table.set(lba, to);
            return None;
        }
        let moved = self.former.as_mut().and_then(|former| former.remove(lba));
        self.table.set(lba, to).or(moved)
    }

    /// Unmaps the block and returns its former place.
    #[inline]
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        if !self.present.remove(lba.0) {
            return None;
        }
        self.mapped -= 1;
        let to = self.table.remove(lba).or_else(|| self.former.as_mut()?.remove(lba));
        self.shrink_if_empty();
        to
    }

    /// Gives the memory back of a map in which nothing is left.
    #[inline]
    fn shrink_if_empty(&mut self) {
        if self.mapped == 0 && self.table.len() as u64 > 2 * FIRST {
            (self.table, self.former) = (PlaceTable::for_blocks(self.most.min(FIRST)), None);
        }
    }

    /// Sees to it that the table is at most half full with another entry, and moves entries to it.
    #[inline]
    fn make_room(&mut self) {
        if self.former.is_some() {
            self.move_entries(AT_ONCE);
        }
        if 2 * self.mapped > self.table.len() as u64 {
            self.move_entries(usize::MAX);
            let larger = PlaceTable::for_blocks((self.table.len() as u64).min(self.most));
            self.former = Some(std::mem::replace(&mut self.table, larger));
            self.moved = 0;
        }
    }

    /// Moves the next entries of the former table, looking at so many of its places.
    fn move_entries(&mut self, places: usize) {
        let Some(former) = &mut self.former else { return };
        let end = former.len().min(self.moved.saturating_add(places));
        for at in self.moved..end {
            while let Some((lba, to)) = former.take(at) {
                self.table.set(lba, to);
            }
        }
        self.moved = end;
        if end == former.len() {
            self.former = None;
        }
    }

    /// Unmaps every block of `range`, telling `each` what lay where.
    pub fn remove_range(&mut self, range: Extent<Lba>, mut each: impl FnMut(Lba, u32)) {
        let Self { present, table, former, mapped, .. } = self;
        let (mut from, end) = (range.start.0, range.end().0);
        while let Some(at) = present.next(from, end) {
            let lba = Lba(at);
            if let Some(to) = table.remove(lba).or_else(|| former.as_mut()?.remove(lba)) {
                each(lba, to);
                *mapped -= 1;
            }
            from = at + 1;
        }
        present.remove_run(range.start.0, end);
        self.shrink_if_empty();
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
        self.blocks(range).filter_map(|lba| Some((lba, self.place(lba)?)))
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

    /// Entries are on their way from one table to the next most of the time.
    #[test]
    fn behaves_like_a_map_while_it_grows() {
        let (mut map, mut plain) = (BlockMap::new(1 << 30, 200_000), BTreeMap::new());
        let (mut state, mut on_the_way) = (1_u64, 0);
        for step in 0..300_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let lba = Lba((state >> 40) % 40_000 * 25_000 % (1 << 30));
            if state >> 62 == 0 {
                assert_eq!(map.remove(lba), plain.remove(&lba));
            } else {
                assert_eq!(map.set(lba, step), plain.insert(lba, step));
            }
            on_the_way += u32::from(map.former.is_some());
            let other = Lba((state >> 20) % 40_000 * 25_000 % (1 << 30));
            assert_eq!(map.get(other), plain.get(&other).copied());
        }
        assert_eq!(map.mapped(), plain.len() as u64);
        assert!(on_the_way > 1000 && plain.iter().all(|(lba, to)| map.get(*lba) == Some(*to)));
        assert!(map.table.len() as u64 <= 8 * map.mapped(), "memory follows what is mapped");
        assert_eq!(map.range(Extent::new(Lba(0), u32::MAX)).collect::<Vec<_>>(), plain.into_iter().collect::<Vec<_>>());
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
