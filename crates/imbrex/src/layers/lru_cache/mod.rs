//! `lru-cache`: a write-back cache of blocks on flash; the least recently used block leaves.
//!
//! Source: the plain policy that PORE (MSST 2017, in the reproduction report §3) is plugged into and held against:
//! ordinary least-recently-used replacement, whose dirty victims go to the disk one by one, wherever they belong.
//!
//! A block that is not cached takes any free frame. When none is free, the coldest block leaves: at no cost if it is
//! clean, else together with the next `evict_blocks - 1` coldest ones, the dirty ones among them being written home in
//! order of block number.
//!
//! # State
//! - durable: that of every flash cache (`flash_cache/`);
//! - soft: the recency of blocks. After a crash the dirty ones count as used in the order of their frames.
//!
//! # Invariants
//! - those of every flash cache;
//! - the recency list holds exactly the frames with a block; the free set exactly the free ones.
//!
//! # Decisions where the report is silent
//! - *How many leave at once* (`evict_blocks`): the report's framework evicts block by block (1). More share the way to
//!   the disk and, live, the journal's commit. At most `step_blocks` do.
//! - *A write of several blocks* that blocks finds the victims for as many of its blocks as follow each other uncached:
//!   the same ones that would leave one by one, but written home together.
//! - *What renews a block*: a write; a read too, unless `reads_count` says otherwise.
//! - *Reads allocate* (`read_allocate`), as in the framework; in the report's own simulator they do not. A read does
//!   not wait for a frame, and a frame that a dirty block leaves is not free in the same plan, so reads keep
//!   `read_reserve` frames free for the next read: after one that was not all cached the coldest blocks leave until so
//!   many frames are free or pending. With 0 a read takes free frames, and those of clean blocks that are the coldest.
//! - *Which free frame*: the first of the 64 lowest free runs that holds the whole run of new blocks, or else the
//!   lowest.
//! - *Idle time* is not used.

use super::below::{DISK_BUFFER, DISK_CONFIG, DISK_LAYER, FLASH_CONFIG, FLASH_DRIVE, FLASH_LAYER};
use super::flash_cache::config::{CacheConfig, READ_ALLOCATE};
use super::flash_cache::frames::Frames;
use super::flash_cache::{FREE_RUNS, FlashCache, Policy};
use crate::block::{Extent, Lba};
use crate::layer::Violation;
use crate::layers::config::{self, INTERRUPTIBLE, STEP_BLOCKS};
use crate::layers::{ConfigError, Family, Field, LayerInfo};
use crate::parts::free_slots::FreeSlots;
use crate::parts::recency::RecencyList;
use crate::plan::Plan;
use crate::recording::Recording;
use crate::space::Space;

/// What is known of this layer.
pub const INFO: LayerInfo = LayerInfo {
    name: "lru-cache",
    family: Some(Family::Ssd),
    source: "the plain LRU that PORE (MSST 2017) is held against",
    summary: "Blocks are cached on flash; the least recently used one leaves and is written home if it is dirty.",
    recording: Recording::Cached,
    buffered: true,
    fields: &[
        STEP_BLOCKS,
        INTERRUPTIBLE,
        READ_ALLOCATE,
        Field {
            key: "reads_count",
            default: "true",
            meaning: "whether a read makes a block recently used",
            samples: &["true", "false"],
        },
        Field {
            key: "evict_blocks",
            default: "1",
            meaning: "coldest blocks that leave together; at most step_blocks do",
            samples: &["1", "3", "7"],
        },
        Field {
            key: "read_reserve",
            default: "64",
            meaning: "frames that a read leaves free for the next one, at most half of them",
            samples: &["64", "0", "2", "4"],
        },
        FLASH_DRIVE,
        FLASH_LAYER,
        FLASH_CONFIG,
        DISK_LAYER,
        DISK_CONFIG,
        DISK_BUFFER,
    ],
    build: |space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
struct Config {
    #[serde(flatten)]
    cache: CacheConfig,
    reads_count: bool,
    evict_blocks: u32,
    read_reserve: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { cache: CacheConfig::default(), reads_count: true, evict_blocks: 1, read_reserve: 64 }
    }
}

fn build(space: &Space, config: &toml::Table) -> Result<FlashCache<LruCache>, ConfigError> {
    let Config { cache, reads_count, evict_blocks, read_reserve } = config::read(&INFO, config)?;
    if evict_blocks == 0 {
        let reason = "evict_blocks must be at least 1".to_owned();
        return Err(ConfigError::Field { layer: INFO.name, reason });
    }
    let evict_blocks = evict_blocks.min(cache.step_blocks);
    FlashCache::new(&INFO, space, cache, |frames| LruCache {
        free: FreeSlots::all(frames),
        recency: RecencyList::new(frames),
        reads_count,
        evict_blocks,
        read_reserve: read_reserve.min(frames / 2),
    })
}

struct LruCache {
    free: FreeSlots,
    recency: RecencyList,
    reads_count: bool,
    evict_blocks: u32,
    read_reserve: u32,
}

impl LruCache {
    /// How many of the coldest frames leave so that `wanted` are free: a clean one alone, `evict_blocks` from a dirty
    /// one on, and no more than one step of `most`, so that whatever is to leave has left when the step is planned.
    fn leaving(&self, wanted: u32, most: u32, frames: &Frames) -> usize {
        let (mut leaving, mut together, evicted) = (0, 0, self.evict_blocks.min(most));
        for frame in self.recency.in_order() {
            if together == 0 {
                together = if frames.is_dirty(frame) { evicted } else { 1 };
                if leaving >= wanted || leaving + together > most {
                    break;
                }
            }
            together -= 1;
            leaving += 1;
        }
        leaving as usize
    }

    /// Lets the coldest blocks leave until `wanted` frames are free or about to be.
    fn evict(cache: &mut FlashCache<Self>, wanted: u32) {
        let FlashCache { policy, frames, .. } = cache;
        let coldest = policy.recency.in_order().take(policy.leaving(wanted, cache.step.blocks(), frames));
        cache.leaving.extend(coldest.filter_map(|frame| Some((frames.owner(frame)?, frame))));
        cache.settle_leaving();
    }
}

impl Policy for LruCache {
    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)> {
        self.free.first_fit(run.blocks, FREE_RUNS)
    }

    fn gives_way(&self, _lba: Lba, frames: &Frames) -> Option<u32> {
        self.recency.oldest().filter(|&frame| !frames.is_dirty(frame))
    }

    fn is_coming(&self, _lba: Lba, frames: &Frames) -> bool {
        frames.pending() > 0
    }

    fn siblings(&self, run: Extent<Lba>) -> u32 {
        run.blocks
    }

    fn hold(&mut self, frame: u32) {
        self.free.remove(frame);
        self.recency.push(frame);
    }

    fn read(&mut self, frame: u32) {
        if self.reads_count {
            self.recency.renew(frame);
        }
    }

    fn updated(&mut self, frame: u32) {
        self.recency.renew(frame);
    }

    fn gone(&mut self, frame: u32) {
        self.recency.remove(frame);
    }

    fn freed(&mut self, frame: u32) {
        self.free.insert(frame);
    }

    fn recovered(&mut self, frames: &Frames) {
        self.recency.clear();
        for frame in 0..frames.count() {
            if frames.owner(frame).is_some() {
                self.recency.push(frame);
            } else {
                self.free.insert(frame);
            }
        }
    }

    fn check(&self, frames: &Frames) -> Result<(), Violation> {
        for frame in 0..frames.count() {
            let is = (frames.owner(frame).is_some(), frames.is_free(frame));
            if is != (self.recency.contains(frame), self.free.contains(frame)) {
                return Err(Violation(format!("frame {frame} is cached and free as {is:?}, and listed otherwise")));
            }
        }
        let (listed, free) = (self.recency.len(), self.free.count());
        if (listed, free) != (frames.live(), frames.count() - frames.live() - frames.pending()) {
            return Err(Violation(format!("{listed} frames by recency and {free} free do not add up")));
        }
        Ok(())
    }

    fn make_room(cache: &mut FlashCache<Self>, at: Extent<Lba>) {
        let wanted = cache.uncached(at).blocks;
        Self::evict(cache, wanted);
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
