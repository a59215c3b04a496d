//! `band-cache`: a write-back cache of blocks on flash that uses as few frames as pay, writes dirty blocks home by units
//! of the disk in idle time, and has nothing to set.
//!
//! Source: this project. The caches of the papers fill the flash and write back what a write waits for; which of their
//! settings is best differs from workload to workload.
//!
//! # Why few frames
//! Flash erases many pages at a time and copies what still counts. Where as many of its pages change as there may be,
//! each page written costs several. So a frame is worth its block only if that is read again before the flash has been
//! written a good part of once: copies of what was read are made for blocks that come back so soon, and, where few frames
//! are in use, for others as long as enough of them do; they leave when they do not (`copies`). For the same reason idle time writes dirty blocks home until most
//! frames are without one (`ahead`), and blocks take the lowest free frames. Where blocks are seldom written again they
//! take the frames in turn instead: what was written together dies together, and leaves together unless units hold much
//! more.
//!
//! # Which dirty blocks leave
//! Those of the heaviest units (`units`), as zones do in `zone-ages`: many blocks that have been left alone for long.
//! A write that waits goes on after each step, not when all of them have left. The longer there was no idle time, the
//! more leave together (`pace`).
//!
//! # What goes past
//! Streams and long runs (`past`): flash writes them block by block, a disk in about the time of one.
//!
//! # How flash and disk compare
//! All three go by the pages that flash programs in the time of a seek. Before a disk that rewrites a zone for each write
//! nothing goes past, and little leaves in idle time.
//!
//! # State
//! - durable: that of every flash cache (`flash_cache/`);
//! - soft: when blocks were used, what was read from home, averages, credit, the stream, the next frame. After a crash the
//!   dirty blocks count as used at once.
//!
//! # Invariants
//! - those of every flash cache;
//! - the free set holds exactly the free frames, the order of clean blocks exactly theirs;
//! - the sums of a unit are those of its dirty blocks; it is listed if it has any.

mod ahead;
mod copies;
mod pace;
mod past;
mod units;

use super::flash_cache::config::CacheConfig;
use super::flash_cache::frames::Frames;
use super::flash_cache::{FREE_RUNS, FlashCache, Policy};
use crate::below::BelowConfig;
use crate::parts::free_slots::FreeSlots;
use crate::{ConfigError, Family, LayerInfo};
use ahead::Ahead;
use copies::Copies;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::config::Configuration;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::recording::Recording;
use imbrex_core::space::{HomeCosts, Space};
use pace::Pace;
use past::Past;
use units::Units;

/// What is known of this layer.
pub const INFO: LayerInfo = LayerInfo {
    name: "band-cache",
    family: Some(Family::Ssd),
    source: "this project",
    summary: "Blocks are cached on flash, as few as pay; dirty ones leave by parts of the disk that were left alone.",
    recording: Recording::Cached,
    buffered: true,
    fields: BandCacheConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Debug, Configuration)]
struct BandCacheConfig {
    #[field(flatten, paper(read_allocate = true))]
    cache: CacheConfig,
    #[field(flatten, paper(flash_layer = "page-ftl"))]
    below: BelowConfig,
}

fn build(space: &Space, config: &toml::Table) -> Result<FlashCache<BandCache>, ConfigError> {
    let BandCacheConfig { cache, .. } = INFO.read(config)?;
    let (blocks, costs) = space.home.map_or_else(Default::default, |home| (home.blocks, home.costs));
    FlashCache::new(&INFO, space, cache, |frames| BandCache::new(blocks, frames, costs))
}

/// The part of a step that blocks are which leave together, so that what is left of the last unit needs no step of its
/// own. The write that waits for them goes on after each step.
const STEP: u32 = 2;
/// Writes over which hits are averaged.
const WRITES: u32 = 1024;
/// What a hit counts.
const HIT: u32 = 64;
/// Below that hits are rare: a quarter of all blocks written.
const RARE: u32 = HIT * WRITES / 4;

/// Dirty blocks of a unit, on average, from which on units are worth the holes that they leave.
const MANY: u32 = 4;

/// Flash that programs 11 pages while a disk comes to a block.
#[cfg(test)]
const SLOW: HomeCosts = HomeCosts { seek_pages: 11, rewrites: false };

/// Any block takes any frame; few frames are used, and dirty blocks leave by units.
struct BandCache {
    free: FreeSlots,
    /// The frame behind the one that was taken last.
    next: u32,
    /// How many of the blocks written were in the cache.
    hits: u32,
    copies: Copies,
    units: Units,
    past: Past,
    ahead: Ahead,
    pace: Pace,
}

/// The frames with dirty blocks, and these, in the order of the frames from `first` on.
fn dirty_from(frames: &Frames, first: u32) -> impl Iterator<Item = (u32, Lba)> {
    let dirty = (first..frames.count()).chain(0..first).filter(|&frame| frames.is_dirty(frame));
    dirty.filter_map(|frame| Some((frame, frames.owner(frame)?)))
}

fn dirty(frames: &Frames) -> impl Iterator<Item = (u32, Lba)> {
    dirty_from(frames, 0)
}

impl BandCache {
    fn new(blocks: u64, frames: u32, costs: HomeCosts) -> Self {
        Self {
            free: FreeSlots::all(frames),
            next: 0,
            hits: 0,
            copies: Copies::new(frames, costs),
            units: Units::new(frames, blocks),
            past: Past::new(costs),
            ahead: Ahead::new(frames, costs),
            pace: Pace::new(frames),
        }
    }

    /// Frames that are free, about to be, or of clean blocks.
    fn there(&self, frames: &Frames) -> u32 {
        self.free.count() + frames.pending() + self.copies.len()
    }

    /// Whether blocks are seldom written again.
    fn is_rare(&self) -> bool {
        self.hits < RARE
    }

    /// Whether blocks leave in the order of the frames.
    fn is_in_turn(&self) -> bool {
        self.is_rare() && !self.pace.is_behind() && self.units.dirty() < MANY.saturating_mul(self.units.held())
    }

    /// Lets the next blocks leave, or the heaviest units.
    fn evict(cache: &mut FlashCache<Self>) {
        let FlashCache { policy, frames, .. } = cache;
        let mut leaving = std::mem::take(&mut cache.leaving);
        let wanted = policy.pace.together();
        policy.units.settle(|| dirty(frames));
        if policy.is_in_turn() {
            let oldest = dirty_from(frames, policy.next).take(wanted as usize);
            leaving.extend(oldest.map(|(frame, lba)| (lba, frame)));
        } else {
            policy.units.choose(wanted);
            leaving.extend(cache.policy.units.chosen().flat_map(|unit| cache.dirty(unit)));
        }
        leaving.sort_unstable();
        cache.leaving = leaving;
    }
}

impl Policy for BandCache {
    fn memory(&self) -> Memory {
        self.free.memory() + self.copies.memory() + self.units.memory()
    }

    /// The lowest frames, so that few of them change, or the next ones where blocks are seldom written again.
    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let next = if self.is_rare() { self.free.next_fit(self.next, run.blocks, FREE_RUNS) } else { None };
        next.or_else(|| self.free.first_fit(run.blocks, FREE_RUNS))
    }

    fn gives_way(&mut self, _lba: Lba, _frames: &Frames) -> Option<u32> {
        self.copies.oldest()
    }

    fn is_coming(&self, _lba: Lba, frames: &Frames) -> bool {
        frames.pending() > 0
    }

    fn siblings(&self, run: Extent<Lba>) -> u32 {
        run.blocks
    }

    fn hold(&mut self, frame: u32, _lba: Lba) {
        self.free.remove(frame);
        self.next = frame + 1;
        self.units.tick();
        self.copies.written();
        self.copies.add(frame);
    }

    fn dirtied(&mut self, frame: u32, lba: Lba) {
        self.copies.remove(frame);
        self.units.add(frame, lba);
    }

    fn read(&mut self, frame: u32, lba: Lba) {
        self.units.tick();
        if !self.copies.contains(frame) {
            self.units.renew(frame, lba);
        }
        self.copies.read(lba, frame);
    }

    fn updated(&mut self, frame: u32, lba: Lba) {
        self.units.tick();
        self.units.renew(frame, lba);
        self.copies.written();
        self.hits += HIT;
    }

    fn written(&mut self, blocks: u32) {
        (0..blocks).for_each(|_| self.hits -= self.hits / WRITES);
    }

    fn before_write(cache: &mut FlashCache<Self>, at: Extent<Lba>) {
        cache.policy.past.written(at);
        while let Some(stale) = cache.policy.copies.stale() {
            cache.drop_clean(stale);
        }
    }

    fn goes_past(&self, run: Extent<Lba>) -> bool {
        self.past.takes(run.blocks)
    }

    fn is_admitted(&mut self, run: Extent<Lba>) -> bool {
        self.copies.admit(run, self.free.count())
    }

    fn gone(&mut self, frame: u32, lba: Lba, was_dirty: bool) {
        if was_dirty {
            self.units.remove(frame, lba);
        } else {
            self.copies.remove(frame);
        }
    }

    fn freed(&mut self, frame: u32) {
        self.free.insert(frame);
    }

    /// Clean blocks are in no record, so whatever is there is dirty.
    fn recovered(&mut self, frames: &Frames) {
        self.copies.clear();
        self.units.clear();
        self.past.clear();
        self.pace.rests();
        (self.next, self.hits) = (0, 0);
        for frame in 0..frames.count() {
            match frames.owner(frame) {
                Some(lba) => self.units.add(frame, lba),
                None => self.free.insert(frame),
            }
        }
    }

    fn check(&self, frames: &Frames, _leaving: &[(Lba, u32)]) -> Result<(), Violation> {
        for frame in 0..frames.count() {
            let is_clean = frames.owner(frame).is_some() && !frames.is_dirty(frame);
            if (is_clean, frames.is_free(frame)) != (self.copies.contains(frame), self.free.contains(frame)) {
                return Err(Violation(format!("frame {frame} is listed as what it is not")));
            }
        }
        self.copies.check()?;
        self.units.check(dirty(frames))
    }

    /// What units hold that are chosen, and one more.
    fn most_together(frames: u32) -> u32 {
        frames.min(units::UNIT_BLOCKS + Pace::new(frames).most())
    }

    fn most_leaving(&self) -> u32 {
        STEP * self.pace.together()
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn idle_after_ns(&self, frames: &Frames) -> u64 {
        self.ahead.wait_ns(self.there(frames))
    }

    fn make_room(cache: &mut FlashCache<Self>, _at: Extent<Lba>) {
        cache.policy.pace.waits();
        Self::evict(cache);
    }

    fn make_room_idly(cache: &mut FlashCache<Self>) {
        cache.policy.pace.rests();
        if cache.policy.ahead.is_short(cache.policy.there(&cache.frames)) {
            Self::evict(cache);
        }
    }

    fn make_room_ahead(cache: &mut FlashCache<Self>, room: u64) {
        if u64::from(cache.policy.there(&cache.frames)) < room {
            Self::evict(cache);
        }
    }

    fn room(&self, frames: &Frames) -> Option<u32> {
        Some(self.there(frames))
    }
}
