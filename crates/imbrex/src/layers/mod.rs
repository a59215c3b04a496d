//! The translation layers, one folder each, and how one is made from its name.
//!
//! Those that Imbrex comes with are [`ALL`]. A program [`add`]s its own, and from then on they are found by name like
//! the others.

mod added;
pub mod amphisbaena;
pub mod below;
pub mod block_lru;
pub mod config;
pub mod conventional;
pub mod dm_zoned;
pub mod fifo_log;
mod flash_cache;
pub mod hashed_zones;
pub mod in_place;
mod in_place_tracks;
pub mod live_defaults;
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
pub mod zone_alloy;
mod zone_buffer;

pub use config::{ConfigError, Field, READ_ALLOCATE};

use crate::event::Counter;
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
    /// Hybrid disks, whose realms are conventional or shingled.
    Hybrid,
    /// Flash, and flash in front of a disk.
    Ssd,
}

impl Family {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Shingled, Self::Banded, Self::Interlaced, Self::Hybrid, Self::Ssd];

    /// The name used on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shingled => "shingled",
            Self::Banded => "banded",
            Self::Interlaced => "interlaced",
            Self::Hybrid => "hybrid",
            Self::Ssd => "ssd",
        }
    }
}

/// What is known of a layer before one is made.
pub struct LayerInfo {
    /// The name used on the command line and in results.
    pub name: &'static str,
    /// The family of disks it is for; none for the baseline of them all.
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
    /// Makes it; callers use [`LayerInfo::build`].
    pub make: &'static Make,
}

/// Makes a layer on an empty space from its configuration, as [`LayerInfo::build`] promises it.
pub type Make = dyn Fn(&Space, &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> + Sync;

/// Every layer that Imbrex comes with, in the order in which it is listed.
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
    zone_alloy::INFO,
    page_ftl::INFO,
    lru_cache::INFO,
    static_sets::INFO,
    pore::INFO,
    sac::INFO,
];

/// Every layer there is: [`ALL`], and behind them those that were added, in that order.
pub fn known() -> impl Iterator<Item = &'static LayerInfo> {
    ALL.iter().chain(added::all())
}

/// Adds a layer of another crate to those there are.
///
/// # Errors
/// [`ConfigError::Taken`] if there is a layer of that name.
pub fn add(info: &'static LayerInfo) -> Result<(), ConfigError> {
    let is_own = ALL.iter().any(|other| other.name == info.name);
    if is_own || !added::add(info) {
        return Err(ConfigError::Taken { name: info.name });
    }
    Ok(())
}

/// The layer called `name`.
///
/// # Errors
/// [`ConfigError::Unknown`] names the ones there are.
pub fn find(name: &str) -> Result<&'static LayerInfo, ConfigError> {
    known().find(|info| info.name == name).ok_or_else(|| ConfigError::Unknown {
        name: name.to_owned(),
        known: known().map(|info| info.name).collect::<Vec<_>>().join(", "),
    })
}

impl LayerInfo {
    /// Makes the layer on an empty `space`. Before the first request it wants its records, if any, through
    /// [`TranslationLayer::apply`] and then the drive's report through [`TranslationLayer::recovered`].
    ///
    /// # Errors
    /// [`ConfigError`] names the field or the missing space.
    pub fn build(&self, space: &Space, config: &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        (self.make)(space, config)
    }

    /// The counters that are its own; none of a layer that its defaults do not make.
    #[must_use]
    pub fn counters(&self) -> &'static [Counter] {
        self.build(&samples::ample_space(), &toml::Table::new()).map_or(&[], |layer| layer.facts().counters)
    }
}

/// The native zones of a layer that keeps `spare` of the drive's zones free.
///
/// # Errors
/// [`ConfigError::Space`] if there are no sequential zones, or none beside the spare ones.
pub fn zone_map(layer: &'static str, space: &Space, spare: u32) -> Result<ZoneMap, ConfigError> {
    let misfit = |reason: String| Err(ConfigError::Space { layer, reason });
    match space.zones {
        None => misfit("it needs sequential zones; choose a zoned drive".to_owned()),
        Some(zones) if zones.count <= spare => {
            misfit(format!("{} sequential zones leave none beside {spare} spare", zones.count))
        }
        Some(zones) => Ok(ZoneMap::new(zones, spare)),
    }
}

/// Why a power cut may lose zones that are rewritten with this number of spare ones, if it may.
pub fn loses_zones(spare_zones: u32) -> Option<Unsafe> {
    let reason = "a zone that is reset before it is rewritten is lost with the power; set spare_zones to 1 or more";
    (spare_zones == 0).then(|| Unsafe(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// One of another crate.
    const OTHER: LayerInfo = LayerInfo { name: "of-another-crate", ..conventional::INFO };

    #[test]
    fn a_layer_that_is_added_is_found_and_keeps_its_name() {
        assert!(matches!(find(OTHER.name), Err(ConfigError::Unknown { .. })));
        add(&OTHER).unwrap();
        assert_eq!(find(OTHER.name).unwrap().name, OTHER.name);
        assert_eq!(known().last().unwrap().name, OTHER.name);
        let ConfigError::Unknown { known, .. } = find("nobody").map(drop).unwrap_err() else { panic!("it is there") };
        assert!(known.ends_with(", sac, of-another-crate"), "{known}");
        for taken in [&OTHER, find("sac").unwrap()] {
            assert_eq!(add(taken), Err(ConfigError::Taken { name: taken.name }));
        }
    }
}
