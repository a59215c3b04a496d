//! Room for what a volume keeps on an interlaced disk.

use imbrex::drive::DrivePreset;
use imbrex::layers::below::BelowConfig;
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::{GATHER, JournalLength};
use imbrex::recording::Recording;
use imbrex::space::Space;

use super::{FormatOptions, VolumeError};
use crate::sums::Checksums;

/// The drive for member number `member` of a volume, with conventional blocks for what a volume keeps there, as
/// [`DrivePreset::with_room`] says.
///
/// # Errors
/// When the layer cannot be made on the drive, however long its journal is.
pub fn roomy(
    drive: &DrivePreset,
    member: usize,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
) -> Result<DrivePreset, VolumeError> {
    let FormatOptions { layer, config, journal_blocks, .. } = *options;
    match (layer.recording, member) {
        (Recording::Cached, 0) => Ok(drive.clone()),
        (Recording::Cached, _) => {
            let below = BelowConfig::read(layer, config)?;
            beside(drive, layers::find(&below.disk_layer)?, &below.disk_config, None, checksums)
        }
        _ => beside(drive, layer, config, journal_blocks, checksums),
    }
}

/// The drive with conventional blocks for what a volume of this one layer keeps beside the layer's own.
fn beside(
    drive: &DrivePreset,
    layer: &'static LayerInfo,
    config: &toml::Table,
    journal_blocks: Option<u32>,
    checksums: Option<Checksums>,
) -> Result<DrivePreset, VolumeError> {
    if layer.recording != Recording::Interlaced {
        return Ok(drive.clone());
    }
    let sums = checksums.map_or(0, |checksums| checksums.blocks(drive.blocks(), drive.block_bytes));
    drive.with_room(sums, |whole| {
        let ample = Space { spares_ram: true, ..whole.clone().ample() };
        let length = JournalLength::chosen(journal_blocks, whole.conventional_blocks);
        let (journal, _) =
            length.settle(drive.block_bytes, GATHER, |_| layer.build(&ample, config).map_err(VolumeError::from))?;
        Ok(journal)
    })
}
