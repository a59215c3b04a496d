//! A layer as configured: whether it can be made on a drive, how large the drive must be, and how it is simulated.

use std::borrow::Cow;

use super::bands;
use super::device::Device;
use super::error::ReplayError;
use super::options::ReplayOptions;
use super::room::{build, disk, space, whole};
use super::simulation::Simulation;
use imbrex_core::block::Pba;
use imbrex_core::drive::DrivePreset;
use imbrex_core::recording::Recording;
use imbrex_core::space::{Home, METADATA_COPIES, Space};
use imbrex_engine::JournalLength;
use imbrex_layers::below::{BelowConfig, check_cache};
use imbrex_layers::{self as layers, ConfigError, LayerInfo};

/// How often a drive is enlarged before it is given up to find one that is large enough.
const ATTEMPTS: u32 = 32;

/// A layer of the library as it is configured.
#[derive(Copy, Clone)]
pub struct Configured<'a> {
    /// The layer.
    pub layer: &'a LayerInfo,
    /// Its fields.
    pub config: &'a toml::Table,
    /// The size of its persistent buffer in blocks; 0 for a layer without one.
    pub buffer_blocks: u32,
}

impl Configured<'_> {
    /// Blocks that the layer offers on `drive`, if it can be made there; of a cache with the layers below it. Makes the
    /// maps and fills nothing.
    ///
    /// # Errors
    /// What does not fit, as [`Setup::simulation`](super::Setup::simulation) would say.
    pub fn capacity(&self, drive: &DrivePreset, options: &ReplayOptions) -> Result<u64, ReplayError> {
        let Self { layer, config, buffer_blocks } = *self;
        if layer.recording != Recording::Cached {
            let drive = self.roomy(drive, options)?;
            let space = whole(&disk(&drive, layer.recording)?, buffer_blocks);
            return Ok(build(layer, config, &space, drive.block_bytes, options)?.0.capacity());
        }
        let below = BelowConfig::read(layer, config)?;
        flash(self, &below, drive, options)?;
        let home = home(&below, drive, options)?;
        check_cache(layer, buffer_blocks, home)?;
        let built = layer.build(&cache_space(buffer_blocks, home), config)?;
        bands::check(layer, &*built, options)?;
        Ok(built.capacity())
    }

    /// The smallest size of `preset`, nearly, on which the layer offers `needed` blocks.
    ///
    /// # Errors
    /// Why no size will do: a wrong field of the configuration, or what the layer wants of the largest drive that can
    /// be.
    pub fn sized(
        &self,
        preset: &DrivePreset,
        needed: u64,
        options: &ReplayOptions,
    ) -> Result<DrivePreset, ReplayError> {
        let (mut blocks, mut last) = (needed, None);
        for attempt in 0..ATTEMPTS {
            // A drive grows by whole zones, tracks or erase blocks, whatever their length is here.
            let unit = 64 << attempt;
            let offered = preset
                .with_capacity(blocks.saturating_mul(preset.block_bytes.into()))
                .map_err(ReplayError::from)
                .and_then(|drive| Ok((self.capacity(&drive, options)?, drive)));
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
        Err(last.unwrap_or(ConfigError::Space { layer: self.layer.name, reason }.into()))
    }

    /// The drive with conventional blocks for the layer's journal under `as_live`, as a volume is formatted on it.
    ///
    /// # Errors
    /// When the layer cannot be made on it, whatever the journal takes.
    pub(super) fn roomy<'d>(
        &self,
        drive: &'d DrivePreset,
        options: &ReplayOptions,
    ) -> Result<Cow<'d, DrivePreset>, ReplayError> {
        let Self { layer, config, buffer_blocks } = *self;
        if !options.as_live || layer.recording != Recording::Interlaced {
            return Ok(Cow::Borrowed(drive));
        }
        let roomy = drive.with_room(0, |whole| {
            let ample = Space { buffer_blocks, ..whole.clone().ample() };
            let length = JournalLength::chosen(options.journal_blocks, whole.conventional_blocks);
            let make = |_| layer.build(&ample, config).map_err(ReplayError::from);
            length.settle(drive.block_bytes, options.gather, make).map(|(journal, _)| journal)
        });
        roomy.map(Cow::Owned)
    }

    /// The layer on an empty `disk`.
    ///
    /// # Errors
    /// When the layer or the disk refuses.
    pub fn simulation(&self, disk: Device, options: &ReplayOptions) -> Result<Simulation, ReplayError> {
        let whole = whole(&disk, self.buffer_blocks);
        if let Some(home) = whole.home {
            check_cache(self.layer, self.buffer_blocks, home.blocks)?;
        }
        // In the space that its journal leaves, so it need not be made again.
        let (built, journal_blocks) = build(self.layer, self.config, &whole, disk.block_bytes(), options)?;
        let options = ReplayOptions { journal_blocks, ..options.clone() };
        options.check(&disk)?;
        let space = space(&disk, self.buffer_blocks, &options)?;
        Simulation::with(self.layer.name, built, &|| self.layer.build(&space, self.config), disk, &options)
    }
}

/// The preset of the flash in the size that leaves room for the cache and for the cache's journal.
pub(super) fn flash(
    cache: &Configured<'_>,
    below: &BelowConfig,
    disk: &DrivePreset,
    options: &ReplayOptions,
) -> Result<DrivePreset, ReplayError> {
    let Configured { layer, config, buffer_blocks } = *cache;
    let preset = DrivePreset::named(&below.flash_drive)?;
    if preset.block_bytes != disk.block_bytes {
        let (flash, disk) = (preset.block_bytes, disk.block_bytes);
        let reason = format!("blocks of the flash have {flash} bytes, those of the disk {disk}; they must be equal");
        return Err(ConfigError::Space { layer: layer.name, reason }.into());
    }
    let mut needed = u64::from(buffer_blocks);
    if options.as_live {
        // The flash grows with the journal, so what that may take is no matter.
        let whole = cache_space(buffer_blocks, home(below, disk, options)?).ample();
        let (_, journal) = build(layer, config, &whole, disk.block_bytes, options)?;
        needed += METADATA_COPIES as u64 * u64::from(journal.unwrap_or(0));
    }
    let flash_layer = layers::find(&below.flash_layer)?;
    let on_flash = Configured { layer: flash_layer, config: &below.flash_config, buffer_blocks: 0 };
    on_flash.sized(&preset, needed, &below_journal(options))
}

/// Blocks that the layer on the disk behind the cache offers.
pub(super) fn home(below: &BelowConfig, disk: &DrivePreset, options: &ReplayOptions) -> Result<u64, ReplayError> {
    let layer = layers::find(&below.disk_layer)?;
    Configured { layer, config: &below.disk_config, buffer_blocks: 1 }.capacity(disk, &below_journal(options))
}

/// The options of the devices below: the length of a journal is chosen for the cache, as in `format`.
pub(super) fn below_journal(options: &ReplayOptions) -> ReplayOptions {
    ReplayOptions { journal_blocks: None, bands: None, extend: Vec::new(), ..options.clone() }
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
        home: Some(Home::behind(home)),
        buffer_blocks: cache_blocks,
        spares_ram: false,
        map_cache: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_found_for_every_size() {
        let options = ReplayOptions::default();
        let config = toml::Table::new();
        for (drive, layer) in [("ssd-pore", "page-ftl"), ("small-zoned", "log-greedy"), ("imr-tracklace", "seagate")] {
            let preset = DrivePreset::named(drive).unwrap();
            let layer = layers::find(layer).unwrap();
            for needed in [1, 1000, 262_144, 2_621_440] {
                let configured = Configured { layer, config: &config, buffer_blocks: 0 };
                let found = configured.sized(&preset, needed, &options).unwrap();
                assert!(configured.capacity(&found, &options).unwrap() >= needed);
                assert!(found.blocks() <= 2 * needed + (1 << 20), "{} blocks for {needed}", found.blocks());
            }
        }
    }

    #[test]
    fn a_fault_that_no_size_mends_is_an_error() {
        let preset = DrivePreset::named("exos-x18z").unwrap();
        let layer = layers::find("log-greedy").unwrap();
        let refused = |config: &str| {
            let configured = Configured { layer, config: &config.parse().unwrap(), buffer_blocks: 0 };
            configured.sized(&preset, 1, &ReplayOptions::default()).unwrap_err().to_string()
        };
        let message = refused("spare_fraction = 2.0");
        assert!(message.contains("spare_fraction at least 0 and below 1"), "{message}");
        let message = refused("compact_bands = 100000000");
        assert!(message.contains("blocks of RAM; choose less"), "{message}");
    }
}
