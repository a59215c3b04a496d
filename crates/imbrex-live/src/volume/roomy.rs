//! Room for what a volume keeps on an interlaced disk.

use imbrex::drive::DrivePreset;
use imbrex::layers::below::BelowConfig;
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::{GATHER, JournalLength};
use imbrex::recording::Recording;
use imbrex::space::{Space, superblock_blocks};

use super::{FormatOptions, VolumeError};
use crate::sums::Checksums;

/// The drive for member number `member` of a volume, with conventional blocks for what a volume keeps there: on an
/// interlaced disk top tracks stay empty for them, as [`DrivePreset::with_conventional`] says. Any other drive, and one
/// that can not have that many, is left as it is.
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
    let is_interlaced = [layer.recording, drive.recording()] == [Recording::Interlaced; 2];
    let Some(Ok(media)) = is_interlaced.then(|| drive.media(Recording::Interlaced)) else { return Ok(drive.clone()) };
    let (whole, block_bytes) = (Space::of(media.as_ref(), 0), drive.block_bytes);
    let length = JournalLength::chosen(journal_blocks, whole.conventional_blocks);
    let ample = Space { spares_ram: true, ..whole.ample() };
    let make = |_| layer.build(&ample, config).map_err(VolumeError::from);
    let (journal, _) = length.settle(block_bytes, GATHER, make)?;
    let sums = checksums.map_or(0, |checksums| checksums.blocks(drive.blocks(), block_bytes));
    Ok(drive.with_conventional(Space::beside_one(superblock_blocks(block_bytes), journal) + sums))
}
