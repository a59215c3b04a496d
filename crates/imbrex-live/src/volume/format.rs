//! Formatting: how long the journal and how large the buffer is to be, and the first commit.

use imbrex::buffer_size::BufferSize;
use imbrex::layer::Condition;
use imbrex::layers::below::{BelowConfig, DISK_LAYER, FLASH_LAYER};
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::{GATHER, JournalLength, Setup, Stack};
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use uuid::Uuid;

use super::{Members, Volume, VolumeError, setup};
use crate::active;
use crate::layout::{self, COPIES, Layout};
use crate::solo::Solo;
use crate::store::Store;
use crate::superblock::{Layered, Superblock};

/// What to format a volume as.
pub struct FormatOptions<'a> {
    /// The layer.
    pub layer: &'static LayerInfo,
    /// The fields of its configuration.
    pub config: &'a toml::Table,
    /// Its persistent buffer, as a size or as a part of the drive; all the room there is if nothing is said. Of a
    /// cache, the cache.
    pub buffer: Option<BufferSize>,
    /// Blocks of each copy of the journal; as many as the map needs if nothing is said.
    pub journal_blocks: Option<u32>,
}

/// Whether a volume can be made of members like these.
///
/// # Errors
/// When the layer and the members do not suit each other.
pub fn validate(members: &Members, options: &FormatOptions<'_>) -> Result<(), VolumeError> {
    superblocks(members, options).map(drop)
}

/// Formats `members` as a volume. What was on them is gone.
///
/// # Errors
/// When the layer and the members do not suit each other, or one of them fails. Nothing has been written in the first
/// case.
pub fn format(members: Members, options: &FormatOptions<'_>) -> Result<Volume, VolumeError> {
    let superblocks = superblocks(&members, options)?;
    let stack_setup = setup::stack(&members, &superblocks)?;
    for member in &members {
        clear(member.as_ref())?;
    }
    let stack = Stack::format(stack_setup).map_err(VolumeError::Refused)?;
    Solo::begin(stack, members.clone()).map_err(VolumeError::Refused)?;
    for (member, superblock) in members.iter().zip(&superblocks) {
        (0..COPIES).try_for_each(|copy| write_superblock(member.as_ref(), superblock, 1, copy))?;
    }
    Ok(Volume { members, superblocks, stale: Vec::new() })
}

/// Empties every zone, and takes the superblocks away: a volume that was not formatted to its end is none.
fn clear(member: &dyn Store) -> Result<(), VolumeError> {
    let media = member.media();
    for at in layout::superblocks(media.as_ref(), member.block_bytes())? {
        let zone = media.unit_of(at.start);
        if media.has_pointer(zone) {
            member.reset(zone)?;
        } else {
            let zeros = vec![0; at.blocks as usize * member.block_bytes() as usize];
            member.write(at, &zeros.into())?;
        }
    }
    // Or a power cut would leave a volume that is found, and of which some zones are empty.
    member.flush()?;
    for (unit, state) in (0..).map(Unit::disk).zip(media.report()) {
        if state.condition == Condition::Sequential && state.pointer > 0 {
            member.reset(unit)?;
        }
    }
    Ok(member.flush()?)
}

/// Writes a copy of a superblock and makes it durable.
pub(super) fn write_superblock(
    member: &dyn Store,
    superblock: &Superblock,
    sequence: u64,
    copy: usize,
) -> Result<(), VolumeError> {
    let bytes = superblock.encode(sequence);
    let mut bytes = bytes.map_err(|source| VolumeError::Superblock { what: "the member".to_owned(), source })?;
    let at = layout::superblocks(member.media().as_ref(), member.block_bytes())?;
    bytes.resize(at[0].blocks as usize * member.block_bytes() as usize, 0);
    let media = member.media();
    let zone = media.unit_of(at[copy].start);
    if media.has_pointer(zone) {
        member.reset(zone)?;
    }
    member.write(at[copy], &bytes.into())?;
    Ok(member.flush()?)
}

/// What every member will say about itself.
fn superblocks(members: &Members, options: &FormatOptions<'_>) -> Result<Vec<Superblock>, VolumeError> {
    let uuids: Vec<Uuid> = members.iter().map(|_| Uuid::new_v4()).collect();
    let identity = Uuid::new_v4().as_u64_pair().0;
    let (own, above) = layered(members, options, identity)?;
    let superblock = |(member, own): (usize, Layered)| Superblock {
        identity,
        blocks: members[member].media().blocks(),
        block_bytes: members[member].block_bytes(),
        members: uuids.clone(),
        member,
        own,
        above: above.clone(),
    };
    Ok(own.into_iter().enumerate().map(superblock).collect())
}

/// The layers of the members, and the one above them.
fn layered(
    members: &Members,
    options: &FormatOptions<'_>,
    identity: u64,
) -> Result<(Vec<Layered>, Option<Layered>), VolumeError> {
    let FormatOptions { layer, config, buffer, journal_blocks } = options;
    if layer.recording != Recording::Cached {
        let [member] = members.as_slice() else {
            return Err(VolumeError::Members(format!("{} stands on one drive", layer.name)));
        };
        return Ok((vec![fitted(member.as_ref(), layer, config, *buffer, *journal_blocks)?], None));
    }
    let [flash, disk] = members.as_slice() else {
        return Err(VolumeError::Members(format!("{} stands on two drives: flash, then a disk", layer.name)));
    };
    if flash.block_bytes() != disk.block_bytes() {
        let text = format!("blocks of {} and of {} bytes", flash.block_bytes(), disk.block_bytes());
        return Err(VolumeError::Members(format!("the drives have {text}; a cache needs equal ones")));
    }
    let below = BelowConfig::read(layer, config)?;
    let flash_layer = layers::find(&below.flash_layer)?;
    let chosen_by = |drive, field: &str, error| match error {
        VolumeError::Unsuited { layer: below, needed, is, .. } => {
            let by = format!(" with --set {}.{field}=NAME", layer.name);
            VolumeError::Unsuited { layer: below, needed, drive, is, by }
        }
        other => other,
    };
    let on_flash = fitted(flash.as_ref(), flash_layer, &below.flash_config, None, None)
        .map_err(|e| chosen_by("the first member", FLASH_LAYER.key, e))?;
    let disk_layer = layers::find(&below.disk_layer)?;
    let on_disk = fitted(disk.as_ref(), disk_layer, &below.disk_config, Some(below.disk_buffer), None)
        .map_err(|e| chosen_by("the second member", DISK_LAYER.key, e))?;
    let capacity =
        |member: &dyn Store, own: &Layered| setup::own(member, own, identity).map(|setup| (setup.make)().capacity());
    let capacities = [capacity(flash.as_ref(), &on_flash)?, capacity(disk.as_ref(), &on_disk)?];
    let block_bytes = flash.block_bytes();
    let bytes = capacities[1].saturating_mul(block_bytes.into());
    let wanted = buffer.map(|buffer| buffer.blocks(bytes, block_bytes));
    let journal = JournalLength::chosen(*journal_blocks, 0);
    let above = with_journal(layer, config, journal, block_bytes, |layered| {
        let left = capacities[0].saturating_sub(COPIES as u64 * u64::from(layered.journal_blocks));
        layered.buffer_blocks = blocks(wanted.unwrap_or(left))?;
        setup::above_all(layered, &capacities, block_bytes, identity)
    })?;
    Ok((vec![on_flash, on_disk], Some(above)))
}

/// The layer of one member, with a journal that its map fits.
fn fitted(
    member: &dyn Store,
    layer: &'static LayerInfo,
    config: &toml::Table,
    buffer: Option<BufferSize>,
    journal_blocks: Option<u32>,
) -> Result<Layered, VolumeError> {
    let (media, block_bytes) = (member.media(), member.block_bytes());
    let wanted = buffer.map(|buffer| buffer.blocks(media.blocks().saturating_mul(block_bytes.into()), block_bytes));
    let room = Layout::new(media.as_ref(), block_bytes, 0, 0)?.space.conventional_blocks;
    let journal = JournalLength::chosen(journal_blocks, room);
    with_journal(layer, config, journal, block_bytes, |layered| {
        let left = Layout::new(media.as_ref(), block_bytes, layered.journal_blocks, 0)?.space.conventional_blocks;
        layered.buffer_blocks = if layer.buffered { blocks(wanted.unwrap_or(left))? } else { 0 };
        if u64::from(layered.buffer_blocks) > left {
            let text = format!("a buffer of {} blocks", layered.buffer_blocks);
            let have =
                format!("the {left} conventional blocks that {} blocks of journal leave", layered.journal_blocks);
            return Err(VolumeError::Refused(format!(
                "{text} does not fit {have}; choose a smaller one with --buffer"
            )));
        }
        setup::own(member, layered, 0)
    })
}

fn blocks(blocks: u64) -> Result<u32, VolumeError> {
    u32::try_from(blocks).map_err(|_| VolumeError::Refused(format!("a buffer of {blocks} blocks is too large")))
}

/// A layer with a journal that is long enough for it.
fn with_journal(
    layer: &'static LayerInfo,
    config: &toml::Table,
    journal: JournalLength,
    block_bytes: u32,
    mut try_with: impl FnMut(&mut Layered) -> Result<Setup, VolumeError>,
) -> Result<Layered, VolumeError> {
    let mut layered =
        Layered { layer: layer.name.to_owned(), buffer_blocks: 0, journal_blocks: 0, config: config.clone() };
    journal.settle(block_bytes, GATHER, |blocks| {
        layered.journal_blocks = blocks;
        let setup = try_with(&mut layered)?;
        let made = (setup.make)();
        active::suits(layer.name, made.most_active(), setup.media.as_ref(), &setup.journal)
            .map_err(VolumeError::Refused)?;
        made.survives_power_loss()
            .map_err(|e| VolumeError::Refused(format!("{} cannot be served: {e}", layer.name)))?;
        Ok::<_, VolumeError>(made)
    })?;
    Ok(layered)
}
