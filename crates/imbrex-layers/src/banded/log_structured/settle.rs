//! The end of a compaction where a part of the map is in memory: copies begin to count one by one.
//!
//! When all copies are made, one plan records that the bands that hold them are *settling*. Until then a crash drops the
//! copies; from then on it does not, and the next epoch goes on. Copies settle in the order of their blocks, those of a
//! few pages at a time: where the block still lies on a victim, a record puts it where its copy lies. Then the bands are
//! data, and the victims are emptied.

use super::LogStructured;
use super::bands::Role;
use super::compact::Phase;
use super::fold::MOST_LOST;
use super::roles::becomes;
use super::times::Written;
use crate::parts::map_runs::MapRuns;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{Step, TooManyLost};
use imbrex_core::plan::{Plan, Record};

/// Copies that settle in one step at most.
const TOGETHER: usize = 512;

/// Copies that settle next.
pub(super) struct Next {
    pub copies: Vec<(Lba, u64)>,
    /// The pages of their blocks.
    pub pages: Vec<u64>,
}

impl LogStructured {
    /// All copies are made. Plans that from now on they are not dropped.
    pub(super) fn begin_settling(&mut self, plan: &mut Plan) {
        self.settle_all(plan);
        self.compaction.moving.clear();
        (self.compaction.done, self.compaction.phase) = (0, Phase::Settling);
        if self.bands.copying.is_empty() {
            self.end_settling(plan);
        }
    }

    /// Plans that the copies on all bands that hold some are complete.
    pub(super) fn settle_all(&mut self, plan: &mut Plan) {
        for band in self.bands.copying.clone() {
            if self.bands.role(band) == Role::Copying {
                self.give_role(band, becomes::SETTLING, plan);
            }
        }
    }

    /// Which copies settle next.
    pub(super) fn settled_next(&self) -> Next {
        let mut next = Next { copies: Vec::new(), pages: Vec::new() };
        let most = self.bands.slots_at_a_time().unwrap_or(1) as usize;
        let copies = self.cached.iter().flat_map(|cached| cached.copies.from(Lba(0)));
        for (lba, slot) in copies.take(TOGETHER) {
            let page = self.bands.cached_pages_of(Extent::new(lba, 1)).start;
            if next.pages.last() != Some(&page) {
                if next.pages.len() == most {
                    break;
                }
                next.pages.push(page);
            }
            next.copies.push((lba, slot));
        }
        next
    }

    /// One step: the next copies count, as far as their pages are in memory.
    pub(super) fn settle(&mut self, plan: &mut Plan) -> Step {
        let mut maps = MapRuns::default();
        for (lba, slot) in self.settled_next().copies {
            let at = Extent::new(lba, 1);
            if self.bands.in_memory(at, true) == 0 {
                self.bands.miss();
                break;
            }
            let old = self.bands.map.get(lba).map(|old| self.bands.map.locate(old).0);
            if old.is_some_and(|band| self.bands.role(band) == Role::Victim) {
                // A record stays on one band.
                if self.bands.map.locate(slot).1 == 0 {
                    maps.end(plan);
                }
                maps.push(at, self.bands.block(slot), plan);
                self.adopt_copy(at, slot);
            }
            self.forget_copies(at);
        }
        maps.end(plan);
        if self.cached.as_ref().is_none_or(|cached| cached.copies.is_empty()) {
            self.end_settling(plan);
        }
        Step::More
    }

    fn adopt_copy(&mut self, at: Extent<Lba>, slot: u64) {
        self.bands.count_again(self.bands.map.locate(slot).0);
        self.bands.adopt(at, slot, Written::Before(self.compaction.youngest));
        self.bands.cool(at, self.heat.cooling);
    }

    /// Copies of the blocks of `at` do not count any more.
    pub(super) fn forget_copies(&mut self, at: Extent<Lba>) {
        if let Some(cached) = &mut self.cached {
            cached.copies.remove(at);
        }
    }

    /// Plans that what lies in a slot is lost: a block, unless its copies are complete, or the copy of a block that is
    /// about to count. What is recorded of a block makes an end of its copies.
    pub(super) fn lose_slot(&mut self, slot: u64, plan: &mut Plan) -> Result<(), TooManyLost> {
        let Some(lba) = self.bands.map.holder(slot) else { return Ok(()) };
        let (at, place) = (Extent::new(lba, 1), self.bands.map.get(lba));
        let copy = self.cached.as_ref().and_then(|cached| cached.copies.of(lba));
        let is_complete = |copy: &u64| self.bands.role(self.bands.map.locate(*copy).0) == Role::Settling;
        let is_moving = place.is_some_and(|place| self.bands.role(self.bands.map.locate(place).0) == Role::Victim);
        if place != Some(slot) && !(copy == Some(slot) && is_moving) {
            // It holds something older.
            return Ok(());
        }
        if let Some(copy) = copy.filter(|&copy| is_moving && copy != slot && is_complete(&copy)) {
            plan.record(Record::Map { at, to: self.bands.block(copy) });
            self.adopt_copy(at, copy);
            self.forget_copies(at);
        } else if self.lost.len() >= MOST_LOST {
            return Err(TooManyLost(self.lost.len()));
        } else {
            plan.record(Record::Lost(at));
            self.unmap(at);
            self.lost.insert(at);
        }
        Ok(())
    }

    /// Plans that all bands are data, and that the victims are emptied.
    fn end_settling(&mut self, plan: &mut Plan) {
        let mut settled = Vec::new();
        while let Some(&band) = self.bands.copying.first() {
            self.give_role(band, becomes::DATA, plan);
            settled.push(band);
        }
        while let Some(&band) = self.bands.victims.first() {
            self.give_role(band, becomes::DATA, plan);
        }
        for target in &mut self.compaction.targets {
            target.take_if(|band| self.bands.room(*band).1 == 0);
        }
        for band in settled {
            if !self.compaction.targets.contains(&Some(band)) {
                self.bands.close_opened(band);
            }
        }
        for band in std::mem::take(&mut self.compaction.victims) {
            if self.bands.live(band) > 0 {
                // All that was live there was copied, so what is counted was never there.
                self.bands.map.miscount(band);
            }
            if self.bands.live(band) == 0 && self.bands.is_open(band) {
                self.bands.abandon(band, plan);
            } else {
                self.bands.close_opened(band);
            }
        }
        self.compaction.end();
    }

    /// Whether copies are complete that an epoch before has made.
    pub(super) fn is_to_settle(&self) -> bool {
        self.bands.copying.iter().any(|&band| self.bands.role(band) == Role::Settling)
    }

    /// Goes on with a compaction whose copies an epoch before has made, and forgets all other copies.
    pub(super) fn take_up_settling(&mut self) {
        let bands = &self.bands;
        if let Some(cached) = &mut self.cached {
            cached.copies.retain(|slot| bands.role(bands.map.locate(slot).0) == Role::Settling);
        }
        if !self.is_to_settle() {
            return;
        }
        let compaction = &mut self.compaction;
        compaction.phase = Phase::Settling;
        compaction.victims.clone_from(&self.bands.victims);
        let has_room = |&band: &u32| self.bands.is_open(band) && self.bands.room(band).1 > 0;
        let with_room = self.bands.copying.iter().copied().filter(has_room);
        let streams = usize::from(self.bands.separation().streams());
        for (target, band) in compaction.targets.iter_mut().take(streams).zip(with_room) {
            *target = Some(band);
        }
    }
}
