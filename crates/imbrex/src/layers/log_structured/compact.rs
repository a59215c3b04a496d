//! Compaction: a job of steps that reads the live blocks of some bands into RAM and appends them to another.

use super::LogStructured;
use super::READ_THROUGH;
use super::bands::{Role, Streams};
use super::config::Sequence;
use super::roles::becomes;
use super::separation::MOST_STREAMS;
use super::times::Written;
use crate::block::{Extent, Lba, Pba};
use crate::layer::Step;
use crate::parts::full_map::TOGETHER;
use crate::parts::heat::HeatOrder;
use crate::plan::{Place, Plan, Record, Why};

/// A block that was live when compaction began.
#[derive(Copy, Clone)]
struct Moving {
    lba: Lba,
    /// Where it lay.
    slot: u64,
    /// Where it waits, in blocks of RAM.
    ram: u32,
    heat: u32,
    stream: u8,
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
    pub adopted: Vec<(Extent<Lba>, u64)>,
    /// How many of the moving blocks have been read or, in the second phase, written.
    done: usize,
    /// The bands that it writes, one for each stream, and goes on with the next time if the host does not.
    pub targets: Streams,
    /// When the youngest block of the victims was written.
    pub youngest: u64,
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
            targets: Streams::default(),
            youngest: 0,
            order: HeatOrder::new(most),
        }
    }

    pub fn is_under_way(&self) -> bool {
        self.phase != Phase::None
    }

    /// Forgets the job, but not the bands that it writes.
    fn end(&mut self) {
        self.phase = Phase::None;
        self.victims.clear();
        self.moving.clear();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.end();
        self.targets = Streams::default();
    }
}

impl LogStructured {
    /// The same while the host waits, with whose open bands compaction goes on.
    pub(super) fn begin_pressed(&mut self, plan: &mut Plan) -> bool {
        for (target, open) in self.compaction.targets.iter_mut().zip(&mut self.open) {
            *target = target.or_else(|| open.take());
        }
        self.begin_compaction(plan)
    }

    /// Chooses victims, if compaction can gain anything, and plans that they are.
    pub(super) fn begin_compaction(&mut self, plan: &mut Plan) -> bool {
        if let Some(tuner) = &mut self.tuner {
            tuner.choose();
            self.bands.weigh(tuner.weights());
        }
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
        let (bands, map, cooling) = (&self.bands, &self.bands.map, self.config.cooling);
        let by_heat = self.config.sequence == Sequence::Heat;
        let (first, moving) = (map.place(band, 0), &mut self.compaction.moving);
        let ram = (self.config.buffer_bands + number) * self.bands.blocks();
        let known = |lba| bands.known.prefetch(lba);
        map.holders(first, self.bands.written(band), known, |lba, slot| {
            if map.get(lba) == Some(slot) {
                let heat = if by_heat { bands.known.heat(lba) } else { 0 };
                let stream = bands.stream_of_moved(lba, band, cooling);
                moving.push(Moving { lba, slot, ram: ram + (slot - first) as u32, heat, stream });
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
        if self.bands.separation().streams() > 1 {
            // The order inside a stream stays, and the head does not go back and forth.
            order.hottest_first(moving, |m| (MOST_STREAMS as u32) - u32::from(m.stream));
        }
        *phase = Phase::Writing;
        *done = 0;
    }

    /// Plans the write of moving blocks that follow each other; how many, and 0 when there is no band to write to.
    fn write_moving(&mut self, most: u32, plan: &mut Plan) -> u32 {
        let first = self.compaction.moving[self.compaction.done];
        let Some(target) = self.open_target(first.stream, plan) else { return 0 };
        let (slot, room) = self.bands.room(target);
        let rest = &self.compaction.moving[self.compaction.done..];
        let follows = |(i, m): &(u32, &Moving)| {
            m.ram == first.ram + i && m.lba.0 == first.lba.0 + u64::from(*i) && m.stream == first.stream
        };
        let run = (0..).zip(rest).take(most.min(room) as usize).take_while(follows).count() as u32;
        self.compaction.done += run as usize;
        let (at, to) = (Extent::new(first.lba, run), self.bands.block(slot));
        plan.copy(Place::At(Pba::ram(u64::from(first.ram))), Place::At(to), run, Why::Migrate);
        plan.record(Record::Map { at, to });
        if self.without_spare() {
            self.map(at, slot, Written::Before(self.compaction.youngest));
            self.bands.cool(at, self.config.cooling);
        } else {
            self.bands.wrote(at, slot);
        }
        run
    }

    /// The band that takes the next block of a stream: its own, or another stream's when none is empty.
    fn open_target(&mut self, stream: u8, plan: &mut Plan) -> Option<u32> {
        let own = usize::from(stream);
        if let Some(full) = self.compaction.targets[own].filter(|&band| self.bands.room(band).1 == 0) {
            self.compaction.targets[own] = None;
            if self.without_spare() {
                self.bands.close(full);
            }
        }
        if self.compaction.targets[own].is_none() {
            self.compaction.targets[own] = self.bands.open(stream);
        }
        let others = self.compaction.targets.iter().flatten();
        let target =
            self.compaction.targets[own].or_else(|| others.copied().find(|&band| self.bands.room(band).1 > 0))?;
        if !self.without_spare() && self.bands.role(target) != Role::Copying {
            self.give_role(target, becomes::copying(self.bands.written(target)), plan);
        }
        Some(target)
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

    /// Plans the switch: copies count, and victims are emptied.
    fn end_compaction(&mut self, plan: &mut Plan) {
        if !self.without_spare() {
            while let Some(&band) = self.bands.copying.first() {
                self.give_role(band, becomes::DATA, plan);
                if self.bands.room(band).1 == 0 {
                    self.bands.close(band);
                }
            }
            while let Some(&band) = self.bands.victims.first() {
                self.give_role(band, becomes::DATA, plan);
            }
            self.abandon_victims(plan);
        }
        for target in &mut self.compaction.targets {
            if let Some(full) = target.take_if(|band| self.bands.room(*band).1 == 0)
                && self.config.spare_bands == 0
            {
                self.bands.close(full);
            }
        }
        self.compaction.end();
    }
}
