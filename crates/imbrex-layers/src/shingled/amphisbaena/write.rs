//! Planning a write: past the buffer, into the block's slot, or into the part of the buffer that its label and role
//! say.

use super::Amphisbaena;
use super::chunks::ColdSlot;
use super::config::{Bypass, UsedBy};
use super::counters;
use crate::parts::map_runs::MapRuns;
use crate::zone_buffer::ZoneBuffer;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Event, Place, Plan, Why};

/// Where a block of a write goes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// It is in the hot buffer, in this slot.
    InPlace(u32),
    Hot,
    Cold,
}

/// What a plan gathers before it is complete.
#[derive(Default)]
struct Gathered {
    maps: MapRuns,
    hits: u32,
    hot_hits: u32,
}

impl ZoneBuffer<Amphisbaena> {
    /// Plans a write of the blocks that fit.
    pub(super) fn write_by_role(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let mut gathered = Gathered::default();
        let mut done = 0;
        while done < at.blocks {
            let rest = at.skip(done);
            let past = self.write_past(rest, done, plan);
            if past > 0 {
                done += past;
                continue;
            }
            let hot = self.policy.label_of(at);
            if self.policy.shift.is_some() || !self.write_block(rest.start, done, hot, &mut gathered, plan) {
                break;
            }
            done += 1;
        }
        self.policy.label.left(at.skip(done));
        gathered.maps.end(plan);
        self.free_superseded(plan);
        plan.count(Event::WriteHit, gathered.hits);
        plan.count(counters::HOT_HIT, gathered.hot_hits);
        done
    }

    /// Plans what of `rest` goes past the buffer.
    fn write_past(&mut self, rest: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(rest.start);
        let fills_zone = offset == 0 && rest.blocks >= self.zones.zone_blocks();
        if !fills_zone && self.policy.config.bypass == Bypass::Zone {
            return 0;
        }
        let blocks = self.write_direct(rest, host, plan);
        if blocks > 0 {
            let chunks = &self.policy.chunks;
            let cold = chunks.cold_of(native, 0).flat_map(|(_, at)| chunks.live_of(at));
            self.policy.natives.appended(native, offset + blocks, cold.map(|(offset, _)| offset));
        }
        blocks
    }

    /// Where a block of a request goes.
    #[inline]
    pub(super) fn target(&self, lba: Lba, hot: bool) -> Target {
        if let Some(slot) = self.hot_slot(lba) {
            return Target::InPlace(slot);
        }
        let policy = &self.policy;
        let may_be_hot = policy.chunks.hot() > 0;
        if may_be_hot && (hot || (policy.config.cold_known && policy.roles.is_remembered(lba))) {
            Target::Hot
        } else {
            Target::Cold
        }
    }

    /// Plans the write of a block, if there is a slot for it.
    fn write_block(&mut self, lba: Lba, host: u32, hot: bool, gathered: &mut Gathered, plan: &mut Plan) -> bool {
        let before = self.blocks.map.get(lba);
        let slot = match self.target(lba, hot) {
            Target::InPlace(slot) => Some(slot),
            Target::Hot => self.policy.chunks.free_slot(),
            Target::Cold => self.policy.cold_slot(lba),
        };
        let Some(slot) = slot else { return false };
        let at = Extent::new(lba, 1);
        plan.copy(Place::Host(host), Place::At(self.slot_place(slot)), 1, Why::Host);
        self.outdate_copies(at);
        gathered.hits += u32::from(before.is_some());
        if before != Some(slot) {
            gathered.maps.push(at, self.slot_place(slot), plan);
            self.map_run(at, slot);
            self.policy.superseded.extend(before);
        }
        let is_cold = self.policy.chunks.is_cold(slot);
        let was_hot = before == Some(slot) && !is_cold;
        gathered.hot_hits += u32::from(was_hot);
        self.policy.written(lba, slot, is_cold, was_hot, hot);
        true
    }

    /// Plans that the slots that blocks of this write have left are free.
    fn free_superseded(&mut self, plan: &mut Plan) {
        while let Some(slot) = self.policy.superseded.pop() {
            plan.free(Extent::new(self.slot_place(slot), 1));
        }
    }
}

impl Amphisbaena {
    /// The label of a request, or of what is left of one. A request that begins may begin a period.
    #[inline]
    fn label_of(&mut self, at: Extent<Lba>) -> bool {
        if !self.label.continues(at) {
            if self.requests == self.config.period {
                self.end_period();
            }
            self.requests += 1;
        }
        self.label.is_hot(at)
    }

    /// The slot for a cold block, if its chunk is buffered or can be.
    pub(super) fn cold_slot(&mut self, lba: Lba) -> Option<u32> {
        match self.chunks.cold_slot(lba) {
            ColdSlot::Usable(slot) => Some(slot),
            ColdSlot::Pending => None,
            ColdSlot::NoChunk => {
                let slot = self.chunks.admit(lba)?;
                self.natives.chunk_came(self.natives.locate(lba).0);
                Some(slot)
            }
        }
    }

    /// Gives a block that was written into `slot` its role.
    #[inline]
    fn written(&mut self, lba: Lba, slot: u32, is_cold: bool, was_hot: bool, hot: bool) {
        if is_cold {
            self.roles.refuse(lba);
            return;
        }
        if was_hot || self.config.used_by == UsedBy::Write {
            self.chunks.note_written(slot);
        }
        if !was_hot {
            self.ghost_hits += u64::from(self.roles.enter(lba, slot));
        } else if hot || self.config.cold_hits {
            self.roles.hit(slot);
        }
    }
}
