//! What bands are to a compaction, as records say it: victims, holders of copies, and data again.

use super::LogStructured;
use super::bands::Role;
use super::times::Written;
use crate::parts::full_map::TOGETHER;
use imbrex_core::block::{Address, Extent};
use imbrex_core::plan::{Plan, Record};

/// The number in [`Record::Unit`]: what the band is from then on.
pub(super) mod becomes {
    /// Data; the copies that it holds, if any, count.
    pub const DATA: u32 = 0;
    /// A victim of the compaction under way.
    pub const VICTIM: u32 = 1;
    /// The holder of copies that do not count yet.
    pub const COPYING: u32 = 2;
    /// Data; copies that it holds are forgotten.
    pub const BARE: u32 = 3;
    /// Data, whose copies are complete and begin to count one by one.
    pub const SETTLING: u32 = u32::MAX;
    /// Plus a number of blocks: that much data, behind which the band holds copies that do not count yet.
    pub const COPYING_BEHIND: u32 = BARE;

    /// The holder of copies behind `behind` blocks of data.
    pub const fn copying(behind: u32) -> u32 {
        if behind == 0 { COPYING } else { COPYING_BEHIND + behind }
    }

    /// Behind how many blocks of data a band of this kind holds copies, if it does.
    pub const fn behind(is: u32) -> Option<u32> {
        match is {
            COPYING => Some(0),
            SETTLING => None,
            _ => {
                if is > COPYING_BEHIND {
                    Some(is - COPYING_BEHIND)
                } else {
                    None
                }
            }
        }
    }
}

impl LogStructured {
    /// Plans that a band is something else.
    pub(super) fn give_role(&mut self, band: u32, is: u32, plan: &mut Plan) {
        plan.record(Record::Unit { unit: self.bands.unit(band), is });
        self.take_role(band, is);
    }

    /// The effect of [`Record::Unit`].
    pub(super) fn take_role(&mut self, band: u32, is: u32) {
        let (was, first) = (self.bands.role(band), self.bands.copies(band));
        match (is, becomes::behind(is)) {
            // A checkpoint says again what is so; copies made meanwhile are not forgotten.
            (becomes::VICTIM, _) if was == Role::Victim => {}
            (becomes::SETTLING, _) if was == Role::Settling => {}
            (becomes::SETTLING, _) => self.bands.set_role(band, Role::Settling, 0),
            (_, Some(_)) if was == Role::Copying => {}
            (becomes::VICTIM, _) => self.bands.set_role(band, Role::Victim, 0),
            (_, Some(behind)) => {
                if self.cached.is_none() {
                    self.evacuate(band, behind);
                }
                self.bands.set_role(band, Role::Copying, behind);
            }
            _ => self.bands.set_role(band, Role::Data, 0),
        }
        if let Some(cached) = &mut self.cached {
            if self.bands.role(band) == Role::Data && was != Role::Victim {
                cached.copies.drop_from(self.bands.map.place(band, 0), self.bands.blocks());
            }
        } else if was == Role::Copying && is == becomes::DATA {
            self.adopt(band, first);
        }
    }

    /// Nothing lies on a band where it begins to take copies. A fold that began in the middle may have taken copies for
    /// blocks.
    fn evacuate(&mut self, band: u32, first: u32) {
        let mut offset = first;
        while self.bands.live(band) > 0 && offset < self.bands.blocks() {
            if let Some(lba) = self.bands.map.owner(self.bands.map.place(band, offset)) {
                self.bands.remove(Extent::new(lba, 1));
            }
            offset += 1;
        }
    }

    /// Every block copied to `first` and behind that still lies on a victim moves to its copy and is cooled.
    fn adopt(&mut self, band: u32, first: u32) {
        let (mut slot, mut rest) = (self.bands.map.place(band, first), self.bands.written(band) - first);
        while rest > 0 {
            // What has been looked up is still in the cache when it is changed.
            let part = rest.min(TOGETHER);
            self.adopt_slots(slot, part);
            slot += u64::from(part);
            rest -= part;
        }
    }

    fn adopt_slots(&mut self, first: u64, slots: u32) {
        let mut adopted = std::mem::take(&mut self.compaction.adopted);
        let map = &self.bands.map;
        let known = |lba| self.bands.known.prefetch(lba);
        map.holders(first, slots, known, |held, slot| {
            map.runs(held, |at, old| {
                if self.bands.role(map.locate(old).0) == Role::Victim {
                    adopted.push((at, slot + at.start.since(held.start)));
                }
                true
            });
        });
        for (at, slot) in adopted.drain(..) {
            self.bands.adopt(at, slot, Written::Before(self.compaction.youngest));
            self.bands.cool(at, self.heat.cooling);
        }
        self.compaction.adopted = adopted;
    }
}
