//! The rules of a recording, in numbers.

use serde::{Deserialize, Serialize};

use super::hybrid::HybridSpec;
use super::sizing::{too_small, with_units};
use super::{banded, interlaced};
use crate::bands::BandRun;
use crate::mechanics::GeometryError;
use crate::tracks::Tracks;

/// The most blocks of a drive; bytes of the largest block then fit 64 bits.
const MAX_BLOCKS: u64 = 1 << 43;

/// The rules of a recording, in numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MediaSpec {
    /// Every block may be written at any time.
    Conventional {
        /// How many blocks.
        blocks: u64,
    },
    /// Zones with a write pointer, behind conventional ones.
    Zoned {
        /// How many zones, conventional ones included.
        zones: u32,
        /// Blocks of a zone.
        zone_blocks: u32,
        /// How many zones from the first on are conventional.
        conventional_zones: u32,
        /// How many zones may be open at a time; 0 for any number.
        #[serde(default)]
        max_open: u32,
        /// How many zones may be open or closed, that is, neither empty nor full; 0 for any number.
        #[serde(default)]
        max_active: u32,
    },
    /// Bands of a drive-managed disk behind a persistent cache.
    Banded {
        /// Blocks of the persistent cache, which lies in front of the bands.
        cache_blocks: u32,
        /// The bands from the outer edge inwards.
        bands: Vec<BandRun>,
    },
    /// Top tracks over the boundaries of bottom tracks.
    Interlaced(Tracks),
    /// Realms that are conventional at first and are activated as sequential zones one by one.
    Hybrid(HybridSpec),
    /// Erase blocks of pages, which are programmed once after an erase.
    Flash {
        /// How many erase blocks, rewritable ones included.
        erase_blocks: u32,
        /// Pages of an erase block.
        #[serde(default = "default_pages")]
        pages: u32,
        /// How many erase blocks from the first on can be rewritten in place: a small memory for the journal.
        #[serde(default)]
        rewritable_erase_blocks: u32,
    },
}

const fn default_pages() -> u32 {
    64
}

impl MediaSpec {
    /// How many blocks have an address.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        match *self {
            Self::Conventional { blocks } => blocks,
            Self::Zoned { zones, zone_blocks, .. } => u64::from(zones) * u64::from(zone_blocks),
            Self::Banded { cache_blocks, ref bands } => banded::blocks(cache_blocks, bands),
            Self::Interlaced(ref tracks) => tracks.blocks(),
            Self::Hybrid(ref hybrid) => hybrid.blocks(),
            Self::Flash { erase_blocks, pages, .. } => u64::from(erase_blocks) * u64::from(pages),
        }
    }

    /// How many blocks hold something at the same time, at most: of a hybrid disk fewer than have an address, namely
    /// those that it has when all realms are sequential.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        if let Self::Hybrid(hybrid) = self { hybrid.capacity() } else { self.blocks() }
    }

    /// How many blocks a conventional drive with these platters would have: of a hybrid disk those that it has when all
    /// realms are conventional. Other overlaps are left out of account.
    pub(super) fn conventional(&self) -> u64 {
        if let Self::Hybrid(hybrid) = self { hybrid.conventional() } else { self.blocks() }
    }

    /// Checks that the numbers go together.
    ///
    /// # Errors
    /// The first that does not.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let at_least_one = "give at least one";
        if let Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active } = *self {
            GeometryError::check("media.zones", zones >= 1, zones, at_least_one)?;
            GeometryError::check("media.zone_blocks", zone_blocks >= 1, zone_blocks, at_least_one)?;
            let remedy = "leave at least one sequential zone, or use media of kind conventional";
            GeometryError::check("media.conventional_zones", conventional_zones < zones, conventional_zones, remedy)?;
            let remedy = "an open zone is active: give at most max_active";
            GeometryError::check("media.max_open", max_active == 0 || max_open <= max_active, max_open, remedy)?;
        }
        if let Self::Banded { cache_blocks, bands } = self {
            banded::check(*cache_blocks, bands)?;
        }
        if let Self::Interlaced(tracks) = self {
            interlaced::check(tracks)?;
        }
        if let Self::Hybrid(hybrid) = self {
            hybrid.check()?;
        }
        if let Self::Flash { erase_blocks, pages, rewritable_erase_blocks } = *self {
            GeometryError::check("media.erase_blocks", erase_blocks >= 1, erase_blocks, at_least_one)?;
            GeometryError::check("media.pages", pages >= 1, pages, at_least_one)?;
            let remedy = "leave at least one erase block that is not rewritable";
            let fits = rewritable_erase_blocks < erase_blocks;
            GeometryError::check("media.rewritable_erase_blocks", fits, rewritable_erase_blocks, remedy)?;
        }
        let blocks = self.blocks();
        GeometryError::check(
            "media.blocks",
            (1..=MAX_BLOCKS).contains(&blocks),
            blocks,
            "give between 1 and 2^43 blocks",
        )
    }

    /// Blocks of a zone, how many zones hold something at the same time at most, and how many of them from the first on
    /// are always conventional; nothing where there are no sequential zones.
    pub(super) fn zones(&self) -> Option<(u32, (u32, u32))> {
        match *self {
            Self::Zoned { zones, zone_blocks, conventional_zones, .. } => {
                Some((zone_blocks, (zones, conventional_zones)))
            }
            Self::Hybrid(ref hybrid) => Some((hybrid.zone_blocks, hybrid.zones())),
            _ => None,
        }
    }

    /// This media with other [`MediaSpec::zones`]; unchanged where there are none.
    pub(super) fn with_zones(
        &self,
        zones: u32,
        conventional_zones: u32,
        zone_blocks: u32,
    ) -> Result<Self, GeometryError> {
        match *self {
            Self::Zoned { max_open, max_active, .. } => {
                Ok(Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active })
            }
            Self::Hybrid(ref hybrid) => hybrid.of_zones(zones, conventional_zones, zone_blocks).map(Self::Hybrid),
            _ => Ok(self.clone()),
        }
    }

    /// This media with a capacity of at most `blocks` blocks.
    pub(super) fn with_blocks(&self, blocks: u64) -> Result<Self, GeometryError> {
        match *self {
            Self::Conventional { .. } if blocks == 0 => Err(too_small(blocks)),
            Self::Conventional { .. } => Ok(Self::Conventional { blocks }),
            Self::Banded { cache_blocks, ref bands } => {
                let (cache_blocks, bands) =
                    banded::with_blocks(cache_blocks, bands, blocks).ok_or_else(|| too_small(blocks))?;
                Ok(Self::Banded { cache_blocks, bands })
            }
            Self::Interlaced(ref tracks) => {
                interlaced::with_blocks(tracks, blocks).map(Self::Interlaced).ok_or_else(|| too_small(blocks))
            }
            Self::Zoned { zones, zone_blocks, conventional_zones, .. } => {
                let (zones, conventional_zones) = with_units(blocks, zone_blocks, zones, conventional_zones)?;
                self.with_zones(zones, conventional_zones, zone_blocks)
            }
            Self::Hybrid(ref hybrid) => {
                let (zones, fixed_zones) = hybrid.zones();
                let (zones, fixed_zones) = with_units(blocks, hybrid.zone_blocks, zones, fixed_zones)?;
                self.with_zones(zones, fixed_zones, hybrid.zone_blocks)
            }
            Self::Flash { erase_blocks, pages, rewritable_erase_blocks } => {
                let (erase_blocks, rewritable_erase_blocks) =
                    with_units(blocks, pages, erase_blocks, rewritable_erase_blocks)?;
                Ok(Self::Flash { erase_blocks, pages, rewritable_erase_blocks })
            }
        }
    }
}
