//! The policy of caches in which any block may take any frame and a replacement policy says which one leaves, as far as
//! a [`Division`] lets it.

pub mod config;
pub mod division;

use super::frames::Frames;
use super::{FREE_RUNS, FlashCache, Policy};
use crate::parts::free_slots::FreeSlots;
use crate::parts::replacement::{Replacement, Size};
use config::ReplacedConfig;
use division::Division;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;

/// Any block takes any frame; the coldest of those that may leaves.
pub struct Replaced<D> {
    free: FreeSlots,
    order: Box<dyn Replacement>,
    division: D,
    reads_count: bool,
    evict_blocks: u32,
    read_reserve: u32,
}

impl<D: Division> Replaced<D> {
    pub fn new(config: &ReplacedConfig, frames: u32, division: D) -> Self {
        // A read would flush all that may leave.
        let reserves = config.cache.read_allocate && !division.is_flushed_whole();
        let read_reserve = if reserves { config.read_reserve.min(frames / 2) } else { 0 };
        let capacity = frames - read_reserve;
        let size = Size { slots: frames, capacity, holds: D::HOLDS, shares: config.shares() };
        Self {
            free: FreeSlots::all(frames),
            order: config.replacement.policy(&size),
            division,
            reads_count: config.reads.reads_count,
            evict_blocks: config.evict_blocks.min(config.cache.steps.step_blocks),
            read_reserve,
        }
    }

    /// Whether the block in `frame` is not on its way out.
    fn stays(&self, frame: u32) -> bool {
        self.order.queues().contains(frame)
    }

    /// The block in `frame` is used again.
    fn touch(&mut self, frame: u32, lba: Lba) {
        if self.stays(frame) {
            self.order.touched(frame);
        }
        self.division.used(lba, frame, false);
    }

    /// The frame whose block leaves next. Where none may there is a new division.
    fn coldest(&mut self, frames: &Frames) -> Option<u32> {
        if self.division.is_due() {
            self.divide(frames);
        }
        let coldest = self.order.coldest();
        if coldest.is_some() || !D::HOLDS || self.order.queues().total() == 0 {
            return coldest;
        }
        self.divide(frames);
        self.order.coldest()
    }

    fn divide(&mut self, frames: &Frames) {
        self.division.divide();
        self.order.sort(&|frame| may_leave(&self.division, frame, frames));
    }

    /// The block in `frame` is to leave.
    fn choose(&mut self, frame: u32, lba: Lba, is_dirty: bool) {
        self.order.evicted(frame, lba);
        if is_dirty {
            self.division.chosen(lba);
        }
    }

    /// Lets the coldest blocks leave until `wanted` frames are free or about to be: a clean one alone, `evict_blocks`
    /// from a dirty one on, and no more than one step, so that whatever is to leave has left when the step is planned.
    fn evict(cache: &mut FlashCache<Self>, wanted: u32) {
        let most = cache.step.blocks();
        let FlashCache { policy, frames, leaving, .. } = cache;
        let mut together = 0;
        while together > 0 || (leaving.len() as u32) < wanted {
            let Some(frame) = policy.coldest(frames) else { break };
            let is_dirty = frames.is_dirty(frame);
            if together == 0 {
                together = if is_dirty { policy.evict_blocks.min(most) } else { 1 };
                if leaving.len() as u32 + together > most {
                    break;
                }
            }
            together -= 1;
            let Some(lba) = frames.owner(frame) else { break };
            policy.choose(frame, lba, is_dirty);
            leaving.push((lba, frame));
        }
        cache.settle_leaving();
    }

    /// Lets all dirty blocks leave that may. There is one.
    fn flush(cache: &mut FlashCache<Self>) {
        let mut from = Lba(0);
        while let Some(open) = cache.policy.division.open_from(from) {
            let FlashCache { policy, frames, map, leaving, .. } = cache;
            for (lba, frame) in map.range(open).filter(|&(_, frame)| frames.is_dirty(frame)) {
                policy.choose(frame, lba, true);
                leaving.push((lba, frame));
            }
            from = open.end();
        }
    }
}

/// Whether the block in `frame`, which holds one, may leave.
fn may_leave(division: &impl Division, frame: u32, frames: &Frames) -> bool {
    !frames.is_dirty(frame) || frames.owner(frame).is_none_or(|lba| division.may_leave(lba))
}

impl<D: Division> Policy for Replaced<D> {
    fn memory(&self) -> Memory {
        self.free.memory() + self.order.memory() + self.division.memory()
    }

    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)> {
        self.free.first_fit(run.blocks, FREE_RUNS)
    }

    fn gives_way(&mut self, lba: Lba, frames: &Frames) -> Option<u32> {
        self.order.wanted(lba);
        self.coldest(frames).filter(|&frame| !frames.is_dirty(frame))
    }

    fn gave_way(&mut self, frame: u32, lba: Lba) {
        self.order.evicted(frame, lba);
    }

    /// Exact under LRU, and a guess under the other policies.
    fn next_to_leave(&self) -> impl Iterator<Item = u32> {
        self.order.queues().in_order(0)
    }

    fn is_coming(&self, _lba: Lba, frames: &Frames) -> bool {
        frames.pending() > 0
    }

    fn is_passed(&self, frames: &Frames) -> bool {
        D::HOLDS && frames.live() == 0 && self.free.count() == 0
    }

    fn siblings(&self, run: Extent<Lba>) -> u32 {
        run.blocks
    }

    fn hold(&mut self, frame: u32, lba: Lba) {
        self.free.remove(frame);
        self.order.inserted(frame, lba);
        self.division.used(lba, frame, true);
    }

    fn dirtied(&mut self, frame: u32, lba: Lba) {
        self.division.dirtied(lba);
        if !self.division.may_leave(lba) {
            self.order.hold(frame);
        }
    }

    fn read(&mut self, frame: u32, lba: Lba) {
        if self.reads_count {
            self.touch(frame, lba);
        }
    }

    fn updated(&mut self, frame: u32, lba: Lba) {
        self.touch(frame, lba);
    }

    fn written(&mut self, blocks: u32) {
        self.division.written(blocks);
    }

    fn read_past(&mut self, at: Extent<Lba>) {
        if self.reads_count {
            self.division.passed(at);
        }
    }

    fn written_past(&mut self, at: Extent<Lba>) {
        self.division.passed(at);
    }

    fn gone(&mut self, frame: u32, lba: Lba, was_dirty: bool) {
        if self.stays(frame) {
            self.order.removed(frame);
            if was_dirty {
                self.division.gone(lba);
            }
        }
    }

    fn freed(&mut self, frame: u32) {
        self.free.insert(frame);
    }

    fn recovered(&mut self, frames: &Frames) {
        self.order.clear();
        self.division.clear();
        for frame in 0..frames.count() {
            let Some(lba) = frames.owner(frame) else {
                self.free.insert(frame);
                continue;
            };
            self.order.inserted(frame, lba);
            if frames.is_dirty(frame) {
                self.division.dirtied(lba);
            }
        }
    }

    fn check(&self, frames: &Frames, leaving: &[(Lba, u32)]) -> Result<(), Violation> {
        self.order.check()?;
        let staying = || (0..frames.count()).filter(|&frame| self.stays(frame));
        let mut dirty = staying().filter(|&frame| frames.is_dirty(frame)).filter_map(|frame| frames.owner(frame));
        self.division.check(&mut dirty)?;
        let is_wrong = |frame: &u32| self.order.queues().may_leave(*frame) != may_leave(&self.division, *frame, frames);
        if let Some(frame) = staying().find(is_wrong) {
            return Err(Violation(format!("whether the block in frame {frame} may leave is not what its region says")));
        }
        for frame in 0..frames.count() {
            let (is_cached, is_free) = (frames.owner(frame).is_some(), frames.is_free(frame));
            if (!is_cached && self.stays(frame)) || is_free != self.free.contains(frame) {
                return Err(Violation(format!("frame {frame} is listed as what it is not")));
            }
        }
        let (stay, leave, free) = (self.order.queues().total(), leaving.len() as u32, self.free.count());
        let adds_up = (stay + leave, free) == (frames.live(), frames.count() - frames.live() - frames.pending());
        if adds_up && leaving.iter().all(|&(_, frame)| !self.stays(frame)) {
            return Ok(());
        }
        Err(Violation(format!("{stay} frames in queues, {leave} that leave and {free} free do not add up")))
    }

    fn make_room(cache: &mut FlashCache<Self>, at: Extent<Lba>) {
        if cache.policy.division.is_flushed_whole() {
            Self::flush(cache);
        } else {
            let wanted = cache.uncached(at).blocks;
            Self::evict(cache, wanted);
        }
    }

    fn all_leave(&mut self, leaving: &[(Lba, u32)]) {
        leaving.iter().for_each(|&(lba, frame)| self.choose(frame, lba, true));
    }

    fn make_room_ahead(cache: &mut FlashCache<Self>, room: u64) {
        let Some(there) = cache.policy.room(&cache.frames) else { return };
        let short = room.saturating_sub(there.into()).min(cache.step.blocks().into());
        if short > 0 {
            Self::evict(cache, short as u32);
        }
    }

    fn room(&self, frames: &Frames) -> Option<u32> {
        (!self.division.is_flushed_whole()).then(|| self.free.count() + frames.pending())
    }

    fn after_read(cache: &mut FlashCache<Self>, plan: &mut Plan) {
        let policy = &cache.policy;
        let short = policy.read_reserve.saturating_sub(policy.free.count() + cache.frames.pending());
        if short > 0 {
            Self::evict(cache, short);
            cache.write_back(plan);
        }
    }
}
