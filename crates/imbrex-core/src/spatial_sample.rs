//! A spatial sample of addresses: one block of each group of neighbours stands for all of them.
//!
//! Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS" (USENIX FAST 2015): whether
//! a block is followed depends on its address alone, so every access to it is seen. There a hash decides block by block.
//! Here each group of neighbours has exactly one that is followed, so a long run of blocks keeps its share.

use crate::block::{Extent, Lba};

/// 2^64 by the golden ratio: its multiples spread evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// One block of each group of neighbours. Of the n-th group it is the block at n times the golden ratio, of which only
/// the fraction counts. A rest of fewer neighbours has none.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SpatialSample {
    /// How many neighbours a group has; at least one.
    pub group: u64,
    /// How many groups there are.
    pub groups: u64,
}

impl SpatialSample {
    /// The block of a group: each stands where no period of the workload is likely to.
    #[must_use]
    pub fn block(self, group: u64) -> Lba {
        let fraction = group.wrapping_mul(GOLDEN) >> 32;
        Lba(group * self.group + ((fraction * self.group) >> 32))
    }

    /// The groups whose blocks are in `at`, which has a block, by their numbers.
    #[must_use]
    pub fn among(self, at: Extent<Lba>) -> Extent<Lba> {
        let (mut first, mut end) = (at.start.0 / self.group, self.groups.min((at.end().0 - 1) / self.group + 1));
        // Of the groups between, all blocks are there.
        let is_out = |group: u64| !at.contains(self.block(group));
        first += u64::from(first < end && is_out(first));
        end -= u64::from(first < end && is_out(end - 1));
        Extent::between(Lba(first), Lba(end.max(first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_group_is_followed() {
        for group in [1, 3, 64] {
            let sample = SpatialSample { group, groups: 100 };
            let of = |start, blocks| sample.among(Extent::new(Lba(start), blocks)).iter().map(|lba| lba.0);
            let all: Vec<u64> = (0..100 * group + 20).flat_map(|lba| of(lba, 1)).collect();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
            let runs: Vec<u64> = (0..10 * group + 2).flat_map(|run| of(10 * run, 10)).collect();
            assert_eq!(runs, all);
        }
    }

    #[test]
    fn followed_blocks_are_spread_evenly() {
        let sample = SpatialSample { group: 64, groups: 8000 };
        let mut counts = [0; 8];
        (0..8000).for_each(|group| counts[(sample.block(group).0 % 64 / 8) as usize] += 1);
        assert!(counts.iter().all(|count| (990..1010).contains(count)), "{counts:?}");
    }
}
