//! A sparse map from logical blocks to 32-bit places.
//!
//! Two levels: a directory of pages of 1024 blocks, allocated when a block in them is first mapped and reused when the
//! last one is gone. A page keeps its presence bits apart from its entries: most lookups of a persistent buffer miss, and
//! a miss then touches one cache line of a structure of one bit a block.

use crate::block::{Extent, Lba};

const PAGE: usize = 1024;
const WORDS: usize = PAGE / 64;

#[derive(Clone)]
#[repr(align(64))]
struct Page {
    present: [u64; WORDS],
    to: [u32; PAGE],
}

impl Page {
    fn empty() -> Box<Self> {
        Box::new(Self { present: [0; WORDS], to: [0; PAGE] })
    }
}

/// Where each mapped logical block lies.
#[derive(Clone, Default)]
pub struct BlockMap {
    pages: Vec<Option<Box<Page>>>,
    /// How many blocks each page maps. Not in the page, where it would be one more line to load for each change.
    counts: Vec<u16>,
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
        let counts = vec![0; pages.len()];
        Self { pages, counts, spare: Vec::new(), mapped: 0 }
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
        let directory = self.pages.capacity() * size_of::<Option<Box<Page>>>() + self.counts.capacity() * 2;
        directory + self.spare.capacity() * size_of::<Box<Page>>() + pages * size_of::<Page>()
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

    /// Loads which blocks of `range` are mapped, for its effect on the cache.
    #[must_use]
    pub fn touch_range(&self, range: Extent<Lba>) -> u64 {
        let pages = range.start.0 as usize / PAGE..range.end().0.div_ceil(PAGE as u64) as usize;
        self.pages[pages].iter().flatten().fold(0, |sum, page| sum ^ page.present[0] ^ page.present[WORDS / 2])
    }

    /// Maps the block and returns its former place.
    pub fn set(&mut self, lba: Lba, to: u32) -> Option<u32> {
        let (number, i) = index(lba);
        let bit = 1 << (i % 64);
        let was = match &mut self.pages[number] {
            Some(page) => {
                let was = (page.present[i / 64] & bit != 0).then(|| page.to[i]);
                page.present[i / 64] |= bit;
                page.to[i] = to;
                was
            }
            none => {
                let mut page = self.spare.pop().unwrap_or_else(Page::empty);
                // A spare page is long out of the cache, and known to be empty: it is written without being read.
                page.present[i / 64] = bit;
                page.to[i] = to;
                *none = Some(page);
                None
            }
        };
        if was.is_none() {
            self.counts[number] += 1;
            self.mapped += 1;
        }
        was
    }

    /// Unmaps the block and returns its former place.
    pub fn remove(&mut self, lba: Lba) -> Option<u32> {
        let mut was = None;
        self.remove_range(Extent::new(lba, 1), |_, to| was = Some(to));
        was
    }

    /// Unmaps every block of `range`, telling `each` what lay where.
    pub fn remove_range(&mut self, range: Extent<Lba>, mut each: impl FnMut(Lba, u32)) {
        let (mut at, end) = (range.start.0, range.end().0);
        while at < end {
            let (number, i) = index(Lba(at));
            let first = at - i as u64;
            let limit = (end - first).min(PAGE as u64) as usize;
            if let Some(Some(page)) = self.pages.get_mut(number) {
                let mut gone = 0;
                for word in i / 64..limit.div_ceil(64) {
                    let bits = page.present[word] & mask(word, i, limit);
                    page.present[word] ^= bits;
                    gone += bits.count_ones();
                    ones(bits).for_each(|bit| each(Lba(first + (word * 64 + bit) as u64), page.to[word * 64 + bit]));
                }
                self.mapped -= u64::from(gone);
                self.counts[number] -= gone as u16; // at most a page
                if self.counts[number] == 0 {
                    self.spare.extend(self.pages[number].take());
                }
            }
            at = first + PAGE as u64;
        }
    }

    /// The mapped blocks of `range` and their places, ascending.
    pub fn range(&self, range: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        self.between(range.start, range.end())
    }

    /// The first mapped block in `[from, end)`.
    #[must_use]
    pub fn next(&self, from: Lba, end: Lba) -> Option<(Lba, u32)> {
        self.between(from, end).next()
    }

    fn between(&self, from: Lba, end: Lba) -> impl Iterator<Item = (Lba, u32)> {
        let (mut at, mut page, mut bits, mut first) = (from.0, None, 0u64, 0);
        std::iter::from_fn(move || {
            while bits == 0 {
                if at >= end.0 {
                    return None;
                }
                let (number, i) = index(Lba(at));
                if page.is_none() || i == 0 {
                    page = self.pages.get(number)?.as_deref();
                }
                let Some(page) = page else {
                    at += (PAGE - i) as u64;
                    continue;
                };
                first = at - (i % 64) as u64;
                let limit = (end.0 - (at - i as u64)).min(PAGE as u64) as usize;
                bits = page.present[i / 64] & mask(i / 64, i, limit);
                at = first + 64;
            }
            let lba = Lba(first + u64::from(bits.trailing_zeros()));
            bits &= bits - 1;
            page.map(|page| (lba, page.to[index(lba).1]))
        })
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

/// The bits of a page's word `word` that belong to its blocks from `from` up to `limit`, some of which are in it.
#[inline]
fn mask(word: usize, from: usize, limit: usize) -> u64 {
    let begin = from.saturating_sub(word * 64);
    let end = (limit - word * 64).min(64);
    u64::MAX << begin & u64::MAX >> (64 - end)
}

/// The numbers of the bits that are set, ascending.
#[inline]
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then_some(bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(bit)
    })
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
