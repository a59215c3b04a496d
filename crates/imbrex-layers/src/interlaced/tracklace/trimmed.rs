//! Which blocks hold nothing: those that were trimmed, or never written where only what was written counts.
//!
//! They read as zeros. The record is a number: under the number of a group of 64 blocks, one bit for each of them.

use crate::parts::sparse_bitmap::SparseBitmap;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Record;

/// Blocks of a group.
pub(super) const GROUP: u64 = 64;

/// A set of blocks, all of them or none at first.
pub(super) struct Trimmed {
    at_first: bool,
    turned: SparseBitmap,
    turned_blocks: u64,
    capacity: u64,
}

impl Trimmed {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.turned.memory(self.capacity)
    }

    /// All of `capacity` blocks, or none.
    pub fn new(capacity: u64, at_first: bool) -> Self {
        Self { at_first, turned: SparseBitmap::new(capacity.next_multiple_of(GROUP)), turned_blocks: 0, capacity }
    }

    /// Whether the block holds nothing.
    #[inline]
    pub fn contains(&self, lba: Lba) -> bool {
        (self.at_first || self.turned_blocks > 0) && self.at_first != self.turned.contains(lba.0)
    }

    /// Whether one of the blocks holds nothing.
    #[inline]
    pub fn any(&self, at: Extent<Lba>) -> bool {
        if self.at_first {
            return at.iter().any(|lba| !self.turned.contains(lba.0));
        }
        self.turned_blocks > 0 && self.turned.next(at.start.0, at.end().0).is_some()
    }

    /// The groups of `at`.
    pub fn groups(at: Extent<Lba>) -> std::ops::Range<u64> {
        at.start.0 / GROUP..at.end().0.div_ceil(GROUP)
    }

    /// The record of a group, of which the blocks of `at` are to hold nothing, or something, and the others are as they
    /// are.
    pub fn record(&self, group: u64, at: Extent<Lba>, nothing: bool) -> Record {
        let blocks = (group * GROUP..self.capacity.min((group + 1) * GROUP)).map(Lba);
        let is_in = |lba: &Lba| if at.contains(*lba) { nothing } else { self.contains(*lba) };
        let value = blocks.filter(is_in).fold(0, |bits, lba| bits | 1 << (lba.0 % GROUP));
        Record::Note { key: group as u32, value }
    }

    /// Applies a record: calls `each` with every block that changes, and what it is from now on. False if there is no
    /// such group.
    pub fn apply(&mut self, key: u32, value: u64, mut each: impl FnMut(Lba, bool)) -> bool {
        let first = u64::from(key) * GROUP;
        if first >= self.capacity || (self.capacity - first < GROUP && value >> (self.capacity - first) != 0) {
            return false;
        }
        for lba in (first..self.capacity.min(first + GROUP)).map(Lba) {
            let nothing = value >> (lba.0 - first) & 1 == 1;
            if nothing != self.contains(lba) {
                if nothing == self.at_first {
                    self.turned_blocks -= u64::from(self.turned.remove(lba.0));
                } else {
                    self.turned_blocks += u64::from(self.turned.insert(lba.0));
                }
                each(lba, nothing);
            }
        }
        true
    }

    /// The blocks that are not as they were at first.
    pub fn changed(&self) -> impl Iterator<Item = Lba> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.turned.next(from, self.capacity)?;
            from = found + 1;
            Some(Lba(found))
        })
    }

    /// The first group in `[from, end)` of which something is not as it was at first.
    pub fn next_group(&self, from: u64, end: u64) -> Option<u64> {
        self.turned.next(from * GROUP, end * GROUP).map(|lba| lba / GROUP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_all_of_a_group() {
        for at_first in [false, true] {
            let mut trimmed = Trimmed::new(150, at_first);
            let some = Extent::new(Lba(60), 10);
            assert_eq!((trimmed.any(some), Trimmed::groups(some)), (at_first, 0..2));
            for group in Trimmed::groups(some) {
                let Record::Note { key, value } = trimmed.record(group, some, !at_first) else { panic!() };
                let mut changed = 0;
                assert!(trimmed.apply(key, value, |lba, nothing| {
                    assert_eq!((some.contains(lba), nothing), (true, !at_first));
                    changed += 1;
                }));
                assert_eq!(changed, [4, 6][group as usize]);
            }
            assert!((0..150).map(Lba).all(|lba| trimmed.contains(lba) == (some.contains(lba) != at_first)));
            assert_eq!((trimmed.next_group(0, 3), trimmed.next_group(2, 3)), (Some(0), None));
            assert!(!trimmed.apply(3, 0, |_, _| {}) && !trimmed.apply(2, 1 << 22, |_, _| {}), "beyond the capacity");
        }
    }
}
