//! Drives and a configuration that a layer is tried with.

use imbrex::buffer_size::BufferSize;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::explore::{BLOCK, Candidate, Dice, ON_DISK, ON_FLASH, RandomDrive, SpaceNeeds, configuration};
use imbrex::layers::{self, ConfigError, LayerInfo};
use imbrex::recording::Recording;

use super::sums::Sums;

/// What a volume is formatted on, and how.
pub(super) struct Drawn {
    /// The drives, in the order of the members.
    pub presets: Vec<DrivePreset>,
    /// The configuration of the layer.
    pub config: toml::Table,
    /// The size of the buffer, if it is not the largest that fits.
    pub buffer: Option<BufferSize>,
}

/// Draws drives for a layer with `reserved` conventional blocks that are not the layer's, and the layer's configuration
/// and buffer. With so many pages of its map in memory, if `map_pages` says how many.
pub(super) fn drives(
    info: &'static LayerInfo,
    reserved: u32,
    sums: Sums,
    map_pages: Option<u32>,
    dice: &mut Dice,
) -> Result<Drawn, ConfigError> {
    let buffer = dice.between(4, 40) as u32;
    let bytes = |blocks: u32| BufferSize::Bytes(u64::from(blocks) * BLOCK as u64);
    let mut config = configuration(&Candidate { map_pages, ..Candidate::layer(info) }, dice)?;
    if info.recording == Recording::Zoned && sums == Sums::None && map_pages.is_none() && dice.one_in(3) {
        let presets = vec![sequential(reserved, dice).preset()];
        return Ok(Drawn { presets, config, buffer: Some(bytes(buffer)) });
    }
    if let Some(drive) = RandomDrive::new(info.recording, &SpaceNeeds { reserved, buffer, blocks: 0 }, dice) {
        // The whole cache in front of bands is the buffer.
        let buffer = (info.recording != Recording::Banded).then_some(bytes(buffer));
        return Ok(Drawn { presets: vec![drive.preset()], config, buffer });
    }
    let on_flash = layers::find(ON_FLASH)?;
    let on_disk = layers::find(dice.pick::<&str>(&ON_DISK))?;
    config.insert("disk_layer".to_owned(), on_disk.name.into());
    config.insert("disk_config".to_owned(), configuration(&Candidate::layer(on_disk), dice)?.into());
    config.insert("disk_buffer".to_owned(), format!("{}KiB", buffer * BLOCK as u32 / 1024).into());
    let needs = |blocks| SpaceNeeds { reserved, buffer, blocks };
    let flash = RandomDrive::new(on_flash.recording, &needs(reserved + buffer), dice);
    let disk = RandomDrive::new(on_disk.recording, &needs(0), dice);
    let presets = flash.into_iter().chain(disk).map(|drive| drive.preset());
    Ok(Drawn { presets: presets.collect(), config, buffer: Some(bytes(buffer)) })
}

/// A drive without conventional zones. Each copy of the superblock takes one, and each of the journal two more than it
/// fills.
fn sequential(reserved: u32, dice: &mut Dice) -> RandomDrive {
    let zone_blocks = dice.between(16, 24) as u32;
    let zones = 6 + reserved.div_ceil(zone_blocks) + dice.between(4, 8) as u32;
    let media = MediaSpec::Zoned { zones, zone_blocks, conventional_zones: 0, max_open: 0, max_active: 0 };
    RandomDrive { media, buffer: 0 }
}
