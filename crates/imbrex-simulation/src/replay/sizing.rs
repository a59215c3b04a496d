//! Whether a layer can be made on a drive, and how large the drive must be.

use super::bands;
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::room::{build, disk, roomy, whole};
use imbrex_core::block::Pba;
use imbrex_core::drive::DrivePreset;
use imbrex_core::recording::Recording;
use imbrex_core::space::{Home, METADATA_COPIES, Space};
use imbrex_layers::below::BelowConfig;
use imbrex_layers::{self as layers, ConfigError, LayerInfo};

/// How often a drive is enlarged before it is given up to find one that is large enough.
const ATTEMPTS: u32 = 32;

/// The smallest size of `preset`, nearly, on which `layer` with a buffer of `buffer_blocks` blocks offers `needed`
/// blocks.
///
/// # Errors
/// Why no size will do: a wrong field of the configuration, or what the layer wants of the largest drive that can be.
pub fn sized(
    preset: &DrivePreset,
    (layer, config): (&LayerInfo, &toml::Table),
    (needed, buffer_blocks): (u64, u32),
    options: &ReplayOptions,
) -> Result<DrivePreset, ReplayError> {
    let (mut blocks, mut last) = (needed, None);
    for attempt in 0..ATTEMPTS {
        // A drive grows by whole zones, tracks or erase blocks, whatever their length is here.
        let unit = 64 << attempt;
        let offered = preset
            .with_capacity(blocks.saturating_mul(preset.block_bytes.into()))
            .map_err(ReplayError::from)
            .and_then(|drive| Ok((fits(&drive, layer, config, buffer_blocks, options)?, drive)));
        match offered {
            Ok((capacity, drive)) if capacity >= needed => return Ok(drive),
            Ok((capacity, _)) => blocks += needed - capacity + unit,
            Err(error @ ReplayError::Config(ConfigError::Field { .. })) => return Err(error),
            Err(error) => {
                let is_no_drive = matches!(error, ReplayError::Drive(_));
                last = last.filter(|_| is_no_drive).or(Some(error));
                blocks += blocks / 8 + unit;
            }
        }
    }
    let reason = format!("no size of {} leaves room for {needed} blocks", preset.name);
    Err(last.unwrap_or(ConfigError::Space { layer: layer.name, reason }.into()))
}

/// Whether `layer`, and for a cache the layers below it, can be made on `drive` as configured, with a buffer of
/// `buffer_blocks` blocks: the blocks that it offers. Makes the maps and fills nothing.
///
/// # Errors
/// What does not fit, as [`Setup::simulation`](super::Setup::simulation) would say.
pub fn fits(
    drive: &DrivePreset,
    layer: &LayerInfo,
    config: &toml::Table,
    buffer_blocks: u32,
    options: &ReplayOptions,
) -> Result<u64, ReplayError> {
    if layer.recording != Recording::Cached {
        let drive = roomy(drive, layer, config, buffer_blocks, options)?;
        let space = whole(&disk(&drive, layer.recording)?, buffer_blocks);
        return Ok(build(layer, config, &space, drive.block_bytes, options)?.0.capacity());
    }
    let below = BelowConfig::read(layer, config)?;
    flash(layer, config, &below, drive, buffer_blocks, options)?;
    let home = home(&below, drive, options)?;
    let built = layer.build(&cache_space(buffer_blocks, home), config)?;
    bands::check(layer, &*built, options)?;
    Ok(built.capacity())
}

/// The preset of the flash in the size that leaves room for `cache_blocks` and for the cache's journal.
pub(super) fn flash(
    cache: &LayerInfo,
    config: &toml::Table,
    below: &BelowConfig,
    disk: &DrivePreset,
    cache_blocks: u32,
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
        let whole = cache_space(cache_blocks, home(below, disk, options)?).ample();
        let (_, journal) = build(cache, config, &whole, disk.block_bytes, options)?;
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
pub(super) fn below_journal(options: &ReplayOptions) -> ReplayOptions {
    ReplayOptions { journal_blocks: None, bands: None, extend: None, ..options.clone() }
}

/// The space of a cache of `cache_blocks` blocks before a disk that offers `home`.
pub(super) fn cache_space(cache_blocks: u32, home: u64) -> Space {
    Space {
        conventional: Pba::disk(0),
        conventional_blocks: cache_blocks.into(),
        zones: None,
        bands: None,
        tracks: None,
        realms: None,
        home: Some(Home { start: Pba::new(Pba::DISK + 1, 0), blocks: home }),
        buffer_blocks: cache_blocks,
        spares_ram: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_layers as layers;

    #[test]
    fn a_drive_is_found_for_every_size() {
        let options = ReplayOptions::default();
        let config = toml::Table::new();
        for (drive, layer) in [("ssd-pore", "page-ftl"), ("small-zoned", "log-greedy"), ("imr-tracklace", "seagate")] {
            let preset = DrivePreset::named(drive).unwrap();
            let layer = layers::find(layer).unwrap();
            for needed in [1, 1000, 262_144, 2_621_440] {
                let found = sized(&preset, (layer, &config), (needed, 0), &options).unwrap();
                assert!(fits(&found, layer, &config, 0, &options).unwrap() >= needed);
                assert!(found.blocks() <= 2 * needed + (1 << 20), "{} blocks for {needed}", found.blocks());
            }
        }
    }

    #[test]
    fn a_fault_that_no_size_mends_is_an_error() {
        let preset = DrivePreset::named("exos-x18z").unwrap();
        let layer = layers::find("log-greedy").unwrap();
        let refused = |config: &str| {
            let config = config.parse().unwrap();
            sized(&preset, (layer, &config), (1, 0), &ReplayOptions::default()).unwrap_err().to_string()
        };
        let message = refused("spare_fraction = 2.0");
        assert!(message.contains("spare_fraction at least 0 and below 1"), "{message}");
        let message = refused("compact_bands = 100000000");
        assert!(message.contains("blocks of RAM; choose less"), "{message}");
    }
}
