//! Reclaim: one chunk at a time gives a conventional zone back, in bounded steps.

use super::DmZoned;
use super::chunks::Role;
use super::records::{owned, owner};
use super::zones::{NONE, ZoneKind};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

/// A chunk that is being reclaimed.
pub(super) struct Job {
    pub chunk: u32,
    way: Way,
    /// The offset from which on valid blocks are still to be copied.
    next: u32,
    /// The host has used the chunk since the job began, and the job is given up.
    pub interrupted: bool,
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Way {
    /// A conventional data zone moves to this sequential zone.
    ToSequential(u32),
    /// The buffer zone moves to the data zone's write pointer.
    Append,
    /// The sequential data zone moves into the buffer zone, which becomes the data zone.
    IntoBuffer,
}

impl Way {
    /// The role of the zone that blocks are copied from.
    fn source(self) -> Role {
        match self {
            Self::ToSequential(_) | Self::IntoBuffer => Role::Data,
            Self::Append => Role::Buffer,
        }
    }
}

/// What a step of reclaim came to.
enum Progress {
    /// How many blocks were written, which may be none.
    Moved(u32),
    /// A zone has to come back first.
    Waits,
    /// There is nothing to reclaim.
    Nothing,
}

impl DmZoned {
    /// One step of the job under way, or of a new one.
    fn reclaim(&mut self, plan: &mut Plan) -> Progress {
        if let Some(job) = self.job.take_if(|job| job.interrupted) {
            self.give_up(&job, plan);
            return Progress::Moved(0);
        }
        if self.job.is_none() {
            let Some(chunk) = self.victim() else {
                self.reclaiming = false;
                return Progress::Nothing;
            };
            match self.way(chunk) {
                Ok(way) => self.job = Some(Job { chunk, way, next: 0, interrupted: false }),
                Err(progress) => return progress,
            }
        }
        match self.job.take() {
            Some(job) => Progress::Moved(self.advance(job, plan)),
            None => Progress::Nothing,
        }
    }

    /// The chunk to reclaim. Without a reserved zone left, a buffered sequential zone comes first, so that a zone to
    /// move conventional data to comes free. Otherwise the least recently used conventional data zone, else the
    /// buffered chunk whose data zone has the most valid blocks.
    fn victim(&self) -> Option<u32> {
        let chunk = |zone| owned(self.pool.owner(zone));
        // The scan of all sequential zones is for where there is something to find.
        let is_buffer = |(_, role)| role == Role::Buffer;
        if !self.pool.reserve_is_left() && self.recency.conventional().filter_map(chunk).any(is_buffer) {
            let mut data = self.recency.sequential(&self.pool).filter_map(chunk);
            if let Some((chunk, _)) = data.find(|&(chunk, _)| self.chunks.zone(chunk, Role::Buffer).is_some()) {
                return Some(chunk);
            }
        }
        let mut heaviest: Option<(u32, u32)> = None;
        for (chunk, role) in self.recency.conventional().filter_map(chunk) {
            let weight = self.chunks.weight(chunk, Role::Data);
            match role {
                Role::Data => return Some(chunk),
                Role::Buffer if heaviest.is_none_or(|(_, most)| most < weight) => heaviest = Some((chunk, weight)),
                Role::Buffer => {}
            }
        }
        heaviest.map(|(chunk, _)| chunk)
    }

    /// How the chunk is reclaimed, with the zone for it taken.
    fn way(&mut self, chunk: u32) -> Result<Way, Progress> {
        let Some(data) = self.chunks.zone(chunk, Role::Data) else { return Err(Progress::Nothing) };
        if self.pool.is_conventional(data) {
            return match self.pool.take(ZoneKind::Sequential).or_else(|| self.pool.take(ZoneKind::Reserved)) {
                Some(target) => Ok(Way::ToSequential(target)),
                None if self.pool.sequential_is_coming() => Err(Progress::Waits),
                None => Err(Progress::Nothing),
            };
        }
        let first = self.chunks.next_run(chunk, Role::Buffer, 0, 1).map_or(u32::MAX, |(offset, _)| offset);
        let fits = first >= self.pool.pointer(data) && self.pool.is_usable(data);
        Ok(if fits { Way::Append } else { Way::IntoBuffer })
    }

    /// The zones that a job copies from and to.
    fn zones_of(&self, job: &Job) -> Option<(u32, u32)> {
        let zone = |role| self.chunks.zone(job.chunk, role);
        match job.way {
            Way::ToSequential(target) => Some((zone(Role::Data)?, target)),
            Way::Append => Some((zone(Role::Buffer)?, zone(Role::Data)?)),
            Way::IntoBuffer => Some((zone(Role::Data)?, zone(Role::Buffer)?)),
        }
    }

    /// Plans a step of a job and says how many blocks it writes.
    fn advance(&mut self, mut job: Job, plan: &mut Plan) -> u32 {
        let Some((from, to)) = self.zones_of(&job) else { unreachable!("a chunk's zones change only with its job") };
        let mut left = self.step.blocks();
        while left > 0 {
            let Some((offset, run)) = self.chunks.next_run(job.chunk, job.way.source(), job.next, left) else { break };
            if !self.pool.is_conventional(to) {
                let gap = (offset - self.pool.pointer(to)).min(left);
                if gap > 0 {
                    plan.copy(Place::Zero, self.place(to, self.pool.pointer(to)), gap, Why::Pad);
                    self.pool.advance(to, gap);
                    left -= gap;
                    continue;
                }
                self.pool.advance(to, run);
            }
            plan.copy(self.place(from, offset), self.place(to, offset), run, Why::Migrate);
            left -= run;
            job.next = offset + run;
        }
        if self.chunks.next_run(job.chunk, job.way.source(), job.next, 1).is_some() {
            self.job = Some(job);
        } else {
            self.finish(&job, from, to, plan);
        }
        self.step.blocks() - left
    }

    fn place(&self, zone: u32, offset: u32) -> Place {
        Place::At(self.pool.block(zone, offset))
    }

    /// Switches the map: everything has been copied.
    fn finish(&mut self, job: &Job, from: u32, to: u32, plan: &mut Plan) {
        let weight = self.chunks.weight(job.chunk, job.way.source());
        match job.way {
            Way::Append => {
                self.change(Record::Unit { unit: self.pool.unit(from), is: NONE }, plan);
                plan.count(Event::RmwFree, 1);
                plan.count(Event::Evicted, weight);
            }
            Way::ToSequential(_) if weight == 0 => {
                self.change(Record::Unit { unit: self.pool.unit(from), is: NONE }, plan);
                self.pool.release(to, plan);
            }
            Way::ToSequential(_) => {
                self.change(Record::Unit { unit: self.pool.unit(to), is: owner(job.chunk, Role::Data) }, plan);
                plan.count(Event::Rmw, 1);
                plan.count(Event::Evicted, weight);
            }
            Way::IntoBuffer => {
                self.change(Record::Unit { unit: self.pool.unit(to), is: owner(job.chunk, Role::Data) }, plan);
                plan.count(Event::Rmw, 1);
            }
        }
        self.pool.release(from, plan);
        self.reclaiming = self.is_low(self.config.until.percent(&self.config));
    }

    /// Gives up a job: what it has written is not valid.
    fn give_up(&mut self, job: &Job, plan: &mut Plan) {
        if let Way::ToSequential(target) = job.way {
            self.pool.release(target, plan);
        }
    }

    /// Whether so few conventional zones are free.
    pub(super) fn is_low(&self, percent: u32) -> bool {
        self.pool.free_percent() <= percent
    }

    /// Whether reclaim is under way, or begins although the disk is busy.
    pub(super) fn is_reclaiming(&self) -> bool {
        self.reclaiming || self.job.is_some()
    }

    /// Whether the host has written enough that reclaim has its turn: `throttle` blocks for each 100 of the host.
    pub(super) fn is_due(&self) -> bool {
        self.is_reclaiming() && self.credit >= 100 * u64::from(self.step.blocks())
    }

    /// Reclaim earns its share of what the host writes.
    pub(super) fn earn(&mut self, blocks: u32) {
        if !self.is_reclaiming() {
            self.credit = 0;
            return;
        }
        let fast = self.pool.free_percent() < self.config.reclaim_low / 2;
        let percent = if fast { 100 } else { self.config.throttle };
        self.credit += u64::from(blocks) * u64::from(percent);
    }

    /// Takes the turn that is due.
    pub(super) fn take_turn(&mut self, plan: &mut Plan) {
        match self.reclaim(plan) {
            Progress::Moved(blocks) => self.credit = self.credit.saturating_sub(100 * u64::from(blocks)),
            Progress::Waits | Progress::Nothing => self.credit = 0,
        }
    }

    /// One step towards a free conventional zone, or towards the end of the job under way.
    pub(super) fn make_room(&mut self, plan: &mut Plan) -> Step {
        if self.job.is_none() && self.pool.conventional_is_coming() {
            return Step::Wait;
        }
        self.reclaim_step(plan)
    }

    /// One step, as the runner is told of it.
    pub(super) fn reclaim_step(&mut self, plan: &mut Plan) -> Step {
        match self.reclaim(plan) {
            Progress::Moved(_) => Step::More,
            Progress::Waits => Step::Wait,
            Progress::Nothing => Step::Nothing,
        }
    }
}
