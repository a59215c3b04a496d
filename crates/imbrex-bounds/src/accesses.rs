//! The blocks that requests touch, numbered from 0 on without gaps, so that a list has a place for each.

use imbrex_core::block::{Extent, Lba};

/// No unit, and no next access.
pub(crate) const NONE: u32 = u32::MAX;

/// The requests touch more blocks than are counted here.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the requests touch {0} blocks, one by one, and at most {max} are counted", max = NONE - 1)]
pub struct TooMany(u64);

/// Requests of some blocks each, in their order.
pub struct Accesses {
    /// The number of each block that is touched, in the order in which it is.
    order: Vec<u32>,
    /// Where each request ends in that order.
    ends: Vec<u32>,
    /// Runs of addresses that are touched, by their first: that and its number.
    runs: Vec<(u64, u32)>,
    /// How many blocks there are.
    blocks: u32,
}

/// The units that blocks lie in, such as zones: numbered from 0 on without gaps too.
pub struct Units {
    /// The unit of each block; none for blocks that do not count.
    of: Vec<u32>,
    count: u32,
}

impl Accesses {
    /// The accesses of `requests`.
    ///
    /// # Errors
    /// When they touch 2³² blocks or more, one by one.
    pub fn of(requests: &[Extent<Lba>]) -> Result<Self, TooMany> {
        let touched: u64 = requests.iter().map(|at| u64::from(at.blocks)).sum();
        if touched >= u64::from(NONE) {
            return Err(TooMany(touched));
        }
        let (runs, blocks) = runs(requests);
        let mut all = Self { order: Vec::with_capacity(touched as usize), ends: Vec::new(), runs, blocks };
        all.ends.reserve(requests.len());
        for at in requests {
            let first = all.number(at.start);
            all.order.extend(first..first + at.blocks);
            all.ends.push(all.order.len() as u32);
        }
        Ok(all)
    }

    /// How many different blocks are touched.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// How often a block is touched.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no block is touched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The blocks of each request.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &[u32]> {
        let mut from = 0;
        self.ends.iter().map(move |&end| {
            let blocks = &self.order[from..end as usize];
            from = end as usize;
            blocks
        })
    }

    /// The block of each access.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The unit of each block, by the unit of its address; blocks without one do not count.
    #[must_use]
    pub fn units(&self, unit_of: impl Fn(Lba) -> Option<u32>) -> Units {
        let named: Vec<Option<u32>> = self.addresses().map(unit_of).collect();
        let mut names: Vec<u32> = named.iter().flatten().copied().collect();
        names.sort_unstable();
        names.dedup();
        let number = |name: &Option<u32>| match name {
            Some(name) => names.partition_point(|other| other < name) as u32,
            None => NONE,
        };
        Units { of: named.iter().map(number).collect(), count: names.len() as u32 }
    }

    /// The addresses of all blocks, by their numbers.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Lba> {
        let ends = self.runs.iter().skip(1).map(|(_, number)| *number).chain([self.blocks]);
        let each = |(&(start, number), end): (&(u64, u32), u32)| (start..start + u64::from(end - number)).map(Lba);
        self.runs.iter().zip(ends).flat_map(each)
    }

    /// For each access the place in the order of the next one of the same block, or [`NONE`].
    pub(crate) fn next(&self) -> Vec<u32> {
        let mut next = vec![NONE; self.order.len()];
        let mut last = vec![NONE; self.blocks as usize];
        for (place, &block) in self.order.iter().enumerate().rev() {
            next[place] = std::mem::replace(&mut last[block as usize], place as u32);
        }
        next
    }

    fn number(&self, at: Lba) -> u32 {
        let (start, number) = self.runs[self.runs.partition_point(|(start, _)| *start <= at.0) - 1];
        number + (at.0 - start) as u32
    }
}

impl Units {
    /// How many units have a block.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The unit of a block, or [`NONE`].
    pub(crate) fn of(&self, block: u32) -> u32 {
        self.of[block as usize]
    }
}

/// The runs of addresses that requests touch, and how many blocks they have.
fn runs(requests: &[Extent<Lba>]) -> (Vec<(u64, u32)>, u32) {
    let mut extents: Vec<(u64, u64)> =
        requests.iter().filter(|at| !at.is_empty()).map(|at| (at.start.0, at.end().0)).collect();
    extents.sort_unstable();
    let (mut runs, mut blocks, mut reached) = (Vec::new(), 0, 0);
    for (start, end) in extents {
        if runs.is_empty() || start > reached {
            runs.push((start, blocks));
            reached = start;
        }
        blocks += end.saturating_sub(reached) as u32;
        reached = reached.max(end);
    }
    (runs, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(requests: &[(u64, u32)]) -> Accesses {
        let requests: Vec<_> = requests.iter().map(|&(start, blocks)| Extent::new(Lba(start), blocks)).collect();
        Accesses::of(&requests).unwrap()
    }

    #[test]
    fn blocks_are_numbered_in_the_order_of_their_addresses() {
        let all = accesses(&[(100, 2), (7, 3), (9, 2), (101, 1), (102, 1)]);
        assert_eq!(all.order(), [4, 5, 0, 1, 2, 2, 3, 5, 6]);
        assert_eq!(all.addresses().map(|lba| lba.0).collect::<Vec<_>>(), [7, 8, 9, 10, 100, 101, 102]);
        assert_eq!(all.requests().map(<[u32]>::len).collect::<Vec<_>>(), [2, 3, 2, 1, 1]);
        assert_eq!((all.blocks(), all.len()), (7, 9));
        assert_eq!(all.next(), [NONE, 7, NONE, NONE, 5, NONE, NONE, NONE, NONE]);
    }

    #[test]
    fn units_have_no_gaps_and_may_leave_blocks_out() {
        let all = accesses(&[(0, 2), (50, 1), (1000, 1)]);
        let units = all.units(|lba| (lba.0 != 50).then_some((lba.0 / 10) as u32));
        assert_eq!((0..4).map(|block| units.of(block)).collect::<Vec<_>>(), [0, 0, NONE, 1]);
        assert_eq!(units.count(), 2);
    }

    #[test]
    fn more_blocks_than_can_be_numbered_are_refused() {
        let whole = Extent::new(Lba(0), u32::MAX - 1);
        assert_eq!(Accesses::of(&[whole, whole]).err(), Some(TooMany(2 * u64::from(u32::MAX - 1))));
    }
}
