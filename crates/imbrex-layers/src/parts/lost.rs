//! The logical blocks whose content could not be read when it had to move. Almost always empty.

use std::collections::BTreeSet;

use super::full_map::FullMap;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{REGION_RECORDS, Violation};
use imbrex_core::plan::{Place, Plan, Record, Why};

/// A set of lost blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostBlocks {
    blocks: BTreeSet<Lba>,
}

impl LostBlocks {
    /// Whether no block is lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many blocks are lost.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// Adds blocks.
    pub fn insert(&mut self, at: Extent<Lba>) {
        self.blocks.extend(at.iter());
    }

    /// Takes blocks out: they have been overwritten.
    pub fn remove(&mut self, at: Extent<Lba>) {
        if !self.blocks.is_empty() {
            at.iter().for_each(|lba| {
                self.blocks.remove(&lba);
            });
        }
    }

    /// Whether a block of `at` is lost.
    #[must_use]
    pub fn any(&self, at: Extent<Lba>) -> bool {
        !self.blocks.is_empty() && self.blocks.range(at.start..at.end()).next().is_some()
    }

    /// Whether no block from the front of `at` is lost, and of how many of them that is said.
    #[must_use]
    pub fn none_from(&self, at: Extent<Lba>) -> (bool, u32) {
        match self.blocks.range(at.start..at.end()).next() {
            Some(lost) if *lost == at.start => (false, 1),
            Some(lost) => (true, lost.since(at.start) as u32),
            None => (true, at.blocks),
        }
    }

    /// Cuts `at` into runs that are lost or not, in order.
    pub fn runs(&self, at: Extent<Lba>, mut each: impl FnMut(Extent<Lba>, bool)) {
        let mut rest = at;
        while !rest.is_empty() {
            let lost = self.blocks.contains(&rest.start);
            let run = if lost {
                rest.iter().take_while(|lba| self.blocks.contains(lba)).count() as u32
            } else {
                let next = self.blocks.range(rest.start..rest.end()).next();
                next.map_or(rest.blocks, |&lba| (lba.0 - rest.start.0) as u32)
            };
            each(rest.first(run), lost);
            rest = rest.skip(run);
        }
    }

    /// Plans a read for the host of `at`, which lies from `place` on and has `written` blocks written: what is not
    /// written reads as zeros, what is lost as an error. The first block goes to `host`.
    #[inline]
    pub fn read(&self, at: Extent<Lba>, place: Pba, written: u32, host: u32, plan: &mut Plan) {
        if !self.any(at) {
            return read_written(at.blocks, place, written, host, plan);
        }
        self.runs(at, |part, lost| {
            let from = part.start.since(at.start) as u32;
            if lost {
                plan.copy(Place::Lost, Place::Host(host + from), part.blocks, Why::Host);
            } else {
                let (place, written) = (place.plus(u64::from(from)), written.saturating_sub(from));
                read_written(part.blocks, place, written, host + from, plan);
            }
        });
    }

    /// Plans that `at`, which lies from `place` on, is collected from block `ram` of RAM on; zeros stand in for what is
    /// lost.
    pub fn collect(&self, at: Extent<Lba>, place: Pba, ram: Pba, plan: &mut Plan) {
        self.runs(at, |part, lost| {
            let from = part.start.since(at.start);
            let source = if lost { Place::Zero } else { Place::At(place.plus(from)) };
            plan.copy(source, Place::At(ram.plus(from)), part.blocks, Why::Collect);
        });
    }

    /// Where a region of a checkpoint that starts at `start` ends, so that its records are at most half of
    /// [`REGION_RECORDS`].
    #[must_use]
    pub fn region_end(&self, start: Lba, capacity: u64) -> Lba {
        let end = Lba(capacity.min(start.0 + u64::from(u32::MAX)));
        self.blocks.range(start..end).nth(REGION_RECORDS / 2 - 1).copied().unwrap_or(end)
    }

    /// Regions that a capacity has at least.
    #[must_use]
    pub fn regions(capacity: u64) -> u64 {
        capacity.div_ceil(u64::from(u32::MAX))
    }

    /// Re-emits the records of a region: that nothing in it is mapped or lost, and then what is lost.
    pub fn checkpoint(&self, region: Extent<Lba>, plan: &mut Plan) {
        plan.record(Record::Unmap(region));
        self.runs(region, |at, lost| {
            if lost {
                plan.record(Record::Lost(at));
            }
        });
    }

    /// Verifies that no block is both lost and mapped.
    ///
    /// # Errors
    /// A [`Violation`] that names the first such run.
    pub fn check_unmapped(&self, map: &FullMap) -> Result<(), Violation> {
        let mut both = None;
        map.all_runs(|at, _| {
            both = self.any(at).then_some(at);
            both.is_none()
        });
        both.map_or(Ok(()), |at| Err(Violation(format!("{at:?} is mapped, and some of it is lost"))))
    }
}

/// Plans a read of `blocks` blocks that lie from `place` on, of which `written` are written.
#[inline]
fn read_written(blocks: u32, place: Pba, written: u32, host: u32, plan: &mut Plan) {
    let written = written.min(blocks);
    if written > 0 {
        plan.copy(Place::At(place), Place::Host(host), written, Why::Host);
    }
    if written < blocks {
        plan.copy(Place::Zero, Place::Host(host + written), blocks - written, Why::Host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_extents_into_runs() {
        let mut lost = LostBlocks::default();
        lost.insert(Extent::new(Lba(3), 2));
        lost.insert(Extent::new(Lba(9), 1));
        let mut runs = Vec::new();
        lost.runs(Extent::new(Lba(1), 9), |run, lost| runs.push((run.start.0, run.blocks, lost)));
        assert_eq!(runs, [(1, 2, false), (3, 2, true), (5, 4, false), (9, 1, true)]);
        lost.remove(Extent::new(Lba(0), 9));
        assert!(!lost.any(Extent::new(Lba(0), 9)) && lost.any(Extent::new(Lba(9), 5)));
        let mut plan = Plan::new();
        lost.checkpoint(Extent::new(Lba(0), 20), &mut plan);
        assert_eq!(plan.ops().len(), 2);
        assert_eq!(lost.region_end(Lba(0), 20), Lba(20));
    }
}
