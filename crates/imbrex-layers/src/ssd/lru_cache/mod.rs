//! `lru-cache`: a write-back cache of blocks on flash; a replacement policy says which one leaves, the least recently
//! used block if nothing else is asked for.
//!
//! Source: the plain policy that PORE (MSST 2017, in the reproduction report §3) is plugged into and held against:
//! ordinary replacement, whose dirty victims go to the disk one by one, wherever they belong. The report names LRU,
//! CLOCK, LIRS and ARC; S3-FIFO (SOSP'23) and SIEVE (NSDI'24) came later. What each of them leaves open is decided in
//! `parts/replacement/`.
//!
//! A block that is not cached takes any free frame. When none is free, the coldest block leaves: at no cost if it is
//! clean, else together with the next `evict_blocks - 1` coldest ones, the dirty ones among them being written home in
//! order of block number.
//!
//! # State
//! - durable: that of every flash cache (`flash_cache/`);
//! - soft: whatever the replacement policy knows of blocks. After a crash the dirty ones count as having come in the
//!   order of their frames, and none has left.
//!
//! # Invariants
//! - those of every flash cache;
//! - the policy holds exactly the frames with a block; the free set exactly the free ones.
//!
//! # Decisions where the report is silent
//! - *How many leave at once* (`evict_blocks`): the report's framework evicts block by block (1). More share the way to
//!   the disk and, live, the journal's commit. At most `step_blocks` do.
//! - *A write of several blocks* that blocks finds the victims for as many of its blocks as follow each other uncached,
//!   written home together. Under LRU they are those that would leave one by one. The other policies choose them before
//!   the first of the new blocks has come, and ARC has learnt of the first only.
//! - *What is a use of a block*: a write; a read too, unless `reads_count` says otherwise. Blocks are used one by one.
//! - *Reads allocate* (`read_allocate`), as in the framework; in the report's own simulator they do not. A read does
//!   not wait for a frame, and a frame that a dirty block leaves is not free in the same plan, so reads keep
//!   `read_reserve` frames free for the next read: after one that was not all cached the coldest blocks leave until so
//!   many frames are free or pending. With 0 a read takes free frames, and those of clean blocks that are the coldest.
//! - *What the policies call the size of the cache*: the frames, without those that reads keep free.
//! - *Which free frame*: the first of the 64 lowest free runs that holds the whole run of new blocks, or else the
//!   lowest.
//! - *Idle time* is not used.

use super::flash_cache::FlashCache;
use super::flash_cache::replaced::Replaced;
use super::flash_cache::replaced::config::ReplacedConfig;
use super::flash_cache::replaced::division::Undivided;
use crate::below::BelowConfig;
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

/// What is known of this layer.
pub const INFO: LayerInfo = LayerInfo {
    name: "lru-cache",
    family: Some(Family::Ssd),
    source: "the plain policy that PORE (MSST 2017) is held against",
    summary: "Blocks are cached on flash; the least recently used one leaves, or whom another policy chooses.",
    recording: Recording::Cached,
    buffered: true,
    fields: LruCacheConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Debug, Configuration)]
struct LruCacheConfig {
    #[field(flatten)]
    replaced: ReplacedConfig,
    #[field(flatten)]
    below: BelowConfig,
}

fn build(space: &Space, config: &toml::Table) -> Result<FlashCache<Replaced<Undivided>>, ConfigError> {
    let LruCacheConfig { replaced, .. } = INFO.read(config)?;
    replaced.check(&INFO)?;
    FlashCache::new(&INFO, space, replaced.cache.clone(), |frames| Replaced::new(&replaced, frames, Undivided))
}
