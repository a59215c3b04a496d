//! The drive of a preset, and the space that a layer may use there.

use super::device::{Device, Timing};
use super::error::ReplayError;
use super::journal;
use super::options::ReplayOptions;
use crate::block::Address;
use crate::drive::{DriveError, DrivePreset, DriveTiming};
use crate::mechanics::{FlashTimes, Mechanics};
use crate::recording::Recording;
use crate::space::Space;

impl Timing for Mechanics {
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        Self::access(self, now_ns, first_sector, sectors, write)
    }

    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64 {
        Self::positioning_ns(self, now_ns, first_sector, write)
    }
}

impl Timing for FlashTimes {
    fn access(&mut self, now_ns: u64, _first_sector: u64, sectors: u64, write: bool) -> u64 {
        Self::access(self, now_ns, sectors, write)
    }

    fn positioning_ns(&self, _now_ns: u64, _first_sector: u64, _write: bool) -> u64 {
        0
    }

    fn reset(&mut self, now_ns: u64, _first_sector: u64, _sectors: u64) -> u64 {
        self.erase(now_ns)
    }
}

/// The drive of a preset, as [`DrivePreset::media`] gives its media.
///
/// # Errors
/// When the preset describes no possible drive, or one of another kind.
pub fn disk(drive: &DrivePreset, recording: Recording) -> Result<Device, DriveError> {
    let media = drive.media(recording)?;
    let timing: Box<dyn Timing> = match drive.timing()? {
        DriveTiming::Disk(mechanics) => Box::new(mechanics),
        DriveTiming::Flash(times) => Box::new(times),
    };
    Ok(Device::new(media, timing, drive.block_bytes))
}

/// The space of `disk` that a layer may use under these options: all but the journal that `as_live` prices.
///
/// # Errors
/// When the journal does not fit.
pub fn space(disk: &Device, buffer_blocks: u32, options: &ReplayOptions) -> Result<Space, ReplayError> {
    let mut space = whole(disk, buffer_blocks);
    if options.as_live {
        let blocks = u64::from(options.journal_blocks);
        let Some(rest) = space.conventional_blocks.checked_sub(blocks) else {
            let have = space.conventional_blocks;
            let reason = format!("its {blocks} blocks do not fit the drive's {have} conventional blocks; choose less");
            return Err(ReplayError::Option { option: "journal_blocks", reason });
        };
        space.conventional = journal::START.plus(blocks);
        space.conventional_blocks = rest;
    }
    Ok(space)
}

/// All of the disk. Of a stack the first device is the cache, the second the home of all blocks.
fn whole(disk: &Device, buffer_blocks: u32) -> Space {
    let space = Space::of(disk.media(), buffer_blocks);
    match disk.below() {
        [cache, home, ..] => space.cached(cache.capacity(), home.capacity()),
        _ => space,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Pba;
    use crate::media::{Conventional, Shingled, ZonedSpec};
    use crate::plan::Unit;
    use crate::replay::NoTime;
    use crate::space::Zones;

    fn zoned() -> Device {
        let spec = ZonedSpec { zones: 10, zone_blocks: 64, conventional_zones: 3, max_open: 0, max_active: 0 };
        Device::new(Box::new(Shingled::new(1, spec)), Box::new(NoTime), 512)
    }

    #[test]
    fn the_journal_is_taken_off_the_front() {
        let options = ReplayOptions { as_live: true, journal_blocks: 4, ..ReplayOptions::default() };
        let space = space(&zoned(), 7, &options).unwrap();
        assert_eq!((space.conventional, space.conventional_blocks), (Pba::disk(4), 188));
        assert_eq!(space.zones, Some(Zones { first: Unit::disk(3), count: 7, zone_blocks: 64 }));
        assert_eq!(space.buffer_blocks, 7);
        let too_long = ReplayOptions { journal_blocks: 193, ..options };
        assert!(super::space(&zoned(), 7, &too_long).is_err());
    }

    #[test]
    fn a_conventional_disk_has_no_zones() {
        let disk = Device::new(Box::new(Conventional::new(1, 1 << 33)), Box::new(NoTime), 4096);
        let space = space(&disk, 0, &ReplayOptions::default()).unwrap();
        assert_eq!((space.conventional_blocks, space.zones), (1 << 33, None));
    }
}
