//! The write buffer: blocks in RAM that are written to bands by temperature.

use std::cmp::Ordering;

use super::LogStructured;
use super::ages::Written;
use super::config::Tie;
use crate::block::{Address, Extent, Lba, Pba};
use crate::layer::{Step, Violation};
use crate::parts::free_slots::FreeSlots;
use crate::parts::heat::HeatOrder;
use crate::parts::recency::RecencyList;
use crate::parts::sparse_map::SparseMap;
use crate::plan::{Event, Place, Plan, Record, Why};

/// Which block lies in which slot of RAM, and which are to be written next.
pub(super) struct WriteBuffer {
    map: SparseMap,
    holders: Vec<Lba>,
    /// When the host last wrote what lies in each slot.
    written: Vec<u64>,
    /// By arrival.
    arrived: RecencyList,
    free: FreeSlots,
    /// What has been chosen to be written, and how much of it has been.
    leaving: Vec<Leaving>,
    left: usize,
    order: HeatOrder<Leaving>,
}

/// A block chosen to be written.
#[derive(Copy, Clone)]
struct Leaving {
    lba: Lba,
    slot: u32,
    heat: u32,
}

impl WriteBuffer {
    pub fn new(capacity: u64, slots: u32) -> Self {
        Self {
            map: SparseMap::new(capacity),
            holders: vec![Lba(0); slots as usize],
            written: vec![0; slots as usize],
            arrived: RecencyList::new(slots),
            free: FreeSlots::all(slots),
            leaving: Vec::with_capacity(slots as usize),
            left: 0,
            order: HeatOrder::new(slots),
        }
    }

    /// The blocks of `at` that are in the buffer, and their slots.
    pub fn range(&self, at: Extent<Lba>) -> impl Iterator<Item = (Lba, u32)> {
        self.map.range(at)
    }

    fn is_empty(&self) -> bool {
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

    /// Chooses at most `most` blocks of the temperature that more of them have.
    fn choose(&mut self, most: u32, tie: Tie, heat: impl Fn(Lba) -> u32) {
        self.left = 0;
        self.leaving.clear();
        self.leaving.extend(self.arrived.in_order().map(|slot| {
            let lba = self.holders[slot as usize];
            Leaving { lba, slot, heat: heat(lba) }
        }));
        let hot = self.leaving.iter().filter(|leaving| leaving.heat > 0).count();
        let is_hot = match hot.cmp(&(self.leaving.len() - hot)) {
            Ordering::Greater => true,
            Ordering::Equal => tie == Tie::Hot,
            Ordering::Less => false,
        };
        self.leaving.retain(|leaving| (leaving.heat > 0) == is_hot);
        // Cold ones all have the same heat.
        if is_hot {
            self.order.hottest_first(&mut self.leaving, |leaving| leaving.heat);
        }
        self.leaving.truncate(most as usize);
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
            let Some(slot) = self.buffer_slot(lba, self.bands.after(done + 1), &mut hits, plan) else { break };
            plan.copy(Place::Host(done), Place::At(Pba::ram(u64::from(slot))), 1, Why::Host);
            done += 1;
        }
        self.bands.pass(done);
        plan.count(Event::WriteHit, hits);
        done
    }

    /// The slot that a block written by the host `now` takes in the buffer.
    fn buffer_slot(&mut self, lba: Lba, now: u64, hits: &mut u32, plan: &mut Plan) -> Option<u32> {
        let buffer = self.buffer.as_mut()?;
        if let Some(slot) = buffer.map.get(lba) {
            *hits += 1;
            buffer.written[slot as usize] = now;
            if self.config.buffered_heat {
                self.bands.raise(lba);
            }
            return Some(slot);
        }
        let slot = buffer.take(lba)?;
        buffer.written[slot as usize] = now;
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

    /// Plans that blocks of the write buffer land on the active band, or one step towards room there.
    fn write_leaving(&mut self, plan: &mut Plan) -> Step {
        let mut landed = 0;
        while landed < self.step.blocks() && !self.compaction.is_under_way() {
            let Some((slot, room)) = self.room() else { break };
            let Some(buffer) = &mut self.buffer else { break };
            if !buffer.has_leaving() {
                if landed > 0 || buffer.is_empty() {
                    break;
                }
                buffer.choose(room, self.config.buffer_tie, |lba| self.bands.heat(lba));
            }
            let Some((lba, ram)) = buffer.next_leaving() else { continue };
            let written = Written::At(buffer.written[ram as usize]);
            buffer.release(lba, ram);
            let to = Place::At(self.bands.block(slot));
            plan.copy(Place::At(Pba::ram(u64::from(ram))), to, 1, Why::Destage);
            self.land(Extent::new(lba, 1), slot, written, plan);
            landed += 1;
        }
        plan.count(Event::Evicted, landed);
        if landed > 0 { Step::More } else { self.make_room(plan) }
    }
}
