//! `tracklace`: interlaced tracks with a buffer on tops that are not allocated, and hot bottom blocks on tops.
//!
//! Source: TrackLace (IEEE TC 2021). Four mechanisms, each with a switch.
//! - *Z-Alloc* (§3.1, §4.1.3) is an order of tracks: bottom tracks, half of the top tracks, half of what is left, and
//!   so on, every second phase the other way.
//! - The *Top-Buffer* (§3.2) takes bottom updates on top tracks that are not allocated, as a log. It is cleaned a track
//!   at a time: what the track holds is read, and written to its homes in their order. While nothing that is buffered
//!   is written again, fewer updates are let in (§4.2).
//! - *Block-Swap* (§3.3) exchanges blocks that cleaning finds hot with cold ones of top tracks, when the disk is so
//!   full that the buffer cannot use all of the map.
//! - *Virtual frames* (§4.1) keep both within a run of tracks.
//!
//! # State
//! - durable: what lies elsewhere than at home, block by block ([`Record::Map`]); lost blocks; which blocks hold
//!   nothing ([`Record::Note`], `trimmed.rs`);
//! - fixed: the order of tracks, frames, and which tracks are logs;
//! - soft: heads and tails of the logs, rates of admission, counts and times of writes, draws, the job under way.
//!
//! # Invariants
//! - entries of the map never exceed the budget, `buffer_percent` of the disk's blocks or `least_entries`;
//! - a block is in a slot, or swapped, or at home; only blocks from bottom tracks are in slots;
//! - swapped blocks come in pairs, one from a bottom track and one from a top track, each at the other's home;
//! - tracks of the logs are not allocated; slots in use lie in the window of their log;
//! - blocks are moved within their frame;
//! - a place on a top track is needed exactly if a block lies there that is neither lost nor holds nothing.
//!
//! # A job
//! Cleaning a track of a log: its blocks are read into RAM, in the order in which they lie, for the order in which they
//! go home. Then, step by step, a run of neighbours is written home, or swapped. What was written since
//! it was read is read again. Each such step is one plan of redo moves, with what the bottom track's neighbours hold.
//!
//! # Decisions where the paper is silent
//! - *What is free* is looked at range by range: a write is a bottom update if it destroys a needed block. Buffered
//!   blocks are needed as others are.
//! - *What is admitted* is a request, by the controller of the frame where it first needs to be.
//! - *Whole tracks* go past the buffer: a write of all blocks of a bottom track is made in place.
//! - *One budget*: entries for the slots that there are belong to the Top-Buffer, and swaps get the rest.
//! - *Where a frame has no entry left* and no track of its own to clean, the track that was begun first is cleaned,
//!   whichever frame's it is.
//! - *The oldest pair* is looked for among all pairs, whatever their frame.
//! - *A cold block that is written* is updated at its place on the bottom track. The second time without a write of the
//!   hot one between, the pair is exchanged back with that write. Neighbours that were swapped together are written
//!   together.
//! - *Cold tracks* count writes at home, one for each stretch of a request; `halve_after` lets counts age.
//! - *A virtual log* is that of a frame with no track to buffer on. It notes blocks as they are updated in place.
//! - *Idle time* cleans until a part of each log is empty (`idle_free`), so that writes seldom wait for a track. When
//!   cleaning is asked for, the logs are emptied.

mod admission;
mod check;
mod clean;
mod cold;
mod config;
mod content;
pub mod counters;
mod forget;
mod frames;
mod job;
mod records;
mod relocation;
mod swap;
#[cfg(test)]
mod tests;
mod trimmed;
mod write;

use crate::interlaced::in_place_tracks::Places;
use crate::parts::block_map::BlockMap;
use crate::parts::lost::LostBlocks;
use crate::{ConfigError, Family, LayerInfo};
use cold::Cold;
use config::{TracklaceConfig, Valid};
use forget::Forgotten;
use frames::{Frames, from_start};
use imbrex_core::block::{Address, Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Occupancy, Pressure, Standing, Step, TranslationLayer, UnitReport, Unwritten,
    Violation, Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;
use imbrex_core::tracks::{Side, Track};
use job::Job;
use relocation::{Lies, Relocations};
use trimmed::Trimmed;
use write::Asked;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "tracklace",
    family: Some(Family::Interlaced),
    source: "TrackLace (IEEE TC 2021)",
    summary: "Free top tracks buffer bottom updates, and hot bottom blocks change places with cold top blocks.",
    recording: Recording::Interlaced,
    buffered: false,
    fields: TracklaceConfig::FIELDS,
    make: &|space, config| Ok(Box::new(TrackLace::new(space, config)?)),
};

/// Whose writes are counted, and what the swaps need.
struct Swaps {
    cold: Cold,
    /// By slot: when its block was last written, and how often since it came.
    written: Vec<u64>,
    hits: Vec<u32>,
    /// The slot of each block that a virtual log has.
    noted: BlockMap,
}

struct TrackLace {
    config: TracklaceConfig,
    places: Places,
    frames: Frames,
    moved: Relocations,
    lost: LostBlocks,
    trimmed: Trimmed,
    forgotten: Forgotten,
    swaps: Option<Swaps>,
    /// Requests so far.
    clock: u64,
    asked: Asked,
    job: Job,
}

/// Where things lie in RAM: first the track that is being cleaned, then what a bottom update saves.
struct Ram {
    saved: u64,
    hot: Pba,
    cold: Pba,
    /// A block that is freed to learn that a trim is durable.
    mark: Pba,
    blocks: u32,
}

impl TrackLace {
    fn new(space: &Space, table: &toml::Table) -> Result<Self, ConfigError> {
        let config: TracklaceConfig = INFO.read(table)?;
        config.check(INFO.name)?;
        let mut places = Places::new(&INFO, &config.order(), space, &config.tracks, None)?;
        places.ruled = config.valid == Valid::Allocated;
        let tracks = *places.order.tracks();
        let percent = config.budget_percent(tracks.interlaced_blocks());
        let budget = (tracks.interlaced_blocks() as f64 * percent / 100.0) as u64;
        let unallocated = tracks.interlaced_blocks() - places.capacity;
        let swaps = config.swap && (unallocated as f64) < tracks.interlaced_blocks() as f64 * percent / 100.0;
        let virtually = swaps.then_some(percent);
        let most = budget / u64::from(tracks.top_blocks);
        let frames = Frames::new(&places, &config, most, virtually);
        let (slots, all_slots) = frames.slots();
        let pairs = if swaps { (budget.saturating_sub(slots) / 2).min(u64::from(u32::MAX)) as u32 } else { 0 };
        let moved = Relocations::new(places.capacity, slots, pairs, budget);
        let Some(moved) = moved.filter(|_| all_slots < u64::from(BlockMap::PLACES)) else {
            let reason = "its buffer has more places than can be numbered; choose a smaller buffer_percent".to_owned();
            return Err(ConfigError::Space { layer: INFO.name, reason });
        };
        let swaps = (pairs > 0).then(|| Swaps {
            cold: Cold::new(&frames, &places, config.halve_after, config.seed),
            written: vec![0; all_slots as usize],
            hits: vec![0; all_slots as usize],
            noted: BlockMap::new(places.capacity, (all_slots - slots) as u32),
        });
        Ok(Self {
            trimmed: Trimmed::new(places.capacity, config.valid == Valid::Written),
            config,
            job: Job::new(tracks.top_blocks),
            places,
            frames,
            moved,
            lost: LostBlocks::default(),
            forgotten: Forgotten::default(),
            swaps,
            clock: 0,
            asked: Asked::default(),
        })
    }

    fn ram(&self) -> Ram {
        let top_blocks = u64::from(self.places.order.tracks().top_blocks);
        let after = |tracks: u64| Pba::ram(tracks * top_blocks);
        Ram { saved: top_blocks, hot: after(3), cold: after(4), mark: after(5), blocks: 5 * top_blocks as u32 + 1 }
    }

    /// Neighbours that change places at a time, at most: half as many as are updated, since each is two blocks written.
    fn most_swapped(&self) -> u32 {
        let longest = self.places.update_blocks.min(self.places.order.tracks().bottom_blocks);
        (longest / 2).clamp(1, self.places.order.tracks().top_blocks)
    }

    /// The track of a block's home and the offset there.
    fn home(&self, lba: Lba) -> (Track, u32) {
        self.places.locate(lba)
    }

    /// Where a block's home is.
    fn home_place(&self, lba: Lba) -> Pba {
        let (track, offset) = self.home(lba);
        self.places.block(track, offset)
    }

    /// Where a block lies.
    fn place(&self, lba: Lba) -> Pba {
        match self.moved.lies(lba) {
            None => self.home_place(lba),
            Some(Lies::Slot(slot)) => self.frames.place_of(slot),
            Some(Lies::Swapped(pair)) => self.home_place(self.moved.pair(pair).partner(lba)),
        }
    }

    /// The frame of a block's home.
    fn frame(&self, lba: Lba) -> u32 {
        self.frames.frame_of(self.home(lba).0)
    }

    /// Whether the home of the block is on a top track.
    fn is_top(&self, lba: Lba) -> bool {
        self.home(lba).0.side == Side::Top
    }

    /// Plans a read of blocks that lie at `from` and behind.
    fn read_run(&self, at: Extent<Lba>, from: Pba, host: u32, plan: &mut Plan) {
        if !self.lost.any(at) && !self.trimmed.any(at) {
            plan.copy(Place::At(from), Place::Host(host), at.blocks, Why::Host);
            return;
        }
        for (i, lba) in (0..).zip(at.iter()) {
            let from = if self.trimmed.contains(lba) {
                Place::Zero
            } else if self.lost.any(Extent::new(lba, 1)) {
                Place::Lost
            } else {
                Place::At(from.plus(u64::from(i)))
            };
            plan.copy(from, Place::Host(host + i), 1, Why::Host);
        }
    }
}

impl TrackLace {
    fn memory(&self) -> Memory {
        let of_swaps = |swaps: &Swaps| {
            let slots = Memory::room::<u64>(swaps.written.len() as u64) + Memory::room::<u32>(swaps.hits.len() as u64);
            swaps.cold.memory() + slots + swaps.noted.memory()
        };
        let swaps = self.swaps.as_ref().map_or_else(Memory::default, of_swaps);
        let known = self.moved.memory() + self.trimmed.memory() + self.forgotten.memory() + self.job.memory();
        let needed = self.places.needed.memory(self.places.order.tracks().blocks());
        self.places.memory() + needed + self.frames.memory() + known + swaps
    }

    fn most_redo_blocks(&self) -> u32 {
        let swapped = self.most_swapped();
        let of_swap = self.swaps.as_ref().map_or(0, |_| self.places.redo_blocks(swapped) + swapped);
        self.places.most_redo_blocks().max(of_swap)
    }

    fn occupancy(&self) -> Option<Occupancy> {
        let (_, buffered, budget) = self.moved.entries();
        Some(Occupancy { used: u64::from(buffered), blocks: self.frames.slots().0.min(budget) })
    }
}

impl TranslationLayer for TrackLace {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.memory(),
            ram_blocks: self.ram().blocks,
            unwritten: if self.config.valid == Valid::Written { Unwritten::Zeros } else { Unwritten::OldContent },
            journal: JournalFacts {
                redo_blocks: self.most_redo_blocks(),
                remedy: "a smaller update_blocks or buffer_percent, or trim = false",
                records: self.records(),
                ..JournalFacts::default()
            },
            counters: counters::ALL,
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.places.capacity
    }

    fn standing(&self) -> Standing {
        Standing { occupancy: self.occupancy(), ..Standing::default() }
    }

    fn prefetch(&self, ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        let of = |lba| self.moved.prefetch(lba) ^ self.places.prefetch(lba);
        ahead.iter().fold(0, |sum, request| sum ^ of(request.at.start))
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let (mut rest, mut hits) = (at, 0);
        while !rest.is_empty() {
            let host = at.blocks - rest.blocks;
            let (run, from) = match self.moved.lies(rest.start) {
                None => {
                    let (run, track, offset) = self.places.run(rest);
                    (self.moved.at_home(run), self.places.block(track, offset))
                }
                Some(lies) => {
                    hits += u32::from(matches!(lies, Lies::Slot(_)));
                    (rest.first(1), self.place(rest.start))
                }
            };
            self.read_run(run, from, host, plan);
            rest = rest.skip(run.blocks);
        }
        plan.count(Event::ReadHit, hits);
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        self.write_request(at, plan)
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if self.config.trim { self.forget(at, plan) } else { at.blocks }
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            Pressure::Blocked(at) => self.make_room(at.start, plan),
            Pressure::Asked => self.empty_logs(plan),
            Pressure::Idle { .. } => self.clean_ahead(plan),
            Pressure::Ahead { .. } => self.go_on(plan).unwrap_or(Step::Nothing),
        }
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        if space.start.device() == Pba::DISK {
            self.places.needed.settle(space.start.block(), space.blocks);
        } else {
            self.forgotten.mark_is_free(&mut self.places.needed);
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.apply_record(record)
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        self.begin_life()
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        self.checkpoint_region(Lba(from), plan)
    }

    fn contents(&self) -> Option<Contents> {
        Some(self.count_contents())
    }

    fn check(&self) -> Result<(), Violation> {
        self.check_all()
    }
}
