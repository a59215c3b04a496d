//! The drive of a preset, the space that a layer may use there, and the layer in it.

use super::bands;
use super::device::{Device, NoTime, Timing};
use super::error::ReplayError;
use super::journal::{self, Journal};
use super::options::ReplayOptions;
use imbrex_core::drive::{DriveError, DrivePreset, DriveTiming};
use imbrex_core::layer::{TranslationLayer, Unsafe};
use imbrex_core::mechanics::{FlashTimes, Mechanics};
use imbrex_core::recording::Recording;
use imbrex_core::space::{Home, Space, superblock_blocks};
use imbrex_engine::journal::Coding;
use imbrex_engine::{JournalLength, JournalNeed};
use imbrex_layers::LayerInfo;

impl Timing for Mechanics {
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        Self::access(self, now_ns, first_sector, sectors, write)
    }

    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64 {
        Self::positioning_ns(self, now_ns, first_sector, write)
    }

    fn travelled(&self) -> u64 {
        Self::travelled(self)
    }

    fn activate(&mut self, now_ns: u64, activation_ns: u64) -> u64 {
        now_ns + activation_ns
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
    Ok(Device::new(drive.media(recording)?, timing(drive)?, drive.block_bytes))
}

/// How long the drive of a preset takes, which has been idle.
///
/// # Errors
/// When the preset describes no possible drive.
pub fn timing(drive: &DrivePreset) -> Result<Box<dyn Timing>, DriveError> {
    Ok(match drive.timing()? {
        DriveTiming::Disk(mechanics) => Box::new(mechanics),
        DriveTiming::Flash(times) => Box::new(times),
    })
}

/// The device of `drive`, with accesses that take no time.
pub(super) fn untimed(drive: &DrivePreset, recording: Recording) -> Result<Device, DriveError> {
    Ok(Device::new(drive.media(recording)?, Box::new(NoTime), drive.block_bytes))
}

/// A layer as configured in a space that it has for itself, but under `as_live` for what a volume keeps there; and the
/// length of the journal, which is found as for a volume that is formatted.
pub(super) fn build(
    layer: &LayerInfo,
    config: &toml::Table,
    whole: &Space,
    block_bytes: u32,
    options: &ReplayOptions,
) -> Result<(Box<dyn TranslationLayer>, Option<u32>), ReplayError> {
    let (built, journal_blocks) = built(layer, config, whole, block_bytes, options)?;
    bands::check(layer, &*built, options)?;
    Ok((built, journal_blocks))
}

fn built(
    layer: &LayerInfo,
    config: &toml::Table,
    whole: &Space,
    block_bytes: u32,
    options: &ReplayOptions,
) -> Result<(Box<dyn TranslationLayer>, Option<u32>), ReplayError> {
    if !options.as_live {
        return Ok((layer.build(whole, config)?, options.journal_blocks));
    }
    // A cache has its journal on flash, which is dear.
    let roomy = if layer.recording == Recording::Cached { 0 } else { whole.conventional_blocks };
    let length = JournalLength::chosen(options.journal_blocks, roomy);
    let (blocks, built) = length.settle(block_bytes, options.gather, |blocks| {
        let made = layer.build(&beside_journal(whole, blocks, block_bytes)?, config)?;
        survives(&*made)?;
        Ok::<_, ReplayError>(made)
    })?;
    Ok((built, Some(blocks)))
}

/// Whether a layer can be served live at all.
pub(super) fn survives(layer: &dyn TranslationLayer) -> Result<(), ReplayError> {
    let unsafe_one = |why: Unsafe| ReplayError::Option { option: "as_live", reason: why.to_string() };
    layer.facts().loses_flushed.map_or(Ok(()), |why| Err(unsafe_one(why)))
}

/// The journal that the options choose for the layer.
pub(super) fn journal_for(
    layer: &dyn TranslationLayer,
    options: &ReplayOptions,
    block_bytes: u32,
) -> Result<Journal, ReplayError> {
    survives(layer)?;
    let blocks = options.journal_blocks.unwrap_or(0);
    let facts = layer.facts().journal;
    JournalNeed::of(&facts, block_bytes as usize, options.gather, Coding::Compact).check(blocks.into())?;
    Ok(Journal::new(journal::START, blocks, facts.records, block_bytes, options.gather))
}

/// The space of `disk` that a layer may use under these options: all but what a volume keeps there under `as_live`,
/// where they say how long its journal is.
///
/// # Errors
/// When the journal does not fit.
pub fn space(disk: &Device, buffer_blocks: u32, options: &ReplayOptions) -> Result<Space, ReplayError> {
    let whole = whole(disk, buffer_blocks);
    match options.journal_blocks.filter(|_| options.as_live) {
        Some(blocks) => beside_journal(&whole, blocks, disk.block_bytes()),
        None => Ok(whole),
    }
}

/// What a volume with a journal of `journal_blocks` blocks leaves of a space. A cache has no superblock of its own.
fn beside_journal(whole: &Space, journal_blocks: u32, block_bytes: u32) -> Result<Space, ReplayError> {
    let superblock = if whole.home.is_none() { superblock_blocks(block_bytes) } else { 0 };
    whole.beside_metadata(superblock, journal_blocks).ok_or_else(|| {
        let have = whole.conventional_blocks;
        let text = format!("two copies of {journal_blocks} blocks and two superblocks of {superblock} leave nothing");
        let reason = format!("{text} of the {have} conventional blocks");
        ReplayError::Option { option: "journal_blocks", reason }
    })
}

/// All of the disk. Of a stack the first device is the cache, the second the home of all blocks.
pub(super) fn whole(disk: &Device, buffer_blocks: u32) -> Space {
    let space = Space::of(disk.media(), buffer_blocks);
    match disk.below() {
        [cache, home, ..] => {
            let space = space.cached(cache.capacity(), home.capacity());
            Space { home: space.home.map(|home| Home { costs: disk.costs, ..home }), ..space }
        }
        _ => space,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::Pba;
    use imbrex_core::media::{Conventional, Shingled, ZonedSpec};
    use imbrex_core::plan::Unit;
    use imbrex_core::space::Zones;

    fn zoned() -> Device {
        let spec = ZonedSpec { zones: 10, zone_blocks: 64, conventional_zones: 3, max_open: 0, max_active: 0 };
        Device::new(Box::new(Shingled::new(1, spec)), Box::new(NoTime), 512)
    }

    #[test]
    fn the_journal_is_taken_off_the_front() {
        let options = ReplayOptions { as_live: true, journal_blocks: Some(4), ..ReplayOptions::default() };
        let space = space(&zoned(), 7, &options).unwrap();
        assert_eq!((space.conventional, space.conventional_blocks), (Pba::disk(36), 120), "superblocks have 32");
        assert_eq!(space.zones, Some(Zones { first: Unit::disk(3), count: 7, zone_blocks: 64 }));
        assert_eq!(space.buffer_blocks, 7);
        let too_long = ReplayOptions { journal_blocks: Some(64), ..options };
        assert!(super::space(&zoned(), 7, &too_long).is_err());
    }

    #[test]
    fn a_conventional_disk_has_no_zones() {
        let disk = Device::new(Box::new(Conventional::new(1, 1 << 33)), Box::new(NoTime), 4096);
        let space = space(&disk, 0, &ReplayOptions::default()).unwrap();
        assert_eq!((space.conventional_blocks, space.zones), (1 << 33, None));
    }
}
