//! Compaction: a job of steps that reads the live blocks of some bands into RAM and appends them to another. Simulated,
//! it reads all of them before it writes the first, as in the paper. A runner that serves has it take turns, so that it
//! needs RAM for no more than a step; then blocks are put in order within each turn.

use std::ops::Range;

use super::LogStructured;
use super::READ_THROUGH;
use super::bands::Streams;
use super::config::Sequence;
use super::roles::becomes;
use super::separation::MOST_STREAMS;
use super::times::Written;
use crate::parts::full_map::TOGETHER;
use crate::parts::heat::HeatOrder;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::Step;
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Place, Plan, Record, Why};

/// A block that was live when compaction began.
#[derive(Copy, Clone)]
pub(super) struct Moving {
    pub lba: Lba,
    /// Where it lay.
    pub slot: u64,
    /// How far behind the first block of the first victim it lay, if victims lay behind each other.
    pub offset: u32,
    pub heat: u32,
    pub stream: u8,
}

#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    None,
    /// Of a divided map: some of the victims' blocks have been looked at.
    Listing,
    Reading,
    Writing,
    /// Copies begin to count one by one, where a part of the map is in memory.
    Settling,
}

/// The job. Its vectors are reused.
pub(super) struct Compaction {
    pub phase: Phase,
    pub victims: Vec<u32>,
    /// While blocks are listed: how far that has come, in blocks of victims behind each other. Nothing until the runner
    /// could ask which pages the first ones need.
    pub listed: Option<u32>,
    /// Live blocks of the victims as they were chosen.
    live: u32,
    pub moving: Vec<Moving>,
    /// Copies that begin to count, and where they lie.
    pub adopted: Vec<(Extent<Lba>, u64)>,
    /// How many of the moving blocks have been read or, in the second phase, written.
    pub done: usize,
    /// The blocks that are in RAM together, in the order of `moving`, and the offset of what lies first there.
    window: Range<usize>,
    window_offset: u32,
    /// The blocks of RAM that they may take.
    ram: u32,
    /// The bands that it writes, one for each stream, and goes on with the next time if the host does not.
    pub targets: Streams,
    /// When the youngest block of the victims was written.
    pub youngest: u64,
    order: HeatOrder<Moving>,
}

impl Compaction {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let lists = Memory::room::<Moving>(self.moving.capacity() as u64)
            + Memory::growing::<u32>(self.victims.capacity() as u64);
        lists + Memory::growing::<(Extent<Lba>, u64)>(TOGETHER.into()) + self.order.memory()
    }

    /// At most `most` blocks are moved at a time.
    pub fn new(most: u32) -> Self {
        Self {
            phase: Phase::None,
            victims: Vec::new(),
            listed: None,
            live: 0,
            moving: Vec::with_capacity(most as usize),
            adopted: Vec::with_capacity(TOGETHER as usize),
            done: 0,
            window: 0..0,
            window_offset: 0,
            ram: most,
            targets: Streams::default(),
            youngest: 0,
            order: HeatOrder::new(most),
        }
    }

    /// Blocks of RAM that it needs.
    pub fn ram_blocks(&self) -> u32 {
        self.ram
    }

    /// Limits the RAM in use to `blocks` blocks.
    pub fn bound_ram(&mut self, blocks: u32) {
        self.ram = self.ram.min(blocks);
    }

    /// Goes on with the blocks from the `from`-th on, as many of them as lie together in RAM.
    pub fn begin_window(&mut self, from: usize) {
        let rest = &self.moving[from..];
        self.window_offset = rest.first().map_or(0, |first| first.offset);
        let fit = rest.partition_point(|m| m.offset - self.window_offset < self.ram);
        self.window = from..from + fit;
        self.done = from;
        self.phase = Phase::Reading;
    }

    /// Whether there is more of the window to be read, or to be written, in a phase.
    fn is_in(&self, phase: Phase) -> bool {
        self.phase == phase && self.done < self.window.end
    }

    /// Whether the window has been read, or written.
    fn is_through(&self, phase: Phase) -> bool {
        self.phase == phase && self.done == self.window.end
    }

    pub fn is_under_way(&self) -> bool {
        self.phase != Phase::None
    }

    /// Whether more blocks were found on the victims than were counted there.
    pub fn lists_too_many(&self) -> bool {
        self.moving.len() > self.live as usize
    }

    /// Blocks that are still to be read or written, and the room that this gives, with bands of `band` blocks; nothing
    /// when there is no job.
    pub fn outlook(&self, band: u32) -> Option<(u64, u64)> {
        let listed = if self.phase == Phase::Listing { self.live as usize } else { self.moving.len() };
        let (all, done) = (listed as u64, self.done as u64);
        // What is beyond the window has still to be read too.
        let work = match self.phase {
            Phase::None => return None,
            Phase::Listing => 2 * all,
            Phase::Reading => 2 * all - self.window.start as u64 - done,
            Phase::Writing => 2 * all - self.window.end as u64 - done,
            Phase::Settling => 0,
        };
        Some((work, (self.victims.len() as u64 * u64::from(band)).saturating_sub(all)))
    }

    /// Forgets the job, but not the bands that it writes.
    pub fn end(&mut self) {
        self.phase = Phase::None;
        self.victims.clear();
        self.moving.clear();
        self.done = 0;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.end();
        self.targets = Streams::default();
    }
}

/// How many of these blocks, at most `most`, lay behind each other, follow each other and go to one stream.
fn run(moving: &[Moving], most: u32) -> u32 {
    let first = moving[0];
    let follows = |(i, m): &(u32, &Moving)| {
        m.offset == first.offset + i && m.lba.0 == first.lba.0 + u64::from(*i) && m.stream == first.stream
    };
    (0..).zip(moving).take(most as usize).take_while(follows).count() as u32
}

impl LogStructured {
    /// Begins a compaction while the host waits; it goes on in the host's open bands.
    pub(super) fn begin_pressed(&mut self, plan: &mut Plan) -> bool {
        for (target, open) in self.compaction.targets.iter_mut().zip(&mut self.open) {
            *target = target.or_else(|| open.take());
        }
        self.begin_compaction(plan)
    }

    /// Compaction goes on with the bands of streams that only it has, which the host may have shared.
    fn take_bands_of_moved(&mut self) {
        let Some(lifetimes) = &self.bands.known.lifetimes else { return };
        for (stream, target) in self.compaction.targets.iter_mut().enumerate() {
            if lifetimes.is_of_moved(stream) {
                *target = target.or_else(|| self.open[stream].take());
            }
        }
    }

    /// Chooses victims, if compaction can gain anything, and plans that they are.
    pub(super) fn begin_compaction(&mut self, plan: &mut Plan) -> bool {
        if let Some(tuner) = &mut self.tuner {
            self.bands.set(tuner.choose());
        }
        self.take_bands_of_moved();
        self.choose_victims();
        if self.compaction.victims.is_empty() {
            return false;
        }
        for victim in 0..self.compaction.victims.len() {
            let band = self.compaction.victims[victim];
            if self.bands.pages.is_none() {
                self.list_live(victim as u32, self.bands.map.place(band, 0), self.bands.written(band));
            }
            if !self.without_spare() {
                self.give_role(band, becomes::VICTIM, plan);
            }
        }
        let bands = &self.bands;
        let Compaction { victims, youngest, live, .. } = &mut self.compaction;
        *youngest = victims.iter().map(|&band| bands.youngest(band)).max().unwrap_or(0);
        *live = victims.iter().map(|&band| bands.live(band)).sum();
        if self.bands.pages.is_none() {
            self.compaction.begin_window(0);
        } else {
            (self.compaction.phase, self.compaction.listed) = (Phase::Listing, None);
        }
        true
    }

    /// One step of the job.
    pub(super) fn compact(&mut self, plan: &mut Plan) -> Step {
        let mut budget = self.step.blocks();
        if self.compaction.phase == Phase::Listing {
            self.list_next();
            return if self.without_spare() { Step::Hold } else { Step::More };
        }
        if self.compaction.phase == Phase::Settling {
            return self.settle(plan);
        }
        loop {
            while budget > 0 && self.compaction.is_in(Phase::Reading) {
                budget -= self.read_victims(budget, plan);
            }
            if self.compaction.is_through(Phase::Reading) {
                self.begin_writing();
                if self.without_spare() {
                    self.empty_victims(plan);
                    return Step::Hold;
                }
            }
            while budget > 0 && self.compaction.is_in(Phase::Writing) {
                match self.write_moving(budget, plan) {
                    0 => return if self.awaits_page() { Step::More } else { Step::Wait },
                    written => budget -= written,
                }
            }
            if !self.compaction.is_through(Phase::Writing) {
                return if self.without_spare() { Step::Hold } else { Step::More };
            }
            if self.compaction.window.end == self.compaction.moving.len() {
                if self.cached.is_some() {
                    self.begin_settling(plan);
                } else {
                    self.end_compaction(plan);
                }
                return Step::More;
            }
            self.compaction.begin_window(self.compaction.window.end);
        }
    }

    /// Plans a read of moving blocks of one band that lie close together; how many blocks it reads.
    fn read_victims(&mut self, most: u32, plan: &mut Plan) -> u32 {
        let ram = self.ram_of(self.compaction.moving[self.compaction.done]);
        let Compaction { moving, done, window, .. } = &mut self.compaction;
        let first = moving[*done];
        let band = self.bands.blocks();
        let band_end = (first.offset / band + 1) * band;
        let mut last = first;
        let mut read = 1;
        for next in &moving[*done + 1..window.end] {
            if next.offset >= band_end || next.offset - last.offset > READ_THROUGH || next.offset - first.offset >= most
            {
                break;
            }
            last = *next;
            read += 1;
        }
        *done += read;
        let blocks = last.offset - first.offset + 1;
        plan.copy(Place::At(self.bands.block(first.slot)), Place::At(ram), blocks, Why::Collect);
        blocks
    }

    /// Where a block of the window waits.
    fn ram_of(&self, moving: Moving) -> Pba {
        let buffered = self.config.buffer_bands * self.bands.blocks();
        Pba::ram(u64::from(buffered + moving.offset - self.compaction.window_offset))
    }

    fn begin_writing(&mut self) {
        let Compaction { moving, phase, done, window, order, .. } = &mut self.compaction;
        let moving = &mut moving[window.clone()];
        if self.config.sequence == Sequence::Heat {
            // By place among equals, as they were listed.
            order.hottest_first(moving, |m| m.heat);
        }
        if self.bands.separation().streams() > 1 {
            // The order inside a stream stays, and the head does not go back and forth.
            order.hottest_first(moving, |m| (MOST_STREAMS as u32) - u32::from(m.stream));
        }
        *phase = Phase::Writing;
        *done = window.start;
    }

    /// Plans the write of moving blocks that follow each other; how many, and 0 when there is no band to write to.
    fn write_moving(&mut self, most: u32, plan: &mut Plan) -> u32 {
        let first = self.compaction.moving[self.compaction.done];
        let Some((target, shared)) = self.open_target(first.stream, plan) else { return 0 };
        let (slot, room) = self.bands.room(target);
        if !self.bands.is_writable(slot) {
            return 0;
        }
        let rest = &self.compaction.moving[self.compaction.done..self.compaction.window.end];
        let run = run(rest, most.min(room).min(shared));
        self.compaction.done += run as usize;
        self.bands.known.flowed(first.stream, run);
        let (at, to) = (Extent::new(first.lba, run), self.bands.block(slot));
        plan.copy(Place::At(self.ram_of(first)), Place::At(to), run, Why::Migrate);
        plan.record(if self.cached.is_some() { Record::Copy { at, to } } else { Record::Map { at, to } });
        if let Some(cached) = &mut self.cached {
            cached.copies.insert(at, slot);
        }
        if self.without_spare() {
            // While they lie nowhere no band counts them as hot ones.
            self.bands.cool(at, self.heat.cooling);
            self.map(at, slot, Written::Before(self.compaction.youngest));
        } else {
            self.bands.wrote(at, slot);
        }
        run
    }

    /// Plans that the victims are reset while their blocks are in RAM.
    fn empty_victims(&mut self, plan: &mut Plan) {
        let mut rest = &self.compaction.moving[..];
        while let Some(first) = rest.first() {
            let at = Extent::new(first.lba, run(rest, u32::MAX));
            plan.record(Record::Unmap(at));
            self.bands.remove(at);
            rest = &rest[at.blocks as usize..];
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
