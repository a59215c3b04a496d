//! The policy of caches in which any block may take any frame and a replacement policy says who leaves.

use super::config::CacheConfig;
use super::frames::Frames;
use super::{FREE_RUNS, FlashCache, Policy};
use crate::block::{Extent, Lba};
use crate::layer::Violation;
use crate::layers::{ConfigError, Field, LayerInfo};
use crate::parts::free_slots::FreeSlots;
use crate::parts::replacement::{Kind, Replacement, Shares, Size};
use crate::plan::Plan;

pub const REPLACEMENT: Field = Field {
    key: "replacement",
    default: "\"lru\"",
    meaning: "who leaves: \"lru\", \"clock\", \"lirs\", \"arc\", \"s3-fifo\" or \"sieve\"",
    samples: &["\"lru\"", "\"clock\"", "\"lirs\"", "\"arc\"", "\"s3-fifo\"", "\"sieve\""],
};

pub const READS_COUNT: Field = Field {
    key: "reads_count",
    default: "true",
    meaning: "whether a read is a use of a block",
    samples: &["true", "false"],
};

pub const EVICT_BLOCKS: Field = Field {
    key: "evict_blocks",
    default: "1",
    meaning: "coldest blocks that leave together; at most step_blocks do",
    samples: &["1", "3", "7"],
};

pub const READ_RESERVE: Field = Field {
    key: "read_reserve",
    default: "64",
    meaning: "frames that a read leaves free for the next one, at most half of them",
    samples: &["64", "0", "2", "4"],
};

pub const S3_SMALL: Field = Field {
    key: "s3_small",
    default: "0.1",
    meaning: "the part of the cache that is the small queue of s3-fifo",
    samples: &["0.1", "0.5"],
};

pub const LIRS_HIR: Field = Field {
    key: "lirs_hir",
    default: "0.01",
    meaning: "the part of the cache that lirs keeps for blocks whose uses lie far apart",
    samples: &["0.01", "0.3"],
};

pub const LIRS_GHOSTS: Field = Field {
    key: "lirs_ghosts",
    default: "1.0",
    meaning: "blocks that lirs remembers when they have left, as a part of the cache; at most 4",
    samples: &["1.0", "0.0", "0.25"],
};

/// The values of these fields.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
pub struct ReplacedConfig {
    #[serde(flatten)]
    pub cache: CacheConfig,
    replacement: Kind,
    reads_count: bool,
    evict_blocks: u32,
    read_reserve: u32,
    s3_small: f64,
    lirs_hir: f64,
    lirs_ghosts: f64,
}

impl Default for ReplacedConfig {
    fn default() -> Self {
        let Shares { s3_small, lirs_hir, lirs_ghosts } = Shares::default();
        Self {
            cache: CacheConfig::default(),
            replacement: Kind::Lru,
            reads_count: true,
            evict_blocks: 1,
            read_reserve: 64,
            s3_small,
            lirs_hir,
            lirs_ghosts,
        }
    }
}

impl ReplacedConfig {
    /// Checks the values.
    pub fn check(&self, layer: &LayerInfo) -> Result<(), ConfigError> {
        let wrong = |reason: &str| Err(ConfigError::Field { layer: layer.name, reason: reason.to_owned() });
        if self.evict_blocks == 0 {
            return wrong("evict_blocks must be at least 1");
        }
        if ![self.s3_small, self.lirs_hir].iter().all(|part| *part > 0.0 && *part < 1.0) {
            return wrong("s3_small and lirs_hir are parts of the blocks of the cache, more than 0 and less than 1");
        }
        if !(0.0..=4.0).contains(&self.lirs_ghosts) {
            return wrong("lirs_ghosts is a part of the blocks of the cache, between 0 and 4");
        }
        Ok(())
    }

    fn shares(&self) -> Shares {
        let &Self { s3_small, lirs_hir, lirs_ghosts, .. } = self;
        Shares { s3_small, lirs_hir, lirs_ghosts }
    }
}

/// Any block takes any frame; the coldest leaves.
pub struct Replaced {
    free: FreeSlots,
    order: Box<dyn Replacement>,
    reads_count: bool,
    evict_blocks: u32,
    read_reserve: u32,
}

impl Replaced {
    pub fn new(config: &ReplacedConfig, frames: u32) -> Self {
        let read_reserve = config.read_reserve.min(frames / 2);
        // What reads keep free never holds a block for long.
        let kept_free = if config.cache.read_allocate { read_reserve } else { 0 };
        let size = Size { slots: frames, capacity: frames - kept_free, holds: false, shares: config.shares() };
        Self {
            free: FreeSlots::all(frames),
            order: config.replacement.policy(&size),
            reads_count: config.reads_count,
            evict_blocks: config.evict_blocks.min(config.cache.step_blocks),
            read_reserve,
        }
    }

    /// The block in `frame` is used; it may be on its way out already.
    fn touch(&mut self, frame: u32) {
        if self.order.queues().contains(frame) {
            self.order.touched(frame);
        }
    }

    /// Lets the coldest blocks leave until `wanted` frames are free or about to be: a clean one alone, `evict_blocks`
    /// from a dirty one on, and no more than one step, so that whatever is to leave has left when the step is planned.
    fn evict(cache: &mut FlashCache<Self>, wanted: u32) {
        let most = cache.step.blocks();
        let FlashCache { policy, frames, leaving, .. } = cache;
        let mut together = 0;
        while let Some(frame) = policy.order.coldest() {
            if together == 0 {
                together = if frames.is_dirty(frame) { policy.evict_blocks.min(most) } else { 1 };
                let chosen = leaving.len() as u32;
                if chosen >= wanted || chosen + together > most {
                    break;
                }
            }
            together -= 1;
            let Some(lba) = frames.owner(frame) else { break };
            policy.order.evicted(frame, lba);
            leaving.push((lba, frame));
        }
        cache.settle_leaving();
    }
}

impl Policy for Replaced {
    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)> {
        self.free.first_fit(run.blocks, FREE_RUNS)
    }

    fn gives_way(&mut self, lba: Lba, frames: &Frames) -> Option<u32> {
        self.order.wanted(lba);
        self.order.coldest().filter(|&frame| !frames.is_dirty(frame))
    }

    fn gave_way(&mut self, frame: u32, lba: Lba) {
        self.order.evicted(frame, lba);
    }

    fn is_coming(&self, _lba: Lba, frames: &Frames) -> bool {
        frames.pending() > 0
    }

    fn siblings(&self, run: Extent<Lba>) -> u32 {
        run.blocks
    }

    fn hold(&mut self, frame: u32, lba: Lba) {
        self.free.remove(frame);
        self.order.inserted(frame, lba);
    }

    fn read(&mut self, frame: u32) {
        if self.reads_count {
            self.touch(frame);
        }
    }

    fn updated(&mut self, frame: u32) {
        self.touch(frame);
    }

    fn gone(&mut self, frame: u32) {
        if self.order.queues().contains(frame) {
            self.order.removed(frame);
        }
    }

    fn freed(&mut self, frame: u32) {
        self.free.insert(frame);
    }

    fn recovered(&mut self, frames: &Frames) {
        self.order.clear();
        for frame in 0..frames.count() {
            match frames.owner(frame) {
                Some(lba) => self.order.inserted(frame, lba),
                None => self.free.insert(frame),
            }
        }
    }

    fn check(&self, frames: &Frames) -> Result<(), Violation> {
        self.order.check()?;
        for frame in 0..frames.count() {
            let is = (frames.owner(frame).is_some(), frames.is_free(frame));
            if is != (self.order.queues().contains(frame), self.free.contains(frame)) {
                return Err(Violation(format!("frame {frame} is cached and free as {is:?}, and listed otherwise")));
            }
        }
        let (listed, free) = (self.order.queues().total(), self.free.count());
        if (listed, free) != (frames.live(), frames.count() - frames.live() - frames.pending()) {
            return Err(Violation(format!("{listed} frames in queues and {free} free do not add up")));
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
