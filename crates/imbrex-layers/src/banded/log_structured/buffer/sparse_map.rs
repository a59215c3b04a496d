//! A map from few blocks of a large range to 32-bit places: memory follows what is mapped, not the range.
//!
//! The range is cut into groups. A group without a mapped block is a zero in the list of groups, four bytes; any other
//! has a page, which it gives back with its last block. A lookup loads an entry of the list and one of a page, however
//! crowded a group is. A [`BlockMap`](super::block_map::BlockMap) takes less memory where blocks lie scattered; where
//! runs of blocks come and go, this takes a fraction of its time.

use imbrex_core::block::{Extent, Lba};
use imbrex_core::memory::Memory;

/// Blocks of a group: as many as a word has bits.
const GROUP: u64 = 64;

/// The places of a group's blocks.
#[derive(Clone, Debug)]
struct Page {
    /// Which of them are mapped.
    mapped: u64,
    places: [u32; GROUP as usize],
}

/// Where each mapped block lies.
#[derive(Clone, Debug)]
pub(super) struct SparseMap {
    /// For each group the number of its page, counted from 1; 0 if it has none.
    groups: Vec<u32>,
    pages: Vec<Page>,
    /// Pages given back, counted likewise.
    free: Vec<u32>,
}

/// The group of a block, and its number there.
#[inline]
fn locate(lba: Lba) -> (usize, usize) {
    ((lba.0 / GROUP) as usize, (lba.0 % GROUP) as usize)
}

impl SparseMap {
    /// The memory that it takes with at most `most` blocks in it.
    pub fn memory(&self, most: u64) -> Memory {
        let groups = self.groups.len() as u64;
        let pages = groups.min(most);
        Memory::room::<u32>(groups) + Memory::growing::<Page>(pages) + Memory::growing::<u32>(pages)
    }

    /// An empty map of blocks below `capacity`.
    pub fn new(capacity: u64) -> Self {
        Self { groups: vec![0; capacity.div_ceil(GROUP) as usize], pages: Vec::new(), free: Vec::new() }
    }

    /// How many blocks are mapped.
    pub fn mapped(&self) -> u64 {
        self.pages.iter().map(|page| u64::from(page.mapped.count_ones())).sum()
    }

    /// Where the block lies.
    #[inline]
    pub fn get(&self, lba: Lba) -> Option<u32> {
        let (group, block) = locate(lba);
        let page = self.page(group)?;
        (page.mapped >> block & 1 == 1).then(|| page.places[block])
    }

    /// Maps the block.
    #[inline]
    pub fn set(&mut self, lba: Lba, to: u32) {
        let (group, block) = locate(lba);
        if self.groups[group] == 0 {
            self.groups[group] = self.new_page();
        }
        let page = &mut self.pages[self.groups[group] as usize - 1];
        page.mapped |= 1 << block;
        page.places[block] = to;
    }

    /// Unmaps the block and returns its former place.
    #[inline]
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        let to = self.get(lba)?;
        let (group, block) = locate(lba);
        let page = &mut self.pages[self.groups[group] as usize - 1];
        page.mapped &= !(1 << block);
        if page.mapped == 0 {
            self.free.push(std::mem::take(&mut self.groups[group]));
        }
        Some(to)
    }

    /// The mapped blocks of `range` and their places, ascending.
    pub fn range(&self, range: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        let mut from = range.start;
        std::iter::from_fn(move || {
            let found = self.next(from, range.end())?;
            from = Lba(found.0.0 + 1);
            Some(found)
        })
    }

    /// The first mapped block in `[from, end)`, and its place.
    #[inline]
    pub fn next(&self, from: Lba, end: Lba) -> Option<(Lba, u32)> {
        let mut from = from;
        while from < end {
            let (group, block) = locate(from);
            let found = self.page(group).and_then(|page| {
                let behind = page.mapped >> block;
                (behind != 0).then(|| (behind.trailing_zeros() as usize + block, page))
            });
            if let Some((block, page)) = found {
                let lba = Lba(group as u64 * GROUP + block as u64);
                return (lba < end).then(|| (lba, page.places[block]));
            }
            let last = self.groups.len().min(end.0.div_ceil(GROUP) as usize);
            let groups = self.groups.get(group + 1..last)?;
            from = Lba((group as u64 + 1 + groups.iter().position(|page| *page != 0)? as u64) * GROUP);
        }
        None
    }

    #[inline]
    fn page(&self, group: usize) -> Option<&Page> {
        self.pages.get((*self.groups.get(group)? as usize).checked_sub(1)?)
    }

    /// A page of nothing, by its number counted from 1.
    fn new_page(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.pages.push(Page { mapped: 0, places: [0; GROUP as usize] });
            self.pages.len() as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const CAPACITY: u64 = 1000;

    proptest! {
        #[test]
        fn behaves_like_an_ordered_map(steps in prop::collection::vec((0u8..4, 0..CAPACITY, 0u64..400), 1..300)) {
            let (mut map, mut plain) = (SparseMap::new(CAPACITY), BTreeMap::new());
            for (number, (kind, at, length)) in (0..).zip(steps) {
                // Some groups fill up, and others stay without blocks.
                let at = if at % 3 == 0 { at % 70 } else { at };
                if kind == 0 {
                    prop_assert_eq!(map.remove(Lba(at)), plain.remove(&at));
                } else {
                    map.set(Lba(at), number);
                    plain.insert(at, number);
                }
                prop_assert_eq!(map.get(Lba(at)), plain.get(&at).copied());
                prop_assert_eq!(map.mapped(), plain.len() as u64);
                let range = Extent::new(Lba(at / 2), length as u32);
                let expected: Vec<_> = plain.range(at / 2..at / 2 + length).map(|(&l, &to)| (Lba(l), to)).collect();
                prop_assert_eq!(map.range(range).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn memory_follows_what_is_mapped() {
        let mut map = SparseMap::new(1 << 32);
        for round in 0..3 {
            let block = |i: u32| Lba(u64::from(i) * 800_011 + round);
            (0..5000).for_each(|i| map.set(block(i), i));
            assert_eq!(map.pages.len(), 5000, "pages are given back and taken again");
            (0..5000).for_each(|i| assert_eq!(map.remove(block(i)), Some(i)));
        }
        assert_eq!((map.next(Lba(0), Lba(1 << 32)), map.free.len()), (None, 5000));
    }
}
