//! Making room: blocks that leave the hot buffer for chunks of the cold one, and zones that leave the cold buffer.

use super::Amphisbaena;
use super::chunks::ColdSlot;
use super::config::{CheckpointFor, Victims};
use super::counters;
use super::write::Target;
use crate::parts::map_runs::MapRuns;
use crate::zone_buffer::{Goal, ZoneBuffer};
use imbrex_core::block::{Access, Extent, Lba, Pba, Request};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Place, Plan, Why};

impl ZoneBuffer<Amphisbaena> {
    /// One step towards room for what is left of a request, `at`.
    pub(super) fn room_for(&mut self, at: Extent<Lba>, waiting: &[Request], plan: &mut Plan) -> Step {
        if let Some(step) = self.go_on(waiting, plan) {
            return step;
        }
        let hot = self.policy.label.of_rest(at);
        match self.target(at.start, hot) {
            Target::InPlace(_) => Step::Done,
            Target::Hot => self.free_hot_slot(waiting, plan),
            Target::Cold => self.free_cold_place(at.start, waiting, plan),
        }
    }

    /// One step towards as many free chunks as are to be there.
    pub(super) fn gain_chunks(&mut self, goal: Goal, plan: &mut Plan) -> Step {
        if let Some(step) = self.go_on(&[], plan) {
            return step;
        }
        match goal {
            Goal::Room(room) if u64::from(self.policy.chunks.room_for_chunks()) >= room => {
                // Then hot blocks can become cold ones, before a write waits for that.
                let has_slots = self.is_reached(goal);
                (!has_slots).then(|| self.cool(&[], plan)).flatten().unwrap_or(Step::Nothing)
            }
            Goal::Idle | Goal::All if self.policy.chunks.free_share() >= self.config.idle_free => Step::Nothing,
            _ => self.evict_victim(&[], plan),
        }
    }

    /// One step towards an empty buffer: hot blocks become cold ones, which fill the cold buffer before a zone leaves
    /// it, so that zones leave with all they have.
    pub(super) fn empty(&mut self, plan: &mut Plan) -> Step {
        self.go_on(&[], plan).or_else(|| self.cool(&[], plan)).unwrap_or_else(|| self.evict_victim(&[], plan))
    }

    /// One step of what is under way.
    fn go_on(&mut self, waiting: &[Request], plan: &mut Plan) -> Option<Step> {
        if let Some(native) = self.collecting() {
            return Some(self.collect_next(native, waiting, plan));
        }
        self.shift_step(waiting, plan)
    }

    /// One step towards a free slot of the hot buffer.
    pub(super) fn free_hot_slot(&mut self, waiting: &[Request], plan: &mut Plan) -> Step {
        if self.policy.chunks.free_slot().is_some() {
            return Step::Done;
        }
        if self.policy.chunks.has_pending_slot() {
            return Step::Wait;
        }
        self.cool(waiting, plan).unwrap_or(Step::Wait)
    }

    /// One step in which blocks leave the hot buffer, or towards a place for them in the cold one; nothing when none is
    /// hot.
    fn cool(&mut self, waiting: &[Request], plan: &mut Plan) -> Option<Step> {
        let slot = self.policy.roles.next_out()?;
        let Some(lba) = self.policy.chunks.table().owner(slot) else {
            unreachable!("a block with a role lies in its slot")
        };
        match self.policy.chunks.cold_slot(lba) {
            ColdSlot::Usable(_) => self.policy.leaving.push((lba, slot)),
            ColdSlot::Pending => return Some(Step::Wait),
            ColdSlot::NoChunk if self.policy.chunks.has_free_chunk() => self.choose_leaving(lba),
            ColdSlot::NoChunk => return Some(self.free_chunk(waiting, plan)),
        }
        self.move_to_cold(plan);
        plan.count(counters::HOT_CLEANED, 1);
        Some(self.between_steps())
    }

    /// Notes the blocks of the chunk of `lba` that may leave.
    fn choose_leaving(&mut self, lba: Lba) {
        let policy = &mut self.policy;
        let blocks = policy.chunks.blocks_of(policy.chunks.chunk_of(lba).0);
        let leaving = self.blocks.map.range(blocks).filter(|&(_, slot)| policy.roles.may_leave(slot));
        policy.leaving.extend(leaving);
    }

    /// Plans that the blocks that leave the hot buffer, all of one chunk, lie in the cold one.
    fn move_to_cold(&mut self, plan: &mut Plan) {
        let mut leaving = std::mem::take(&mut self.policy.leaving);
        for (ram, &(_, from)) in (0..).zip(&leaving) {
            plan.copy(Place::At(self.slot_place(from)), Place::At(Pba::ram(ram)), 1, Why::Migrate);
        }
        let mut maps = MapRuns::default();
        for (ram, &(lba, from)) in (0..).zip(&leaving) {
            let Some(to) = self.policy.cold_slot(lba) else { unreachable!("its chunk has room for the block") };
            let at = Extent::new(lba, 1);
            plan.copy(Place::At(Pba::ram(ram)), Place::At(self.slot_place(to)), 1, Why::Migrate);
            maps.push(at, self.slot_place(to), plan);
            self.policy.roles.leave(from, lba);
            self.map_run(at, to);
        }
        maps.end(plan);
        for &(_, from) in &leaving {
            plan.free(Extent::new(self.slot_place(from), 1));
        }
        leaving.clear();
        self.policy.leaving = leaving;
    }

    /// One step towards a place in the cold buffer for a block.
    fn free_cold_place(&mut self, lba: Lba, waiting: &[Request], plan: &mut Plan) -> Step {
        match self.policy.chunks.cold_slot(lba) {
            ColdSlot::Usable(_) => Step::Done,
            ColdSlot::Pending => Step::Wait,
            ColdSlot::NoChunk => self.free_chunk(waiting, plan),
        }
    }

    /// One step towards a free chunk.
    pub(super) fn free_chunk(&mut self, waiting: &[Request], plan: &mut Plan) -> Step {
        if self.policy.chunks.has_free_chunk() {
            Step::Done
        } else if self.policy.chunks.has_pending_chunk() {
            Step::Wait
        } else {
            self.evict_victim(waiting, plan)
        }
    }

    /// The first stage of the collection of a victim.
    fn evict_victim(&mut self, waiting: &[Request], plan: &mut Plan) -> Step {
        let Some(native) = self.policy.victim() else { return Step::Nothing };
        if let Some((chunks, starving)) = self.policy.chunks.starving() {
            plan.count(counters::COLD_CHUNK, chunks);
            plan.count(counters::STARVING_CHUNK, starving);
        }
        (self.policy.next_chunk, self.policy.collected_chunks) = (0, 0);
        self.begin_collecting(native);
        self.collect_next(native, waiting, plan)
    }

    /// A stage of a collection: one chunk is read, unless the checkpoint before it says stop.
    fn collect_next(&mut self, native: u32, waiting: &[Request], plan: &mut Plan) -> Step {
        let next = self.policy.chunks.cold_of(native, self.policy.next_chunk).next();
        let Some((chunk, at)) = next else { return self.write_collected(plan) };
        if self.policy.may_stop() && self.is_wanted(native, chunk, waiting) {
            plan.count(counters::COLLECTION_STOPPED, 1);
            self.policy.next_chunk = u64::MAX;
            return self.write_collected(plan);
        }
        for slot in self.policy.chunks.slots_of(at) {
            if let Some(lba) = self.policy.chunks.table().owner(slot) {
                self.collect(self.policy.natives.locate(lba).1, slot, plan);
            }
        }
        plan.count(counters::CHUNK_EVICTED, 1);
        self.policy.next_chunk = chunk + 1;
        self.policy.collected_chunks += 1;
        self.between_steps()
    }

    /// Whether a write waits that stops the collection of the zone before chunk `next`.
    fn is_wanted(&self, native: u32, next: u64, waiting: &[Request]) -> bool {
        let zone = self.zones.blocks_of(native);
        let mut writes = waiting.iter().filter(|request| request.access == Access::Write);
        match self.policy.config.checkpoint_for {
            CheckpointFor::Zone => writes.any(|write| write.at.overlaps(&zone)),
            CheckpointFor::Rest => {
                let mut parts = writes.filter_map(|write| write.at.intersection(&zone));
                parts.any(|part| self.policy.chunks.has_cold(native, next, part))
            }
        }
    }
}

impl Amphisbaena {
    /// Whether a checkpoint may stop the collection.
    fn may_stop(&self) -> bool {
        self.config.checkpoints && self.collected_chunks >= self.config.least_collected
    }

    /// The native zone that leaves next.
    fn victim(&self) -> Option<u32> {
        match self.config.victims {
            Victims::Fifo => self.chunks.oldest(),
            by => self.natives.by_weight(by, self.config.density, |native| self.chunks.last_of(native)),
        }
    }
}
