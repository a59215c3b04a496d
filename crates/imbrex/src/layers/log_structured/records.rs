//! The durable state as records: applying them, restating them for a checkpoint, and beginning a life with them.
//!
//! A checkpoint restates roles first, then the copies, then the map region by region. So a fold that began in the middle of
//! a compaction and took copies for blocks is put right by the regions that follow, and whatever a region that comes before
//! the switch leaves on a victim is moved by the switch.

use super::LogStructured;
use super::bands::Role;
use super::compact::becomes;
use super::places::Heat;
use crate::block::{Address, Extent, Lba, Pba};
use crate::layer::{Corrupt, REGION_RECORDS, UnitReport, Violation};
use crate::parts::lost::LostBlocks;
use crate::plan::{Plan, Record, Unit};

/// Runs of mapped blocks in a region.
const RUNS: u32 = REGION_RECORDS as u32 / 2 - 2;
/// Slots of a copying band in a region.
const COPIES: u32 = REGION_RECORDS as u32;

impl LogStructured {
    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => self.apply_map(at, to),
            Record::Unmap(at) | Record::Lost(at) if !at.is_within(self.capacity) => {
                Err(Corrupt(format!("a record names {at:?}, beyond the capacity")))
            }
            Record::Unmap(at) => {
                self.unmap(at);
                Ok(())
            }
            Record::Lost(at) => {
                self.unmap(at);
                self.lost.insert(at);
                Ok(())
            }
            Record::Unit { unit, is } => self.apply_role(unit, is),
            Record::Note { key, .. } => Err(Corrupt(format!("{} keeps no number under key {key}", self.name))),
        }
    }

    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let slot = self.bands.slot_of(to).filter(|&slot| {
            let (_, offset) = self.bands.locate(slot);
            at.is_within(self.capacity) && at.blocks <= self.bands.blocks() - offset
        });
        let Some(slot) = slot else {
            return Err(Corrupt(format!("a record puts {at:?} at {to:?}, outside a band or the capacity")));
        };
        if self.bands.role(self.bands.locate(slot).0) == Role::Copying {
            self.bands.wrote(slot, at);
        } else {
            self.displace(slot, at);
            self.map(at, slot, Heat::Kept);
        }
        Ok(())
    }

    /// Nothing else lies where `at` is put. The band was emptied in between, which leaves no record.
    fn displace(&mut self, slot: u64, at: Extent<Lba>) {
        for (slot, lba) in (slot..).zip(at.iter()) {
            if let Some(other) = self.bands.holder(slot).filter(|&other| other != lba)
                && self.places.get(other) == Some(slot)
            {
                self.places.lift(other);
                self.bands.died(slot, 1);
            }
        }
    }

    fn apply_role(&mut self, unit: Unit, is: u32) -> Result<(), Corrupt> {
        match self.bands.band_of(unit) {
            Some(band) if is <= becomes::BARE => {
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
        for is in [becomes::BARE, becomes::DATA] {
            let of = |layer: &Self| {
                if is == becomes::BARE { layer.bands.copying.first() } else { layer.bands.victims.first() }.copied()
            };
            while let Some(band) = of(self) {
                plan.record(Record::Unit { unit: self.bands.unit(band), is });
                self.take_role(band, is);
            }
        }
        self.active = self.bands.recovered(units, plan)?;
        self.check_map().map_err(|violation| Corrupt(format!("the records contradict the drive: {violation}")))
    }

    /// Cursors before those of the map: the roles, then the slots of each band that may hold copies.
    fn cursors_of_copies(&self) -> u64 {
        u64::from(self.config.spare_bands) * u64::from(self.bands.blocks().div_ceil(COPIES))
    }

    pub(super) fn restate_region(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let copies = self.cursors_of_copies();
        match from.checked_sub(1) {
            None => self.restate_roles(plan),
            Some(part) if part < copies => self.restate_copies(part, plan),
            Some(_) => {
                let start = Lba(from - 1 - copies);
                let end = self.restate_map(start, plan);
                return (end.0 < self.capacity).then_some(1 + copies + end.0);
            }
        }
        Some(from + 1)
    }

    fn restate_roles(&self, plan: &mut Plan) {
        let roles = [(&self.bands.copying, becomes::COPYING), (&self.bands.victims, becomes::VICTIM)];
        for (bands, is) in roles {
            bands.iter().for_each(|&band| plan.record(Record::Unit { unit: self.bands.unit(band), is }));
        }
    }

    fn restate_copies(&self, part: u64, plan: &mut Plan) {
        let parts = u64::from(self.bands.blocks().div_ceil(COPIES));
        let Some(&band) = self.bands.copying.get((part / parts) as usize) else { return };
        let from = (part % parts) as u32 * COPIES;
        for offset in from..self.bands.written(band).min(from + COPIES) {
            let slot = self.bands.first_slot(band) + u64::from(offset);
            if let Some(lba) = self.bands.holder(slot) {
                plan.record(Record::Map { at: Extent::new(lba, 1), to: self.bands.block(slot) });
            }
        }
    }

    /// Restates a region of the map that begins at `start` and returns its end.
    fn restate_map(&self, start: Lba, plan: &mut Plan) -> Lba {
        let region = Extent::between(start, self.lost.region_end(start, self.capacity));
        let mut runs = 0;
        let mut end = region.end();
        self.mapped_runs(region, |at, _| {
            runs += 1;
            if runs > RUNS {
                end = at.start;
            }
            runs <= RUNS
        });
        let region = Extent::between(start, end);
        self.lost.restate(region, plan);
        self.mapped_runs(region, |at, slot| {
            plan.record(Record::Map { at, to: self.bands.block(slot) });
            true
        });
        end
    }

    /// Calls `each` with the runs of `region` that lie together on one band, and where, until it says no.
    fn mapped_runs(&self, region: Extent<Lba>, mut each: impl FnMut(Extent<Lba>, u64) -> bool) {
        let mut found: Option<(Extent<Lba>, u64)> = None;
        let mut done = 0;
        while done < region.blocks {
            let lba = region.start.plus(u64::from(done));
            let (slot, mut run) = self.places.run(lba, region.blocks - done);
            if let Some(slot) = slot {
                let (_, offset) = self.bands.locate(slot);
                run = run.min(self.bands.blocks() - offset);
                match &mut found {
                    Some((at, first)) if at.end() == lba && *first + u64::from(at.blocks) == slot && offset > 0 => {
                        at.blocks += run;
                    }
                    _ => {
                        if !found.is_none_or(|(at, first)| each(at, first)) {
                            return;
                        }
                        found = Some((Extent::new(lba, run), slot));
                    }
                }
            }
            done += run;
        }
        if let Some((at, first)) = found {
            each(at, first);
        }
    }

    /// The most records that restating everything takes.
    pub(super) fn records(&self) -> u64 {
        let roles = u64::from(self.config.spare_bands) + u64::from(self.config.compact_bands);
        let copies = u64::from(self.config.spare_bands) * u64::from(self.bands.blocks());
        let regions = self.capacity / u64::from(RUNS) + 1 + LostBlocks::regions(self.capacity);
        roles + copies + self.capacity + regions
    }

    /// Verifies the map against the bands.
    pub(super) fn check_map(&self) -> Result<(), Violation> {
        let mut live = vec![0; self.bands.count() as usize];
        let mut wrong = None;
        let mut start = Lba(0);
        while start.0 < self.capacity {
            let region = Extent::new(start, (self.capacity - start.0).min(1 << 30) as u32);
            self.mapped_runs(region, |at, slot| {
                let (band, offset) = self.bands.locate(slot);
                live[band as usize] += at.blocks;
                let is_held = self.bands.holder(slot) == Some(at.start);
                if offset + at.blocks > self.bands.written(band) || !is_held || self.lost.any(at) {
                    wrong = Some(format!("{at:?} lies at slot {offset} of band {band}, unwritten, of another or lost"));
                }
                wrong.is_none()
            });
            start = region.end();
        }
        if let Some(band) = (0..self.bands.count()).find(|&band| live[band as usize] != self.bands.live(band)) {
            let (is, counted) = (live[band as usize], self.bands.live(band));
            wrong = wrong.or(Some(format!("{is} blocks lie on band {band}, counted {counted}")));
        }
        wrong.map_or(Ok(()), |what| Err(Violation(what)))
    }
}
