//! A byte that changes without a write.

use imbrex::block::Pba;
use imbrex::explore::content::SECTOR;

use super::volatile::Volatile;

/// A byte that changed.
pub(super) struct Rot {
    /// The drive.
    pub drive: usize,
    /// The block that the byte belongs to.
    pub block: Pba,
    offset: u64,
    change: u8,
    /// The sector that it lies in, as it is since.
    sector: Vec<u8>,
}

impl Rot {
    /// Changes the byte at `offset` of a drive's file, where `block` lies.
    pub fn new(file: &Volatile, drive: usize, block: Pba, offset: u64, change: u8) -> Self {
        file.flip(offset, change);
        Self { drive, block, offset, change, sector: sector(file, offset) }
    }

    /// Changes it back, if its sector has not been written since.
    pub fn take_back(&self, file: &Volatile) {
        if sector(file, self.offset) == self.sector {
            file.flip(self.offset, self.change);
        }
    }
}

/// What the sector holds that a byte lies in.
fn sector(file: &Volatile, offset: u64) -> Vec<u8> {
    file.content(offset - offset % SECTOR as u64, SECTOR)
}
