//! The durable state: applying records and stating them again.

use super::PageFtl;
use crate::block::{Extent, Lba, Pba};
use crate::layer::{Corrupt, REGION_RECORDS};
use crate::plan::{Place, Plan, Record};

impl PageFtl {
    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, .. } | Record::Unmap(at) | Record::Lost(at) if !at.is_within(self.map.capacity()) => {
                Err(Corrupt(format!("a record names {at:?}, beyond the capacity")))
            }
            Record::Map { at, to } => self.apply_map(at, to),
            Record::Unmap(at) => {
                self.unmap(at);
                Ok(())
            }
            Record::Lost(at) => {
                self.unmap(at);
                self.lost.insert(at);
                Ok(())
            }
            Record::Unit { .. } | Record::Note { .. } => {
                Err(Corrupt(format!("page-ftl has no records of this kind, yet there is {record:?}")))
            }
        }
    }

    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = |why: &str| Err(Corrupt(format!("a record maps {at:?} to {to:?}, {why}")));
        let Some((unit, offset)) = self.units.locate(to) else { return wrong("which is no page") };
        let first = unit * self.pages() + offset;
        if u64::from(first) + u64::from(at.blocks) > u64::from(self.units.count) * u64::from(self.pages()) {
            return wrong("beyond the last page");
        }
        for (place, lba) in (first..).zip(at.iter()) {
            if self.map.owner(place).is_some_and(|owner| owner != lba) {
                return wrong("where another block lies");
            }
        }
        self.map_run(at, first);
        Ok(())
    }

    /// The blocks lie at `first` and behind.
    #[inline]
    pub(super) fn map_run(&mut self, at: Extent<Lba>, first: u32) {
        self.lost.remove(at);
        for (place, lba) in (first..).zip(at.iter()) {
            if self.map.get(lba) == Some(place) {
                continue;
            }
            if let Some(left) = self.map.set(lba, place) {
                self.pool.changed(left, self.map.live(left));
            }
        }
    }

    pub(super) fn unmap(&mut self, at: Extent<Lba>) {
        self.lost.remove(at);
        for lba in at.iter() {
            if let Some(left) = self.map.remove(lba) {
                self.pool.changed(left, self.map.live(left));
            }
        }
    }

    /// Where the first block of `at` is read from, and for how many blocks that goes on.
    #[inline]
    pub(super) fn run(&self, at: Extent<Lba>) -> (Place, u32) {
        match self.map.run(at) {
            (Some(place), blocks) => (Place::At(self.page(place)), blocks),
            (None, blocks) if self.lost.is_empty() => (Place::Zero, blocks),
            (None, blocks) => {
                let is_lost = |lba| self.lost.any(Extent::new(lba, 1));
                let lost = is_lost(at.start);
                let blocks = at.first(blocks).iter().take_while(|lba| is_lost(*lba) == lost).count();
                (if lost { Place::Lost } else { Place::Zero }, blocks as u32)
            }
        }
    }

    /// States as many blocks from `from` on as fit a region.
    pub(super) fn restate_region(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let capacity = self.map.capacity();
        let end = self.region_end(Lba(from));
        let mut rest = Extent::between(Lba(from), end);
        plan.record(Record::Unmap(rest));
        while !rest.is_empty() {
            let (place, blocks) = self.run(rest);
            let at = rest.first(blocks);
            match place {
                Place::At(to) => plan.record(Record::Map { at, to }),
                Place::Lost => plan.record(Record::Lost(at)),
                Place::Zero | Place::Host(_) => {}
            }
            rest = rest.skip(blocks);
        }
        (end.0 < capacity).then_some(end.0)
    }

    /// Where a region ends that begins at `start`.
    fn region_end(&self, start: Lba) -> Lba {
        let (mut rest, mut records) = (Extent::between(start, Lba(self.map.capacity())), 1);
        while !rest.is_empty() && records < REGION_RECORDS {
            let (place, blocks) = self.run(rest);
            records += usize::from(place != Place::Zero);
            rest = rest.skip(blocks);
        }
        rest.start
    }
}
