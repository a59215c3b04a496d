//! The durable state as records: applying them, giving them for a checkpoint, and beginning an epoch with them.
//!
//! A checkpoint gives roles first, then the copies, then the map region by region. So a fold that began in the
//! middle of a compaction and took copies for blocks is put right by the regions that follow, and whatever a region
//! that comes before the switch leaves on a victim is moved by the switch.

use super::LogStructured;
use super::bands::Role;
use super::roles::becomes;
use super::times::Written;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, InOrder, REGION_RECORDS, UnitReport, Violation, within};
use imbrex_core::plan::{Plan, Record, Unit};

/// Slots of a copying band in a region.
const COPIES: u32 = REGION_RECORDS as u32;

impl LogStructured {
    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        within(record, self.bands.map.capacity())?;
        if self.cached.is_some() {
            return self.fold_record(record);
        }
        match *record {
            Record::Map { at, to } => self.apply_map(at, to)?,
            Record::Unmap(at) => self.unmap(at),
            Record::Lost(at) => {
                self.unmap(at);
                self.lost.insert(at);
            }
            Record::Unit { unit, is } => self.apply_role(unit, is)?,
            Record::Copy { .. } => {
                return Err(Corrupt(format!("{} has its whole map in memory, yet there is {record:?}", self.name)));
            }
            Record::Note { key, .. } => return Err(Corrupt(format!("{} keeps no number under key {key}", self.name))),
        }
        Ok(())
    }

    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let slot = self.slot_for(at, to)?;
        let (band, offset) = self.bands.map.locate(slot);
        if self.bands.role(band) == Role::Copying && offset >= self.bands.copies(band) {
            self.bands.wrote(at, slot);
        } else {
            self.displace(slot, at);
            self.map(at, slot, Written::Before(0));
        }
        Ok(())
    }

    /// The slot where a record puts blocks: they all are on one band.
    pub(super) fn slot_for(&self, at: Extent<Lba>, to: Pba) -> Result<u64, Corrupt> {
        let slot = self.bands.slot_of(to).filter(|&slot| {
            let (_, offset) = self.bands.map.locate(slot);
            at.blocks <= self.bands.blocks() - offset
        });
        slot.ok_or_else(|| Corrupt(format!("a record puts {at:?} at {to:?}, outside a band")))
    }

    /// Nothing else lies where `at` is put. The band was emptied in between, which leaves no record. Where nothing was
    /// ever written, as on a disk whose records are read again, there is nothing to look at.
    fn displace(&mut self, mut slot: u64, at: Extent<Lba>) {
        let mut rest = at;
        while !rest.is_empty() {
            let (holder, run) = self.bands.map.held_run(slot, rest.blocks);
            if holder.is_some() {
                for (slot, lba) in (slot..slot + u64::from(run)).zip(rest.iter()) {
                    if let Some(other) = self.bands.map.owner(slot).filter(|&other| other != lba) {
                        self.bands.remove(Extent::new(other, 1));
                    }
                }
            }
            (rest, slot) = (rest.skip(run), slot + u64::from(run));
        }
    }

    pub(super) fn apply_role(&mut self, unit: Unit, is: u32) -> Result<(), Corrupt> {
        match self.bands.band_of(unit) {
            Some(band)
                if is < becomes::COPYING_BEHIND + self.bands.blocks()
                    || (is == becomes::SETTLING && self.cached.is_some()) =>
            {
                self.take_role(band, is);
                Ok(())
            }
            _ => Err(Corrupt(format!("a record makes {unit:?} a band of kind {is}; one of the two does not exist"))),
        }
    }

    /// Drops what a compaction under way has copied, and takes over the drive's report.
    pub(super) fn begin_life(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.compaction.clear();
        if let Some(buffer) = &mut self.buffer {
            buffer.clear();
        }
        self.end_fold();
        if self.is_to_settle() {
            self.settle_all(plan);
        } else {
            self.drop_copies(plan);
        }
        self.bands.recovered(units, &mut self.open, plan)?;
        self.take_up_settling();
        if let Some(tuner) = &mut self.tuner {
            tuner.begin(&self.bands);
        }
        self.check_bands().map_err(|violation| Corrupt(format!("the records contradict the drive: {violation}")))
    }

    /// Copies are forgotten, and victims are data.
    fn drop_copies(&mut self, plan: &mut Plan) {
        for is in [becomes::BARE, becomes::DATA] {
            let of = |layer: &Self| {
                if is == becomes::BARE { layer.bands.copying.first() } else { layer.bands.victims.first() }.copied()
            };
            while let Some(band) = of(self) {
                self.give_role(band, is, plan);
            }
        }
    }

    /// Cursors before those of the map: the roles, then the slots of each band that may hold copies.
    fn cursors_of_copies(&self) -> u64 {
        u64::from(self.most_copying()) * u64::from(self.bands.blocks().div_ceil(COPIES))
    }

    /// The most bands that take copies at a time: the spare ones, and open ones that compaction goes on with.
    fn most_copying(&self) -> u32 {
        self.config.spare_bands + u32::from(self.bands.separation().streams())
    }

    pub(super) fn checkpoint_region(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let copies = self.cursors_of_copies();
        match from.checked_sub(1) {
            None => self.checkpoint_roles(plan),
            Some(part) if part < copies => self.checkpoint_copies(part, plan),
            Some(_) => {
                let start = Lba(from - 1 - copies);
                let end = self.bands.map.checkpoint(start, &self.lost, self.bands.zones(), plan);
                return (end.0 < self.bands.map.capacity()).then_some(1 + copies + end.0);
            }
        }
        Some(from + 1)
    }

    pub(super) fn checkpoint_roles(&self, plan: &mut Plan) {
        let mut is = |band: u32, is: u32| plan.record(Record::Unit { unit: self.bands.unit(band), is });
        for &band in &self.bands.copying {
            let is_settling = self.bands.role(band) == Role::Settling;
            is(band, if is_settling { becomes::SETTLING } else { becomes::copying(self.bands.copies(band)) });
        }
        self.bands.victims.iter().for_each(|&band| is(band, becomes::VICTIM));
    }

    fn checkpoint_copies(&self, part: u64, plan: &mut Plan) {
        let parts = u64::from(self.bands.blocks().div_ceil(COPIES));
        let Some(&band) = self.bands.copying.get((part / parts) as usize) else { return };
        let from = (part % parts) as u32 * COPIES;
        for offset in from.max(self.bands.copies(band))..self.bands.written(band).min(from + COPIES) {
            let slot = self.bands.map.place(band, offset);
            if let Some(lba) = self.bands.map.holder(slot) {
                plan.record(Record::Map { at: Extent::new(lba, 1), to: self.bands.block(slot) });
            }
        }
    }

    /// The records of a checkpoint that go through the map in order.
    pub(super) fn in_order(&self) -> InOrder {
        match &self.cached {
            None => self.bands.map.most_in_order(self.bands.zones()),
            Some(_) => InOrder::default(),
        }
    }

    /// The most copies that do not count yet, where the whole map is in memory: what is live on victims that are compacted
    /// together fits the spare bands.
    fn most_copies(&self) -> u64 {
        u64::from(self.config.spare_bands.min(self.config.compact_bands)) * u64::from(self.bands.blocks())
    }

    /// The most records that a checkpoint of everything takes.
    pub(super) fn records(&self) -> u64 {
        let roles = u64::from(self.most_copying()) + u64::from(self.config.compact_bands);
        if self.cached.is_some() {
            return roles + self.cached_records();
        }
        roles + self.most_copies() + self.bands.map.most_records()
    }

    /// Verifies the bands, that there are no more copies than promised, and that no block is both mapped and lost.
    pub(super) fn check_bands(&self) -> Result<(), Violation> {
        self.bands.check()?;
        if self.cached.is_some() {
            return self.check_cached();
        }
        let of = |&band: &u32| u64::from(self.bands.written(band).saturating_sub(self.bands.copies(band)));
        let (copies, most) = (self.bands.copying.iter().map(of).sum::<u64>(), self.most_copies());
        if copies > most {
            return Err(Violation(format!("{copies} copies do not count yet, but {most} at most may")));
        }
        self.lost.check_unmapped(&self.bands.map)
    }
}
