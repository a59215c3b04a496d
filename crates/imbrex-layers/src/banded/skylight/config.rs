//! The configuration fields and how the layer is made from them.

use super::Skylight;
use super::cache::{Cache, Entries};
use super::home::Home;
use super::stream::Detector;
use crate::ConfigError;
use crate::fields::{Interrupts, Steps};
use crate::parts::bitmap::Bitmap;
use crate::parts::block_map::BlockMap;
use crate::parts::buffered_blocks::BufferedBlocks;
use crate::parts::slot_table::SlotTable;
use crate::parts::step_size::StepSize;
use imbrex_core::config::Configuration;
use imbrex_core::space::Space;

const NAME: &str = super::INFO.name;

/// The order in which cached blocks are read to be merged.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// In the order in which they lie in the cache.
    Log,
    /// In the order in which they will lie in the band.
    Band,
}

#[derive(Clone, Debug, Configuration)]
pub struct SkylightConfig {
    /// a band is written to the scratch band before it is written in place
    #[field(default = true, samples = [true, false])]
    pub scratch: bool,
    /// blocks of the persistent cache; 0: all that the drive has
    #[field(default = 0, samples = [0, 6])]
    pub cache_blocks: u32,
    /// extents that the map of the cache holds
    #[field(default = 250_000, samples = [250_000, 4, 7, 12])]
    pub map_entries: u32,
    /// "extents" or "writes": what an entry is, and with that when it comes back
    #[field(default = "extents", samples = ["extents", "writes"])]
    pub entries: Entries,
    /// "log" or "band": the order in which the cached blocks of a band are read
    #[field(default = "log", samples = ["log", "band"])]
    pub gather: Gather,
    /// sequential blocks from which on writes are a stream
    #[field(default = 4096, samples = [1, 5, 20, 4096])]
    pub stream_blocks: u32,
    /// idle time after which the cache is cleaned
    #[field(default = 1200, samples = [0, 50, 1200])]
    pub idle_ms: u32,
    #[field(flatten)]
    pub steps: Steps,
    #[field(flatten)]
    pub interrupts: Interrupts,
}

/// Fewer entries than this could be used up by what lies in RAM.
const LEAST_ENTRIES: u32 = 4;

impl Skylight {
    /// An empty layer on `space`.
    pub fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let config: SkylightConfig = super::INFO.read(config)?;
        if config.steps.step_blocks == 0 || config.stream_blocks == 0 || config.map_entries < LEAST_ENTRIES {
            let reason = "step_blocks and stream_blocks must be at least 1 and map_entries at least 4".to_owned();
            return Err(ConfigError::Field { layer: NAME, reason });
        }
        let Some(bands) = space.bands.clone() else {
            return Err(misfit("it needs bands; choose a drive-managed drive, such as st8000as0002".to_owned()));
        };
        let slots = cache_slots(space, config.cache_blocks)?;
        let Some(home) = Home::new(bands, config.scratch) else {
            return Err(misfit("its bands leave none beside the scratch band".to_owned()));
        };
        if home.capacity() > SlotTable::BLOCKS {
            return Err(misfit(format!("its bands have more than {} blocks", SlotTable::BLOCKS)));
        }
        let longest = home.longest();
        Ok(Self {
            cache: Cache::new(slots, config.map_entries, config.entries, longest),
            blocks: BufferedBlocks::new(space.conventional, slots, home.capacity()),
            detector: Detector::default(),
            stream: None,
            job: None,
            copied: Bitmap::new(u64::from(longest)),
            newer: Vec::with_capacity(longest.min(config.steps.step_blocks) as usize),
            home,
            step: StepSize::new(config.steps.step_blocks),
            config,
        })
    }
}

/// The drive does not give what the layer needs.
fn misfit(reason: String) -> ConfigError {
    ConfigError::Space { layer: NAME, reason }
}

/// How many slots the cache has.
fn cache_slots(space: &Space, wanted: u32) -> Result<u32, ConfigError> {
    let have = space.conventional_blocks;
    let slots = if wanted == 0 { u32::try_from(have).unwrap_or(u32::MAX) } else { wanted };
    if slots == 0 || u64::from(slots) > have {
        return Err(misfit(format!(
            "a cache of {slots} blocks must be at least 1 and fit the {have} blocks the drive has for it"
        )));
    }
    if slots > BlockMap::PLACES {
        return Err(misfit(format!(
            "a cache holds at most {} blocks, not {slots}; set cache_blocks",
            BlockMap::PLACES
        )));
    }
    Ok(slots)
}
