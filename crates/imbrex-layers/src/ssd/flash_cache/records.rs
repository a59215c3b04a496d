//! The durable state as records: applying them, and giving them for a checkpoint. Clean blocks are in none.

use super::{FlashCache, Policy};
use crate::parts::lost::LostBlocks;
use crate::parts::map_runs::MapRuns;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, REGION_RECORDS, within};
use imbrex_core::plan::{Plan, Record};

impl<P: Policy> FlashCache<P> {
    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        within(record, self.home.blocks)?;
        match *record {
            Record::Map { at, to } => self.apply_map(at, to)?,
            Record::Unmap(at) => self.unmap(at),
            Record::Lost(at) => {
                self.unmap(at);
                self.lost.insert(at);
            }
            Record::Copy { .. } | Record::Unit { .. } | Record::Note { .. } => {
                return Err(Corrupt(format!("{} has no records of this kind, yet there is {record:?}", self.name)));
            }
        }
        Ok(())
    }

    /// Applies a [`Record::Map`], if it fits the state. A dirty block never changes its frame.
    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = |why: &str| Err(Corrupt(format!("a record maps {at:?} to {to:?}, {why}")));
        let first = match self.frame_of(to) {
            Some(first) if at.blocks <= self.frames.count() - first => first,
            _ => return wrong("which is outside the cache"),
        };
        for (frame, lba) in (first..).zip(at.iter()) {
            if self.frames.owner(frame).is_some_and(|owner| owner != lba) {
                return wrong("where another block lies");
            }
            if !self.policy.may_hold(frame, lba) {
                return wrong("where it cannot lie; was the cache made with another configuration?");
            }
            if self.map.get(lba).is_some_and(|other| other != frame) {
                return wrong("and it lies elsewhere already");
            }
        }
        self.map_run(at, first);
        Ok(())
    }

    /// The effect of [`Record::Map`]: `at` lies in the frames from `first`, and is newer than its home.
    #[inline]
    pub(super) fn map_run(&mut self, at: Extent<Lba>, first: u32) {
        for (frame, lba) in (first..).zip(at.iter()) {
            if self.map.get(lba) != Some(frame) {
                self.insert(lba, frame);
            }
            if self.frames.dirtied(frame) {
                self.policy.dirtied(frame, lba);
            }
        }
        self.lost.remove(at);
    }

    /// The effect of [`Record::Unmap`].
    pub(super) fn unmap(&mut self, at: Extent<Lba>) {
        let (frames, policy) = (&mut self.frames, &mut self.policy);
        self.map.remove_range(at, |lba, frame| {
            let was_dirty = frames.is_dirty(frame);
            frames.give_up(frame);
            policy.gone(frame, lba, was_dirty);
        });
        self.lost.remove(at);
    }

    pub(super) fn checkpoint_region(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let end = self.region_end(Lba(from));
        let region = Extent::between(Lba(from), end);
        self.lost.checkpoint(region, plan);
        let mut maps = MapRuns::default();
        for (lba, frame) in self.dirty(region) {
            maps.push(Extent::new(lba, 1), self.frame_place(frame), plan);
        }
        maps.end(plan);
        (end.0 < self.home.blocks).then_some(end.0)
    }

    /// Where a region that starts at `start` ends, so that its records are few enough.
    fn region_end(&self, start: Lba) -> Lba {
        let end = self.lost.region_end(start, self.home.blocks);
        let limit = REGION_RECORDS / 2 - 1;
        self.dirty(Extent::between(start, end)).nth(limit).map_or(end, |(lba, _)| lba)
    }

    /// The blocks of `region` that are newer than their home, and their frames.
    pub fn dirty(&self, region: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        self.map.range(region).filter(|&(_, frame)| self.frames.is_dirty(frame))
    }

    pub(super) fn record_limit(&self) -> u64 {
        let frames = u64::from(self.frames.count());
        frames + frames / (REGION_RECORDS as u64 / 2 - 1) + LostBlocks::regions(self.home.blocks)
    }
}
