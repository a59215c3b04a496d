//! The durable state where a part of the map is in memory: what records say of it, and how it is stated again.
//!
//! Pages are durable by themselves. Records say what changed in them, and that waits until the page is there. Everything
//! else is in memory and in records: roles, copies, lost blocks, how many blocks of each band are live, and which pages
//! have ever been used. What changes of the last two is said when it is asked for. So a checkpoint takes no page.

use super::LogStructured;
use super::bands::USES;
use super::cached::Cached;
use super::times::Written;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{Corrupt, REGION_RECORDS, Violation};
use imbrex_core::plan::{Plan, Record};

/// Records of a region.
const REGION: u64 = REGION_RECORDS as u64;

/// Blocks that may be lost at a time. A journal has room for as many records of them, since blocks that lie behind each
/// other need as many when every other one of them is written.
pub(super) const MOST_LOST: u64 = 4096;

impl LogStructured {
    /// Where a map is in memory in part.
    pub(super) fn fold_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => {
                let slot = self.slot_for(at, to)?;
                if self.is_folding() {
                    self.bands.map.fold(at, slot);
                    self.lost.remove(at);
                    self.forget_copies(at);
                } else {
                    self.map(at, slot, Written::Before(0));
                }
            }
            Record::Copy { at, to } => {
                let slot = self.slot_for(at, to)?;
                if self.is_folding() {
                    self.bands.map.fold_written(at, slot);
                } else {
                    self.bands.wrote(at, slot);
                }
                if let Some(cached) = &mut self.cached {
                    cached.copies.insert(at, slot);
                }
            }
            Record::Unmap(at) => self.fold_unmapped(at),
            Record::Lost(at) => {
                self.fold_unmapped(at);
                self.lost.insert(at);
            }
            Record::Unit { unit, is } => self.apply_role(unit, is)?,
            Record::Note { key, value } => self.fold_note(key, value)?,
        }
        Ok(())
    }

    pub(super) fn is_folding(&self) -> bool {
        self.cached.as_ref().is_some_and(|cached| cached.is_folding)
    }

    fn fold_unmapped(&mut self, at: Extent<Lba>) {
        if self.is_folding() {
            self.bands.map.fold_nowhere(at);
            self.lost.remove(at);
            self.forget_copies(at);
        } else {
            self.unmap(at);
        }
    }

    fn fold_note(&mut self, key: u32, value: u64) -> Result<(), Corrupt> {
        let bands = self.bands.zones().count;
        let is_known = match key.checked_sub(bands) {
            None if value <= self.bands.blocks().into() => {
                self.bands.map.fold_live(key, value as u32);
                true
            }
            None => false,
            Some(number) => self.bands.fold_uses(number.into(), value),
        };
        if is_known { Ok(()) } else { Err(Corrupt(format!("a record says {value:#x} of {key}, which cannot be"))) }
    }

    /// No more records are folded.
    pub(super) fn end_fold(&mut self) {
        if let Some(cached) = &mut self.cached {
            cached.is_folding = false;
            self.bands.end_fold();
        }
    }

    /// Plans the records that say which pages are used, of numbers from `from` to `to`: their keys follow those of bands.
    fn note_uses(&self, from: u64, to: u64, plan: &mut Plan) {
        for (number, value) in self.bands.uses(from, to) {
            plan.record(Record::Note { key: self.bands.zones().count + number as u32, value });
        }
    }

    fn note_of_live(&self, band: u32) -> Record {
        Record::Note { key: band, value: self.bands.live(band).into() }
    }

    /// Plans what has changed of counts and uses since this was last asked.
    pub(super) fn state_changes(&mut self, plan: &mut Plan) {
        for band in self.bands.take_changed() {
            plan.record(self.note_of_live(band));
        }
        for number in self.bands.take_used() {
            self.note_uses(number, number + 1, plan);
        }
    }

    /// Numbers of pages whose uses one record says.
    fn words(&self) -> u64 {
        self.bands.cached_pages_at_all().div_ceil(USES)
    }

    /// The most records that a checkpoint takes beside the roles.
    pub(super) fn cached_records(&self) -> u64 {
        // More may be found on victims than was counted there, and need not fit the spare bands.
        let copies = u64::from(self.config.compact_bands) * u64::from(self.bands.blocks());
        u64::from(self.bands.zones().count) + self.words() + copies + MOST_LOST.min(self.bands.map.capacity())
    }

    /// States a region again: roles, live blocks, uses of pages, copies, lost blocks.
    pub(super) fn checkpoint_cached(&self, cached: &Cached, from: u64, plan: &mut Plan) -> Option<u64> {
        let bands = u64::from(self.bands.zones().count);
        let (lives, words) = (bands.div_ceil(REGION), self.words().div_ceil(REGION));
        let Some(part) = from.checked_sub(1) else {
            self.checkpoint_roles(plan);
            return Some(1);
        };
        if part < lives {
            let of = (part * REGION) as u32..((part + 1) * REGION).min(bands) as u32;
            of.filter(|&band| self.bands.live(band) > 0).for_each(|band| plan.record(self.note_of_live(band)));
            return Some(from + 1);
        }
        if part < lives + words {
            let first = (part - lives) * REGION;
            self.note_uses(first, (first + REGION).min(self.words()), plan);
            return Some(from + 1);
        }
        // Of the two lists each cursor is the next block.
        let (copies, capacity) = (1 + lives + words, self.bands.map.capacity());
        match (from - copies).checked_sub(capacity) {
            None => {
                Some(copies + self.checkpoint_copied(cached, Lba(from - copies), plan).map_or(capacity, |lba| lba.0))
            }
            Some(lba) => self.checkpoint_lost(Lba(lba), plan).map(|lba| copies + capacity + lba.0),
        }
    }

    /// States copies of blocks from `from` on, and says which is next.
    fn checkpoint_copied(&self, cached: &Cached, from: Lba, plan: &mut Plan) -> Option<Lba> {
        let mut left = REGION;
        let mut run: Option<(Extent<Lba>, u64)> = None;
        for (lba, slot) in cached.copies.from(from) {
            match &mut run {
                Some((at, first)) if at.end() == lba && *first + u64::from(at.blocks) == slot && !self.begins(slot) => {
                    at.blocks += 1;
                }
                _ => {
                    if left == 0 {
                        self.state_copy(run, plan);
                        return Some(lba);
                    }
                    self.state_copy(run.replace((Extent::new(lba, 1), slot)), plan);
                    left -= 1;
                }
            }
        }
        self.state_copy(run, plan);
        None
    }

    /// Whether a slot is the first of its band.
    fn begins(&self, slot: u64) -> bool {
        self.bands.map.locate(slot).1 == 0
    }

    fn state_copy(&self, run: Option<(Extent<Lba>, u64)>, plan: &mut Plan) {
        if let Some((at, slot)) = run {
            plan.record(Record::Copy { at, to: self.bands.block(slot) });
        }
    }

    /// States lost blocks from `from` on, and says where those begin that are next.
    fn checkpoint_lost(&self, from: Lba, plan: &mut Plan) -> Option<Lba> {
        let capacity = self.bands.map.capacity();
        let region = Extent::between(from, self.lost.region_end(from, capacity));
        self.lost.runs(region, |at, is_lost| {
            if is_lost {
                plan.record(Record::Lost(at));
            }
        });
        Some(region.end()).filter(|end| end.0 < capacity)
    }

    /// Verifies what is in memory.
    pub(super) fn check_cached(&self) -> Result<(), Violation> {
        let is_lost = |lba| self.lost.any(Extent::new(lba, 1));
        self.bands.map.check_cached(is_lost, |band| self.bands.written(band))
    }
}
