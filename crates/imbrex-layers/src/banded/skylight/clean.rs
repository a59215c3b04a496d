//! Cleaning a band: gather, scratch, in place.

use std::ops::Range;

use super::Skylight;
use super::config::Gather;
use super::stream::Stream;
use crate::parts::buffered_blocks::Slots;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{Outlook, Step};
use imbrex_core::plan::{Event, Place, Plan, Why};

/// The part of the cache that is room ahead at most: it is smaller by that for what it gathers of a band.
const AHEAD_OF_CACHE: u64 = 16;

/// A band that is being written anew.
pub struct Job {
    pub band: u32,
    /// Offset after the last block to write.
    pub end: u32,
    /// The RAM block of the band's first.
    pub ram: u32,
    /// Whether its content is a stream that lies in RAM only.
    pub volatile: bool,
    /// Whether its content is a stream.
    from_stream: bool,
    stage: Stage,
}

impl Job {
    /// Blocks that are still to be read or written.
    fn left(&self) -> u64 {
        let left = match self.stage {
            Stage::Gather(to) => 2 * u64::from(self.end - to) + u64::from(self.end),
            Stage::Empty { .. } => self.end.into(),
            Stage::Restore { written, .. } => (self.end - written).into(),
        };
        left.max(1)
    }
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Stage {
    /// Content is gathered in RAM and written to the scratch band up to this offset.
    Gather(u32),
    /// It lies in the scratch band; the band itself waits to be emptied.
    Empty { in_ram: bool },
    /// It is written in place up to this offset.
    Restore { written: u32, in_ram: bool },
}

impl Skylight {
    /// What a step says that does not come to an end.
    fn between_steps(&self) -> Step {
        if self.config.interrupts.interruptible { Step::More } else { Step::Hold }
    }

    /// Begins to clean the band of `lba`, which is in the cache.
    pub(super) fn begin(&mut self, lba: Lba, plan: &mut Plan) -> Step {
        let (band, _) = self.home.locate(lba);
        if !self.home.can_rewrite(band) {
            return Step::Nothing;
        }
        let blocks = self.home.logical(band);
        let last = self.blocks.map.last(blocks).map_or(0, |last| last.since(blocks.start) as u32 + 1);
        let ram = self.stream.as_ref().filter(|stream| stream.ram == 0).map_or(0, |_| self.home.longest());
        let end = last.max(self.home.pointer(band));
        self.copied.clear();
        self.job = Some(Job { band, end, ram, volatile: false, from_stream: false, stage: Stage::Gather(0) });
        self.job_step(plan)
    }

    /// Makes a job of a stream that has gathered its whole band.
    pub(super) fn begin_stream(&mut self, stream: &Stream) {
        self.copied.insert_run(0, u64::from(self.home.length(stream.band)));
        let Stream { band, gathered, ram } = *stream;
        self.job = Some(Job { band, end: gathered, ram, volatile: true, from_stream: true, stage: Stage::Gather(0) });
    }

    /// After a crash: a band whose content lies in the scratch band is to be written in place.
    pub(super) fn resume(&mut self, plan: &mut Plan) {
        let (Some(band), Some(scratch)) = (self.home.displaced(), self.home.scratch()) else { return };
        if !self.home.is_writable(band) {
            return;
        }
        let stage = if self.home.pointer(band) == 0 {
            Stage::Restore { written: 0, in_ram: false }
        } else {
            plan.reset(self.home.unit(band));
            Stage::Empty { in_ram: false }
        };
        let end = self.home.pointer(scratch);
        self.job = Some(Job { band, end, ram: 0, volatile: false, from_stream: false, stage });
    }

    /// Plans the next step of the job under way.
    pub(super) fn job_step(&mut self, plan: &mut Plan) -> Step {
        let Some(mut job) = self.job.take() else { unreachable!("a band is being cleaned") };
        let step = match (job.stage, self.home.scratch()) {
            (Stage::Gather(0), Some(scratch)) if self.home.pointer(scratch) > 0 => Step::Wait,
            (Stage::Gather(from), scratch) => {
                self.gather_step(&mut job, from, scratch, plan);
                self.between_steps()
            }
            (Stage::Empty { .. }, _) => Step::Wait,
            (Stage::Restore { written, in_ram }, _) => {
                self.restore_step(&mut job, written, in_ram, plan);
                self.between_steps()
            }
        };
        let done = matches!(job.stage, Stage::Restore { written, .. } if written == job.end);
        if !done {
            self.job = Some(job);
        } else {
            self.promote();
        }
        step
    }

    /// Gathers a stretch, and writes it to the scratch band. Without one the last stretch's plan writes the band.
    fn gather_step(&mut self, job: &mut Job, from: u32, scratch: Option<u32>, plan: &mut Plan) {
        let to = job.end.min(from.saturating_add(self.step.blocks()));
        if !job.from_stream {
            self.collect(job, from, to, plan);
        }
        job.stage = Stage::Gather(to);
        if let Some(scratch) = scratch {
            self.write_band(job, scratch, from..to, Why::Migrate, plan);
        }
        if to < job.end {
            return;
        }
        job.volatile = false;
        match scratch {
            Some(scratch) => self.switch(job, scratch, plan),
            None => {
                plan.reset(self.home.unit(job.band));
                self.home.empty(job.band);
                self.write_band(job, job.band, 0..job.end, Why::Destage, plan);
                self.evict_copied(job, plan);
                job.stage = Stage::Restore { written: job.end, in_ram: true };
            }
        }
    }

    /// The band's content lies in the scratch band from now on, and its own place is emptied. An empty one waits as
    /// well: until the record is durable a crash finds the band there.
    fn switch(&mut self, job: &mut Job, scratch: u32, plan: &mut Plan) {
        self.record_place(job.band, scratch, plan);
        self.evict_copied(job, plan);
        job.stage = Stage::Empty { in_ram: true };
        if self.home.pointer(job.band) == 0 {
            plan.free(self.home.extent(job.band));
        } else {
            plan.reset(self.home.unit(job.band));
        }
    }

    /// Writes a stretch in place; after the last one the scratch band is emptied.
    fn restore_step(&mut self, job: &mut Job, from: u32, in_ram: bool, plan: &mut Plan) {
        let to = job.end.min(from.saturating_add(self.step.blocks()));
        if !in_ram {
            let source = self.home.content(job.band).0.plus(u64::from(from));
            plan.copy(Place::At(source), Place::At(ram(job, from)), to - from, Why::Collect);
        }
        self.write_band(job, job.band, from..to, Why::Destage, plan);
        job.stage = Stage::Restore { written: to, in_ram };
        if let Some(scratch) = self.home.scratch().filter(|_| to == job.end) {
            self.record_place(job.band, job.band, plan);
            plan.reset(self.home.unit(scratch));
        }
    }

    /// A band has been emptied: the scratch band, or one whose content is to come from there. One that was written
    /// again in the plan that reset it is not empty.
    pub(super) fn emptied(&mut self, band: u32) {
        if Some(band) == self.home.scratch() {
            self.home.empty(band);
        } else if let Some(job) = self.job.as_mut().filter(|job| job.band == band)
            && let Stage::Empty { in_ram } = job.stage
        {
            self.home.empty(band);
            job.stage = Stage::Restore { written: 0, in_ram };
        }
    }

    fn record_place(&mut self, band: u32, place: u32, plan: &mut Plan) {
        let record = self.home.moved(band, place);
        plan.record(record);
        if self.home.apply(self.home.unit(place), band).is_err() {
            unreachable!("a band lies at its own place or in the scratch band");
        }
    }

    /// Plans that a stretch of the job's band is written from RAM to the band `to`.
    fn write_band(&mut self, job: &Job, to: u32, stretch: Range<u32>, why: Why, plan: &mut Plan) {
        let Range { start, end } = stretch;
        let target = self.home.extent(to).start.plus(u64::from(start));
        plan.copy(Place::At(ram(job, start)), Place::At(target), end - start, why);
        self.home.advance(to, end - start);
    }

    /// Plans that RAM holds a stretch of the band as it is to be: what the band holds, zeros behind that, and over both
    /// what the cache holds.
    fn collect(&mut self, job: &Job, from: u32, to: u32, plan: &mut Plan) {
        let band = self.home.logical(job.band);
        let (home, held) = self.home.content(job.band);
        let offset = |lba: Lba| lba.since(band.start) as u32;
        if from < held {
            let run = band.skip(from).first(to.min(held) - from);
            self.blocks.lost.collect(run, home.plus(u64::from(from)), ram(job, from), plan);
        }
        let bare = from.max(held);
        if bare < to {
            plan.copy(Place::Zero, Place::At(ram(job, bare)), to - bare, Why::Collect);
        }
        let stretch = band.skip(from).first(to - from);
        self.newer.clear();
        self.newer.extend(self.blocks.many(stretch).map(|(lba, slot)| (slot, offset(lba))));
        if self.config.gather == Gather::Log {
            self.newer.sort_unstable();
        }
        for &(slot, at) in &self.newer {
            plan.copy(Place::At(self.blocks.place_of(slot)), Place::At(ram(job, at)), 1, Why::Collect);
            self.copied.insert(u64::from(at));
        }
    }

    /// Notes that the copies a job may have made of these blocks of one band are old now.
    pub(super) fn outdate_copies(&mut self, run: Extent<Lba>) {
        let Some(job) = &self.job else { return };
        let (band, offset) = self.home.locate(run.start);
        if band == job.band {
            self.copied.remove_run(u64::from(offset), u64::from(offset + run.blocks));
        }
    }

    /// Plans that the blocks of the band are not in the cache any more, except those written since they were copied.
    fn evict_copied(&mut self, job: &Job, plan: &mut Plan) {
        self.blocks.evict(self.home.logical(job.band), job.from_stream, &self.copied, &mut self.cache, plan);
        if job.from_stream {
            plan.count(Event::Direct, job.end);
        } else {
            plan.count(Event::Rmw, 1);
        }
    }

    /// Plans one step towards room for a blocked write.
    pub(super) fn make_room(&mut self, plan: &mut Plan) -> Step {
        let oldest = self.cache.oldest();
        if self.has_room() {
            return Step::Done;
        }
        match oldest {
            Some(lba) => self.begin(lba, plan),
            None if self.cache.table().pending() > 0 => Step::Wait,
            None => Step::Nothing,
        }
    }

    /// Plans one step towards so much room, before a write waits for it. What is gathered of a stream stays in RAM.
    pub(super) fn make_room_ahead(&mut self, room: u64, plan: &mut Plan) -> Step {
        let oldest = self.cache.oldest();
        match oldest {
            Some(lba) if self.config.scratch && self.room_ahead().room < room => self.begin(lba, plan),
            _ => Step::Nothing,
        }
    }

    /// The room in the cache, and what the cleaning under way, or the next one, is about to add.
    pub(super) fn room_ahead(&self) -> Outlook {
        let band = u64::from(self.home.longest());
        let mapped = self.blocks.map.mapped();
        let gain = mapped.div_ceil((self.home.capacity() / band).max(1));
        // A band is read, written to the scratch band and written in place.
        let work = self.job.as_ref().map_or(3 * band, Job::left);
        let (room, all) = self.cache.room_ahead(self.reserved());
        Outlook { room, most: all / AHEAD_OF_CACHE, work, gain }
    }

    /// Plans one step towards an empty cache.
    pub(super) fn clean_ahead(&mut self, plan: &mut Plan) -> Step {
        if self.stream.is_some() {
            self.spill(plan);
            return self.between_steps();
        }
        self.cache.oldest().map_or(Step::Nothing, |lba| self.begin(lba, plan))
    }

    /// Plans that a stream on its way to its band is in the cache as well, so that it outlives the power.
    pub(super) fn secure_job(&mut self, plan: &mut Plan) {
        let Some(job) = self.job.as_mut().filter(|job| job.volatile) else { return };
        job.volatile = false;
        let (band, end, ram) = (self.home.logical(job.band), job.end, job.ram);
        let mut from = 0;
        while let Some(first) = self.copied.next(from, u64::from(end)) {
            let to = self.copied.next_absent(first, u64::from(end));
            let (first, blocks) = (first as u32, (to - first) as u32);
            self.put_all(band.skip(first).first(blocks), Place::At(Pba::ram(u64::from(ram + first))), plan);
            from = to;
        }
    }
}

fn ram(job: &Job, offset: u32) -> Pba {
    Pba::ram(u64::from(job.ram + offset))
}
