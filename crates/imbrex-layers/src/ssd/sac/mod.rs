//! `sac`: a write-back cache of blocks on flash that weighs, each time blocks have to leave, whether clean or dirty
//! ones cost less.
//!
//! Source: SAC (Sun and Chai, ASPLOS 2020): its abstract, and what the authors' published research code does. The text
//! of the paper was not at hand.
//!
//! A block is *out of date* when as many blocks were used since as a part of the cache, `recent`, holds: it is not
//! expected back. When no frame is free the layer decides once for many blocks:
//! - *clean*: the coldest `clean_blocks` clean blocks leave, one for each frame that is asked for. That costs a read
//!   for each of them that is not out of date.
//! - *dirty*: of the units of `region_blocks` those with most dirty blocks that are out of date are written home,
//!   whole. That costs a rewrite for each unit and a time for each block.
//!
//! Both costs are divided by how many of the blocks are out of date, since only what these leave is won. The smaller
//! quotient decides; the prices are fields.
//!
//! # State
//! - durable: that of every flash cache (`flash_cache/`);
//! - soft: when blocks were used, which units were written home lately, what was decided. After a crash the dirty
//!   blocks count as used in the order of their frames.
//!
//! # Invariants
//! - those of every flash cache;
//! - the free set holds exactly the free frames, the list of clean blocks exactly their frames;
//! - the dirty frames are in order of their use until they are known to be out of date;
//! - each unit's dirty blocks are counted right, those known to be out of date too, and so are those that are leaving.
//!
//! # Decisions where the source is silent, or cannot be followed
//! - *What is a use*: the coming of a block, a write, and a read unless `reads_count` says otherwise.
//! - *A unit that was written home rests* for the next `rest_periods` times, since what it left may still lie in the
//!   disk's buffer. The code counts the rest down at decisions, and starts it for units that it then leaves alone; here
//!   only what was written home rests, and only while others have dirty blocks.
//! - *Where there are only clean or only dirty blocks* nothing is weighed. What is decided holds until it is done;
//!   clean blocks that have all become dirty meanwhile end it.
//! - *In which order*: a unit's blocks leave in order of block number, unit after unit, in steps of `step_blocks`; in
//!   the code the coldest leave first. All of them leave either way.
//! - *A read does not wait for a frame*. One that finds none though dirty blocks are to leave is read past the cache,
//!   and lets the first step of them leave; each read after it that was not all cached does the same with the next one.
//! - *Idle time* goes on with what is leaving.

mod units;
mod uses;

use super::flash_cache::config::CacheConfig;
use super::flash_cache::frames::Frames;
use super::flash_cache::replaced::config::Reads;
use super::flash_cache::{FREE_RUNS, FlashCache, Policy};
use crate::below::BelowConfig;
use crate::parts::free_slots::FreeSlots;
use crate::parts::recency::RecencyList;
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::config::Configuration;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;
use units::{Cost, MOST_UNITS, Units};
use uses::Uses;

/// What is known of this layer.
pub const INFO: LayerInfo = LayerInfo {
    name: "sac",
    family: Some(Family::Ssd),
    source: "SAC (ASPLOS 2020), after its abstract and the authors' published code",
    summary: "Blocks are cached on flash; whether clean or dirty ones leave is weighed by what that costs the disk.",
    recording: Recording::Cached,
    buffered: true,
    fields: SacConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Clone, Debug, Configuration)]
struct SacConfig {
    /// blocks of a unit that is written home whole, about as many as the disk's shortest band has
    #[field(default = 5120, samples = [5120, 1, 10, 64])]
    region_blocks: u32,
    /// blocks of the units written home together, at least one unit; 0: a quarter of the frames
    #[field(default = 0, samples = [0, 1, 20, 200])]
    period_blocks: u32,
    /// clean blocks that leave before it is weighed again; 0: an 80th of the frames
    #[field(default = 0, samples = [0, 1, 3, 1000])]
    clean_blocks: u32,
    /// uses after which a block is out of date, as a part of the frames; at most 1000
    #[field(default = 0.8, samples = [0.8, 0.0, 0.2, 3.0])]
    recent: f64,
    /// how many times other units are written home before one is again
    #[field(default = 2, samples = [2, 0, 1])]
    rest_periods: u32,
    /// the price of a read from home, in microseconds
    #[field(default = 14_000, samples = [14_000, 0, 500_000])]
    read_us: u32,
    /// the price of writing a unit home, however much of it, in microseconds
    #[field(default = 435_833, samples = [435_833, 0])]
    rewrite_us: u32,
    /// what each of its blocks adds to that, in microseconds
    #[field(default = 728, samples = [728, 0, 30_000])]
    write_us: u32,
    #[field(flatten, paper(read_allocate = true))]
    cache: CacheConfig,
    #[field(flatten)]
    reads: Reads,
    #[field(flatten, paper(flash_layer = "page-ftl"))]
    below: BelowConfig,
}

fn build(space: &Space, config: &toml::Table) -> Result<FlashCache<Sac>, ConfigError> {
    let config: SacConfig = INFO.read(config)?;
    let wrong = |reason: String| Err(ConfigError::Field { layer: INFO.name, reason });
    let blocks = space.home.map_or(0, |home| home.blocks);
    if config.region_blocks == 0 || blocks.div_ceil(config.region_blocks.into()) > MOST_UNITS {
        let least = blocks.div_ceil(MOST_UNITS).max(1);
        return wrong(format!("region_blocks must be at least {least}, so that there are at most {MOST_UNITS} units"));
    }
    if !(0.0..=1000.0).contains(&config.recent) {
        return wrong("recent is a part of the frames, between 0 and 1000".to_owned());
    }
    FlashCache::new(&INFO, space, config.cache.clone(), |frames| Sac::new(config, blocks, frames))
}

/// What was decided.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing yet.
    Open,
    /// How many clean blocks leave.
    Clean(u32),
    /// The open units are written home.
    Dirty,
    /// How many dirty blocks of them are still to be written.
    Leaving(u32),
}

/// Any block takes any frame; clean blocks or units of dirty ones leave, whichever costs less.
struct Sac {
    config: SacConfig,
    free: FreeSlots,
    /// Frames of clean blocks, from the least to the most recently used one.
    clean: RecencyList,
    units: Units,
    uses: Uses,
    phase: Phase,
}

impl Sac {
    fn new(mut config: SacConfig, blocks: u64, frames: u32) -> Self {
        if config.clean_blocks == 0 {
            config.clean_blocks = (frames / 80).max(1);
        }
        let period = if config.period_blocks == 0 { frames / 4 } else { config.period_blocks };
        let most_open = (period / config.region_blocks).max(1);
        Self {
            free: FreeSlots::all(frames),
            clean: RecencyList::new(frames),
            units: Units::new(config.region_blocks, blocks, most_open, config.rest_periods, frames),
            uses: Uses::new(frames, (f64::from(frames) * config.recent) as u64),
            phase: Phase::Open,
            config,
        }
    }

    /// The block in `frame` is used.
    #[inline]
    fn touch(&mut self, frame: u32, lba: Lba) {
        if self.uses.used(frame) {
            self.units.forget_out_of_date(lba);
        }
        if self.clean.contains(frame) {
            self.clean.renew(frame);
        }
    }

    /// Decides what leaves next, if that is open.
    fn decide(&mut self, frames: &Frames) {
        if matches!(self.phase, Phase::Clean(_)) && self.clean.is_empty() {
            self.phase = Phase::Open;
        }
        if self.phase != Phase::Open {
            return;
        }
        let dirty = self.cost_of_dirty(frames);
        self.phase = match (self.cost_of_clean(), dirty) {
            (None, None) => Phase::Open,
            (None, Some(_)) => Phase::Dirty,
            (Some(_), None) => Phase::Clean(self.config.clean_blocks),
            (Some(clean), Some(dirty)) if clean.is_less_than(dirty) => Phase::Clean(self.config.clean_blocks),
            (Some(_), Some(_)) => Phase::Dirty,
        };
    }

    /// What it costs that the coldest clean blocks leave.
    fn cost_of_clean(&self) -> Option<Cost> {
        let mut cost = Cost::default();
        for frame in self.clean.in_order().take(self.config.clean_blocks as usize) {
            if self.uses.is_out_of_date(frame) {
                cost.won += 1;
            } else {
                cost.us += u64::from(self.config.read_us);
            }
        }
        (!self.clean.is_empty()).then_some(cost)
    }

    /// Opens the units that are to be written home next; what that costs.
    fn cost_of_dirty(&mut self, frames: &Frames) -> Option<Cost> {
        while let Some(frame) = self.uses.next_out_of_date() {
            frames.owner(frame).into_iter().for_each(|lba| self.units.note_out_of_date(lba));
        }
        self.units.open();
        self.units.cost(self.config.rewrite_us, self.config.write_us)
    }
}

impl Policy for Sac {
    fn memory(&self) -> Memory {
        self.free.memory() + self.clean.memory() + self.units.memory() + self.uses.memory()
    }

    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)> {
        self.free.first_fit(run.blocks, FREE_RUNS)
    }

    fn gives_way(&mut self, _lba: Lba, frames: &Frames) -> Option<u32> {
        self.decide(frames);
        self.clean.oldest().filter(|_| matches!(self.phase, Phase::Clean(_)))
    }

    fn gave_way(&mut self, _frame: u32, _lba: Lba) {
        if let Phase::Clean(left) = self.phase {
            self.phase = if left > 1 { Phase::Clean(left - 1) } else { Phase::Open };
        }
    }

    fn is_coming(&self, _lba: Lba, frames: &Frames) -> bool {
        frames.pending() > 0
    }

    fn siblings(&self, run: Extent<Lba>) -> u32 {
        run.blocks
    }

    fn hold(&mut self, frame: u32, lba: Lba) {
        self.free.remove(frame);
        self.clean.push(frame);
        self.touch(frame, lba);
    }

    fn dirtied(&mut self, frame: u32, lba: Lba) {
        self.clean.remove(frame);
        self.uses.dirtied(frame);
        self.units.dirtied(lba);
    }

    fn read(&mut self, frame: u32, lba: Lba) {
        if self.config.reads.reads_count {
            self.touch(frame, lba);
        }
    }

    fn updated(&mut self, frame: u32, lba: Lba) {
        self.touch(frame, lba);
    }

    fn gone(&mut self, frame: u32, lba: Lba, was_dirty: bool) {
        if !was_dirty {
            self.clean.remove(frame);
            return;
        }
        if self.uses.gone(frame) {
            self.units.forget_out_of_date(lba);
        }
        self.units.gone(lba);
        if let Phase::Leaving(left) = self.phase {
            self.phase = if left > 1 { Phase::Leaving(left - 1) } else { Phase::Open };
        }
    }

    fn freed(&mut self, frame: u32) {
        self.free.insert(frame);
    }

    /// Clean blocks are in no record, so whatever is there is dirty.
    fn recovered(&mut self, frames: &Frames) {
        self.phase = Phase::Open;
        self.clean.clear();
        self.uses.clear();
        self.units.clear();
        for frame in 0..frames.count() {
            if let Some(lba) = frames.owner(frame) {
                self.units.dirtied(lba);
                self.uses.dirtied(frame);
                self.touch(frame, lba);
            } else {
                self.free.insert(frame);
            }
        }
    }

    fn check(&self, frames: &Frames, leaving: &[(Lba, u32)]) -> Result<(), Violation> {
        for frame in 0..frames.count() {
            let is_clean = frames.owner(frame).is_some() && !frames.is_dirty(frame);
            if (is_clean, frames.is_free(frame)) != (self.clean.contains(frame), self.free.contains(frame)) {
                return Err(Violation(format!("frame {frame} is listed as what it is not")));
            }
        }
        self.uses.check(frames)?;
        let dirty = (0..frames.count()).filter(|&frame| frames.is_dirty(frame));
        self.units.check(dirty.filter_map(|frame| Some((frames.owner(frame)?, self.uses.is_known(frame)))))?;
        let left = if let Phase::Leaving(left) = self.phase { left } else { 0 };
        if left as usize == leaving.len() {
            return Ok(());
        }
        Err(Violation(format!("{} blocks leave, and {left} are counted", leaving.len())))
    }

    /// Lets the open units leave, if that was decided.
    fn make_room(cache: &mut FlashCache<Self>, _at: Extent<Lba>) {
        if cache.policy.phase != Phase::Dirty {
            return;
        }
        let mut leaving = std::mem::take(&mut cache.leaving);
        cache.policy.units.opened().for_each(|unit| leaving.extend(cache.dirty(unit)));
        cache.policy.phase = if leaving.is_empty() { Phase::Open } else { Phase::Leaving(leaving.len() as u32) };
        cache.policy.units.close();
        cache.leaving = leaving;
    }

    fn all_leave(&mut self, leaving: &[(Lba, u32)]) {
        self.phase = if leaving.is_empty() { Phase::Open } else { Phase::Leaving(leaving.len() as u32) };
    }

    fn after_read(cache: &mut FlashCache<Self>, plan: &mut Plan) {
        if cache.policy.phase == Phase::Dirty {
            Self::make_room(cache, Extent::new(Lba(0), 0));
        }
        if !cache.leaving.is_empty() {
            cache.write_back(plan);
        }
    }
}
