//! The rules of a recording, in numbers.

use serde::{Deserialize, Serialize};

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
    /// How many blocks there are.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        match *self {
            Self::Conventional { blocks } => blocks,
            Self::Zoned { zones, zone_blocks, .. } => u64::from(zones) * u64::from(zone_blocks),
            Self::Banded { cache_blocks, ref bands } => banded::blocks(cache_blocks, bands),
            Self::Interlaced(ref tracks) => tracks.blocks(),
            Self::Flash { erase_blocks, pages, .. } => u64::from(erase_blocks) * u64::from(pages),
        }
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

    /// The same media with at most `blocks` blocks.
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
            Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active } => {
                let (zones, conventional_zones) = with_units(blocks, zone_blocks, (zones, conventional_zones))?;
                Ok(Self::Zoned { zones, zone_blocks, conventional_zones, max_open, max_active })
            }
            Self::Flash { erase_blocks, pages, rewritable_erase_blocks } => {
                let (erase_blocks, rewritable_erase_blocks) =
                    with_units(blocks, pages, (erase_blocks, rewritable_erase_blocks))?;
                Ok(Self::Flash { erase_blocks, pages, rewritable_erase_blocks })
            }
        }
    }
}

pub(super) fn too_small(blocks: u64) -> GeometryError {
    let remedy = "give room for a block, or for one sequential zone or erase block beside those written in place";
    GeometryError::new("capacity", format!("{blocks} blocks are too few"), remedy)
}

/// How many units of `unit_blocks` fit `blocks` blocks, and how many of them are written in place, when so many of the
/// units were.
pub(super) fn with_units(
    blocks: u64,
    unit_blocks: u32,
    (units, in_place): (u32, u32),
) -> Result<(u32, u32), GeometryError> {
    let remedy = "describe larger zones or erase blocks, or a smaller drive";
    let new = u32::try_from(blocks / u64::from(unit_blocks.max(1)))
        .map_err(|_| GeometryError::new("capacity", format!("{blocks} blocks are too many"), remedy))?;
    // Rounded to the nearest, but a drive that had units written in place keeps one.
    let share = u64::from(new) * u64::from(in_place) + u64::from(units) / 2;
    let kept = ((share / u64::from(units.max(1))) as u32).max(u32::from(in_place > 0));
    if new <= kept { Err(too_small(blocks)) } else { Ok((new, kept)) }
}
