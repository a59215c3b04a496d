//! The configuration, and how a disk is divided into chunks under it.

use super::DmZoned;
use super::records::{MOST_WORDS, WORD};
use super::zones::ZonePool;
use crate::fields::Steps;
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;
use imbrex_core::space::{Space, Zones};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "dm-zoned",
    family: Some(Family::Shingled),
    source: "Linux 5.9-6.x, drivers/md/dm-zoned-*.c",
    summary: "Whole conventional zones buffer sequential ones and take first writes; reclaim moves zone by zone.",
    recording: Recording::WholeZones,
    buffered: false,
    fields: DmZonedConfig::FIELDS,
    make: &|space, config| Ok(Box::new(DmZoned::new(space, config)?)),
};

/// The threshold that ends busy reclaim.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Until {
    Low,
    High,
}

impl Until {
    /// The highest percentage of free zones at which reclaim goes on.
    pub fn percent(self, config: &DmZonedConfig) -> u32 {
        match self {
            Self::Low => config.reclaim_low,
            Self::High => config.reclaim_high.saturating_sub(1).max(config.reclaim_low),
        }
    }
}

/// What becomes of the reclaim of a chunk that the host uses.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InUse {
    GiveUp,
    Wait,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MetadataZones {
    Kernel,
    None,
}

#[derive(Clone, Debug, Configuration)]
pub(super) struct DmZonedConfig {
    #[field(flatten)]
    pub steps: Steps,
    /// percent of conventional zones free at or below which reclaim starts though the disk is busy
    #[field(default = 30, samples = [0, 30, 60, 100])]
    pub reclaim_low: u32,
    /// percent free at which it stops, where "until" is "high"
    #[field(default = 50, samples = [50, 100])]
    reclaim_high: u32,
    /// "low" or "high": the threshold that ends busy reclaim; the kernel's code stops above the low one
    #[field(default = "low", samples = ["low", "high"])]
    pub until: Until,
    /// blocks that busy reclaim writes for 100 of the host; 100 below half of reclaim_low
    #[field(default = 75, samples = [1, 10, 75])]
    pub throttle: u32,
    /// seconds without a request after which everything is reclaimed
    #[field(default = 10, samples = [0, 1])]
    idle_seconds: u32,
    /// sequential zones kept for reclaim; fewer than conventional zones, but 1 at least
    #[field(default = 16, samples = [1, 2, 16])]
    reserved_zones: u32,
    /// "give-up" or "wait": reclaim of a chunk that the host uses
    #[field(default = "give-up", samples = ["give-up", "wait"])]
    pub in_use: InUse,
    /// whether a read counts as use
    #[field(default = true, samples = [true, false])]
    pub reads_count: bool,
    /// "kernel": as many conventional zones as its map and bitmaps take are left out; "none"
    #[field(default = "kernel", samples = ["kernel", "none"])]
    metadata_zones: MetadataZones,
}

/// Entries of the chunks' map and bits of a bitmap in a block of the kernel's metadata.
const MAP_ENTRIES: u64 = 4096 / 8;
const BITS: u64 = 4096 * 8;

impl DmZonedConfig {
    pub fn read(table: &toml::Table) -> Result<Self, ConfigError> {
        let config: Self = INFO.read(table)?;
        let wrong = |reason: &str| Err(ConfigError::Field { layer: INFO.name, reason: reason.to_owned() });
        if config.steps.step_blocks == 0 || config.reserved_zones == 0 {
            return wrong("step_blocks and reserved_zones must be at least 1");
        }
        if config.reclaim_low > 100 || config.reclaim_high > 100 {
            return wrong("reclaim_low and reclaim_high are percentages; choose 100 at most");
        }
        if !(1..=100).contains(&config.throttle) {
            return wrong("throttle is a percentage; choose from 1 to 100");
        }
        Ok(config)
    }

    pub fn idle_ns(&self) -> u64 {
        u64::from(self.idle_seconds) * 1_000_000_000
    }

    /// The zones, and how many chunks they hold.
    pub fn divide(&self, space: &Space) -> Result<(ZonePool, u32), ConfigError> {
        let misfit = |reason: String| Err(ConfigError::Space { layer: INFO.name, reason });
        let Some(zones) = space.zones else {
            return misfit("it needs sequential zones; choose a zoned drive".to_owned());
        };
        let zone_blocks = u64::from(zones.zone_blocks);
        let begin = space.conventional.block().div_ceil(zone_blocks);
        let whole = ((space.conventional.block() + space.conventional_blocks) / zone_blocks).saturating_sub(begin);
        let metadata = if space.conventional.block() > 0 { 0 } else { self.metadata(whole, zones) };
        let conventional = whole.saturating_sub(metadata);
        let reserved = u64::from(self.reserved_zones).min(whole.saturating_sub(1)).max(1);
        let chunks = (conventional + u64::from(zones.count)).saturating_sub(reserved);
        if conventional == 0 || chunks == 0 {
            return misfit(format!(
                "of {whole} whole conventional zones {metadata} are for metadata, and of {} sequential ones {reserved} \
                 are reserved; choose a drive with more of them",
                zones.count
            ));
        }
        let most = MOST_WORDS / zone_blocks.div_ceil(u64::from(WORD));
        if chunks > most {
            return misfit(format!("{chunks} chunks are more than {most}; choose a drive with larger zones or fewer"));
        }
        let pool = ZonePool::new((begin + metadata) as u32, conventional as u32, zones, reserved as u32);
        Ok((pool, chunks as u32))
    }

    /// Conventional zones that the kernel's metadata takes: two sets of a super block, the chunks' map and the zones'
    /// bitmaps.
    fn metadata(&self, conventional: u64, zones: Zones) -> u64 {
        if self.metadata_zones == MetadataZones::None {
            return 0;
        }
        let (all, zone_blocks) = (conventional + u64::from(zones.count), u64::from(zones.zone_blocks));
        let blocks = 1 + all.div_ceil(MAP_ENTRIES) + all * zone_blocks.div_ceil(BITS);
        2 * blocks.div_ceil(zone_blocks)
    }
}
