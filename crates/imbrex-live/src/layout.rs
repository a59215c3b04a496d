//! Where things lie in the conventional space of a member: superblocks and journals at its ends, the layer's blocks between.
//!
//! ```text
//! | superblock | journal | the layer's conventional blocks | journal, 2nd copy | superblock, 2nd copy | zones, bands, tracks
//! ```
//!
//! So no single run of bad blocks takes both copies of anything.

use imbrex::block::{Address, Extent, Pba};
use imbrex::media::Media;
use imbrex::space::Space;

use crate::superblock;

/// Copies of the superblock, and of the journal.
pub const COPIES: usize = 2;

/// The parts of a member's conventional space.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The superblock's copies.
    pub superblocks: [Extent<Pba>; COPIES],
    /// The journal's copies.
    pub journals: [Extent<Pba>; COPIES],
    /// What is left, and the rest of the drive.
    pub space: Space,
}

/// The conventional space is too short.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "two superblocks of {superblock} blocks and two copies of a journal of {journal} blocks leave nothing of the {have} conventional blocks; the drive needs more of them, or a smaller map or buffer"
)]
pub struct NoRoom {
    superblock: u64,
    journal: u64,
    have: u64,
}

/// Blocks of a copy of the superblock.
#[must_use]
pub fn superblock_blocks(block_bytes: u32) -> u32 {
    (superblock::BYTES as u32).div_ceil(block_bytes)
}

/// Where the copies of the superblock lie, whatever the journal.
///
/// # Errors
/// When there is no room for them.
pub fn superblocks(media: &dyn Media, block_bytes: u32) -> Result<[Extent<Pba>; COPIES], NoRoom> {
    Ok(Layout::new(media, block_bytes, 0, 0)?.superblocks)
}

impl Layout {
    /// With so many blocks for each copy of the journal, and for a persistent buffer.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn new(media: &dyn Media, block_bytes: u32, journal: u32, buffer: u32) -> Result<Self, NoRoom> {
        let all = Space::of(media, buffer);
        let superblock = superblock_blocks(block_bytes);
        let (taken, have) = (u64::from(superblock) + u64::from(journal), all.conventional_blocks);
        let left = have.checked_sub(COPIES as u64 * taken).filter(|left| *left > 0);
        let no_room = NoRoom { superblock: superblock.into(), journal: journal.into(), have };
        let conventional_blocks = left.ok_or(no_room)?;
        let first = all.conventional;
        let last = first.plus(have - u64::from(superblock));
        let space = Space { conventional: first.plus(taken), conventional_blocks, ..all };
        Ok(Self {
            superblocks: [Extent::new(first, superblock), Extent::new(last, superblock)],
            journals: [
                Extent::new(first.plus(superblock.into()), journal),
                Extent::new(first.plus(have - taken), journal),
            ],
            space,
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
        let Layout { superblocks: [a, b], journals: [c, d], space } = layout;
        let between = Extent::new(space.conventional, space.conventional_blocks as u32);
        let ends: Vec<u64> = [a, c, between, d, b].iter().map(|part| part.end().block()).collect();
        assert_eq!(ends, [4, 14, 178, 188, 192]);
        assert_eq!(space.zones.map(|zones| zones.count), Some(7));
        assert!(Layout::new(&media, 4096, 92, 5).is_err());
        assert_eq!(superblocks(&Conventional::new(1, 100), 512).unwrap()[1].end(), Pba::disk(100));
    }
}
