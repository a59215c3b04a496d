//! `static-sets`: a write-back cache on flash in sets that serve fixed bands; a full set is written home whole.
//!
//! Source: the baseline "Skylight" of the PORE reproduction report (§6, after Skylight, ACM TOS 2015): the flash is
//! mapped statically to regions of the disk, and when a set is full all that is in it is reclaimed, so that what
//! belongs together is written together.
//!
//! The frames are cut into `sets` sets of equal length. Block `b` belongs to band `b / band_blocks`, and band `n` to
//! set `n` mod their number. A block that is not cached takes a free frame of its set, or the frame of the clean block
//! that came to the set first. When a set has only dirty blocks it is full, and a write that needs one of its frames
//! has to wait until *all* of them are written home, band by band in order of block number, and given up.
//!
//! # State
//! - durable: that of every flash cache (`flash_cache/`);
//! - soft: the order in which clean blocks came. None survives a crash.
//!
//! # Invariants
//! - those of every flash cache;
//! - a block lies in a frame of its set;
//! - each set's free set holds exactly its free frames, its list exactly the frames of clean blocks; its dirty ones are
//!   counted right.
//!
//! # Decisions where the report is silent
//! - *How many sets* (`sets`): 16, and no more than there are frames. Frames left over, fewer than sets, are not used.
//! - *What a band is* (`band_blocks`): 7680 blocks, 30 MiB of 4 KiB blocks, in the middle of what was measured inside
//!   drives; the bands of the disk behind may have other lengths.
//! - *Which set is written home*: the full one; what its steps write is known when the first begins.
//! - *Clean blocks* (`read_allocate`): in the report's simulator reads do not insert. Here they do, but only where no
//!   dirty block has to leave, and clean blocks give way to any other: so reads move no write home earlier.
//! - *Idle time* is not used.

use super::flash_cache::config::CacheConfig;
use super::flash_cache::frames::Frames;
use super::flash_cache::{FREE_RUNS, FlashCache, Policy};
use crate::below::BelowConfig;
use crate::parts::free_slots::FreeSlots;
use crate::parts::recency::RecencyList;
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::block::{Extent, Lba, unit_and_offset};
use imbrex_core::config::Configuration;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

/// What is known of this layer.
pub const INFO: LayerInfo = LayerInfo {
    name: "static-sets",
    family: Some(Family::Ssd),
    source: "the baseline Skylight of the PORE report",
    summary: "Bands are mapped to sets of flash frames; a set that is full of dirty blocks is written home whole.",
    recording: Recording::Cached,
    buffered: true,
    fields: StaticSetsConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Debug, Configuration)]
struct StaticSetsConfig {
    #[field(flatten)]
    cache: CacheConfig,
    /// sets the cache is cut into, at most one for each frame
    #[field(default = 16, samples = [16, 1, 2, 3])]
    sets: u32,
    /// blocks of a band; band n belongs to set n mod sets
    #[field(default = 7680, samples = [7680, 1, 10])]
    band_blocks: u32,
    #[field(flatten)]
    below: BelowConfig,
}

fn build(space: &Space, config: &toml::Table) -> Result<FlashCache<StaticSets>, ConfigError> {
    let StaticSetsConfig { cache, sets, band_blocks, .. } = INFO.read(config)?;
    if sets == 0 || band_blocks == 0 {
        let reason = "sets and band_blocks must be at least 1".to_owned();
        return Err(ConfigError::Field { layer: INFO.name, reason });
    }
    FlashCache::new(&INFO, space, cache, |frames| StaticSets::new(frames, sets.min(frames), band_blocks))
}

/// The frames that serve some bands, numbered from the first of them.
struct Set {
    free: FreeSlots,
    /// Frames of clean blocks, in the order in which they came.
    clean: RecencyList,
    dirty: u32,
}

struct StaticSets {
    sets: Vec<Set>,
    /// Frames of each set.
    length: u32,
    band_blocks: u32,
}

impl StaticSets {
    fn new(frames: u32, sets: u32, band_blocks: u32) -> Self {
        let length = frames / sets;
        let set = |_| Set { free: FreeSlots::all(length), clean: RecencyList::new(length), dirty: 0 };
        Self { sets: (0..sets).map(set).collect(), length, band_blocks }
    }

    /// The number of a block's set.
    #[inline]
    fn set_of(&self, lba: Lba) -> u32 {
        (lba.0 / u64::from(self.band_blocks) % self.sets.len() as u64) as u32
    }

    /// The set a frame is in, and its number there.
    #[inline]
    fn set_with(&mut self, frame: u32) -> Option<(&mut Set, u32)> {
        let (set, local) = unit_and_offset(u64::from(frame), self.length);
        Some((self.sets.get_mut(set as usize)?, local))
    }

    fn check_set(&self, number: u32, frames: &Frames) -> Result<(), Violation> {
        let set = &self.sets[number as usize];
        let mut counted = (0, 0, 0);
        for local in 0..self.length {
            let frame = number * self.length + local;
            let (owner, is_dirty, is_free) = (frames.owner(frame), frames.is_dirty(frame), frames.is_free(frame));
            let is_clean = owner.is_some() && !is_dirty;
            if (is_clean, is_free) != (set.clean.contains(local), set.free.contains(local)) {
                return Err(Violation(format!("frame {frame} is not listed as what it is in set {number}")));
            }
            if owner.is_some_and(|lba| self.set_of(lba) != number) {
                return Err(Violation(format!("frame {frame} of set {number} holds {owner:?} of another")));
            }
            counted.0 += u32::from(is_free);
            counted.1 += u32::from(is_clean);
            counted.2 += u32::from(is_dirty);
        }
        if counted == (set.free.count(), set.clean.len(), set.dirty) {
            return Ok(());
        }
        Err(Violation(format!("set {number} has {counted:?} free, clean and dirty frames, and counts otherwise")))
    }
}

impl Policy for StaticSets {
    fn memory(&self) -> Memory {
        let sets = self.sets.iter().map(|set| set.free.memory() + set.clean.memory()).sum();
        Memory::of::<Set>(self.sets.len() as u64) + sets
    }

    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let set = self.set_of(run.start);
        let (local, blocks) = self.sets[set as usize].free.first_fit(self.siblings(run), FREE_RUNS)?;
        Some((set * self.length + local, blocks))
    }

    fn gives_way(&mut self, lba: Lba, _frames: &Frames) -> Option<u32> {
        let set = self.set_of(lba);
        Some(set * self.length + self.sets[set as usize].clean.oldest()?)
    }

    /// None is free or clean, so what is not dirty is pending.
    fn is_coming(&self, lba: Lba, _frames: &Frames) -> bool {
        self.sets[self.set_of(lba) as usize].dirty < self.length
    }

    fn may_hold(&self, frame: u32, lba: Lba) -> bool {
        frame / self.length == self.set_of(lba)
    }

    /// To the end of the band.
    fn siblings(&self, run: Extent<Lba>) -> u32 {
        let offset = run.start.0 % u64::from(self.band_blocks);
        run.blocks.min(self.band_blocks - offset as u32)
    }

    fn hold(&mut self, frame: u32, _lba: Lba) {
        if let Some((set, local)) = self.set_with(frame) {
            set.free.remove(local);
            set.clean.push(local);
        }
    }

    fn dirtied(&mut self, frame: u32, _lba: Lba) {
        if let Some((set, local)) = self.set_with(frame) {
            set.clean.remove(local);
            set.dirty += 1;
        }
    }

    fn gone(&mut self, frame: u32, _lba: Lba, _was_dirty: bool) {
        if let Some((set, local)) = self.set_with(frame) {
            if set.clean.contains(local) {
                set.clean.remove(local);
            } else {
                set.dirty -= 1;
            }
        }
    }

    fn freed(&mut self, frame: u32) {
        if let Some((set, local)) = self.set_with(frame) {
            set.free.insert(local);
        }
    }

    fn recovered(&mut self, frames: &Frames) {
        (0..frames.count()).filter(|&frame| frames.is_free(frame)).for_each(|frame| self.freed(frame));
    }

    fn check(&self, frames: &Frames, _leaving: &[(Lba, u32)]) -> Result<(), Violation> {
        (0..self.sets.len() as u32).try_for_each(|set| self.check_set(set, frames))?;
        match (self.sets.len() as u32 * self.length..frames.count()).find(|&frame| !frames.is_free(frame)) {
            Some(frame) => Err(Violation(format!("frame {frame} is in no set and in use"))),
            None => Ok(()),
        }
    }

    fn make_room(cache: &mut FlashCache<Self>, at: Extent<Lba>) {
        let FlashCache { policy, frames, .. } = cache;
        let first = policy.set_of(at.start) * policy.length;
        let full = first..first + policy.length;
        cache.leaving.extend(full.filter_map(|frame| Some((frames.owner(frame)?, frame))));
        cache.settle_leaving();
    }
}
