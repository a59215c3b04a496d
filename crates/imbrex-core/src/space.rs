//! The part of a drive that a layer may use.

use crate::bands::Bands;
use crate::block::{Address, Pba};
use crate::layer::MapCache;
use crate::media::Media;
use crate::plan::Unit;
use crate::tracks::Tracks;
pub use crate::zones::{RealmTimes, Realms, Zones};

/// The space a layer may use: what the drive has, less what the runner keeps for its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The first conventional block.
    pub conventional: Pba,
    /// How many conventional blocks follow it.
    pub conventional_blocks: u64,
    /// The sequential zones or erase blocks, if the drive has any.
    pub zones: Option<Zones>,
    /// The bands, if the drive is made of them.
    pub bands: Option<Bands>,
    /// The interlaced tracks, if the drive has any. They are on [`Pba::DISK`].
    pub tracks: Option<Tracks>,
    /// The realms, if the disk is hybrid. They are on [`Pba::DISK`], behind the conventional blocks.
    pub realms: Option<Realms>,
    /// The device behind, if the layer is a cache in front of one.
    pub home: Option<Home>,
    /// How many of the conventional blocks a persistent buffer may take.
    pub buffer_blocks: u32,
    /// Whether cleaning is to copy through as few blocks of RAM as a step of it takes, where it would gather more. A
    /// layer that is served does so; simulated, it takes the RAM that its paper gives it.
    pub spares_ram: bool,
    /// How much of its map a layer is to have in memory; all of it if nothing is said. A layer that cannot do with less
    /// is not made.
    pub map_cache: Option<MapCache>,
}

impl Space {
    /// All of a drive: conventional units come first, then bands, or sequential units of one size, or interlaced
    /// tracks. Units that are worn out stay what they were.
    #[must_use]
    pub fn of(media: &dyn Media, buffer_blocks: u32) -> Self {
        let units = media.report().len() as u32;
        let conventional = (0..units).take_while(|unit| !media.has_pointer(Unit::disk(*unit))).count() as u32;
        let zones = (conventional < units && media.bands().is_none()).then(|| {
            let first = Unit::disk(conventional);
            Zones { first, count: units - conventional, zone_blocks: media.extent_of(first).blocks }
        });
        let (tracks, bands, realms) = (media.tracks(), media.bands().cloned(), media.realms());
        let zones = zones.filter(|_| realms.is_none());
        let conventional_blocks = match (realms, zones, tracks, &bands) {
            (Some(realms), ..) => realms.conventional(0).start.block(),
            (_, Some(zones), ..) => zones.block(0, 0).block(),
            (_, None, Some(tracks), _) => tracks.conventional_blocks(),
            (_, None, None, Some(bands)) => bands.start(),
            (None, None, None, None) => media.blocks(),
        };
        let conventional = Pba::disk(0);
        Self {
            conventional,
            conventional_blocks,
            zones,
            bands,
            tracks,
            realms,
            home: None,
            buffer_blocks,
            spares_ram: false,
            map_cache: None,
        }
    }

    /// What superblocks and journals of these sizes leave of the conventional space: a copy of each at its front,
    /// and one at its end. Nothing if they leave nothing.
    #[must_use]
    pub fn beside_metadata(&self, superblock: u32, journal: u32) -> Option<Self> {
        let copy = u64::from(superblock) + u64::from(journal);
        let left = self.conventional_blocks.checked_sub(METADATA_COPIES as u64 * copy).filter(|left| *left > 0)?;
        Some(Self { conventional: self.conventional.plus(copy), conventional_blocks: left, ..self.clone() })
    }

    /// The least number of conventional blocks of which superblocks and journals of these sizes leave one.
    #[must_use]
    pub const fn beside_one(superblock: u32, journal: u32) -> u64 {
        METADATA_COPIES as u64 * (superblock as u64 + journal as u64) + 1
    }

    /// This space with conventional blocks for the longest journals that there are, whatever the drive has.
    #[must_use]
    pub fn ample(self) -> Self {
        let more = METADATA_COPIES as u64 * u64::from(u32::MAX) + 1;
        Self { conventional_blocks: self.conventional_blocks + more, ..self }
    }

    /// The space of a cache: a first device of `cache` blocks, and behind it a second one of `home` blocks.
    #[must_use]
    pub fn cached(self, cache: u64, home: u64) -> Self {
        Self { conventional_blocks: cache, home: Some(Home::behind(home)), ..self }
    }
}

/// Copies of what a volume keeps on a drive: of its superblock, and of its journal.
pub const METADATA_COPIES: usize = 2;

/// Bytes of a copy of the superblock.
pub const SUPERBLOCK_BYTES: u32 = 16 << 10;

/// Blocks of a copy of the superblock.
#[must_use]
pub const fn superblock_blocks(block_bytes: u32) -> u32 {
    SUPERBLOCK_BYTES.div_ceil(block_bytes)
}

/// The device behind a cache: every block of the host has a home there, which is written in place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The first block.
    pub start: Pba,
    /// How many blocks follow it.
    pub blocks: u64,
    /// What it costs to write there.
    pub costs: HomeCosts,
}

impl Home {
    /// A second device of `blocks` blocks, of which no more is known.
    #[must_use]
    pub fn behind(blocks: u64) -> Self {
        Self { start: Pba::new(Pba::DISK + 1, 0), blocks, costs: HomeCosts::default() }
    }
}

/// What it costs to write to the device behind a cache. Layers decide by it, so it may not change while they run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HomeCosts {
    /// Pages that the cache's flash programs while the device behind it comes to a block. At least 1.
    pub seek_pages: u32,
    /// Whether a write into a zone rewrites what follows it there at once.
    pub rewrites: bool,
}

impl Default for HomeCosts {
    /// Flash on SATA before a disk that takes writes anywhere: 14 ms to come to a block, and 28 µs for a page.
    fn default() -> Self {
        Self { seek_pages: 500, rewrites: false }
    }
}
