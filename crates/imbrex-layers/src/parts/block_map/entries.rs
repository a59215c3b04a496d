//! Going through the blocks of a map in order.

use super::leaf::Entry;
use super::{BlockMap, KEY_BITS, block, locate};
use imbrex_core::block::Lba;

/// The entries of blocks in a range, ascending.
pub(super) struct Entries<'a> {
    map: &'a BlockMap,
    end: Lba,
    /// Where the next one is looked for: a group, a leaf's number in its order, and an entry's in the leaf.
    group: usize,
    leaf: usize,
    rank: usize,
}

impl<'a> Entries<'a> {
    #[inline]
    pub fn new(map: &'a BlockMap, from: Lba, end: Lba) -> Self {
        let (group, key) = locate(from);
        let (mut leaf, mut rank) = (0, 0);
        let found = map.groups.get(group);
        if !found.is_empty() {
            leaf = found.find(key);
            rank = found.leaf(leaf).map_or(0, |leaf| map.leaves.get(leaf).rank(key));
        }
        Self { map, end, group, leaf, rank }
    }
}

impl Iterator for Entries<'_> {
    type Item = (Lba, u32);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.group >= self.map.groups.len() || (self.group as u64) << KEY_BITS >= self.end.0 {
                return None;
            }
            let Some(leaf) = self.map.groups.get(self.group).leaf(self.leaf) else {
                (self.group, self.leaf, self.rank) = (self.group + 1, 0, 0);
                continue;
            };
            let Some(Entry { key, place }) = self.map.leaves.get(leaf).entry(self.rank) else {
                (self.leaf, self.rank) = (self.leaf + 1, 0);
                continue;
            };
            self.rank += 1;
            return Some((block(self.group, key), place)).filter(|(lba, _)| *lba < self.end);
        }
    }

    /// Leaf by leaf: most are all in the range.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut each: F) -> B {
        let mut sum = init;
        let (mut first, mut rank) = (self.leaf, self.rank);
        let end = (self.end.0.div_ceil(1 << KEY_BITS) as usize).min(self.map.groups.len());
        for number in self.group..end {
            let group = self.map.groups.get(number);
            for leaf in (first..).map_while(|at| group.leaf(at)) {
                for Entry { key, place } in self.map.leaves.get(leaf).entries_from(rank) {
                    let lba = block(number, key);
                    if lba >= self.end {
                        return sum;
                    }
                    sum = each(sum, (lba, place));
                }
                rank = 0;
            }
            (first, rank) = (0, 0);
        }
        sum
    }
}
