//! What the explorer writes: every 512-byte sector says which block and version it is, at both of its ends.

use std::fmt;

use bytes::Bytes;

use imbrex_core::block::Lba;

/// Bytes that a power cut leaves whole.
pub const SECTOR: usize = 512;
/// Bytes of a block: two sectors, so that one can be torn.
pub const BLOCK: usize = 2 * SECTOR;
const MAGIC: u64 = 0x1b_12e5_c0de_cafe;
const OLD_MAGIC: u64 = 0x1b_12e5_01d0_cafe;

/// A block's content: version `version` of `lba`.
#[must_use]
pub fn block(lba: Lba, version: u64, block_bytes: usize) -> Bytes {
    marked(MAGIC, lba.0, version, block_bytes)
}

/// What was on the drive before the layer's first epoch: version `version` of what was called `block` then.
#[must_use]
pub fn old(block: u64, version: u64, block_bytes: usize) -> Bytes {
    marked(OLD_MAGIC, block, version, block_bytes)
}

fn marked(magic: u64, number: u64, version: u64, block_bytes: usize) -> Bytes {
    let mut bytes = vec![0; block_bytes];
    for (i, sector) in bytes.chunks_mut(SECTOR).enumerate() {
        for (at, value) in [(0, magic ^ i as u64), (8, number), (16, version), (SECTOR - 8, version)] {
            sector[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes.into()
}

/// What a sector of a block holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Sector {
    /// Zeros.
    Zero,
    /// A version of a block.
    Version {
        /// The block.
        lba: Lba,
        /// The version, from 1.
        version: u64,
    },
    /// What was on the drive before.
    Old {
        /// The block, by their count.
        block: u64,
        /// The version.
        version: u64,
    },
    /// Nothing that was ever written.
    Foreign,
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => write!(f, "zeros"),
            Self::Version { lba, version } => write!(f, "version {version} of {lba:?}"),
            Self::Old { block, version } => {
                write!(f, "what was on the drive before, version {version} of block {block}")
            }
            Self::Foreign => write!(f, "nothing that was ever written"),
        }
    }
}

/// Reads the sectors of a block.
pub fn sectors(block: &[u8]) -> impl Iterator<Item = Sector> {
    block.chunks(SECTOR).enumerate().map(|(i, sector)| {
        let word = |at: usize| u64::from_le_bytes(sector[at..at + 8].try_into().unwrap_or_default());
        if sector.iter().all(|byte| *byte == 0) {
            Sector::Zero
        } else if word(0) == MAGIC ^ i as u64 && word(16) == word(SECTOR - 8) {
            Sector::Version { lba: Lba(word(8)), version: word(16) }
        } else if word(0) == OLD_MAGIC ^ i as u64 && word(16) == word(SECTOR - 8) {
            Sector::Old { block: word(8), version: word(16) }
        } else {
            Sector::Foreign
        }
    })
}

/// The logical block whose content this is, if it is one's.
pub(super) fn lba(block: &[u8]) -> Option<Lba> {
    sectors(block).find_map(|sector| match sector {
        Sector::Version { lba, .. } => Some(lba),
        Sector::Zero | Sector::Old { .. } | Sector::Foreign => None,
    })
}
