//! The devices below a cache: the flash, as large as the cache asks for, and the disk, each a simulation of its own.

use super::device::Device;
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::scheduler::Scheduler;
use super::setup::Setup;
use super::sizing::sized;
use crate::buffer_size::BufferSize;
use crate::drive::DrivePreset;
use crate::layers::below::BelowConfig;
use crate::layers::{self, ConfigError, LayerInfo};

/// The devices under `setup.layer`, filled and ready: flash on which the layer there leaves room for the cache and for
/// the journal, and the disk.
pub(super) fn device(setup: &Setup<'_>, cache_blocks: u32, options: &ReplayOptions) -> Result<Device, ReplayError> {
    let below = BelowConfig::read(setup.layer, setup.config)?;
    let options = ReplayOptions { queue_depth: None, scheduler: Scheduler::Fcfs, window: None, ..options.clone() };
    let flash = flash(setup.layer, &below, (setup.drive, cache_blocks), &options)?;
    let (flash_layer, disk_layer) = (layers::find(&below.flash_layer)?, layers::find(&below.disk_layer)?);
    let flash = Setup {
        drive: &flash,
        layer: flash_layer,
        config: &below.flash_config,
        // A buffer would be part of the flash; no layer for flash has one.
        buffer: BufferSize::Bytes(0),
        workload: setup.workload,
    };
    let disk = Setup { layer: disk_layer, config: &below.disk_config, buffer: below.disk_buffer, ..*setup };
    Ok(Device::stack(vec![flash.simulation(&options)?, disk.simulation(&options)?]))
}

/// The preset of the flash in the size that leaves room for `cache_blocks`.
pub(super) fn flash(
    cache: &LayerInfo,
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
    let journal = if options.as_live { options.journal_blocks } else { 0 };
    let needed = u64::from(cache_blocks) + u64::from(journal);
    sized(&preset, (layers::find(&below.flash_layer)?, &below.flash_config), (needed, 0), options)
}
