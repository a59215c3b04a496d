//! The write buffer: blocks in RAM that are written to bands by temperature.

mod sparse_map;

use std::cmp::Ordering;

use super::LogStructured;
use super::config::Tie;
use super::known::Known;
use super::separation::COLD;
use super::times::Written;
use crate::parts::free_slots::FreeSlots;
use crate::parts::heat::HeatOrder;
use crate::parts::recency::RecencyList;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use sparse_map::SparseMap;

/// Which block lies in which slot of RAM, and which are to be written next.
pub(super) struct WriteBuffer {
    map: SparseMap,
    holders: Vec<Lba>,
    /// When the host last wrote what lies in each slot.
    written: Vec<u64>,
    /// How long the block in each slot lived before that, if it did.
    lived: Vec<Option<u64>>,
    /// By arrival.
    arrived: RecencyList,
    free: FreeSlots,
    /// What has been chosen to be written, how much of it has been, and whether it is hot.
    leaving: Vec<Leaving>,
    left: usize,
    leave_hot: bool,
    order: HeatOrder<Leaving>,
}

/// A block chosen to be written.
#[derive(Copy, Clone)]
struct Leaving {
    lba: Lba,
    slot: u32,
    heat: u32,
    is_hot: bool,
}

impl WriteBuffer {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let slots = self.holders.len() as u64;
        let held =
            Memory::room::<(Lba, u64)>(slots) + Memory::of::<Option<u64>>(slots) + Memory::room::<Leaving>(slots);
        held + self.map.memory(slots) + self.arrived.memory() + self.free.memory() + self.order.memory()
    }

    pub fn new(capacity: u64, slots: u32) -> Self {
        Self {
            map: SparseMap::new(capacity),
            holders: vec![Lba(0); slots as usize],
            written: vec![0; slots as usize],
            lived: vec![None; slots as usize],
            arrived: RecencyList::new(slots),
            free: FreeSlots::all(slots),
            leaving: Vec::with_capacity(slots as usize),
            left: 0,
            leave_hot: false,
            order: HeatOrder::new(slots),
        }
    }

    /// The blocks of `at` that are in the buffer, and their slots.
    pub fn range(&self, at: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        self.map.range(at)
    }

    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty()
    }

    /// Gives a block that is not in the buffer a slot.
    fn take(&mut self, lba: Lba) -> Option<u32> {
        let (slot, _) = self.free.first_fit(1, 1)?;
        self.free.remove(slot);
        self.map.set(lba, slot);
        self.holders[slot as usize] = lba;
        self.arrived.push(slot);
        Some(slot)
    }

    /// A block in the buffer leaves its slot.
    fn release(&mut self, lba: Lba, slot: u32) {
        self.map.remove(lba);
        self.arrived.remove(slot);
        self.free.insert(slot);
    }

    /// The blocks of `at` are not in the buffer any more.
    pub fn forget(&mut self, at: Extent<Lba>) {
        while let Some((lba, slot)) = self.map.next(at.start, at.end()) {
            self.release(lba, slot);
        }
    }

    /// After a crash nothing is in RAM.
    pub fn clear(&mut self) {
        let slots = self.holders.len() as u32;
        let holders = std::mem::take(&mut self.holders);
        for slot in (0..slots).filter(|&slot| self.arrived.contains(slot)) {
            self.map.remove(holders[slot as usize]);
        }
        self.holders = holders;
        self.arrived.clear();
        self.free = FreeSlots::all(slots);
        self.leaving.clear();
        self.left = 0;
    }

    /// The next block chosen that is still in its slot.
    fn next_leaving(&mut self) -> Option<(Lba, u32)> {
        while let Some(&Leaving { lba, slot, .. }) = self.leaving.get(self.left) {
            self.left += 1;
            if self.arrived.contains(slot) && self.holders[slot as usize] == lba {
                return Some((lba, slot));
            }
        }
        None
    }

    fn has_leaving(&self) -> bool {
        self.left < self.leaving.len()
    }

    /// Whether hot blocks leave next, when `hot` of `all` blocks are hot.
    fn hot_leave(hot: usize, all: usize, tie: Tie) -> bool {
        match hot.cmp(&(all - hot)) {
            Ordering::Greater => true,
            Ordering::Equal => tie == Tie::Hot,
            Ordering::Less => false,
        }
    }

    fn is_hot(&self, slot: u32, known: &Known) -> bool {
        known.is_hot(self.holders[slot as usize], self.lived[slot as usize])
    }

    /// Whether what leaves next is hot.
    fn next_is_hot(&self, tie: Tie, known: &Known) -> bool {
        if self.has_leaving() {
            return self.leave_hot;
        }
        let is_hot = |(all, hot): (usize, usize), slot| (all + 1, hot + usize::from(self.is_hot(slot, known)));
        let (all, hot) = self.arrived.in_order().fold((0, 0), is_hot);
        Self::hot_leave(hot, all, tie)
    }

    /// Chooses at most `most` blocks, of those that are hot or of the others, whichever are more.
    fn choose(&mut self, most: u32, tie: Tie, known: &Known) {
        self.left = 0;
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.clear();
        leaving.extend(self.arrived.in_order().map(|slot| {
            let lba = self.holders[slot as usize];
            Leaving { lba, slot, heat: known.heat(lba), is_hot: self.is_hot(slot, known) }
        }));
        let hot = leaving.iter().filter(|leaving| leaving.is_hot).count();
        self.leave_hot = Self::hot_leave(hot, leaving.len(), tie);
        leaving.retain(|leaving| leaving.is_hot == self.leave_hot);
        // Others leave in order of arrival.
        if self.leave_hot {
            self.order.hottest_first(&mut leaving, |leaving| leaving.heat);
        }
        leaving.truncate(most as usize);
        self.leaving = leaving;
    }

    pub fn check(&self) -> Result<(), Violation> {
        let held =
            self.arrived.in_order().filter(|&s| self.map.get(self.holders[s as usize]) == Some(s)).count() as u64;
        let free = u64::from(self.free.count());
        if held != self.map.mapped() || held + free != self.holders.len() as u64 {
            return Err(Violation(format!(
                "{held} slots of the write buffer are held and {free} free; the map disagrees"
            )));
        }
        Ok(())
    }
}

impl LogStructured {
    /// Plans that the front of `at` goes to the write buffer, as far as there is room.
    pub(super) fn write_buffered(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let lba = at.start.plus(u64::from(done));
            let Some(slot) = self.buffer_slot(lba, done + 1, &mut hits, plan) else { break };
            plan.copy(Place::Host(done), Place::At(Pba::ram(u64::from(slot))), 1, Why::Host);
            done += 1;
        }
        self.bands.known.times.pass(done);
        plan.count(Event::WriteHit, hits);
        done
    }

    /// The slot in the buffer that a block takes which the host writes as the `ahead`-th from now.
    fn buffer_slot(&mut self, lba: Lba, ahead: u32, hits: &mut u32, plan: &mut Plan) -> Option<u32> {
        let (buffer, now) = (self.buffer.as_mut()?, self.bands.known.times.after(ahead));
        if let Some(slot) = buffer.map.get(lba) {
            *hits += 1;
            let written = &mut buffer.written[slot as usize];
            buffer.lived[slot as usize] = Some(now - *written);
            *written = now;
            if self.config.buffered_heat {
                self.bands.raise(lba);
            }
            return Some(slot);
        }
        let slot = buffer.take(lba)?;
        buffer.written[slot as usize] = now;
        buffer.lived[slot as usize] = self.bands.lived(lba, ahead);
        if self.bands.map.get(lba).is_some() {
            self.bands.raise(lba);
            if !self.config.buffer_volatile {
                plan.record(Record::Unmap(Extent::new(lba, 1)));
                self.bands.remove(Extent::new(lba, 1));
            }
        }
        Some(slot)
    }

    /// One step towards a free slot in the write buffer. What has been chosen is written whole.
    pub(super) fn drain_buffer(&mut self, plan: &mut Plan) -> Step {
        let Some(buffer) = &self.buffer else { return Step::Done };
        if buffer.has_leaving() || buffer.free.count() == 0 { self.write_leaving(plan) } else { Step::Done }
    }

    /// One step towards an empty write buffer.
    pub(super) fn flush_buffer(&mut self, plan: &mut Plan) -> Step {
        if self.buffer.as_ref().is_none_or(WriteBuffer::is_empty) { Step::Done } else { self.write_leaving(plan) }
    }

    /// The stream of the blocks that leave next.
    fn leaving_stream(&self) -> u8 {
        let separation = self.bands.separation();
        match &self.buffer {
            Some(buffer) if separation.streams() > 1 => {
                separation.of_host(buffer.next_is_hot(self.config.buffer_tie, &self.bands.known))
            }
            _ => COLD,
        }
    }

    /// Plans that blocks of the write buffer land on an open band, or one step towards room there.
    fn write_leaving(&mut self, plan: &mut Plan) -> Step {
        let mut landed = self.land_leaving(plan);
        if landed == 0 {
            match self.make_room(self.leaving_stream(), plan) {
                Step::Done => landed = self.land_leaving(plan),
                step => return step,
            }
        }
        plan.count(Event::Evicted, landed);
        if landed > 0 { Step::More } else { Step::Done }
    }

    /// Plans that blocks of the write buffer land where there is room; how many.
    fn land_leaving(&mut self, plan: &mut Plan) -> u32 {
        let mut landed = 0;
        // Looking for room opens a band, which may not be that of what leaves next.
        let waits = |buffer: &WriteBuffer, landed: u32| buffer.has_leaving() || landed == 0 && !buffer.is_empty();
        while landed < self.step.blocks()
            && self.buffer.as_ref().is_some_and(|buffer| waits(buffer, landed))
            && let stream = self.leaving_stream()
            && let Some((slot, room)) = self.room(stream)
            && let Some(buffer) = &mut self.buffer
        {
            if !buffer.has_leaving() {
                buffer.choose(room, self.config.buffer_tie, &self.bands.known);
            }
            let Some((lba, ram)) = buffer.next_leaving() else { continue };
            let written = Written::At(buffer.written[ram as usize]);
            buffer.release(lba, ram);
            let to = Place::At(self.bands.block(slot));
            plan.copy(Place::At(Pba::ram(u64::from(ram))), to, 1, Why::Destage);
            self.shares.add(stream, 1);
            self.land(Extent::new(lba, 1), slot, written, plan);
            landed += 1;
        }
        landed
    }
}
