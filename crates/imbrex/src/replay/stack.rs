//! The devices below a cache: the flash, as large as the cache asks for, and the disk, each a simulation of its own.

use super::device::Device;
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::scheduler::Scheduler;
use super::setup::{Setup, disk, space};
use crate::block::Pba;
use crate::buffer_size::BufferSize;
use crate::drive::DrivePreset;
use crate::layers::below::BelowConfig;
use crate::layers::{self, ConfigError, LayerInfo, Recording};
use crate::space::{Home, Space};

/// How often the flash is enlarged before it is given up to find one that is large enough.
const ATTEMPTS: u32 = 40;

/// The devices under `setup.layer`, filled and ready: flash on which the layer there leaves room for the cache and for the
/// journal, and the disk.
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
fn flash(
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
    let layer = layers::find(&below.flash_layer)?;
    let (mut blocks, mut last) = (needed, None);
    for _ in 0..ATTEMPTS {
        let offered = preset
            .with_capacity(blocks.saturating_mul(preset.block_bytes.into()))
            .map_err(ReplayError::from)
            .and_then(|drive| Ok((fits(&drive, layer, &below.flash_config, 0, options)?, drive)));
        match offered {
            Ok((capacity, drive)) if capacity >= needed => return Ok(drive),
            Ok((capacity, _)) => blocks += needed - capacity,
            Err(error) => {
                last = Some(error);
                blocks += blocks / 2 + 64;
            }
        }
    }
    let reason = format!("no size of {} leaves room for {needed} blocks", below.flash_drive);
    Err(last.unwrap_or(ConfigError::Space { layer: cache.name, reason }.into()))
}

/// Whether `layer`, and for a cache the layers below it, can be made on `drive` as configured, with a buffer of so many
/// blocks: the blocks that it offers. Makes the maps and fills nothing.
///
/// # Errors
/// What does not fit, as [`Setup::simulation`] would say.
pub fn fits(
    drive: &DrivePreset,
    layer: &LayerInfo,
    config: &toml::Table,
    buffer_blocks: u32,
    options: &ReplayOptions,
) -> Result<u64, ReplayError> {
    if layer.recording != Recording::Cached {
        let space = space(&disk(drive, layer.recording)?, buffer_blocks, options)?;
        return Ok(layer.build(&space, config)?.capacity());
    }
    let below = BelowConfig::read(layer, config)?;
    let home = fits(drive, layers::find(&below.disk_layer)?, &below.disk_config, 1, options)?;
    flash(layer, &below, (drive, buffer_blocks), options)?;
    let space = Space {
        conventional: Pba::disk(0),
        conventional_blocks: buffer_blocks.into(),
        zones: None,
        bands: None,
        tracks: None,
        home: Some(Home { start: Pba::new(Pba::DISK + 1, 0), blocks: home }),
        buffer_blocks,
    };
    Ok(layer.build(&space, config)?.capacity())
}
