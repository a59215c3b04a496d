//! The durable state as records: applying them, and restating them for a checkpoint.

use super::Skylight;
use crate::block::{Address, Extent, Lba, Pba};
use crate::layer::{Corrupt, REGION_RECORDS, TranslationLayer};
use crate::plan::{Plan, Record};

impl Skylight {
    /// The slot that a place is, if it is one.
    pub(super) fn slot_of(&self, place: Pba) -> Option<u32> {
        if place.device() != self.place.device() || place < self.place {
            return None;
        }
        u32::try_from(place.since(self.place)).ok().filter(|slot| *slot < self.cache.table().slots())
    }

    /// Applies a [`Record::Map`], if it fits the state.
    pub(super) fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = || Corrupt(format!("a record puts {at:?} at {to:?}, outside the cache or the capacity"));
        let first = self.slot_of(to).ok_or_else(wrong)?;
        if !at.is_within(self.capacity()) || at.blocks > self.cache.table().slots() - first {
            return Err(wrong());
        }
        for (slot, lba) in (first..).zip(at.iter()) {
            if self.cache.table().owner(slot).is_some_and(|owner| owner != lba) {
                return Err(Corrupt(format!("a record puts {lba:?} into slot {slot}, which holds another block")));
            }
        }
        self.map_run(at, first);
        Ok(())
    }

    /// The effect of [`Record::Unmap`].
    pub(super) fn unmap(&mut self, at: Extent<Lba>) {
        let cache = &mut self.cache;
        self.map.remove_range(at, |_, slot| cache.give_up(slot));
        self.lost.remove(at);
    }

    /// The effect of [`Record::Map`]: `at` lies in the slots from `first`.
    pub(super) fn map_run(&mut self, at: Extent<Lba>, first: u32) {
        for (slot, lba) in (first..).zip(at.iter()) {
            if let Some(old) = self.map.set(lba, slot).filter(|old| *old != slot) {
                self.cache.give_up(old);
            }
            self.cache.hold(slot, lba);
        }
        self.lost.remove(at);
    }

    /// Restates what is lost and what is in the cache of `region`.
    pub(super) fn restate_region(&self, region: Extent<Lba>, plan: &mut Plan) {
        self.lost.restate(region, plan);
        let mut run: Option<(Extent<Lba>, u32)> = None;
        for (lba, slot) in self.map.range(region) {
            match &mut run {
                Some((at, first)) if at.end() == lba && *first + at.blocks == slot => at.blocks += 1,
                _ => {
                    self.restate_run(run, plan);
                    run = Some((Extent::new(lba, 1), slot));
                }
            }
        }
        self.restate_run(run, plan);
    }

    fn restate_run(&self, run: Option<(Extent<Lba>, u32)>, plan: &mut Plan) {
        if let Some((at, slot)) = run {
            plan.record(Record::Map { at, to: self.slot_place(slot) });
        }
    }

    /// Where a region that starts at `start` ends, so that its records are few enough.
    pub(super) fn region_end(&self, start: Lba) -> Lba {
        let end = self.lost.region_end(start, self.capacity());
        let limit = REGION_RECORDS / 2 - 1;
        self.map.blocks(Extent::between(start, end)).nth(limit).unwrap_or(end)
    }
}
