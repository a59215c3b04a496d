//! Planning a write: straight to the write pointer, into the block's slot, or to the head of the log.

use super::FifoLog;
use super::config::{AtPointer, CleanFor};
use crate::block::{Address, Extent, Lba};
use crate::plan::{Event, Place, Plan, Record, Why};

impl FifoLog {
    /// Where in `native` the host may write directly: at the write pointer, unless the zone is being evicted.
    pub(super) fn direct_offset(&self, native: u32) -> Option<u32> {
        if self.eviction.as_ref().is_some_and(|e| e.native == native) {
            return None;
        }
        self.zones.writable_at(native)
    }

    /// Plans what of `rest` goes straight to its zone's write pointer; `host` is its first block's number in the request.
    pub(super) fn write_direct(&mut self, rest: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(rest.start);
        if self.direct_offset(native) != Some(offset) {
            return 0;
        }
        let run = self.direct_run(native, offset, rest.first(self.zones.zone_blocks() - offset));
        if run.is_empty() {
            return 0;
        }
        let physical = self.zones.physical(native);
        plan.copy(Place::Host(host), Place::At(self.zones.block(physical, offset)), run.blocks, Why::Host);
        self.zones.advance(physical, run.blocks);
        self.forget(run, plan);
        plan.count(Event::Direct, run.blocks);
        run.blocks
    }

    /// Plans that no block of `run` is buffered or lost any more.
    pub(super) fn forget(&mut self, run: Extent<Lba>, plan: &mut Plan) {
        self.slots.clear();
        self.slots.extend(self.map.range(run).map(|(_, slot)| slot));
        if self.slots.is_empty() && !self.lost.any(run) {
            return;
        }
        plan.record(Record::Unmap(run));
        self.unmap(run);
        self.free_slots(plan);
    }

    pub(super) fn free_slots(&mut self, plan: &mut Plan) {
        for &slot in &self.slots {
            plan.free(Extent::new(self.buffer.plus(u64::from(slot)), 1));
        }
    }

    /// Plans the update of the block in its slot, if it has one.
    pub(super) fn write_hit(&mut self, lba: Lba, host: u32, plan: &mut Plan) -> bool {
        let Some(slot) = self.map.get(lba) else { return false };
        plan.copy(Place::Host(host), Place::At(self.slot_place(slot)), 1, Why::Host);
        self.updated(lba);
        true
    }

    /// Notes that the copy an eviction may have made of a buffered block is old now.
    fn updated(&mut self, lba: Lba) {
        if let Some(eviction) = &self.eviction {
            let (native, offset) = self.zones.native_of(lba);
            if native == eviction.native {
                self.copied[offset as usize / 64] &= !(1 << (offset % 64));
            }
        }
    }

    /// Plans as many blocks from the front of `rest` as are neither buffered nor direct and find contiguous slots.
    pub(super) fn append(&mut self, rest: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(rest.start);
        let mut limit = rest.blocks.min(self.zones.zone_blocks() - offset);
        if let Some(pointer) = self.direct_offset(native).filter(|p| *p > offset) {
            limit = limit.min(pointer - offset);
        }
        let Some(first) = self.log.take(rest.start) else { return 0 };
        let mut run = 1;
        while run < limit && first + run < self.log.slots() {
            let lba = rest.start.plus(u64::from(run));
            if self.map.get(lba).is_some() || self.log.take(lba).is_none() {
                break;
            }
            run += 1;
        }
        let (at, to) = (rest.first(run), self.slot_place(first));
        plan.copy(Place::Host(host), Place::At(to), run, Why::Host);
        plan.record(Record::Map { at, to });
        self.map_run(at, first);
        run
    }

    /// Slots that a write of `at` needs before it may start.
    pub(super) fn wanted(&self, at: Extent<Lba>) -> u32 {
        if self.config.clean_for == CleanFor::Block {
            return 1;
        }
        let mut new = 0;
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.zones.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks() - offset);
            let direct = self.direct_run(native, offset, run);
            let buffered = self.map.blocks(run).filter(|lba| !direct.contains(*lba)).count();
            new += run.blocks - direct.blocks - buffered as u32;
            rest = rest.skip(run.blocks);
        }
        new.min(self.log.slots())
    }

    /// The blocks of `run`, which begins at `offset` of `native`, that would go straight to the write pointer.
    fn direct_run(&self, native: u32, offset: u32, run: Extent<Lba>) -> Extent<Lba> {
        let none = run.first(0);
        let Some(ahead) = self.direct_offset(native).and_then(|pointer| pointer.checked_sub(offset)) else {
            return none;
        };
        if ahead >= run.blocks {
            return none;
        }
        let direct = run.skip(ahead);
        match self.map.next(direct.start, direct.end()) {
            Some(lba) if self.config.at_pointer == AtPointer::Buffered => Extent::between(direct.start, lba),
            _ => direct,
        }
    }
}
