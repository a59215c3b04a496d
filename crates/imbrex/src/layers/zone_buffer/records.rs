//! The durable state as records: applying them, and restating them for a checkpoint.

use super::{Policy, ZoneBuffer};
use crate::block::{Extent, Lba, Pba};
use crate::layer::{Corrupt, REGION_RECORDS, TranslationLayer};
use crate::parts::map_runs::MapRuns;
use crate::plan::{Plan, Record};

impl<P: Policy> ZoneBuffer<P> {
    /// Applies a [`Record::Map`], if it fits the state.
    pub(super) fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = || Corrupt(format!("a record puts {at:?} at {to:?}, outside the buffer or the capacity"));
        let first = self.slot_of(to).ok_or_else(wrong)?;
        if !at.is_within(self.capacity()) || at.blocks > self.policy.table().slots() - first {
            return Err(wrong());
        }
        for (slot, lba) in (first..).zip(at.iter()) {
            if self.policy.table().owner(slot).is_some_and(|owner| owner != lba) {
                return Err(Corrupt(format!("a record puts {lba:?} into slot {slot}, which holds another block")));
            }
        }
        self.map_run(at, first);
        Ok(())
    }

    /// The effect of [`Record::Unmap`].
    pub(super) fn unmap(&mut self, at: Extent<Lba>) {
        let policy = &mut self.policy;
        self.map.remove_range(at, |_, slot| policy.give_up(slot));
        self.lost.remove(at);
    }

    /// The effect of [`Record::Map`]: `at` lies in the slots from `first`.
    pub fn map_run(&mut self, at: Extent<Lba>, first: u32) {
        for (slot, lba) in (first..).zip(at.iter()) {
            if let Some(old) = self.map.set(lba, slot).filter(|old| *old != slot) {
                self.policy.give_up(old);
            }
            self.policy.hold(slot, lba);
        }
        self.lost.remove(at);
    }

    /// Restates what is lost and what is buffered of `region`.
    pub(super) fn restate_region(&self, region: Extent<Lba>, plan: &mut Plan) {
        self.lost.restate(region, plan);
        let mut maps = MapRuns::default();
        for (lba, slot) in self.map.range(region) {
            maps.push(Extent::new(lba, 1), self.slot_place(slot), plan);
        }
        maps.end(plan);
    }

    /// Restates the policy's notes from `key` on, which the cursor `from` stands for.
    pub(super) fn restate_notes(&self, from: u64, key: u32, plan: &mut Plan) -> Option<u64> {
        let keys = self.policy.note_keys();
        let end = keys.min(key + REGION_RECORDS as u32);
        for key in key..end {
            if let Some(value) = self.policy.note(key) {
                plan.record(Record::Note { key, value });
            }
        }
        (end < keys).then(|| from + u64::from(end - key))
    }

    /// Where a region that starts at `start` ends, so that its records are few enough.
    pub(super) fn region_end(&self, start: Lba) -> Lba {
        let end = self.lost.region_end(start, self.capacity());
        let limit = REGION_RECORDS / 2 - 1;
        self.map.blocks(Extent::between(start, end)).nth(limit).unwrap_or(end)
    }
}
