//! Which of the accesses in its queue the disk performs next.

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use imbrex_core::block::{Extent, Pba};

/// The order in which the disk performs what is in its queue. Where two accesses are equally good, the one that was
/// planned first goes first.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// First come, first served.
    #[default]
    Fcfs,
    /// Upwards from where the last access began, by address, and then from the lowest again.
    CLook,
    /// The shortest positioning time first: seek, settling and rotation, without the transfer. Accesses far from the
    /// others may wait for as long as nearer ones keep arriving.
    Sptf,
}

impl Scheduler {
    /// The name on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::CLook => "c-look",
            Self::Sptf => "sptf",
        }
    }

    /// Picks one of `accesses`, which come with a number each, oldest first. `position` is the block at which the last
    /// access began.
    pub(crate) fn pick<A: Borrow<Access>>(
        self,
        accesses: impl Iterator<Item = (usize, A)>,
        position: u64,
        positioning_ns: impl Fn(&Access) -> u64,
    ) -> Option<usize> {
        match self {
            Self::Fcfs => least(accesses, |_| 0),
            // What lies below wraps around to the end.
            Self::CLook => least(accesses, |access| access.at.start.block().wrapping_sub(position)),
            Self::Sptf => least(accesses, positioning_ns),
        }
    }
}

/// The number of the first access that costs least. A loop over plain numbers: the tuples of `min_by_key` are moved in
/// pieces that no store buffer forwards, and a replay would take several times as long.
fn least<A: Borrow<Access>>(
    accesses: impl Iterator<Item = (usize, A)>,
    cost: impl Fn(&Access) -> u64,
) -> Option<usize> {
    let (mut least, mut best) = (u64::MAX, None);
    for (number, access) in accesses {
        let cost = cost(access.borrow());
        if cost < least || best.is_none() {
            (least, best) = (cost, Some(number));
        }
    }
    best
}

/// One access to the disk.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub at: Extent<Pba>,
    pub write: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The picks from `blocks` until none is left; the head of the last access is where the next begins. Positioning
    /// takes as long as the distance, and twenty more for a block that is a multiple of ten.
    fn order(scheduler: Scheduler, mut position: u64, blocks: &[u64]) -> Vec<u64> {
        let mut queue: Vec<Access> =
            blocks.iter().map(|&b| Access { at: Extent::new(Pba::disk(b), 3), write: false }).collect();
        let mut served = Vec::new();
        loop {
            let distance = |a: &Access| {
                let block = a.at.start.block();
                block.abs_diff(position) + if block.is_multiple_of(10) { 20 } else { 0 }
            };
            match scheduler.pick(queue.iter().enumerate(), position, distance) {
                Some(number) => position = queue.remove(number).at.start.block(),
                None => return served,
            }
            served.push(position);
        }
    }

    #[test]
    fn each_scheduler_has_its_order() {
        let blocks = [45, 5, 99, 50, 60, 44];
        assert_eq!(order(Scheduler::Fcfs, 50, &blocks), blocks);
        assert_eq!(order(Scheduler::CLook, 50, &blocks), [50, 60, 99, 5, 44, 45]);
        assert_eq!(order(Scheduler::CLook, 51, &blocks), [60, 99, 5, 44, 45, 50]);
        assert_eq!(order(Scheduler::Sptf, 50, &blocks), [45, 44, 50, 60, 99, 5]);
    }

    #[test]
    fn the_older_of_two_equals_goes_first() {
        let access = |write| Access { at: Extent::new(Pba::disk(7), 1), write };
        let both = [access(true), access(false)];
        for scheduler in [Scheduler::Fcfs, Scheduler::CLook, Scheduler::Sptf] {
            assert_eq!(scheduler.pick(both.iter().enumerate(), 3, |_| 1), Some(0));
            assert_eq!(scheduler.pick(both.iter().enumerate().skip(1), 3, |_| 1), Some(1));
            assert_eq!(scheduler.pick([].iter().enumerate(), 3, |_| 1), None);
        }
    }
}
