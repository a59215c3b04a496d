//! The configuration fields and how the layer is made from them.

use super::Skylight;
use super::cache::{Cache, Entries};
use super::home::Home;
use super::stream::Detector;
use crate::layers::config::{self, INTERRUPTIBLE, STEP_BLOCKS};
use crate::layers::{ConfigError, Field};
use crate::parts::bitmap::Bitmap;
use crate::parts::block_map::BlockMap;
use crate::parts::buffered_blocks::BufferedBlocks;
use crate::parts::step_size::StepSize;
use crate::space::Space;

const NAME: &str = super::INFO.name;

pub const FIELDS: &[Field] = &[
    Field {
        key: "scratch",
        default: "true",
        meaning: "a band is written to the scratch band before it is written in place",
        samples: &["true", "false"],
    },
    Field {
        key: "cache_blocks",
        default: "0",
        meaning: "blocks of the persistent cache; 0: all that the drive has",
        samples: &["0", "6"],
    },
    Field {
        key: "map_entries",
        default: "250000",
        meaning: "extents that the map of the cache holds",
        samples: &["250000", "4", "7", "12"],
    },
    Field {
        key: "entries",
        default: "\"extents\"",
        meaning: "\"extents\" or \"writes\": what an entry is, and with that when it comes back",
        samples: &["\"extents\"", "\"writes\""],
    },
    Field {
        key: "gather",
        default: "\"log\"",
        meaning: "\"log\" or \"band\": the order in which the cached blocks of a band are read",
        samples: &["\"log\"", "\"band\""],
    },
    Field {
        key: "stream_blocks",
        default: "4096",
        meaning: "sequential blocks from which on writes are a stream",
        samples: &["1", "5", "20", "4096"],
    },
    Field {
        key: "idle_ms",
        default: "1200",
        meaning: "idle time after which the cache is cleaned",
        samples: &["0", "50", "1200"],
    },
    STEP_BLOCKS,
    INTERRUPTIBLE,
];

/// The order in which cached blocks are read to be merged.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gather {
    /// As they lie in the cache.
    Log,
    /// As they will lie in the band.
    Band,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub scratch: bool,
    pub cache_blocks: u32,
    pub map_entries: u32,
    pub entries: Entries,
    pub gather: Gather,
    pub stream_blocks: u32,
    pub idle_ms: u32,
    pub step_blocks: u32,
    pub interruptible: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scratch: true,
            cache_blocks: 0,
            map_entries: 250_000,
            entries: Entries::Extents,
            gather: Gather::Log,
            stream_blocks: 4096,
            idle_ms: 1200,
            step_blocks: 4096,
            interruptible: true,
        }
    }
}

/// Fewer entries than this could be used up by what lies in RAM.
const LEAST_ENTRIES: u32 = 4;

impl Skylight {
    /// An empty layer on `space`.
    pub fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let config: Config = config::read(&super::INFO, config)?;
        if config.step_blocks == 0 || config.stream_blocks == 0 || config.map_entries < LEAST_ENTRIES {
            let reason = "step_blocks and stream_blocks must be at least 1 and map_entries at least 4".to_owned();
            return Err(ConfigError::Field { layer: NAME, reason });
        }
        let misfit = |reason: String| ConfigError::Space { layer: NAME, reason };
        let Some(bands) = space.bands.clone() else {
            return Err(misfit("it needs bands; choose a drive-managed drive, such as st8000as0002".to_owned()));
        };
        let slots = cache_slots(space, config.cache_blocks).map_err(misfit)?;
        let Some(home) = Home::new(bands, config.scratch) else {
            return Err(misfit("its bands leave none beside the scratch band".to_owned()));
        };
        let longest = home.longest();
        Ok(Self {
            cache: Cache::new(slots, (config.map_entries, config.entries), longest),
            blocks: BufferedBlocks::new(space.conventional, slots, home.capacity()),
            detector: Detector::default(),
            stream: None,
            job: None,
            copied: Bitmap::new(u64::from(longest)),
            newer: Vec::with_capacity(longest.min(config.step_blocks) as usize),
            home,
            step: StepSize::new(config.step_blocks),
            config,
        })
    }
}

/// How many slots the cache has.
fn cache_slots(space: &Space, wanted: u32) -> Result<u32, String> {
    let have = space.conventional_blocks;
    let slots = if wanted == 0 { u32::try_from(have).unwrap_or(u32::MAX) } else { wanted };
    if slots == 0 || u64::from(slots) > have {
        return Err(format!(
            "a cache of {slots} blocks must be at least 1 and fit the {have} blocks the drive has for it"
        ));
    }
    if slots > BlockMap::PLACES {
        return Err(format!("a cache holds at most {} blocks, not {slots}; set cache_blocks", BlockMap::PLACES));
    }
    Ok(slots)
}
