//! An ordered map from logical blocks to places, for a persistent buffer that is small beside its disk.
//!
//! Most lookups of a buffer miss, and cleaning asks for all blocks of a zone in order. The blocks are cut into groups of
//! 2^13, so that a key takes two bytes. A group is a tree of two levels: an index, short enough to be found in the cache,
//! and leaves of one cache line, which hold up to twelve entries. So a lookup loads one line that lies far away, twelve
//! entries of a zone that is cleaned come with each load, and nothing is ever moved but within a group. An array indexed
//! by block would need no search, but where 1 % of the blocks are buffered it takes 400 bytes and a miss for each.
//!
//! Memory follows what is mapped: leaves that become small are joined with a neighbour.

mod entries;
mod group;
mod leaf;

use std::ops::Range;

use super::lines::Lines;
use entries::Entries;
use group::{Groups, JOINED};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::memory::Memory;
use leaf::{Entry, Leaf, PLACE_BITS};

/// Bits of a block's number in its group.
const KEY_BITS: u32 = 13;
/// The last block's number.
const LAST: u16 = (1 << KEY_BITS) - 1;
/// Two neighbouring leaves have at least this number of entries between them, unless they are all of a group.
const LEAST_OF_TWO: u64 = JOINED as u64 + 1;

/// Where each mapped logical block lies.
#[derive(Clone)]
pub struct BlockMap {
    groups: Groups,
    leaves: Lines<Leaf>,
    mapped: u64,
    most: u64,
}

/// The group of a block, and its number there.
#[inline]
fn locate(lba: Lba) -> (usize, u16) {
    ((lba.0 >> KEY_BITS) as usize, lba.0 as u16 & LAST)
}

/// The block of that number in a group.
#[inline]
fn block(group: usize, key: u16) -> Lba {
    Lba((group as u64) << KEY_BITS | u64::from(key))
}

impl BlockMap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let groups = self.groups.len() as u64;
        let leaves = (groups + (2 * self.most).div_ceil(LEAST_OF_TWO)).min(self.most);
        self.groups.memory(leaves) + Lines::<Leaf>::memory(leaves)
    }

    /// Places are below this.
    pub const PLACES: u32 = 1 << PLACE_BITS;

    /// An empty map of logical blocks below `capacity`, of which at most `most` are mapped at a time.
    ///
    /// # Panics
    /// When `most` is more than [`BlockMap::PLACES`].
    #[must_use]
    pub fn new(capacity: u64, most: u32) -> Self {
        assert!(most <= Self::PLACES);
        let groups = Groups::new(capacity.div_ceil(1 << KEY_BITS));
        Self { groups, leaves: Lines::default(), mapped: 0, most: most.into() }
    }

    /// Makes room for `most` mapped blocks at a time.
    ///
    /// # Panics
    /// When that is more than [`BlockMap::PLACES`].
    pub fn widen(&mut self, most: u32) {
        assert!(most <= Self::PLACES);
        self.most = self.most.max(most.into());
    }

    /// Unmaps every block.
    pub fn clear(&mut self) {
        self.groups = Groups::new(self.groups.len() as u64);
        self.leaves = Lines::default();
        self.mapped = 0;
    }

    /// How many blocks are mapped.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// The leaf that the block's entry is in if it has one, and its number in the group.
    #[inline]
    fn leaf(&self, lba: Lba) -> Option<(&Leaf, u16)> {
        let (group, key) = locate(lba);
        let group = self.groups.get(group);
        if group.is_empty() {
            return None;
        }
        Some((self.leaves.get(group.leaf(group.find(key))?), key))
    }

    /// Where the block lies.
    #[inline]
    #[must_use]
    pub fn get(&self, lba: Lba) -> Option<u32> {
        let (leaf, key) = self.leaf(lba)?;
        leaf.get(key)
    }

    /// Loads what [`BlockMap::get`] and [`BlockMap::set`] would need, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.leaf(lba).map_or(0, |(leaf, _)| leaf.prefetch())
    }

    /// Loads what looking up every mapped block of `range` would need. Lookups branch on what they find and so wait for
    /// each other's cache misses; these loads do not.
    #[must_use]
    pub fn prefetch_range(&self, range: Extent<Lba>) -> u64 {
        let mut sum = 0;
        for number in self.groups_of(range) {
            let group = self.groups.get(number);
            if !group.is_empty() {
                let (from, to) = keys_in(number, range);
                let leaves = (group.find(from)..=group.find(to)).filter_map(|at| group.leaf(at));
                sum = leaves.fold(sum, |sum, leaf| sum ^ self.leaves.get(leaf).prefetch());
            }
        }
        sum
    }

    /// The groups that have blocks of `range`.
    fn groups_of(&self, range: Extent<Lba>) -> Range<usize> {
        let (first, end) = (range.start.0 >> KEY_BITS, range.end().0.div_ceil(1 << KEY_BITS));
        let end = if range.is_empty() { first } else { end };
        first as usize..(end as usize).min(self.groups.len())
    }

    /// Maps the block and returns its former place.
    ///
    /// # Panics
    /// When the block is not below the capacity.
    #[inline]
    pub fn set(&mut self, lba: Lba, to: u32) -> Option<u32> {
        debug_assert!(to < Self::PLACES);
        let (group, key) = locate(lba);
        let was = self.groups.filled(group).set(Entry { key, place: to }, &mut self.leaves);
        self.mapped += u64::from(was.is_none());
        debug_assert!(self.mapped <= self.most);
        was
    }

    /// Unmaps the block and returns its former place.
    #[inline]
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        let (number, key) = locate(lba);
        let place = self.groups.get_mut(number).remove(key, &mut self.leaves)?;
        self.groups.tidy(number);
        self.mapped -= 1;
        Some(place)
    }

    /// Unmaps every block of `range`, telling `each` what lay where.
    pub fn remove_range(&mut self, range: Extent<Lba>, mut each: impl FnMut(Lba, u32)) {
        for number in self.groups_of(range) {
            let (from, to) = keys_in(number, range);
            let mapped = &mut self.mapped;
            self.groups.get_mut(number).remove_range(from, to, &mut self.leaves, |Entry { key, place }| {
                each(block(number, key), place);
                *mapped -= 1;
            });
            self.groups.tidy(number);
        }
    }

    /// The mapped blocks of `range`, ascending.
    #[inline]
    pub fn blocks(&self, range: Extent<Lba>) -> impl Iterator<Item = Lba> {
        self.range(range).map(|(lba, _)| lba)
    }

    /// The mapped blocks of `range` and their places, ascending.
    #[inline]
    pub fn range(&self, range: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        self.between(range.start, range.end())
    }

    /// The mapped blocks in `[from, end)`, which may be more than an extent has, and their places, ascending.
    #[inline]
    pub fn between(&self, from: Lba, end: Lba) -> impl Iterator<Item = (Lba, u32)> {
        Entries::new(self, from, end)
    }

    /// The first mapped block of `range`, and its place.
    #[inline]
    #[must_use]
    pub fn first(&self, range: Extent<Lba>) -> Option<(Lba, u32)> {
        match range.blocks {
            1 => self.get(range.start).map(|place| (range.start, place)),
            _ => self.range(range).next(),
        }
    }

    /// The first mapped block in `[from, end)`.
    #[inline]
    #[must_use]
    pub fn next(&self, from: Lba, end: Lba) -> Option<Lba> {
        self.between(from, end).next().map(|(lba, _)| lba)
    }

    /// The last mapped block of `range`.
    #[must_use]
    pub fn last(&self, range: Extent<Lba>) -> Option<Lba> {
        for number in self.groups_of(range).rev() {
            let group = self.groups.get(number);
            let (_, to) = keys_in(number, range);
            let leaves = if group.is_empty() { 0 } else { group.find(to) + 1 };
            for leaf in (0..leaves).rev().filter_map(|at| group.leaf(at)) {
                let leaf = self.leaves.get(leaf);
                if let Some(Entry { key, .. }) = leaf.rank_through(to).checked_sub(1).and_then(|rank| leaf.entry(rank))
                {
                    return Some(block(number, key)).filter(|lba| *lba >= range.start);
                }
            }
        }
        None
    }
}

/// The numbers that the first and the last block of a range have in a group; the group's own where the range goes on.
#[inline]
fn keys_in(group: usize, range: Extent<Lba>) -> (u16, u16) {
    let (first, last) = (block(group, 0).0, block(group, LAST).0);
    let key = |at: u64| at.clamp(first, last) as u16 & LAST;
    (key(range.start.0), key(range.end().0 - 1))
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

    /// Scattered blocks of many groups, some of which become crowded.
    #[test]
    fn behaves_like_a_map_while_it_grows() {
        let (mut map, mut plain) = (BlockMap::new(1 << 30, 200_000), BTreeMap::new());
        let mut state = 1_u64;
        for step in 0..300_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let stride = if step % 3 == 0 { 1 } else { 25_000 };
            let lba = Lba((state >> 40) % 40_000 * stride % (1 << 30));
            if state >> 62 == 0 {
                assert_eq!(map.remove(lba), plain.remove(&lba));
            } else {
                assert_eq!(map.set(lba, step), plain.insert(lba, step));
            }
            let other = Lba((state >> 20) % 40_000 * stride % (1 << 30));
            assert_eq!(map.get(other), plain.get(&other).copied());
        }
        assert_eq!(map.mapped(), plain.len() as u64);
        assert_eq!(map.range(Extent::new(Lba(0), u32::MAX)).collect::<Vec<_>>(), plain.into_iter().collect::<Vec<_>>());
    }

    /// Leaves that have memory, and the most that there may be for what is mapped.
    fn leaves(map: &BlockMap) -> (u64, u64) {
        let groups = || (0..map.groups.len()).map(|number| map.groups.get(number));
        let used: usize = groups().map(|group| (0..).map_while(|at| group.leaf(at)).count()).sum();
        let filled = groups().filter(|group| !group.is_empty()).count() as u64;
        (used as u64, filled + (2 * map.mapped()).div_ceil(LEAST_OF_TWO))
    }

    /// Blocks in order, in reverse, between others, and few of many that there were.
    #[test]
    fn leaves_are_few_whatever_order_blocks_come_and_go_in() {
        let scattered = |i: u64| i * 40_503 % (1 << 16);
        let orders: [&dyn Fn(u64) -> u64; 4] =
            [&|i| i, &|i| 65_535 - i, &scattered, &|i| i % 2 * (1 << 15) + i / 2 * 3 % (1 << 15)];
        for come in orders {
            for go in orders {
                let mut map = BlockMap::new(1 << 16, 1 << 16);
                for i in 0..30_000 {
                    map.set(Lba(come(i)), 1);
                    let (used, most) = leaves(&map);
                    assert!(used <= most, "{used} leaves for {} blocks, not {most}", map.mapped());
                }
                for i in 0..1 << 16 {
                    map.remove(Lba(go(i)));
                    if i % 64 == 0 {
                        let (used, most) = leaves(&map);
                        assert!(used <= most, "{used} leaves for {} blocks, not {most}", map.mapped());
                    }
                }
                assert_eq!((leaves(&map), map.leaves.room()), ((0, 0), 0));
            }
        }
    }

    proptest! {
        #[test]
        fn behaves_like_an_ordered_map(steps in prop::collection::vec((0u8..4, 0u64..20_000, 1u32..9000), 1..300)) {
            let mut map = BlockMap::new(20_000, 300);
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
                let window = Extent::new(Lba(at / 2), 10_000);
                let inside: Vec<_> = plain.range(window.start.0..window.end().0).map(|(&l, &t)| (Lba(l), t)).collect();
                prop_assert_eq!(map.last(window), inside.last().map(|e| e.0));
                prop_assert_eq!(map.next(window.start, window.end()), inside.first().map(|e| e.0));
                prop_assert_eq!(map.first(window), inside.first().copied());
                prop_assert_eq!(map.first(window.first(1)), inside.first().copied().filter(|e| e.0 == window.start));
                let mut folded = Vec::new();
                map.range(window).for_each(|entry| folded.push(entry));
                prop_assert_eq!(&folded, &inside);
                prop_assert_eq!(map.range(window).collect::<Vec<_>>(), inside);
            }
        }

        /// A map as full as it gets, of blocks that crowd a few leaves.
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
