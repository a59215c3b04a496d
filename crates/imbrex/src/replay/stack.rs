//! The devices below a cache: the flash, as large as the cache asks for, and the disk, each a simulation of its own.

use super::device::Device;
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::scheduler::Scheduler;
use super::setup::{Setup, build};
use super::sizing::{fits, sized};
use crate::block::Pba;
use crate::buffer_size::BufferSize;
use crate::drive::DrivePreset;
use crate::layers::below::BelowConfig;
use crate::layers::{self, ConfigError, LayerInfo};
use crate::space::{Home, METADATA_COPIES, Space};

/// The devices under `setup.layer`, filled and ready: flash on which the layer there leaves room for the cache and for
/// the journal, and the disk.
pub(super) fn device(setup: &Setup<'_>, cache_blocks: u32, options: &ReplayOptions) -> Result<Device, ReplayError> {
    let below = BelowConfig::read(setup.layer, setup.config)?;
    let flash = flash((setup.layer, setup.config), &below, (setup.drive, cache_blocks), options)?;
    let (flash_layer, disk_layer) = (layers::find(&below.flash_layer)?, layers::find(&below.disk_layer)?);
    let flash = Setup {
        drive: &flash,
        layer: flash_layer,
        config: &below.flash_config,
        // A buffer would be part of the flash; no layer for flash has one.
        buffer: BufferSize::Bytes(0),
        workload: setup.workload,
    };
    let options =
        ReplayOptions { queue_depth: None, scheduler: Scheduler::Fcfs, window: None, ..below_journal(options) };
    let disk = Setup { layer: disk_layer, config: &below.disk_config, buffer: below.disk_buffer, ..*setup };
    Ok(Device::stack(vec![flash.simulation(&options)?, disk.simulation(&options)?]))
}

/// The preset of the flash in the size that leaves room for `cache_blocks` and for the cache's journal.
pub(super) fn flash(
    (cache, config): (&LayerInfo, &toml::Table),
    below: &BelowConfig,
    (disk, cache_blocks): (&DrivePreset, u32),
    options: &ReplayOptions,
) -> Result<DrivePreset, ReplayError> {
    let preset = DrivePreset::named(&below.flash_drive)?;
    if preset.block_bytes != disk.block_bytes {
        let (flash, disk) = (preset.block_bytes, disk.block_bytes);
        let reason = format!("blocks of the flash have {flash} bytes, those of the disk {disk}; they must be equal");
        return Err(ConfigError::Space { layer: cache.name, reason }.into());
    }
    let mut needed = u64::from(cache_blocks);
    if options.as_live {
        // The flash grows with the journal, so what that may take is no matter.
        let whole = cache_space(cache_blocks, home(below, disk, options)?);
        let whole = Space { conventional_blocks: needed + (METADATA_COPIES as u64) * u64::from(u32::MAX) + 1, ..whole };
        let (_, journal) = build((cache, config), &whole, disk.block_bytes, options)?;
        needed += METADATA_COPIES as u64 * u64::from(journal.unwrap_or(0));
    }
    let flash_layer = layers::find(&below.flash_layer)?;
    sized(&preset, (flash_layer, &below.flash_config), (needed, 0), &below_journal(options))
}

/// Blocks that the layer on the disk behind the cache offers.
pub(super) fn home(below: &BelowConfig, disk: &DrivePreset, options: &ReplayOptions) -> Result<u64, ReplayError> {
    fits(disk, layers::find(&below.disk_layer)?, &below.disk_config, 1, &below_journal(options))
}

/// The options of the devices below: the length of a journal is chosen for the cache, as in `format`.
fn below_journal(options: &ReplayOptions) -> ReplayOptions {
    ReplayOptions { journal_blocks: None, ..options.clone() }
}

/// The space of a cache of so many blocks before a disk that offers `home`.
pub(super) fn cache_space(cache_blocks: u32, home: u64) -> Space {
    Space {
        conventional: Pba::disk(0),
        conventional_blocks: cache_blocks.into(),
        zones: None,
        bands: None,
        tracks: None,
        home: Some(Home { start: Pba::new(Pba::DISK + 1, 0), blocks: home }),
        buffer_blocks: cache_blocks,
    }
}
