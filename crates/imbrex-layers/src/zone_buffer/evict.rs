//! Evicting every buffered block of a zone.

use super::{Collected, Policy, ZoneBuffer};
use crate::parts::zone_pass::ZonePass;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Event, Place, Plan, Why};

/// A zone on its way from the buffer to its native place.
pub(super) struct Eviction {
    /// The native zone.
    pub native: u32,
    /// How far it has been written; nothing while its blocks are being collected.
    writing: Option<Writing>,
}

struct Writing {
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
    /// The zone lies in a conventional one, where the buffered blocks are written over the old ones.
    Update,
}

impl Eviction {
    pub fn target(&self) -> Option<u32> {
        self.writing.as_ref().map(|writing| writing.target)
    }

    /// Blocks that are still to be written, if that is known.
    pub fn left(&self) -> u32 {
        self.writing.as_ref().map_or(0, |writing| writing.end - writing.written)
    }

    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }
}

impl<P: Policy> ZoneBuffer<P> {
    /// The most blocks that a step moves now.
    fn step_limit(&self) -> u32 {
        if self.config.spare.spare_zones == 0 {
            return self.zones.zone_blocks();
        }
        if self.is_idle { self.step.blocks().min(self.policy.idle_blocks()) } else { self.step.blocks() }
    }

    /// Begins to evict the zone of `lba`, which is buffered, with all its buffered blocks. Of a zone that is apart it
    /// only notes that its turn has come.
    pub fn evict(&mut self, lba: Lba, plan: &mut Plan) -> Step {
        let (native, _) = self.zones.native_of(lba);
        if self.apart.contains(&native) {
            self.due = Some(native);
            return Step::More;
        }
        self.evict_native(native, plan)
    }

    /// Begins to evict a zone with all its buffered blocks, of which there is one at least.
    pub fn evict_native(&mut self, native: u32, plan: &mut Plan) -> Step {
        let blocks = self.zones.blocks_of(native);
        let offset = |lba: Lba| (lba.0 - blocks.start.0) as u32;
        let (Some(first), Some(last)) =
            (self.blocks.map.next(blocks.start, blocks.end()), self.blocks.map.last(blocks))
        else {
            unreachable!("the zone of a buffered block has one");
        };
        match self.way_to(native, offset(first), offset(last)) {
            Ok(writing) => {
                self.begin(native, Some(writing));
                self.evict_step(plan)
            }
            Err(step) => step,
        }
    }

    /// Begins to write a zone, with all its buffered blocks, to a conventional one without an owner; evicts it as
    /// others are if there is none.
    pub fn evict_to_vacant(&mut self, native: u32, plan: &mut Plan) -> Step {
        match self.rewritten_to_vacant() {
            Some(writing) => {
                self.begin(native, Some(writing));
                self.evict_step(plan)
            }
            None => self.evict_native(native, plan),
        }
    }

    /// Begins to collect blocks of a native zone.
    pub fn begin_collecting(&mut self, native: u32) {
        self.begin(native, None);
    }

    /// The native zone whose blocks are being collected.
    pub fn collecting(&self) -> Option<u32> {
        self.eviction.as_ref().filter(|eviction| !eviction.is_writing()).map(|eviction| eviction.native)
    }

    /// Whether the newest content of the block at this offset of the zone under eviction has been collected.
    pub fn is_collected(&self, offset: u32) -> bool {
        self.copied.contains(u64::from(offset))
    }

    /// Plans that the block at `offset` of the zone whose blocks are being collected is read from `slot` into RAM.
    pub fn collect(&mut self, offset: u32, slot: u32, plan: &mut Plan) {
        let ram = self.collected.len() as u32;
        plan.copy(Place::At(self.slot_place(slot)), Place::At(Pba::ram(ram.into())), 1, Why::Collect);
        self.collected.push(Collected { offset, ram });
        self.copied.insert(u64::from(offset));
    }

    /// Begins to write what was collected of a zone.
    pub fn write_collected(&mut self, plan: &mut Plan) -> Step {
        let Some(native) = self.collecting() else { unreachable!("blocks are being collected") };
        // Of a block that was collected twice the later content counts.
        self.collected.sort_unstable_by_key(|block| (block.offset, std::cmp::Reverse(block.ram)));
        self.collected.dedup_by_key(|block| block.offset);
        let (Some(&Collected { offset: first, .. }), Some(&Collected { offset: last, .. })) =
            (self.collected.first(), self.collected.last())
        else {
            self.eviction = None;
            return Step::More;
        };
        match self.way_to(native, first, last) {
            Ok(writing) => {
                self.eviction = Some(Eviction { native, writing: Some(writing) });
                self.evict_step(plan)
            }
            Err(step) => step,
        }
    }

    fn begin(&mut self, native: u32, writing: Option<Writing>) {
        self.copied.clear();
        self.collected.clear();
        self.coming.take();
        self.eviction = Some(Eviction { native, writing });
    }

    /// How blocks between two offsets of a native zone get there, if that can begin now.
    fn way_to(&mut self, native: u32, first: u32, last: u32) -> Result<Writing, Step> {
        let own = self.zones.physical(native);
        let pointer = self.zones.pointer(own);
        let end = pointer.max(last + 1);
        let writable = self.zones.is_writable(own);
        if writable && self.zones.is_conventional(own) {
            Ok(Writing { target: own, way: Way::Update, written: first, end: last + 1 })
        } else if writable && first >= pointer {
            Ok(Writing { target: own, way: Way::Append, written: pointer, end })
        } else if self.config.spare.spare_zones > 0 {
            self.rewritten_elsewhere(end)
        } else if writable {
            Ok(Writing { target: own, way: Way::InPlace, written: 0, end })
        } else {
            Err(Step::Nothing)
        }
    }

    /// A rewrite into a conventional zone without an owner, if there is one. It is written to its end because it still
    /// holds what another zone had.
    fn rewritten_to_vacant(&mut self) -> Option<Writing> {
        let target = self.zones.take_vacant()?;
        Some(Writing { target, way: Way::Rewrite, written: 0, end: self.zones.zone_blocks() })
    }

    /// A rewrite up to block `end` into another zone: a conventional one without an owner, or else a spare one.
    fn rewritten_elsewhere(&mut self, end: u32) -> Result<Writing, Step> {
        if let Some(writing) = self.takes_vacant.then(|| self.rewritten_to_vacant()).flatten() {
            return Ok(writing);
        }
        match self.zones.take_spare() {
            Some(target) => Ok(Writing { target, way: Way::Rewrite, written: 0, end }),
            None if self.zones.spare_is_coming() => Err(Step::Wait),
            None => Err(Step::Nothing),
        }
    }

    /// Plans the next stretch of the eviction under way.
    pub(super) fn evict_step(&mut self, plan: &mut Plan) -> Step {
        let Some(Eviction { native, writing: Some(mut writing) }) = self.eviction.take() else {
            unreachable!("a zone is being written");
        };
        let (from, limit) = (writing.written, self.step_limit());
        let to = writing.end.min(from.saturating_add(limit));
        let zone = self.zones.blocks_of(native);
        if self.policy.most_collected() > 0 {
            self.take_collected(from, to);
        } else {
            self.copy_newer(zone, from, to);
        }
        let own = self.zones.physical(native);
        let pass = ZonePass {
            zone,
            old: (self.zones.block(own, 0), self.zones.pointer(own)),
            from,
            to,
            newer: &self.newer,
            ram: self.policy.most_collected(),
            lost: &self.blocks.lost,
        };
        let target = self.zones.block(writing.target, 0);
        if writing.way == Way::Update {
            pass.update(target, plan);
        } else {
            pass.collect(plan);
            if writing.way == Way::InPlace {
                plan.reset(self.zones.unit(own));
            }
            pass.write(target, plan);
            if writing.way == Way::InPlace {
                self.zones.emptied(own);
            }
            self.zones.advance(writing.target, to - from);
        }
        writing.written = to;
        if to == writing.end {
            self.finish(native, &writing, plan);
        } else {
            self.eviction = Some(Eviction { native, writing: Some(writing) });
        }
        self.between_steps()
    }

    /// Notes the collected blocks between two offsets as newer content.
    fn take_collected(&mut self, from: u32, to: u32) {
        let place = |offset: u32| self.collected.partition_point(|block| block.offset < offset);
        let (first, end) = (place(from), place(to));
        self.newer.clear();
        self.newer.extend(self.collected[first..end].iter().map(|block| (block.offset, Pba::ram(block.ram.into()))));
    }

    /// Notes the buffered blocks of `zone` between two offsets as newer content and as copied.
    fn copy_newer(&mut self, zone: Extent<Lba>, from: u32, to: u32) {
        let stretch = zone.skip(from).first(to - from);
        let offset = |lba: Lba| (lba.0 - zone.start.0) as u32;
        let Self { newer, copied, blocks, .. } = self;
        newer.clear();
        blocks.many(stretch).for_each(|(lba, slot)| {
            newer.push((offset(lba), blocks.place_of(slot)));
            copied.insert(offset(lba).into());
        });
    }

    /// Switches the map: the zone's blocks are at their native place, except those updated since they were copied.
    fn finish(&mut self, native: u32, writing: &Writing, plan: &mut Plan) {
        match writing.way {
            Way::Rewrite => self.zones.switch(native, writing.target, plan),
            Way::Append | Way::InPlace | Way::Update => {}
        }
        self.blocks.evict(self.zones.blocks_of(native), false, &self.copied, &mut self.policy, plan);
        let free = matches!(writing.way, Way::Append | Way::Update);
        plan.count(if free { Event::RmwFree } else { Event::Rmw }, 1);
        if self.policy.most_collected() > 0 {
            self.policy.destaged(native, writing.end, &self.collected);
        }
    }
}
