//! Which unit has the fewest live blocks: units in buckets by their number of live blocks, so that a change and a choice
//! take constant time, however many units there are.
//!
//! A bucket is a list linked through an array by unit. Of units with equally few live blocks, the one that came to that
//! number first is chosen.

use super::bitmap::Bitmap;

/// No unit.
const NOBODY: u32 = u32::MAX;
/// As the bucket: the unit is not in the index.
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
#[derive(Clone)]
pub struct VictimIndex {
    entries: Vec<Entry>,
    buckets: Vec<Bucket>,
    /// Buckets that hold a unit.
    used: Bitmap,
}

impl VictimIndex {
    /// An empty index of units below `units`, of at most `most` live blocks each.
    #[must_use]
    pub fn new(units: u32, most: u32) -> Self {
        Self {
            entries: vec![Entry { live: ABSENT, before: NOBODY, after: NOBODY }; units as usize],
            buckets: vec![Bucket { first: NOBODY, last: NOBODY }; most as usize + 1],
            used: Bitmap::new(u64::from(most) + 1),
        }
    }

    /// Whether `unit` is in the index.
    #[inline]
    #[must_use]
    pub fn contains(&self, unit: u32) -> bool {
        self.entries[unit as usize].live != ABSENT
    }

    /// The live blocks of `unit` as the index knows them.
    #[must_use]
    pub fn live(&self, unit: u32) -> Option<u32> {
        Some(self.entries[unit as usize].live).filter(|&live| live != ABSENT)
    }

    /// The unit with the fewest live blocks.
    #[must_use]
    pub fn lowest(&self) -> Option<u32> {
        let bucket = self.used.next(0, self.buckets.len() as u64)?;
        Some(self.buckets[bucket as usize].first)
    }

    /// Adds `unit`.
    #[inline]
    pub fn insert(&mut self, unit: u32, live: u32) {
        debug_assert!(!self.contains(unit));
        let bucket = &mut self.buckets[live as usize];
        self.entries[unit as usize] = Entry { live, before: bucket.last, after: NOBODY };
        if bucket.last == NOBODY {
            bucket.first = unit;
            self.used.insert(u64::from(live));
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
        let bucket = &mut self.buckets[live as usize];
        match before {
            NOBODY => bucket.first = after,
            _ => self.entries[before as usize].after = after,
        }
        match after {
            NOBODY => bucket.last = before,
            _ => self.entries[after as usize].before = before,
        }
        if bucket.first == NOBODY {
            self.used.remove(u64::from(live));
        }
    }

    /// The live blocks of `unit` have become `live`.
    #[inline]
    pub fn change(&mut self, unit: u32, live: u32) {
        self.remove(unit);
        self.insert(unit, live);
    }

    /// Empties the index.
    pub fn clear(&mut self) {
        *self = Self::new(self.entries.len() as u32, self.buckets.len() as u32 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A list in order of arrival, of which the first of the least is the one.
        #[test]
        fn behaves_like_a_list(steps in prop::collection::vec((0u32..3, 0u32..20, 0u32..200), 1..300)) {
            let mut index = VictimIndex::new(20, 200);
            let mut plain: Vec<(u32, u32)> = Vec::new();
            for (kind, unit, live) in steps {
                let at = plain.iter().position(|&(listed, _)| listed == unit);
                prop_assert_eq!(index.live(unit), at.map(|at| plain[at].1));
                match (kind, at) {
                    (0, None) => {
                        index.insert(unit, live);
                        plain.push((unit, live));
                    }
                    (1, Some(at)) => {
                        index.change(unit, live);
                        plain.remove(at);
                        plain.push((unit, live));
                    }
                    (2, Some(at)) => {
                        index.remove(unit);
                        plain.remove(at);
                    }
                    _ => {}
                }
                let least = plain.iter().map(|&(_, live)| live).min();
                prop_assert_eq!(index.lowest(), plain.iter().find(|&&(_, live)| Some(live) == least).map(|e| e.0));
            }
        }
    }
}
