//! What is durable of buffered blocks: how it is applied, given for a checkpoint and verified.

use super::{BufferedBlocks, Slots};
use crate::parts::map_runs::MapRuns;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, REGION_RECORDS, Violation, within};
use imbrex_core::plan::{Plan, Record};

impl BufferedBlocks {
    /// Applies a record about blocks, if it fits the state.
    ///
    /// # Errors
    /// [`Corrupt`] when it does not.
    pub fn apply(&mut self, record: &Record, slots: &mut impl Slots) -> Result<(), Corrupt> {
        within(record, self.capacity)?;
        match *record {
            Record::Map { at, to } => self.apply_map(at, to, slots)?,
            Record::Unmap(at) => self.unmap(at, slots),
            Record::Lost(at) => {
                self.unmap(at, slots);
                self.lost.insert(at);
            }
            other => return Err(Corrupt(format!("{other:?} is no record about blocks"))),
        }
        Ok(())
    }

    fn apply_map(&mut self, at: Extent<Lba>, to: Pba, slots: &mut impl Slots) -> Result<(), Corrupt> {
        let first = self.slot_of(to).filter(|first| at.blocks <= self.slots - first);
        let first = first.ok_or_else(|| Corrupt(format!("a record puts {at:?} at {to:?}, outside the buffer")))?;
        for (slot, lba) in (first..).zip(at.iter()) {
            if slots.table().owner(slot).is_some_and(|owner| owner != lba) {
                return Err(Corrupt(format!("a record puts {lba:?} into slot {slot}, which holds another block")));
            }
        }
        self.map_run(at, first, slots);
        Ok(())
    }

    /// Restates what is lost and what is buffered of the region that starts at `start`, and says where it ends.
    pub fn checkpoint(&self, start: Lba, plan: &mut Plan) -> Lba {
        let region = Extent::between(start, self.region_end(start));
        self.lost.checkpoint(region, plan);
        let mut maps = MapRuns::default();
        for (lba, slot) in self.map.range(region) {
            maps.push(Extent::new(lba, 1), self.place_of(slot), plan);
        }
        maps.end(plan);
        region.end()
    }

    /// Where a region that starts at `start` ends, so that its records are few enough.
    fn region_end(&self, start: Lba) -> Lba {
        let end = self.lost.region_end(start, self.capacity);
        let limit = REGION_RECORDS / 2 - 1;
        self.map.blocks(Extent::between(start, end)).nth(limit).unwrap_or(end)
    }

    /// Verifies the invariants.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self, slots: &impl Slots) -> Result<(), Violation> {
        let table = slots.table();
        if u64::from(table.live()) != self.map.mapped() {
            let (live, mapped) = (table.live(), self.map.mapped());
            return Err(Violation(format!("{live} live slots for {mapped} buffered blocks")));
        }
        for slot in 0..table.slots() {
            if let Some(lba) = table.owner(slot)
                && (self.map.get(lba) != Some(slot) || self.lost.any(Extent::new(lba, 1)))
            {
                return Err(Violation(format!("slot {slot} holds {lba:?}, which maps elsewhere or is lost")));
            }
        }
        Ok(())
    }
}
