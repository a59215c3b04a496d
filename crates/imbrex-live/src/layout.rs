//! Where things lie on a member: superblocks and journals at the ends of its conventional space, the layer's blocks
//! between.
//!
//! ```text
//! | superblock | journal | checksums | pages of a map | the layer's conventional blocks | journal, 2nd copy | superblock, 2nd copy | zones, bands, tracks
//! ```
//!
//! A drive that has sequential zones only gives whole ones away at its own ends. A superblock is written at the start
//! of its zone, which is reset before; the journal's zones are one more than its blocks fill, since one is emptied
//! while the others count, and another one, since after a power cut the rest of a zone may be left out.
//!
//! ```text
//! | superblock's zone | journal's zones | the layer's zones | journal's zones, 2nd copy | superblock's zone, 2nd copy |
//! ```
//!
//! So no single run of bad blocks takes both copies of anything.

use imbrex::block::{Address, Extent, Pba};
use imbrex::media::Media;
use imbrex::space::{METADATA_COPIES, Space, Zones, superblock_blocks};

use crate::sums::{Checksums, Place};

/// Copies of the superblock, and of the journal.
pub const COPIES: usize = METADATA_COPIES;

/// Zones of a copy of a journal beyond those that its blocks fill.
const SPARE_JOURNAL_ZONES: u32 = 2;

/// The parts of a member's conventional space.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The superblock's copies.
    pub superblocks: [Extent<Pba>; COPIES],
    /// The journal's copies.
    pub journals: [Extent<Pba>; COPIES],
    /// The checksums, if the member has any: in the first of the conventional blocks that would be left.
    pub sums: Option<Place>,
    /// The pages of the layer's map, if it has some on the drive: in the first of the blocks behind.
    pub map: Option<Extent<Pba>>,
    /// What is left, and the rest of the drive.
    pub space: Space,
}

/// The drive, or its conventional space, is too short.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "two superblocks of {superblock} {unit} and two copies of a journal of {journal} {unit} leave nothing of the {have} {unit}; the drive needs more of them"
)]
pub struct NoRoom {
    superblock: u64,
    journal: u64,
    have: u64,
    unit: &'static str,
}

/// The drive has no room for checksums.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "checksums of {blocks} blocks take {needed} conventional blocks, and {left} are left of the drive's; choose a smaller --capacity or a drive with more of them, or leave --checksums out"
)]
pub struct NoRoomForSums {
    blocks: u64,
    needed: u64,
    left: u64,
}

/// The drive has no room for the pages of a map.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the pages of the layer's map take {needed} conventional blocks, and {left} are left of the drive's; choose a drive with more conventional zones or a smaller --capacity, or leave --map-memory out"
)]
pub struct NoRoomForMap {
    needed: u64,
    left: u64,
}

/// Where the copies of the superblock lie, whatever the journal.
///
/// # Errors
/// When there is no room for them.
pub fn superblocks(media: &dyn Media, block_bytes: u32) -> Result<[Extent<Pba>; COPIES], NoRoom> {
    Ok(Layout::new(media, block_bytes, 0, 0)?.superblocks)
}

impl Layout {
    /// With `journal` blocks for each copy of the journal, or more in whole zones, and `buffer` for a persistent
    /// buffer.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn new(media: &dyn Media, block_bytes: u32, journal: u32, buffer: u32) -> Result<Self, NoRoom> {
        let all = Space::of(media, buffer);
        let superblock = superblock_blocks(block_bytes);
        if let Some(zones) = all.zones.filter(|_| all.conventional_blocks == 0) {
            return Self::in_zones(&all, zones, superblock, journal);
        }
        let (taken, have) = (u64::from(superblock) + u64::from(journal), all.conventional_blocks);
        let no_room =
            NoRoom { superblock: superblock.into(), journal: journal.into(), have, unit: "conventional blocks" };
        let space = all.beside_metadata(superblock, journal).ok_or(no_room)?;
        let first = all.conventional;
        let last = first.plus(have - u64::from(superblock));
        Ok(Self {
            superblocks: [Extent::new(first, superblock), Extent::new(last, superblock)],
            journals: [
                Extent::new(first.plus(superblock.into()), journal),
                Extent::new(first.plus(have - taken), journal),
            ],
            sums: None,
            map: None,
            space,
        })
    }

    /// With checksums of all that lies on a drive of `blocks` blocks.
    ///
    /// # Errors
    /// When they leave nothing of the conventional space.
    pub fn with_sums(self, checksums: Checksums, blocks: u64, block_bytes: u32) -> Result<Self, NoRoomForSums> {
        let (needed, left) = (checksums.blocks(blocks, block_bytes), self.space.conventional_blocks);
        let place = checksums.place(blocks, block_bytes, self.space.conventional).filter(|_| needed < left);
        let place = place.ok_or(NoRoomForSums { blocks, needed, left })?;
        let (conventional, conventional_blocks) = (place.all().end(), left - needed);
        Ok(Self { sums: Some(place), space: Space { conventional, conventional_blocks, ..self.space }, ..self })
    }

    /// With pages of a map in `needed` blocks.
    ///
    /// # Errors
    /// When there are not so many conventional blocks.
    pub fn with_map(self, needed: u64) -> Result<Self, NoRoomForMap> {
        let left = self.space.conventional_blocks;
        let blocks = u32::try_from(needed).ok().filter(|_| needed <= left).ok_or(NoRoomForMap { needed, left })?;
        let map = Extent::new(self.space.conventional, blocks);
        let space = Space { conventional: map.end(), conventional_blocks: left - needed, ..self.space };
        Ok(Self { map: Some(map), space, ..self })
    }

    /// On a drive that has sequential zones only.
    fn in_zones(all: &Space, zones: Zones, superblock: u32, journal: u32) -> Result<Self, NoRoom> {
        let journal = if journal == 0 { 0 } else { journal.div_ceil(zones.zone_blocks) + SPARE_JOURNAL_ZONES };
        let taken = 1 + journal;
        let have = u64::from(zones.count);
        let no_room = NoRoom { superblock: 1, journal: journal.into(), have, unit: "zones" };
        let fits = superblock <= zones.zone_blocks && have > COPIES as u64 * u64::from(taken);
        let length = journal.checked_mul(zones.zone_blocks).filter(|_| fits).ok_or(no_room)?;
        let run = |zone, blocks| Extent::new(zones.block(zone, 0), blocks);
        let left = Zones { first: zones.unit(taken), count: zones.count - COPIES as u32 * taken, ..zones };
        Ok(Self {
            superblocks: [run(0, superblock), run(zones.count - 1, superblock)],
            journals: [run(1, length), run(zones.count - taken, length)],
            sums: None,
            map: None,
            space: Space { zones: Some(left), ..all.clone() },
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use imbrex::media::{Conventional, Shingled, ZonedSpec};

    use super::*;

    #[test]
    fn the_parts_fill_the_conventional_space_without_overlap() {
        let spec = ZonedSpec { zones: 10, zone_blocks: 64, conventional_zones: 3, max_open: 0, max_active: 0 };
        let media = Shingled::new(1, spec);
        let layout = Layout::new(&media, 4096, 10, 5).unwrap();
        let Layout { superblocks: [a, b], journals: [c, d], space, .. } = layout;
        let between = Extent::new(space.conventional, space.conventional_blocks as u32);
        let ends: Vec<u64> = [a, c, between, d, b].iter().map(|part| part.end().block()).collect();
        assert_eq!(ends, [4, 14, 178, 188, 192]);
        assert_eq!(space.zones.map(|zones| zones.count), Some(7));
        assert!(Layout::new(&media, 4096, 92, 5).is_err());
        let sums = Checksums { region_blocks: 8 };
        let layout = Layout::new(&media, 4096, 10, 5).unwrap().with_sums(sums, 640, 4096).unwrap();
        assert_eq!(layout.sums.map(|place| place.all()), Some(Extent::new(Pba::disk(14), 2)));
        assert_eq!((layout.space.conventional, layout.space.conventional_blocks), (Pba::disk(16), 162));
        let refused = Layout::new(&media, 4096, 10, 5).unwrap().with_sums(sums, 1 << 20, 4096).unwrap_err();
        assert!(refused.to_string().contains("--capacity"), "{refused}");
        assert_eq!(superblocks(&Conventional::new(1, 100), 512).unwrap()[1].end(), Pba::disk(100));
    }

    #[test]
    fn the_pages_of_a_map_lie_behind_the_checksums_and_the_layer_gets_what_is_behind_them() {
        let spec = ZonedSpec { zones: 10, zone_blocks: 64, conventional_zones: 3, max_open: 0, max_active: 0 };
        let media = Shingled::new(1, spec);
        let made = || Layout::new(&media, 4096, 10, 5).unwrap();
        let layout = made().with_map(100).unwrap();
        assert_eq!(layout.map, Some(Extent::new(Pba::disk(14), 100)));
        assert_eq!((layout.space.conventional, layout.space.conventional_blocks), (Pba::disk(114), 64));
        let summed = made().with_sums(Checksums { region_blocks: 8 }, 640, 4096).unwrap().with_map(162).unwrap();
        assert_eq!(summed.map, Some(Extent::new(Pba::disk(16), 162)));
        assert_eq!((summed.space.conventional_blocks, summed.space.zones), (0, made().space.zones));
        for needed in [165, u64::from(u32::MAX) + 165] {
            let refused = made().with_map(needed).unwrap_err().to_string();
            for part in [&format!("take {needed} "), "164 are left", "--capacity", "--map-memory", "conventional zones"]
            {
                assert!(refused.contains(part), "{refused}");
            }
        }
    }

    #[test]
    fn a_drive_without_conventional_zones_gives_whole_ones_away() {
        let spec = ZonedSpec { zones: 20, zone_blocks: 64, conventional_zones: 0, max_open: 0, max_active: 0 };
        let Layout { superblocks: [a, b], journals: [c, d], space, .. } =
            Layout::new(&Shingled::new(1, spec), 4096, 70, 0).unwrap();
        let of = |zone: u64, blocks| Extent::new(Pba::disk(zone * 64), blocks);
        assert_eq!([a, c, d, b], [of(0, 4), of(1, 256), of(15, 256), of(19, 4)]);
        assert_eq!(space.zones.map(|zones| (zones.extent(0), zones.count)), Some((of(5, 64), 10)));
        assert_eq!(superblocks(&Shingled::new(1, spec), 4096).unwrap(), [a, b]);
        let no_map = Layout::new(&Shingled::new(1, spec), 4096, 70, 0).unwrap().with_map(2).unwrap_err();
        assert!(no_map.to_string().contains("0 are left"), "{no_map}");
        let short = Shingled::new(1, ZonedSpec { zones: 10, ..spec });
        assert!(Layout::new(&short, 4096, 70, 0).unwrap_err().to_string().contains("10 zones"));
    }
}
