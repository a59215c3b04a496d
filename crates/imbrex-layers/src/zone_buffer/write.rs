//! Planning a write: straight to the write pointer, into the block's slot, or into slots that the policy gives.

use super::config::{AtPointer, CleanFor};
use super::{InPlace, Policy, Takes, ZoneBuffer};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

impl<P: Policy> ZoneBuffer<P> {
    /// Where in `native` the host may write directly: at the write pointer, unless the zone is being evicted.
    pub(super) fn direct_offset(&self, native: u32) -> Option<u32> {
        if self.eviction.as_ref().is_some_and(|e| e.native == native) {
            return None;
        }
        self.zones.writable_at(native)
    }

    /// Plans what of `rest` goes straight to its zone's write pointer; `host` is its first block's number in the
    /// request.
    pub fn write_direct(&mut self, rest: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(rest.start);
        if self.direct_offset(native) != Some(offset) {
            return 0;
        }
        let run = self.direct_run(native, offset, rest.first(self.zones.zone_blocks() - offset));
        if run.is_empty() {
            return 0;
        }
        let physical = self.zones.physical(native);
        // The blocks before may have been updated in the last slots, which the first zone follows.
        plan.copy_apart(Place::Host(host), Place::At(self.zones.block(physical, offset)), run.blocks, Why::Host);
        self.zones.advance(physical, run.blocks);
        self.blocks.forget(run, &mut self.policy, plan);
        plan.count(Event::Direct, run.blocks);
        run.blocks
    }

    /// Notes that the copies an eviction may have made of these blocks of one zone are old now.
    pub fn outdate_copies(&mut self, run: Extent<Lba>) {
        let Some(eviction) = &self.eviction else { return };
        let (native, offset) = self.zones.native_of(run.start);
        if native == eviction.native {
            self.copied.remove_run(u64::from(offset), u64::from(offset + run.blocks));
        }
    }

    /// The blocks from the front of `rest`, whose first is not direct, that lie in its zone and before the write
    /// pointer.
    pub fn indirect(&self, rest: Extent<Lba>) -> Extent<Lba> {
        let (native, offset) = self.zones.native_of(rest.start);
        let pointer = self.direct_offset(native).filter(|pointer| *pointer > offset);
        rest.first(pointer.unwrap_or(self.zones.zone_blocks()) - offset)
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
        match self.blocks.map.next(direct.start, direct.end()) {
            Some(lba) if self.config.at_pointer == AtPointer::Buffered => Extent::between(direct.start, lba),
            _ => direct,
        }
    }
}

impl<P: Takes> ZoneBuffer<P> {
    /// Plans as many blocks from the front of `run` as find contiguous slots.
    pub fn put(&mut self, run: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let Some((slot, taken)) = self.policy.take(run) else { return 0 };
        let (at, to) = (run.first(taken), self.slot_place(slot));
        plan.copy(Place::Host(host), Place::At(to), taken, Why::Host);
        plan.record(Record::Map { at, to });
        self.map_run(at, slot);
        taken
    }
}

impl<P: InPlace> ZoneBuffer<P> {
    /// Plans a write of the blocks that fit, each block that is buffered being updated in its slot.
    pub fn write_in_place(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if self.config.clean_for == CleanFor::Request && !self.policy.ready(self.wanted(at)) {
            return 0;
        }
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let rest = at.skip(done);
            let direct = self.write_direct(rest, done, plan);
            if direct > 0 {
                done += direct;
                continue;
            }
            let run = self.indirect(rest);
            let buffered = self.blocks.map.first(run);
            if let Some((lba, slot)) = buffered.filter(|(lba, _)| *lba == run.start) {
                self.update(lba, slot, done, plan);
                hits += 1;
                done += 1;
            } else {
                let new = buffered.map_or(run, |(lba, _)| Extent::between(run.start, lba));
                match self.put(new, done, plan) {
                    0 => break,
                    taken => done += taken,
                }
            }
        }
        plan.count(Event::WriteHit, hits);
        done
    }

    /// Plans that a buffered block is updated in its slot.
    fn update(&mut self, lba: Lba, slot: u32, host: u32, plan: &mut Plan) {
        plan.copy(Place::Host(host), Place::At(self.slot_place(slot)), 1, Why::Host);
        self.policy.updated(slot);
        self.outdate_copies(Extent::new(lba, 1));
    }

    /// Slots that a write of `at` needs before it may start.
    pub fn wanted(&self, at: Extent<Lba>) -> u32 {
        if self.config.clean_for == CleanFor::Block {
            return 1;
        }
        let mut new = 0;
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.zones.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks() - offset);
            let direct = self.direct_run(native, offset, run);
            let buffered = self.blocks.map.blocks(run).filter(|lba| !direct.contains(*lba)).count();
            new += run.blocks - direct.blocks - buffered as u32;
            rest = rest.skip(run.blocks);
        }
        new
    }
}
