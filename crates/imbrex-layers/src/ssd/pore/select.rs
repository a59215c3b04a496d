//! Which units of the disk are opened first.

use std::cmp::Ordering;

/// What is known of a unit.
#[derive(Copy, Clone, Default, Debug)]
pub struct Record {
    /// Dirty blocks of it in the cache.
    pub dirty: u32,
    /// Its blocks that were used exactly once in this period, while they were cached.
    pub once: u32,
    /// Uses of its blocks in this period, in the cache or past it.
    pub accesses: u64,
    /// How many of these found the block in the cache.
    pub hits: u64,
}

/// In which order units are opened. Equals are opened in the order of their numbers.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// The largest (dirty blocks)² / (hits + 1) first.
    DirtySquareOverHeat,
    /// The smallest accesses / dirty blocks first.
    MeanPopularity,
    /// The most blocks that were used exactly once first.
    ColdBlocks,
    /// The most dirty blocks first.
    MostDirty,
}

impl Select {
    /// The order of two units that have dirty blocks; `Less` is opened first.
    pub fn order(self, one: &Record, other: &Record) -> Ordering {
        match self {
            // Quotients are compared crosswise, so that nothing is rounded.
            Self::DirtySquareOverHeat => {
                let score = |unit: &Record, over: &Record| {
                    u128::from(unit.dirty) * u128::from(unit.dirty) * (u128::from(over.hits) + 1)
                };
                score(other, one).cmp(&score(one, other))
            }
            Self::MeanPopularity => {
                let score = |unit: &Record, over: &Record| u128::from(unit.accesses) * u128::from(over.dirty);
                score(one, other).cmp(&score(other, one))
            }
            Self::ColdBlocks => other.once.cmp(&one.once),
            Self::MostDirty => other.dirty.cmp(&one.dirty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn unit(dirty: u32, once: u32, accesses: u64, hits: u64) -> Record {
        Record { dirty, once, accesses, hits }
    }

    #[test]
    fn each_selection_has_its_own_order() {
        // 16/1, 25/2 and 81/9; by popularity 9/4, 3/5 and 9/9; by blocks used once 2, 0 and 1.
        let units = [unit(4, 2, 9, 0), unit(5, 0, 3, 1), unit(9, 1, 9, 8)];
        let order = |select: Select| {
            let mut order = [0, 1, 2];
            order.sort_by(|&one, &other| select.order(&units[one], &units[other]));
            order
        };
        assert_eq!(order(Select::DirtySquareOverHeat), [0, 1, 2]);
        assert_eq!(order(Select::MeanPopularity), [1, 2, 0]);
        assert_eq!(order(Select::ColdBlocks), [0, 2, 1]);
        assert_eq!(order(Select::MostDirty), [2, 1, 0]);
        let hot = unit(9, 0, 9, 80);
        assert_eq!(Select::DirtySquareOverHeat.order(&hot, &unit(1, 0, 9, 0)), Ordering::Equal, "81/81 and 1/1");
        assert_eq!(Select::MeanPopularity.order(&hot, &unit(1, 0, 9, 0)), Ordering::Less, "1 and 9");
        let largest = unit(u32::MAX, 0, u64::MAX, u64::MAX);
        assert_eq!(Select::DirtySquareOverHeat.order(&largest, &unit(u32::MAX, 0, 0, 0)), Ordering::Greater);
    }
}
