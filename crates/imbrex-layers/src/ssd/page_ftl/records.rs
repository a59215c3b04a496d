//! The durable state: applying records.

use super::PageFtl;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, within};
use imbrex_core::plan::Record;

impl PageFtl {
    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        within(record, self.map.capacity())?;
        match *record {
            Record::Map { at, to } => self.apply_map(at, to)?,
            Record::Unmap(at) => self.unmap(at),
            Record::Lost(at) => {
                self.unmap(at);
                self.lost.insert(at);
            }
            Record::Copy { .. } | Record::Unit { .. } | Record::Note { .. } => {
                return Err(Corrupt(format!("page-ftl has no records of this kind, yet there is {record:?}")));
            }
        }
        Ok(())
    }

    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = |why: &str| Err(Corrupt(format!("a record maps {at:?} to {to:?}, {why}")));
        let Some((unit, offset)) = self.units.locate(to) else { return wrong("which is no page") };
        if u64::from(offset) + u64::from(at.blocks) > u64::from(self.pages()) {
            return wrong("beyond the last page of its erase block");
        }
        let first = self.map.place(unit, offset);
        if (first..).zip(at.iter()).any(|(place, lba)| self.map.owner(place).is_some_and(|owner| owner != lba)) {
            return wrong("where another block lies");
        }
        self.map_run(at, first);
        Ok(())
    }

    /// The blocks lie at `first` and behind.
    #[inline]
    pub(super) fn map_run(&mut self, at: Extent<Lba>, first: u64) {
        self.lost.remove(at);
        self.map.set(at, first, |unit, live| self.pool.changed(unit, live));
    }

    pub(super) fn unmap(&mut self, at: Extent<Lba>) {
        self.lost.remove(at);
        self.map.remove(at, |unit, live| self.pool.changed(unit, live));
    }
}
