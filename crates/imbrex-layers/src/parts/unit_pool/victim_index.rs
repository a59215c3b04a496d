//! Which unit has the fewest live blocks: units in buckets by their number of live blocks.
//!
//! A bucket is a list linked through an array by unit. Units of many blocks share a bucket with those that have nearly
//! as many live ones: most changes then touch one number only, and a choice, which is rare when units are large, looks
//! through one bucket. Of units with equally few live blocks, the one that came to their bucket first is chosen, which
//! for units of fewer than 1024 blocks is the one that came to that number first.

use crate::parts::bitmap::Bitmap;
use imbrex_core::memory::Memory;

/// The most buckets there are.
const BUCKETS: u32 = 1024;
/// No unit.
const NOBODY: u32 = u32::MAX;
/// The number of live blocks of a unit that is not in the index.
const ABSENT: u32 = u32::MAX;

#[derive(Copy, Clone, Debug)]
struct Entry {
    live: u32,
    before: u32,
    after: u32,
}

/// The first and the last unit of a bucket.
#[derive(Copy, Clone, Debug)]
struct Bucket {
    first: u32,
    last: u32,
}

/// Units by their number of live blocks.
#[derive(Clone, Debug)]
pub(super) struct VictimIndex {
    entries: Vec<Entry>,
    /// By how many bits the number of live blocks is shifted to get the number of the bucket.
    shift: u32,
    buckets: Vec<Bucket>,
    /// Buckets that hold a unit.
    used: Bitmap,
}

impl VictimIndex {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let (units, buckets) = (self.entries.len() as u64, self.buckets.len() as u64);
        Memory::of::<Entry>(units) + Memory::of::<Bucket>(buckets) + self.used.memory()
    }

    /// An empty index of units below `units`, of at most `most` live blocks each.
    pub fn new(units: u32, most: u32) -> Self {
        let shift = (most / BUCKETS + 1).next_power_of_two().trailing_zeros();
        let buckets = (most >> shift) + 1;
        Self {
            entries: vec![Entry { live: ABSENT, before: NOBODY, after: NOBODY }; units as usize],
            shift,
            buckets: vec![Bucket { first: NOBODY, last: NOBODY }; buckets as usize],
            used: Bitmap::new(u64::from(buckets)),
        }
    }

    /// Whether `unit` is in the index.
    #[inline]
    pub fn contains(&self, unit: u32) -> bool {
        self.entries[unit as usize].live != ABSENT
    }

    /// The live blocks of `unit` as the index knows them.
    pub fn live(&self, unit: u32) -> Option<u32> {
        Some(self.entries[unit as usize].live).filter(|&live| live != ABSENT)
    }

    /// The unit with the fewest live blocks, and how many these are.
    pub fn lowest(&self) -> Option<(u32, u32)> {
        let bucket = self.used.next(0, self.buckets.len() as u64)?;
        let mut next = self.buckets[bucket as usize].first;
        let units = std::iter::from_fn(|| {
            let unit = (next != NOBODY).then_some(next)?;
            let Entry { live, after, .. } = self.entries[unit as usize];
            next = after;
            Some((unit, live))
        });
        units.min_by_key(|&(_, live)| live)
    }

    /// Adds `unit`.
    #[inline]
    pub fn insert(&mut self, unit: u32, live: u32) {
        debug_assert!(!self.contains(unit));
        let number = live >> self.shift;
        let bucket = &mut self.buckets[number as usize];
        self.entries[unit as usize] = Entry { live, before: bucket.last, after: NOBODY };
        if bucket.last == NOBODY {
            bucket.first = unit;
            self.used.insert(u64::from(number));
        } else {
            self.entries[bucket.last as usize].after = unit;
        }
        bucket.last = unit;
    }

    /// Takes `unit` out.
    #[inline]
    pub fn remove(&mut self, unit: u32) {
        debug_assert!(self.contains(unit));
        let Entry { live, before, after } = self.entries[unit as usize];
        self.entries[unit as usize].live = ABSENT;
        let number = live >> self.shift;
        let bucket = &mut self.buckets[number as usize];
        match before {
            NOBODY => bucket.first = after,
            _ => self.entries[before as usize].after = after,
        }
        match after {
            NOBODY => bucket.last = before,
            _ => self.entries[after as usize].before = before,
        }
        if bucket.first == NOBODY {
            self.used.remove(u64::from(number));
        }
    }

    /// The live blocks of `unit`, if it is in the index, have become `live`.
    #[inline]
    pub fn change(&mut self, unit: u32, live: u32) {
        let entry = &mut self.entries[unit as usize];
        if entry.live == ABSENT {
            return;
        }
        if entry.live >> self.shift == live >> self.shift {
            entry.live = live;
        } else {
            self.remove(unit);
            self.insert(unit, live);
        }
    }

    /// Takes all units out.
    pub fn clear(&mut self) {
        self.entries.fill(Entry { live: ABSENT, before: NOBODY, after: NOBODY });
        self.buckets.fill(Bucket { first: NOBODY, last: NOBODY });
        self.used = Bitmap::new(self.buckets.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A list in order of arrival, of which the first of the least is the one; units of few and of many blocks.
        #[test]
        fn behaves_like_a_list(
            most in prop::sample::select(vec![200u32, BUCKETS - 1, BUCKETS, 70_000]),
            steps in prop::collection::vec((0u32..3, 0u32..20, 0.0f64..1.0), 1..300),
        ) {
            let mut index = VictimIndex::new(20, most);
            let mut plain: Vec<(u32, u32)> = Vec::new();
            for (kind, unit, part) in steps {
                let live = (part * f64::from(most + 1)) as u32;
                let at = plain.iter().position(|&(listed, _)| listed == unit);
                prop_assert_eq!(index.live(unit), at.map(|at| plain[at].1));
                match (kind, at) {
                    (0, None) => {
                        index.insert(unit, live);
                        plain.push((unit, live));
                    }
                    (1, Some(at)) if plain[at].1 >> index.shift == live >> index.shift => {
                        index.change(unit, live);
                        plain[at].1 = live;
                    }
                    (1, at) => {
                        index.change(unit, live);
                        if let Some(at) = at {
                            plain.remove(at);
                            plain.push((unit, live));
                        }
                    }
                    (2, Some(at)) => {
                        index.remove(unit);
                        plain.remove(at);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.lowest(), plain.iter().copied().min_by_key(|&(_, live)| live));
            }
            index.clear();
            prop_assert_eq!(index.lowest(), None);
        }
    }

    #[test]
    fn units_of_few_blocks_share_no_bucket() {
        assert_eq!(VictimIndex::new(1, BUCKETS - 1).shift, 0);
        assert!(VictimIndex::new(1, u32::MAX - 1).buckets.len() <= BUCKETS as usize);
    }
}
