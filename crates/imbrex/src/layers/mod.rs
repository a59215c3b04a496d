//! The translation layers, one folder each, and how one is made from its name.

pub mod amphisbaena;
pub mod below;
pub mod block_lru;
mod config;
pub mod conventional;
pub mod dm_zoned;
pub mod fifo_log;
mod flash_cache;
pub mod hashed_zones;
pub mod in_place;
mod in_place_tracks;
mod log_structured;
pub mod loop_back;
pub mod lru_cache;
mod mapped_tracks;
pub mod page_ftl;
pub mod pore;
pub mod sac;
pub mod samples;
pub mod seagate;
pub mod seagate_two_phase;
pub mod skylight;
pub mod static_sets;
pub mod track_caching;
pub mod track_flipping;
pub mod track_mapping;
pub mod tracklace;
mod zone_buffer;

use std::borrow::Cow;

pub use config::{ConfigError, Field, READ_ALLOCATE};

use crate::layer::{TranslationLayer, Unsafe};
use crate::parts::zone_map::ZoneMap;
use crate::recording::Recording;
use crate::space::Space;

/// A family of disks: layers are compared within one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Family {
    /// Host-managed shingled disks.
    Shingled,
    /// Bands, behind the cache of a drive-managed disk or as a log with a whole map.
    Banded,
    /// Interlaced disks.
    Interlaced,
    /// Flash, and flash in front of a disk.
    Ssd,
}

impl Family {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Shingled, Self::Banded, Self::Interlaced, Self::Ssd];

    /// The name used on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shingled => "shingled",
            Self::Banded => "banded",
            Self::Interlaced => "interlaced",
            Self::Ssd => "ssd",
        }
    }
}

/// What is known of a layer before one is made.
pub struct LayerInfo {
    /// The name used on the command line and in results.
    pub name: &'static str,
    /// The family of disks it is for; none for the yardstick of them all.
    pub family: Option<Family>,
    /// Where the mechanism comes from.
    pub source: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The recording it is for.
    pub recording: Recording,
    /// Whether it has a persistent buffer, whose size then matters.
    pub buffered: bool,
    /// Its configuration fields, their defaults and meanings.
    pub fields: &'static [Field],
    build: Build,
}

type Build = fn(&Space, &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError>;

/// Every layer, in the order in which it is listed.
pub const ALL: &[LayerInfo] = &[
    conventional::INFO,
    in_place::INFO,
    fifo_log::INFO,
    loop_back::INFO,
    block_lru::INFO,
    hashed_zones::INFO,
    amphisbaena::INFO,
    dm_zoned::INFO,
    log_structured::GREEDY,
    log_structured::FIFO,
    log_structured::COST_BENEFIT,
    log_structured::CHOICES,
    log_structured::COLD_WEIGHT,
    log_structured::TUNED,
    log_structured::SEPBIT,
    skylight::INFO,
    seagate::INFO,
    seagate_two_phase::INFO,
    track_flipping::INFO,
    track_caching::INFO,
    track_mapping::INFO,
    tracklace::INFO,
    page_ftl::INFO,
    lru_cache::INFO,
    static_sets::INFO,
    pore::INFO,
    sac::INFO,
];

/// The layer called `name`.
///
/// # Errors
/// [`ConfigError::Unknown`] names the ones there are.
pub fn find(name: &str) -> Result<&'static LayerInfo, ConfigError> {
    ALL.iter().find(|info| info.name == name).ok_or_else(|| ConfigError::Unknown {
        name: name.to_owned(),
        known: ALL.iter().map(|info| info.name).collect::<Vec<_>>().join(", "),
    })
}

impl LayerInfo {
    /// Makes the layer on an empty `space`. Before the first request it wants its records, if any, through
    /// [`TranslationLayer::apply`] and then the drive's report through [`TranslationLayer::recovered`].
    ///
    /// # Errors
    /// [`ConfigError`] names the field or the missing space.
    pub fn build(&self, space: &Space, config: &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        let own = if self.recording == Recording::Cached { below::without(config) } else { Cow::Borrowed(config) };
        (self.build)(space, &own)
    }
}

/// The native zones of a layer that keeps `spare` of the drive's zones free.
fn zone_map(layer: &'static str, space: &Space, spare: u32) -> Result<ZoneMap, ConfigError> {
    let misfit = |reason: String| Err(ConfigError::Space { layer, reason });
    match space.zones {
        None => misfit("it needs sequential zones; choose a zoned drive".to_owned()),
        Some(zones) if zones.count <= spare => {
            misfit(format!("{} sequential zones leave none beside {spare} spare", zones.count))
        }
        Some(zones) => Ok(ZoneMap::new(zones, spare)),
    }
}

/// Whether zone rewrites with so many spare zones survive power loss.
fn rewrite_survives(spare_zones: u32) -> Result<(), Unsafe> {
    if spare_zones > 0 {
        return Ok(());
    }
    let reason = "a zone that is reset before it is rewritten is lost with the power; set spare_zones to 1 or more";
    Err(Unsafe(reason.to_owned()))
}
