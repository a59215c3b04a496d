//! Formatting that the power interrupts: what is there afterwards is no volume, or one that is whole.

use imbrex::block::{Extent, Lba};
use imbrex::explore::content::Sector;
use imbrex::explore::{BLOCK, Devices, Dice, content};
use imbrex::perform::{Request, Stack};

use super::error::ImagesError;
use super::images::Images;
use crate::solo::Solo;
use crate::volume::{Volume, VolumeError};

/// A volume that was in use before the drives are formatted again.
pub(super) struct OldVolume {
    identity: u64,
    /// The version of each of its blocks; 0 for none.
    newest: Vec<u64>,
}

/// The operations of files during which formatting is interrupted: about as many as it takes.
const OPERATIONS: u64 = 40;

impl Images {
    /// Formats a volume and writes to it.
    pub(super) fn old_volume(&mut self, dice: &mut Dice) -> Result<OldVolume, ImagesError> {
        let volume = self.make().map_err(ImagesError::Format)?;
        let mut solo = self.solo(&volume)?;
        let mut newest = vec![0; self.capacity() as usize];
        for version in 1..=dice.between(1, 60) {
            let lba = dice.below(newest.len() as u64);
            let content = content::old(lba, version, BLOCK);
            let write = solo.call(Request::Write(Extent::new(Lba(lba), 1), content));
            write.map_err(|source| ImagesError::Request { request: "write", source })?;
            newest[lba as usize] = version;
        }
        solo.call(Request::Flush).map_err(|source| ImagesError::Request { request: "flush", source })?;
        Ok(OldVolume { identity: volume.superblocks[0].identity, newest })
    }

    fn solo(&self, volume: &Volume) -> Result<Solo, VolumeError> {
        let stack = Stack::open(self.patched(volume)?)?;
        Ok(Solo::begin(stack, self.members())?)
    }

    /// Formats until the power fails, and looks at what is left.
    pub(super) fn interrupted_format(&mut self, old: Option<&OldVolume>, dice: &mut Dice) -> Result<(), ImagesError> {
        self.arm(OPERATIONS, dice);
        let _ = self.make();
        self.cut(dice);
        let Ok(volume) = self.reopen() else {
            // Refused, as it must be; the next attempt begins with an empty file.
            self.wipe();
            return Ok(());
        };
        let newest = |lba: u64| old.map_or(0, |old| old.newest[lba as usize]);
        let is_old = old.is_some_and(|old| old.identity == volume.superblocks[0].identity);
        let mut solo = self.solo(&volume).map_err(|e| ImagesError::NotWhole(e.to_string()))?;
        for lba in 0..self.capacity() {
            let read = solo.call(Request::Read(Extent::new(Lba(lba), 1)));
            let content = read.map_err(|e| ImagesError::NotWhole(format!("block {lba} cannot be read: {e}")))?;
            let is_zero = content.iter().all(|byte| *byte == 0);
            let version = newest(lba);
            let is_newest = version > 0 && content == content::old(lba, version, BLOCK);
            let is_right = match is_old {
                true => is_newest || (version == 0 && is_zero),
                false => content::sectors(&content)
                    .all(|sector| self.unwritten.allows(sector == Sector::Zero, matches!(sector, Sector::Old { .. }))),
            };
            if !is_right {
                let what = format!("block {lba} holds neither what it did, version {version}, nor zeros");
                return Err(ImagesError::NotWhole(what));
            }
        }
        Ok(())
    }
}
