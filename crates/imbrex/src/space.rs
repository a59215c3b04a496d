//! The part of a drive that a layer may use.

use crate::bands::Bands;
use crate::block::{Extent, Pba};
use crate::plan::Unit;
use crate::tracks::Tracks;

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
    /// How many of the conventional blocks a persistent buffer may take.
    pub buffer_blocks: u32,
}

/// A run of sequential zones, or of the erase blocks of flash: units with a write pointer that are emptied whole.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Zones {
    /// The first.
    pub first: Unit,
    /// How many.
    pub count: u32,
    /// Blocks of each.
    pub zone_blocks: u32,
}

impl Zones {
    /// The unit of the zone numbered `index` from the first.
    #[must_use]
    pub fn unit(&self, index: u32) -> Unit {
        Unit { device: self.first.device, index: self.first.index + index }
    }

    /// The number of the zone, from the first, that `unit` is.
    #[must_use]
    pub fn index(&self, unit: Unit) -> Option<u32> {
        let index = unit.index.checked_sub(self.first.index)?;
        (unit.device == self.first.device && index < self.count).then_some(index)
    }

    /// Block `offset` of the zone numbered `index` from the first.
    #[must_use]
    pub fn block(&self, index: u32, offset: u32) -> Pba {
        let zone = u64::from(self.first.index) + u64::from(index);
        Pba::new(self.first.device, zone * u64::from(self.zone_blocks) + u64::from(offset))
    }

    /// The zone, from the first, and the offset in it of a block.
    #[must_use]
    pub fn locate(&self, block: Pba) -> Option<(u32, u32)> {
        let zone = u32::try_from(block.block() / u64::from(self.zone_blocks)).ok()?;
        let index = self.index(Unit { device: block.device(), index: zone })?;
        Some((index, (block.block() % u64::from(self.zone_blocks)) as u32))
    }

    /// All blocks of the zone numbered `index` from the first.
    #[must_use]
    pub fn extent(&self, index: u32) -> Extent<Pba> {
        Extent::new(self.block(index, 0), self.zone_blocks)
    }
}
