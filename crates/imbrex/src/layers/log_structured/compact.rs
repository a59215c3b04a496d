//! Compaction: a job of steps that reads the live blocks of some bands into RAM and appends them to another.

use super::LogStructured;
use super::READ_THROUGH;
use super::ages::Written;
use super::bands::Role;
use super::config::Sequence;
use crate::block::{Extent, Lba, Pba};
use crate::layer::Step;
use crate::parts::full_map::TOGETHER;
use crate::parts::heat::HeatOrder;
use crate::plan::{Place, Plan, Record, Why};

/// As [`Record::Unit`]'s number: what the band is from then on.
pub(super) mod becomes {
    /// Data; the copies that it holds, if any, count.
    pub const DATA: u32 = 0;
    /// A victim of the compaction under way.
    pub const VICTIM: u32 = 1;
    /// The holder of copies that do not count yet.
    pub const COPYING: u32 = 2;
    /// Data; copies that it holds are forgotten.
    pub const BARE: u32 = 3;
}

/// A block that was live when compaction began.
#[derive(Copy, Clone)]
struct Moving {
    lba: Lba,
    /// Where it lay.
    slot: u64,
    /// Where it waits, in blocks of RAM.
    ram: u32,
    heat: u32,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Phase {
    None,
    Reading,
    Writing,
}

/// The job. Its vectors are reused.
pub(super) struct Compaction {
    phase: Phase,
    victims: Vec<u32>,
    moving: Vec<Moving>,
    /// Copies that begin to count, and where they lie.
    adopted: Vec<(Extent<Lba>, u64)>,
    /// How many of the moving blocks have been read or, in the second phase, written.
    done: usize,
    /// The band being written, and those written before it.
    target: Option<u32>,
    /// When the youngest block of the victims was written.
    youngest: u64,
    order: HeatOrder<Moving>,
}

impl Compaction {
    /// At most `most` blocks are moved at a time.
    pub fn new(most: u32) -> Self {
        Self {
            phase: Phase::None,
            victims: Vec::new(),
            moving: Vec::with_capacity(most as usize),
            adopted: Vec::with_capacity(TOGETHER as usize),
            done: 0,
            target: None,
            youngest: 0,
            order: HeatOrder::new(most),
        }
    }

    pub fn is_under_way(&self) -> bool {
        self.phase != Phase::None
    }

    /// Forgets the job.
    pub fn clear(&mut self) {
        self.phase = Phase::None;
        self.victims.clear();
        self.moving.clear();
        self.target = None;
    }
}

impl LogStructured {
    /// Chooses victims, if compaction can gain anything, and plans that they are.
    pub(super) fn begin_compaction(&mut self, plan: &mut Plan) -> bool {
        self.choose_victims();
        if self.compaction.victims.is_empty() {
            return false;
        }
        for victim in 0..self.compaction.victims.len() {
            let band = self.compaction.victims[victim];
            self.list_live(band, victim as u32);
            if !self.without_spare() {
                self.give_role(band, becomes::VICTIM, plan);
            }
        }
        let youngest = self.compaction.victims.iter().map(|&band| self.bands.youngest(band)).max();
        self.compaction.youngest = youngest.unwrap_or(0);
        self.compaction.done = 0;
        self.compaction.phase = Phase::Reading;
        true
    }

    /// Takes the best candidates, as many as are compacted together and, with spare bands, fit these.
    fn choose_victims(&mut self) {
        let spare = self.bands.empties().min(self.config.spare_bands);
        let room = if self.without_spare() { u64::MAX } else { u64::from(spare) * u64::from(self.bands.blocks()) };
        let mut live = 0;
        while self.compaction.victims.len() < self.config.compact_bands as usize
            && let Some(band) = self.bands.best(self.must_gain())
        {
            live += u64::from(self.bands.live(band));
            if live > room {
                break;
            }
            self.bands.leave(band);
            self.compaction.victims.push(band);
        }
    }

    /// Whether the next victim must have a dead block: with spare bands each, and else the last if no other has.
    fn must_gain(&self) -> bool {
        let victims = &self.compaction.victims;
        let is_last = victims.len() + 1 == self.config.compact_bands as usize;
        !self.without_spare() || is_last && victims.iter().all(|&band| self.bands.live(band) == self.bands.blocks())
    }

    /// Adds the live blocks of a band, the `number`-th victim.
    fn list_live(&mut self, band: u32, number: u32) {
        if self.bands.live(band) == 0 {
            return;
        }
        let (bands, map) = (&self.bands, &self.bands.map);
        let by_heat = self.config.sequence == Sequence::Heat;
        let (first, moving) = (map.place(band, 0), &mut self.compaction.moving);
        let ram = (self.config.buffer_bands + number) * self.bands.blocks();
        map.holders(first, self.bands.written(band), |lba, slot| {
            if map.get(lba) == Some(slot) {
                let heat = if by_heat { bands.heat(lba) } else { 0 };
                moving.push(Moving { lba, slot, ram: ram + (slot - first) as u32, heat });
            }
        });
    }

    /// One step of the job.
    pub(super) fn compact(&mut self, plan: &mut Plan) -> Step {
        let mut budget = self.step.blocks();
        while budget > 0
            && self.compaction.phase == Phase::Reading
            && self.compaction.done < self.compaction.moving.len()
        {
            budget -= self.read_victims(budget, plan);
        }
        if self.compaction.phase == Phase::Reading && self.compaction.done == self.compaction.moving.len() {
            self.begin_writing();
            if self.without_spare() {
                self.empty_victims(plan);
                return Step::Hold;
            }
        }
        while budget > 0
            && self.compaction.phase == Phase::Writing
            && self.compaction.done < self.compaction.moving.len()
        {
            match self.write_moving(budget, plan) {
                0 => return Step::Wait,
                written => budget -= written,
            }
        }
        if self.compaction.phase == Phase::Writing && self.compaction.done == self.compaction.moving.len() {
            self.end_compaction(plan);
            return Step::More;
        }
        if self.without_spare() { Step::Hold } else { Step::More }
    }

    /// Plans a read of moving blocks of one band that lie close together; how many blocks it reads.
    fn read_victims(&mut self, most: u32, plan: &mut Plan) -> u32 {
        let Compaction { moving, done, .. } = &mut self.compaction;
        let first = moving[*done];
        let band = self.bands.map.locate(first.slot).0;
        let mut last = first;
        let mut read = 1;
        for next in &moving[*done + 1..] {
            let is_of_one = self.bands.map.locate(next.slot).0 == band;
            if !is_of_one || next.ram - last.ram > READ_THROUGH || next.ram - first.ram >= most {
                break;
            }
            last = *next;
            read += 1;
        }
        *done += read;
        let blocks = last.ram - first.ram + 1;
        let (from, to) = (self.bands.block(first.slot), Pba::ram(u64::from(first.ram)));
        plan.copy(Place::At(from), Place::At(to), blocks, Why::Collect);
        blocks
    }

    fn begin_writing(&mut self) {
        let Compaction { moving, phase, done, order, .. } = &mut self.compaction;
        if self.config.sequence == Sequence::Heat {
            // By place among equals, as they were listed.
            order.hottest_first(moving, |m| m.heat);
        }
        *phase = Phase::Writing;
        *done = 0;
    }

    /// Plans the write of moving blocks that follow each other; how many, and 0 when there is no band to write to.
    fn write_moving(&mut self, most: u32, plan: &mut Plan) -> u32 {
        let Some(target) = self.open_target(plan) else { return 0 };
        let (slot, room) = self.bands.room(target);
        let rest = &self.compaction.moving[self.compaction.done..];
        let first = rest[0];
        let follows = |(i, m): &(u32, &Moving)| m.ram == first.ram + i && m.lba.0 == first.lba.0 + u64::from(*i);
        let run = (0..).zip(rest).take(most.min(room) as usize).take_while(follows).count() as u32;
        self.compaction.done += run as usize;
        let (at, to) = (Extent::new(first.lba, run), self.bands.block(slot));
        plan.copy(Place::At(Pba::ram(u64::from(first.ram))), Place::At(to), run, Why::Migrate);
        plan.record(Record::Map { at, to });
        if self.without_spare() {
            self.map(at, slot, Written::Before(self.compaction.youngest));
            self.bands.cool(at);
        } else {
            self.bands.wrote(at, slot);
        }
        run
    }

    /// The band that takes the next block.
    fn open_target(&mut self, plan: &mut Plan) -> Option<u32> {
        if let Some(target) = self.compaction.target {
            if self.bands.room(target).1 > 0 {
                return Some(target);
            }
            if self.without_spare() {
                self.bands.close(target);
            }
        }
        let target = self.bands.open()?;
        self.compaction.target = Some(target);
        if !self.without_spare() {
            self.give_role(target, becomes::COPYING, plan);
        }
        Some(target)
    }

    fn give_role(&mut self, band: u32, is: u32, plan: &mut Plan) {
        plan.record(Record::Unit { unit: self.bands.unit(band), is });
        self.take_role(band, is);
    }

    /// The effect of [`Record::Unit`].
    pub(super) fn take_role(&mut self, band: u32, is: u32) {
        let was = self.bands.role(band);
        match is {
            // A checkpoint says again what is so; copies made meanwhile are not forgotten.
            becomes::VICTIM if was == Role::Victim => {}
            becomes::COPYING if was == Role::Copying => {}
            becomes::VICTIM => self.bands.set_role(band, Role::Victim),
            becomes::COPYING => {
                self.evacuate(band);
                self.bands.set_role(band, Role::Copying);
            }
            _ => self.bands.set_role(band, Role::Data),
        }
        if was == Role::Copying && is == becomes::DATA {
            self.adopt(band);
        }
    }

    /// Nothing lies on a band that begins to take copies. A fold that began in the middle may have taken copies for
    /// blocks.
    fn evacuate(&mut self, band: u32) {
        let mut offset = 0;
        while self.bands.live(band) > 0 && offset < self.bands.blocks() {
            if let Some(lba) = self.bands.map.owner(self.bands.map.place(band, offset)) {
                self.bands.remove(Extent::new(lba, 1));
            }
            offset += 1;
        }
    }

    /// Every copied block that still lies on a victim moves to its copy and is cold.
    fn adopt(&mut self, band: u32) {
        let (mut slot, mut rest) = (self.bands.map.place(band, 0), self.bands.written(band));
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
        let mut read = 0;
        map.holders(first, slots, |lba, slot| {
            if map.get(lba).is_some_and(|old| self.bands.role(map.locate(old).0) == Role::Victim) {
                adopted.push((Extent::new(lba, 1), slot));
                read ^= self.bands.prefetch(lba);
            }
        });
        std::hint::black_box(read);
        for (at, slot) in adopted.drain(..) {
            self.bands.adopt(at, slot, Written::Before(self.compaction.youngest));
            self.bands.cool(at);
        }
        self.compaction.adopted = adopted;
    }

    /// Plans that the victims are reset while their blocks are in RAM.
    fn empty_victims(&mut self, plan: &mut Plan) {
        for i in 0..self.compaction.moving.len() {
            let at = Extent::new(self.compaction.moving[i].lba, 1);
            plan.record(Record::Unmap(at));
            self.bands.remove(at);
        }
        self.abandon_victims(plan);
    }

    fn abandon_victims(&mut self, plan: &mut Plan) {
        for i in 0..self.compaction.victims.len() {
            self.bands.abandon(self.compaction.victims[i], plan);
        }
    }

    /// Plans the switch: copies count, victims are emptied, and the host goes on in the last band written.
    fn end_compaction(&mut self, plan: &mut Plan) {
        if !self.without_spare() {
            while let Some(&band) = self.bands.copying.first() {
                self.give_role(band, becomes::DATA, plan);
                if self.compaction.target != Some(band) {
                    self.bands.close(band);
                }
            }
            while let Some(&band) = self.bands.victims.first() {
                self.give_role(band, becomes::DATA, plan);
            }
            self.abandon_victims(plan);
        }
        if let Some(target) = self.compaction.target {
            debug_assert!(self.active.is_none(), "compaction begins when the host has no room");
            if self.bands.room(target).1 == 0 {
                self.bands.close(target);
            } else {
                self.active = Some(target);
            }
        }
        self.compaction.clear();
    }
}
