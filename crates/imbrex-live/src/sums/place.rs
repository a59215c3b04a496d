//! Where checksums lie: in blocks of the conventional space that the layer does not get, the map of dirty regions
//! first, then the table.
//!
//! Both are made of sectors of 512 bytes that a power cut leaves old or new. Each seals itself, so no copy is needed
//! for it to be told whether it is whole.

use imbrex::block::{Address, Extent, Pba};
use serde::{Deserialize, Serialize};

/// Bytes of a sector: what a power cut leaves old or new.
pub(super) const SECTOR: usize = 512;
/// Bytes before a sector's content: its own checksum, and four zeros.
pub(super) const HEAD: usize = 8;
/// Bytes of a sector's content.
const CONTENT: usize = SECTOR - HEAD;
/// Sums in a sector.
pub(super) const SUMS: u64 = (CONTENT / size_of::<u32>()) as u64;
/// Regions in a sector of the map of dirty ones, a bit for each.
pub(super) const REGIONS: u64 = (CONTENT * 8) as u64;

/// How a member's data is summed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checksums {
    /// Blocks of a region: what is read and summed anew when it was being written as the power failed.
    pub region_blocks: u32,
}

impl Default for Checksums {
    fn default() -> Self {
        Self { region_blocks: 4096 }
    }
}

/// Where the sums of a drive's blocks lie.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The map of dirty regions.
    pub map: Extent<Pba>,
    /// The table.
    pub table: Extent<Pba>,
}

impl Checksums {
    /// The blocks that the map of dirty regions and the table take on a drive of `blocks` blocks.
    fn parts(self, blocks: u64, block_bytes: u32) -> (u64, u64) {
        let sectors = u64::from(block_bytes) / SECTOR as u64;
        let regions = blocks.div_ceil(self.region_blocks.max(1).into());
        (regions.div_ceil(REGIONS * sectors), blocks.div_ceil(SUMS * sectors))
    }

    /// Blocks that are taken on a drive of `blocks` blocks.
    #[must_use]
    pub fn blocks(self, blocks: u64, block_bytes: u32) -> u64 {
        let (map, table) = self.parts(blocks, block_bytes);
        map + table
    }

    /// Where they lie, from `first` on; nothing if the drive is too large for them.
    #[must_use]
    pub fn place(self, blocks: u64, block_bytes: u32, first: Pba) -> Option<Place> {
        let (map, table) = self.parts(blocks, block_bytes);
        let map = Extent::new(first, u32::try_from(map).ok()?);
        Some(Place { map, table: Extent::new(map.end(), u32::try_from(table).ok()?) })
    }
}

impl Place {
    /// All of it.
    #[must_use]
    pub fn all(&self) -> Extent<Pba> {
        Extent::new(self.map.start, self.map.blocks + self.table.blocks)
    }

    /// The number of the first sector of a block.
    pub(super) fn sector(&self, block: Pba, block_bytes: u32) -> u64 {
        block.since(self.map.start) * (u64::from(block_bytes) / SECTOR as u64)
    }
}

/// Makes the sectors of a block whole. One that says nothing is left as zeros.
pub(super) fn seal(block: &mut [u8], identity: u64, first: u64) {
    for (number, sector) in (first..).zip(block.chunks_exact_mut(SECTOR)) {
        sector[..HEAD].fill(0);
        if sector.iter().any(|byte| *byte != 0) {
            let sum = own_sum(sector, identity, number);
            sector[..4].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

/// The sectors of a block that are not whole, which are made zeros.
pub(super) fn damaged(block: &mut [u8], identity: u64, first: u64) -> Vec<usize> {
    let mut damaged = Vec::new();
    for (at, (number, sector)) in (first..).zip(block.chunks_exact_mut(SECTOR)).enumerate() {
        let is_empty = sector.iter().all(|byte| *byte == 0);
        if !is_empty && sector[..4] != own_sum(sector, identity, number).to_le_bytes() {
            sector.fill(0);
            damaged.push(at);
        }
    }
    damaged
}

/// The checksum of a sector: of the volume and place that it is of, and of what follows.
fn own_sum(sector: &[u8], identity: u64, number: u64) -> u32 {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&identity.to_le_bytes()), &number.to_le_bytes());
    crc32c::crc32c_append(sum, &sector[4..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn parts_are_as_long_as_the_drive_needs_them() {
        let sums = Checksums { region_blocks: 4096 };
        // A block of 4 KiB has the sums of 1008 others, and the bits of 32 256 regions.
        let place = sums.place(1008 * 10 + 1, 4096, Pba::disk(7)).unwrap();
        assert_eq!((place.map.blocks, place.table.blocks, place.table.start), (1, 11, Pba::disk(8)));
        assert_eq!(sums.blocks(4096 * 32_256 + 1, 4096), 2 + (4096_u64 * 32_256 + 1).div_ceil(1008));
        assert_eq!(
            sums.blocks(u64::MAX >> 8, 4096) > u64::from(u32::MAX),
            sums.place(u64::MAX >> 8, 4096, Pba::disk(0)).is_none()
        );
    }

    #[test]
    fn any_flipped_bit_of_a_sector_is_seen_and_another_place_or_volume_too() {
        let mut block = vec![0; 2 * SECTOR];
        block[SECTOR + 100] = 7;
        seal(&mut block, 5, 8);
        assert!(block[..SECTOR].iter().all(|byte| *byte == 0) && damaged(&mut block.clone(), 5, 8).is_empty());
        for bit in 0..SECTOR * 8 {
            let mut bad = block.clone();
            bad[SECTOR + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(damaged(&mut bad, 5, 8), [1], "bit {bit}");
        }
        assert_eq!(damaged(&mut block.clone(), 6, 8), [1]);
        assert_eq!(damaged(&mut block.clone(), 5, 9), [1]);
        damaged(&mut block, 6, 8);
        assert!(block.iter().all(|byte| *byte == 0));
    }
}
