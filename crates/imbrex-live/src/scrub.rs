//! Reading everything that has a checksum, and what is found of it.

use std::collections::BTreeSet;

use imbrex::block::{Extent, Pba};
use serde::{Deserialize, Serialize};

use crate::store::Store;

/// Nothing can be scrubbed: no member has checksums.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the volume has no checksums; they are chosen with `imbrex format --checksums`")]
pub struct NoSums;

/// Blocks without gap.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocks {
    /// The first.
    pub first: u64,
    /// How many.
    pub blocks: u64,
}

/// Physical blocks of a member without gap.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberBlocks {
    /// The member, from 1.
    pub member: usize,
    /// The first block.
    pub first: u64,
    /// How many.
    pub blocks: u64,
}

impl MemberBlocks {
    /// Blocks of the member at `index` of a volume's members.
    #[must_use]
    pub fn of(index: usize, Blocks { first, blocks }: Blocks) -> Self {
        Self { member: index + 1, first, blocks }
    }
}

/// What a scrub has found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Blocks that were read and have a checksum.
    pub verified: u64,
    /// Blocks that may have been written when the volume was last served, which are not checked before it is again.
    pub unsettled: u64,
    /// Sectors of checksums that are damaged.
    pub sums_lost: u64,
    /// Logical blocks that do not match their checksum or cannot be read.
    pub damaged: Vec<Blocks>,
    /// Physical blocks that do not match or cannot be read and that no logical one needs.
    pub unneeded: Vec<MemberBlocks>,
}

/// Reads everything on a store that has a checksum: the blocks that do not match it. `go_on` is told how many more have
/// been looked at, and says whether to.
pub fn scan(store: &dyn Store, found: &mut Found, go_on: &mut dyn FnMut(u64) -> bool) -> BTreeSet<Pba> {
    let mut damaged = BTreeSet::new();
    let Some(summed) = store.summed() else { return damaged };
    let (blocks, step) = (store.media().blocks(), u64::from(summed.step()));
    let mut next = 0;
    while next < blocks {
        let part = Extent::new(Pba::disk(next), step.min(blocks - next) as u32);
        let (verified, bad) = summed.verify(part);
        found.verified += verified;
        damaged.extend(bad);
        next += u64::from(part.blocks);
        if !go_on(part.blocks.into()) {
            break;
        }
    }
    let counts = summed.counts();
    found.unsettled += counts.unsettled_blocks;
    found.sums_lost += counts.sums_lost;
    damaged
}

/// Numbers in order, as runs.
pub fn runs(numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = Blocks> {
    let mut runs: Vec<Blocks> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(last) if last.first + last.blocks == number => last.blocks += 1,
            _ => runs.push(Blocks { first: number, blocks: 1 }),
        }
    }
    runs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_run() {
        let said: Vec<(u64, u64)> = runs([3, 4, 5, 9, 11].into_iter()).map(|run| (run.first, run.blocks)).collect();
        assert_eq!(said, [(3, 3), (9, 1), (11, 1)]);
    }
}
