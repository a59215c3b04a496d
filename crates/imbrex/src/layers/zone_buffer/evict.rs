//! Evicting every buffered block of a zone.

use super::{Policy, ZoneBuffer};
use crate::block::{Address, Extent, Lba};
use crate::layer::Step;
use crate::parts::zone_pass::ZonePass;
use crate::plan::{Event, Plan, Record};

/// A zone on its way from the buffer to its native place.
pub(super) struct Eviction {
    /// The native zone.
    pub native: u32,
    /// The physical zone that is written: a spare one, or the zone's own.
    target: u32,
    way: Way,
    /// Offset up to which the zone has been written.
    written: u32,
    /// Offset after the last block to write.
    end: u32,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Way {
    /// All buffered blocks lie at or behind the write pointer.
    Append,
    /// Merge into a spare zone and switch.
    Rewrite,
    /// Read, reset, write back: the paper's order.
    InPlace,
}

impl<P: Policy> ZoneBuffer<P> {
    /// The most blocks a step moves, which is the RAM it needs.
    pub(super) fn step_limit(&self) -> u32 {
        if self.config.spare_zones == 0 { self.zones.zone_blocks() } else { self.config.step_blocks }
    }

    /// Begins to evict the zone of `lba`, which is buffered.
    pub fn evict(&mut self, lba: Lba, plan: &mut Plan) -> Step {
        let (native, _) = self.zones.native_of(lba);
        let blocks = self.zones.blocks_of(native);
        let own = self.zones.physical(native);
        let pointer = self.zones.pointer(own);
        let offset = |lba: Lba| (lba.0 - blocks.start.0) as u32;
        let (Some(first), Some(last)) = (self.map.next(blocks.start, blocks.end()), self.map.last(blocks)) else {
            unreachable!("the zone of a buffered block has one");
        };
        let end = pointer.max(offset(last) + 1);
        let writable = self.zones.is_writable(own);
        let (way, target, written) = if writable && offset(first) >= pointer {
            (Way::Append, own, pointer)
        } else if self.config.spare_zones > 0 {
            match self.zones.take_spare() {
                Some(spare) => (Way::Rewrite, spare, 0),
                None if self.zones.spare_is_coming() => return Step::Wait,
                None => return Step::Nothing,
            }
        } else if writable {
            (Way::InPlace, own, 0)
        } else {
            return Step::Nothing;
        };
        self.copied.fill(0);
        self.eviction = Some(Eviction { native, target, way, written, end });
        self.evict_step(plan)
    }

    /// Plans the next stretch of the eviction under way.
    pub(super) fn evict_step(&mut self, plan: &mut Plan) -> Step {
        let Some(mut eviction) = self.eviction.take() else { unreachable!("an eviction is under way") };
        let (from, limit) = (eviction.written, self.step_limit());
        let to = eviction.end.min(from.saturating_add(limit));
        let zone = self.zones.blocks_of(eviction.native);
        self.copy_newer(zone, from, to);
        let own = self.zones.physical(eviction.native);
        let pass = ZonePass {
            zone,
            old: (self.zones.block(own, 0), self.zones.pointer(own)),
            from,
            to,
            newer: &self.newer,
            lost: &self.lost,
        };
        pass.collect(plan);
        if eviction.way == Way::InPlace {
            plan.reset(self.zones.unit(own));
        }
        pass.write(self.zones.block(eviction.target, 0), plan);
        if eviction.way == Way::InPlace {
            self.zones.emptied(own);
        }
        self.zones.advance(eviction.target, to - from);
        if to == eviction.end {
            self.finish(&eviction, plan);
        } else {
            eviction.written = to;
            self.eviction = Some(eviction);
        }
        self.between_steps()
    }

    /// Notes the buffered blocks of `zone` between two offsets as newer content and as copied.
    fn copy_newer(&mut self, zone: Extent<Lba>, from: u32, to: u32) {
        let stretch = zone.skip(from).first(to - from);
        let offset = |lba: Lba| (lba.0 - zone.start.0) as u32;
        self.newer.clear();
        std::hint::black_box(self.map.touch_range(stretch));
        let place = self.place;
        let places = self.map.range(stretch).map(|(lba, slot)| (offset(lba), place.plus(u64::from(slot))));
        self.newer.extend(places);
        for (offset, _) in &self.newer {
            self.copied[*offset as usize / 64] |= 1 << (offset % 64);
        }
    }

    /// Switches the map: the zone's blocks are at their native place, except those updated since they were copied.
    fn finish(&mut self, eviction: &Eviction, plan: &mut Plan) {
        match eviction.way {
            Way::Rewrite => self.zones.switch(eviction.native, eviction.target, plan),
            Way::Append | Way::InPlace => {}
        }
        self.given_up.clear();
        let zone = self.zones.blocks_of(eviction.native);
        let mut rest = zone;
        while !rest.is_empty() {
            let copied = |offset: u32| self.copied[offset as usize / 64] >> (offset % 64) & 1 == 1;
            let stays = self.map.blocks(rest).find(|lba| !copied((lba.0 - zone.start.0) as u32));
            let end = stays.unwrap_or(rest.end());
            let run = Extent::between(rest.start, end);
            self.unmap_evicted(run, plan);
            rest = rest.skip((run.blocks + 1).min(rest.blocks));
        }
        self.free_given_up(plan);
        plan.count(Event::Evicted, self.given_up.len() as u32);
        plan.count(if eviction.way == Way::Append { Event::RmwFree } else { Event::Rmw }, 1);
    }

    /// Plans that the evicted blocks of `run` are not buffered any more, and notes their slots. Lost ones stay lost.
    fn unmap_evicted(&mut self, run: Extent<Lba>, plan: &mut Plan) {
        let (map, policy, given_up) = (&mut self.map, &mut self.policy, &mut self.given_up);
        self.lost.runs(run, |part, _| {
            let before = given_up.len();
            map.remove_range(part, |_, slot| {
                policy.give_up(slot);
                given_up.push(slot);
            });
            if given_up.len() > before {
                plan.record(Record::Unmap(part));
            }
        });
    }
}
