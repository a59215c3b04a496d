//! From a drive, a layer and a workload to a running simulation.

use super::device::Device;
use super::error::ReplayError;
use super::journal;
use super::options::ReplayOptions;
use crate::block::{Address, Pba};
use crate::layer::Condition;
use crate::media::Media;
use crate::plan::Unit;
use crate::space::{Space, Zones};

/// Where the journal begins: at the front of the conventional space.
pub(super) const JOURNAL_START: Pba = Pba::disk(0);

/// The space of `disk` that a layer may use under these options: all but the journal that `as_live` prices.
///
/// # Errors
/// When the journal does not fit.
pub fn space(disk: &Device, buffer_blocks: u32, options: &ReplayOptions) -> Result<Space, ReplayError> {
    let mut space = whole(disk.media(), buffer_blocks);
    if options.as_live {
        let blocks = u64::from(options.journal_blocks) * u64::from(journal::entry_blocks(disk.block_bytes()));
        let Some(rest) = space.conventional_blocks.checked_sub(blocks) else {
            let have = space.conventional_blocks;
            let reason = format!("its {blocks} blocks do not fit the drive's {have} conventional blocks; choose less");
            return Err(ReplayError::Option { option: "journal_blocks", reason });
        };
        space.conventional = JOURNAL_START.plus(blocks);
        space.conventional_blocks = rest;
    }
    Ok(space)
}

/// All of the disk: conventional units come first, then sequential ones of one size.
fn whole(media: &dyn Media, buffer_blocks: u32) -> Space {
    let report = media.report();
    let conventional = report.iter().take_while(|unit| unit.condition == Condition::Conventional).count();
    let zones = (conventional < report.len()).then(|| {
        let first = Unit::disk(conventional as u32);
        Zones { first, count: (report.len() - conventional) as u32, zone_blocks: media.extent_of(first).blocks }
    });
    let conventional_blocks = zones.map_or(media.blocks(), |zones| zones.block(0, 0).block());
    Space { conventional: Pba::disk(0), conventional_blocks, zones, buffer_blocks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{Conventional, Shingled, ZonedSpec};
    use crate::replay::Timing;

    struct NoTime;

    impl Timing for NoTime {
        fn access(&mut self, now_ns: u64, _: u64, _: u64, _: bool) -> u64 {
            now_ns
        }
    }

    fn zoned() -> Device {
        let spec = ZonedSpec { zones: 10, zone_blocks: 64, conventional_zones: 3, max_open: 0, max_active: 0 };
        Device::new(Box::new(Shingled::new(1, spec)), Box::new(NoTime), 512)
    }

    #[test]
    fn the_journal_is_taken_off_the_front() {
        let options = ReplayOptions { as_live: true, journal_blocks: 4, ..ReplayOptions::default() };
        let space = space(&zoned(), 7, &options).unwrap();
        assert_eq!((space.conventional, space.conventional_blocks), (Pba::disk(32), 160));
        assert_eq!(space.zones, Some(Zones { first: Unit::disk(3), count: 7, zone_blocks: 64 }));
        assert_eq!(space.buffer_blocks, 7);
        let too_long = ReplayOptions { journal_blocks: 25, ..options };
        assert!(super::space(&zoned(), 7, &too_long).is_err());
    }

    #[test]
    fn a_conventional_disk_has_no_zones() {
        let disk = Device::new(Box::new(Conventional::new(1, 1 << 33)), Box::new(NoTime), 4096);
        let space = space(&disk, 0, &ReplayOptions::default()).unwrap();
        assert_eq!((space.conventional_blocks, space.zones), (1 << 33, None));
    }
}
