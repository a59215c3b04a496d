//! A sparse map from logical blocks to 32-bit places.
//!
//! Two levels: a directory of pages of 1024 blocks, allocated when a block in them is first mapped and reused when the
//! last one is gone. A page keeps its presence bits apart from its entries: most lookups of a persistent buffer miss, and
//! a miss then touches one cache line of a structure of one bit a block.

use crate::block::{Extent, Lba};

const PAGE: usize = 1024;
const WORDS: usize = PAGE / 64;

#[derive(Clone)]
struct Page {
    present: [u64; WORDS],
    mapped: u32,
    to: [u32; PAGE],
}

impl Page {
    fn empty() -> Box<Self> {
        Box::new(Self { present: [0; WORDS], mapped: 0, to: [0; PAGE] })
    }
}

/// Where each mapped logical block lies.
#[derive(Clone, Default)]
pub struct BlockMap {
    pages: Vec<Option<Box<Page>>>,
    spare: Vec<Box<Page>>,
    mapped: u64,
}

fn index(lba: Lba) -> (usize, usize) {
    ((lba.0 / PAGE as u64) as usize, (lba.0 % PAGE as u64) as usize)
}

impl BlockMap {
    /// An empty map of logical blocks below `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        let mut pages = Vec::new();
        pages.resize_with(capacity.div_ceil(PAGE as u64) as usize, || None);
        Self { pages, spare: Vec::new(), mapped: 0 }
    }

    /// How many blocks are mapped.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Bytes of memory held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let pages = self.pages.iter().flatten().count() + self.spare.len();
        self.pages.capacity() * size_of::<Option<Box<Page>>>() + pages * size_of::<Page>()
    }

    /// Where the block lies.
    #[must_use]
    pub fn get(&self, lba: Lba) -> Option<u32> {
        let (page, i) = index(lba);
        let page = self.pages.get(page)?.as_ref()?;
        (page.present[i / 64] >> (i % 64) & 1 == 1).then(|| page.to[i])
    }

    /// Loads what [`BlockMap::get`] would need, for its effect on the cache.
    #[must_use]
    pub fn touch(&self, lba: Lba) -> u64 {
        let (page, i) = index(lba);
        match self.pages.get(page) {
            Some(Some(page)) => page.present[i / 64] ^ u64::from(page.to[i]),
            _ => 0,
        }
    }

    /// Maps the block and returns its former place.
    pub fn set(&mut self, lba: Lba, to: u32) -> Option<u32> {
        let (page, i) = index(lba);
        let spare = &mut self.spare;
        let page = self.pages[page].get_or_insert_with(|| spare.pop().unwrap_or_else(Page::empty));
        let bit = 1 << (i % 64);
        let was = (page.present[i / 64] & bit != 0).then(|| page.to[i]);
        page.to[i] = to;
        if was.is_none() {
            page.present[i / 64] |= bit;
            page.mapped += 1;
            self.mapped += 1;
        }
        was
    }

    /// Unmaps the block and returns its former place.
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        let (number, i) = index(lba);
        let page = self.pages.get_mut(number)?.as_mut()?;
        let bit = 1 << (i % 64);
        if page.present[i / 64] & bit == 0 {
            return None;
        }
        page.present[i / 64] &= !bit;
        page.mapped -= 1;
        self.mapped -= 1;
        let was = page.to[i];
        if page.mapped == 0 {
            self.spare.extend(self.pages[number].take());
        }
        Some(was)
    }

    /// Unmaps every block of `range`, telling `each` what lay where.
    pub fn remove_range(&mut self, range: Extent<Lba>, mut each: impl FnMut(Lba, u32)) {
        let mut next = self.next(range.start, range.end());
        while let Some((lba, to)) = next {
            each(lba, to);
            self.remove(lba);
            next = self.next(Lba(lba.0 + 1), range.end());
        }
    }

    /// The mapped blocks of `range` and their places, ascending.
    pub fn range(&self, range: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        let end = range.end();
        let mut from = range.start;
        std::iter::from_fn(move || {
            let found = self.next(from, end)?;
            from = Lba(found.0.0 + 1);
            Some(found)
        })
    }

    /// The first mapped block in `[from, end)`.
    #[must_use]
    pub fn next(&self, from: Lba, end: Lba) -> Option<(Lba, u32)> {
        let mut at = from.0;
        while at < end.0 {
            let (number, i) = index(Lba(at));
            let Some(page) = self.pages.get(number)? else {
                at = (number as u64 + 1) * PAGE as u64;
                continue;
            };
            let word = page.present[i / 64] >> (i % 64);
            if word == 0 {
                at = (at / 64 + 1) * 64;
                continue;
            }
            let lba = Lba(at + u64::from(word.trailing_zeros()));
            let (_, i) = index(lba);
            return (lba < end).then(|| (lba, page.to[i]));
        }
        None
    }

    /// The last mapped block of `range`.
    #[must_use]
    pub fn last(&self, range: Extent<Lba>) -> Option<Lba> {
        let mut end = range.end().0;
        while end > range.start.0 {
            let (number, i) = index(Lba(end - 1));
            let Some(Some(page)) = self.pages.get(number) else {
                end = number as u64 * PAGE as u64;
                continue;
            };
            let word = page.present[i / 64] << (63 - i % 64);
            if word == 0 {
                end = (end - 1) / 64 * 64;
                continue;
            }
            let lba = Lba(end - 1 - u64::from(word.leading_zeros()));
            return (lba >= range.start).then_some(lba);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_like_an_ordered_map(steps in prop::collection::vec((0u8..4, 0u64..5000, 1u32..1500), 1..300)) {
            let mut map = BlockMap::new(5000);
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
                prop_assert_eq!(map.range(window).collect::<Vec<_>>(), inside);
            }
        }
    }

    #[test]
    fn pages_are_reused() {
        let mut map = BlockMap::new(1 << 20);
        for i in 0..1000 {
            map.set(Lba(i * 1024), 1);
            map.remove(Lba(i * 1024));
        }
        assert!(map.memory_bytes() < 1024 * 8 + 2 * size_of::<Page>());
    }
}
