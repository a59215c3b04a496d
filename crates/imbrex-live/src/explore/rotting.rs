//! Images in which bytes change without a write, which checksums are to find.

use imbrex::block::Pba;
use imbrex::explore::BLOCK;

use super::images::Images;
use super::rot::Rot;

impl Images {
    /// Changes a byte of a block. Every second time it does not, and something else may be done to the block.
    pub(super) fn rot(&mut self, drive: usize, block: Pba) -> bool {
        self.rots += 1;
        if self.rots.is_multiple_of(2) {
            return false;
        }
        let (within, change) = (self.rots * 331 % BLOCK as u64, 1 << (self.rots / 2 % 8));
        let offset = self.images[drive].offset(block) + within;
        self.rotten.push(Rot::new(&self.disks[drive].file, drive, block, offset, change));
        true
    }

    /// Changes bytes back that have not been written since.
    pub(super) fn freshen(&mut self, which: impl Fn(&Rot) -> bool) {
        let (fresh, rotten): (Vec<Rot>, Vec<Rot>) = std::mem::take(&mut self.rotten).into_iter().partition(which);
        self.rotten = rotten;
        // The last change to a sector is taken back first.
        fresh.iter().rev().for_each(|rot| rot.take_back(&self.disks[rot.drive].file));
    }

    /// Changes bytes back that are not checked because they were being written when the power failed: no more is
    /// promised of them.
    pub(super) fn freshen_unsettled(&mut self) {
        let members = self.volume.clone();
        self.freshen(|rot| members[rot.drive].summed().is_some_and(|summed| summed.is_unsettled(rot.block)));
    }
}
