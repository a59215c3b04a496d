//! The durable state as records: applying them, and restating them for a checkpoint.

use super::FifoLog;
use crate::block::{Extent, Lba, Pba};
use crate::layer::{Corrupt, REGION_RECORDS, TranslationLayer};
use crate::plan::{Plan, Record};

impl FifoLog {
    pub(super) fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = || Corrupt(format!("a record puts {at:?} at {to:?}, outside the log or the capacity"));
        let first = self.slot_of(to).ok_or_else(wrong)?;
        if !at.is_within(self.capacity()) || at.blocks > self.log.slots() - first {
            return Err(wrong());
        }
        for (slot, lba) in (first..).zip(at.iter()) {
            if self.log.owner(slot).is_some_and(|owner| owner != lba) {
                return Err(Corrupt(format!("a record puts {lba:?} into slot {slot}, which holds another block")));
            }
        }
        self.map_run(at, first);
        Ok(())
    }

    pub(super) fn restate_run(&self, run: Option<(Extent<Lba>, u32)>, plan: &mut Plan) {
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
