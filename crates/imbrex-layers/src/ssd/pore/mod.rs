//! `pore`: a write-back cache of blocks on flash that knows where the bands of the disk behind may lie; for a period at
//! a time dirty blocks leave for a part of the disk only.
//!
//! Source: PORE (Wang, Wang, Chai, Wang, Sun, MSST 2017), as its reproduction report describes it (§4), and the
//! report's own simulator (§5), which differs from that in several places.
//!
//! The disk is cut into *region units* of `region_blocks`. Some of them are open, the others forbidden. The coldest
//! block that is clean, or dirty and of an open unit, leaves; a replacement policy says which is the coldest, as in
//! `lru-cache`. When `period_blocks` have left a new period begins: the units are opened anew, in the order of
//! `select`, until they have dirty blocks for the next one. So what the disk has to take in meanwhile shares bands.
//!
//! # State
//! - durable: that of every flash cache (`flash_cache/`);
//! - soft: what the replacement policy knows; which units are open, their records, and how far the period has come.
//!   After a crash everything is open, and the first division comes with the first block that has to leave, by the
//!   dirty blocks that were found and what was used since.
//!
//! # Invariants
//! - those of `lru-cache`;
//! - a slot may leave in the policy exactly if its block is clean or of an open unit;
//! - each unit's dirty blocks are counted right, without those that are leaving;
//! - a dirty block of a forbidden unit is never chosen.
//!
//! # Decisions where the report is silent, or says two things
//! - *Which units are opened* (`select`): the report has "according to access records". `dirty-square-over-heat` and
//!   `cold-blocks` are after published research code of the authors' group, `mean-popularity` is the report's "average
//!   popularity", `most-dirty` is MOST's (2016), a peer. Only units with dirty blocks are opened.
//! - *How many*: until their dirty blocks are a period's, in every selection; at least one if there is any.
//! - *When a period ends* (`period_counts`): dirty blocks that leave, as the report's equation needs it; or blocks that
//!   the host writes into the cache, as its text says, those that were there already among them.
//! - *A division is made* when the next block has to leave, not when the period ends; the first one when the cache is
//!   full for the first time. Until then everything is open.
//! - *Nothing may leave*: a new period begins at once.
//! - *Nothing can leave at all*, since every frame waits for the journal: a write goes past the cache to the disk.
//! - *What leaves at a time* (`evict`): the framework evicts block by block, Procedure 4 of the report all dirty blocks
//!   of the open region, and then updates the region. There a clean block that is the coldest still leaves alone, and
//!   reads keep no reserve, since one of them would flush a region.
//! - *A period's length* (`period_blocks`): best is the disk's buffer; a layer does not see that. By default a quarter
//!   of the frames.
//! - *Access records* are of whole blocks, in the cache or past it; reads count in them if they count at all
//!   (`reads_count`). They begin anew with each division.

mod regions;
mod select;

use super::flash_cache::FlashCache;
use super::flash_cache::replaced::Replaced;
use super::flash_cache::replaced::config::ReplacedConfig;
use crate::below::BelowConfig;
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;
use regions::{Evict, PeriodCounts, Regions, Rules};
use select::Select;

/// What is known of this layer.
pub const INFO: LayerInfo = LayerInfo {
    name: "pore",
    family: Some(Family::Ssd),
    source: "PORE (MSST 2017), after its reproduction report",
    summary: "Blocks are cached on flash; for a period at a time dirty ones leave for a part of the disk only.",
    recording: Recording::Cached,
    buffered: true,
    fields: PoreConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

#[derive(Debug, Configuration)]
struct PoreConfig {
    /// blocks of a region unit, about as many as the disk's shortest band has
    #[field(default = 5120, samples = [5120, 1, 10, 64])]
    region_blocks: u32,
    /// blocks of a period, best as many as the disk's buffer has; 0: a quarter of the frames
    #[field(default = 0, samples = [0, 1, 5, 1000])]
    period_blocks: u32,
    /// what counts towards a period: dirty blocks "evicted", or blocks "written" by the host
    #[field(default = "evicted", samples = ["evicted", "written"])]
    period_counts: PeriodCounts,
    /// which units are opened: by "dirty-square-over-heat", "mean-popularity", "cold-blocks" or "most-dirty"
    #[field(
        default = "dirty-square-over-heat",
        samples = ["dirty-square-over-heat", "mean-popularity", "cold-blocks", "most-dirty"]
    )]
    select: Select,
    /// what leaves: the coldest "block" that may, or all dirty ones of the open "region"
    #[field(default = "block", samples = ["block", "region"])]
    evict: Evict,
    #[field(flatten)]
    replaced: ReplacedConfig,
    #[field(flatten)]
    below: BelowConfig,
}

fn build(space: &Space, config: &toml::Table) -> Result<FlashCache<Replaced<Regions>>, ConfigError> {
    let config: PoreConfig = INFO.read(config)?;
    let PoreConfig { replaced, region_blocks, period_blocks, period_counts, select, evict, .. } = config;
    replaced.check(&INFO)?;
    let wrong = |reason: String| Err(ConfigError::Field { layer: INFO.name, reason });
    let blocks = space.home.map_or(0, |home| home.blocks);
    if region_blocks == 0 || blocks.div_ceil(region_blocks.into()) > MOST_UNITS {
        let least = blocks.div_ceil(MOST_UNITS).max(1);
        return wrong(format!("region_blocks must be at least {least}, so that there are at most {MOST_UNITS} units"));
    }
    FlashCache::new(&INFO, space, replaced.cache.clone(), |frames| {
        let period = if period_blocks == 0 { (frames / 4).max(1) } else { period_blocks };
        let rules = Rules { unit_blocks: region_blocks, period, period_counts, select, evict };
        Replaced::new(&replaced, frames, Regions::new(rules, blocks, frames))
    })
}

/// Units are numbered by 32 bits, and each takes 32 bytes.
const MOST_UNITS: u64 = 1 << 24;
