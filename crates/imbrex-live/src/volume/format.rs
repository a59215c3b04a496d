//! Formatting: how long the journal and how large the buffer is to be, and the first commit.

use std::sync::Arc;

use imbrex::buffer_size::BufferSize;
use imbrex::layer::Condition;
use imbrex::layers::below::{BelowConfig, DISK_LAYER, FLASH_LAYER, check_cache};
use imbrex::layers::{self, LayerInfo, live_defaults};
use imbrex::media::Media;
use imbrex::perform::{GATHER, JournalLength, Setup, Stack};
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex::space::Space;
use uuid::Uuid;

use super::{Members, Volume, VolumeError, checked, map, newest_frame, setup};
use crate::active;
use crate::layout::{self, COPIES};
use crate::solo::Solo;
use crate::store::Store;
use crate::sums::Checksums;
use crate::superblock::{Layered, Superblock};

/// What to format a volume as.
pub struct FormatOptions<'a> {
    /// The layer.
    pub layer: &'static LayerInfo,
    /// The fields of its configuration.
    pub config: &'a toml::Table,
    /// Its persistent buffer, as a size or as a part of the drive; all the room there is if nothing is said. For a
    /// cache, this is the cache, and no more than the disk has.
    pub buffer: Option<BufferSize>,
    /// Blocks of each copy of the journal; as many as the map needs if nothing is said.
    pub journal_blocks: Option<u32>,
    /// Bytes of the layer's map that a server has in memory, with the rest on the drive; all of it if nothing is said.
    pub map_memory: Option<u64>,
}

/// Whether a volume can be made of members like these.
///
/// # Errors
/// When the layer and the members do not suit each other.
pub fn validate(members: &Members, options: &FormatOptions<'_>) -> Result<(), VolumeError> {
    validate_with(members, options, None)
}

/// Like [`validate`], with checksums of the data on every member, if `checksums` says so.
///
/// # Errors
/// As for [`validate`].
pub fn validate_with(
    members: &Members,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
) -> Result<(), VolumeError> {
    superblocks(members, options, checksums).map(drop)
}

/// Formats `members` as a volume. What was on them is gone.
///
/// # Errors
/// When the layer and the members do not suit each other, or one of them fails. Nothing has been written in the first
/// case.
pub fn format(members: Members, options: &FormatOptions<'_>) -> Result<Volume, VolumeError> {
    format_with(members, options, None)
}

/// Like [`format()`], with checksums of the data on every member, if `checksums` says so.
///
/// # Errors
/// As for [`format()`].
pub fn format_with(
    members: Members,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
) -> Result<Volume, VolumeError> {
    let superblocks = superblocks(&members, options, checksums)?;
    let stack_setup = setup::stack(&members, &superblocks, None)?;
    let mut volume = Volume { members, superblocks, stale: Vec::new(), map_memory: None };
    volume.reserve()?;
    for member in &volume.members {
        clear(member.as_ref())?;
    }
    volume.members = checked::create(volume.members, &volume.superblocks, true)?;
    let Volume { members, superblocks, .. } = &volume;
    let stack = Stack::format(stack_setup)?;
    Solo::begin(stack, members.clone())?;
    for (member, superblock) in members.iter().zip(superblocks) {
        write_superblocks(member.as_ref(), superblock)?;
    }
    Ok(volume)
}

/// Empties every zone, turns every realm back, and takes the superblocks away: a volume that was not formatted to its end is none.
pub(super) fn clear(member: &dyn Store) -> Result<(), VolumeError> {
    let media = member.media();
    for at in layout::superblocks(media.as_ref(), member.block_bytes())? {
        let zone = media.unit_of(at.start);
        if media.has_pointer(zone) {
            member.reset(zone)?;
        }
        // Also in an emptied zone: of the next superblock a power cut may leave the write pointer and not the content.
        let zeros = vec![0; at.blocks as usize * member.block_bytes() as usize];
        member.write(at, &zeros.into())?;
    }
    // Or a power cut would leave a volume that is found, and of which some zones are empty.
    member.flush()?;
    for (unit, state) in (0..).map(Unit::disk).zip(media.report()) {
        if state.condition == Condition::Sequential && state.pointer > 0 {
            member.reset(unit)?;
        }
    }
    for activation in turned(media.as_ref()) {
        member.reset(activation)?;
    }
    Ok(member.flush()?)
}

/// What turns every sequential realm back; one with a broken zone stays as it is.
fn turned(media: &dyn Media) -> Vec<Unit> {
    let Some(realms) = media.realms() else { return Vec::new() };
    let report = media.report();
    let is = |zone: u32, condition| report[realms.zones().unit(zone).index as usize].condition == condition;
    let is_whole = |realm: &u32| {
        realms.sequential_of(*realm).all(|zone| is(zone, Condition::Sequential))
            && realms.conventional_of(*realm).all(|zone| is(zone, Condition::Inactive))
    };
    (0..realms.count).filter(is_whole).map(|realm| realms.to_conventional(realm)).collect()
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

/// Writes the first superblock of a member that has none.
pub(super) fn write_superblocks(member: &dyn Store, superblock: &Superblock) -> Result<(), VolumeError> {
    (0..COPIES).try_for_each(|copy| write_superblock(member, superblock, 1, copy))
}

/// Writes a superblock in place of the one that a member has. A copy that is whole is the last to be touched.
pub(super) fn renew_superblock(member: &dyn Store, superblock: &Superblock) -> Result<(), VolumeError> {
    let (frame, stale) = newest_frame(member, superblock.member)?;
    let whole = (0..COPIES).filter(|copy| !stale.contains(copy));
    let mut copies = stale.iter().copied().chain(whole);
    copies.try_for_each(|copy| write_superblock(member, superblock, frame.sequence + 1, copy))
}

/// What every member will say about itself.
pub(super) fn superblocks(
    members: &Members,
    options: &FormatOptions<'_>,
    checksums: Option<Checksums>,
) -> Result<Vec<Superblock>, VolumeError> {
    let uuids: Vec<Uuid> = members.iter().map(|_| Uuid::new_v4()).collect();
    let identity = Uuid::new_v4().as_u64_pair().0;
    let checksums = summed(members, checksums);
    let (own, above) = layered(members, options, &checksums)?;
    let superblock = |(member, own): (usize, Layered)| Superblock {
        version: own.version(),
        identity,
        blocks: members[member].media().blocks(),
        block_bytes: members[member].block_bytes(),
        members: uuids.clone(),
        member,
        own,
        above: above.clone(),
        generation: None,
        checksums: checksums[member],
    };
    Ok(own.into_iter().enumerate().map(superblock).collect())
}

/// The checksums of each member. A member without conventional blocks to keep them in has none if the other one has
/// room.
pub(super) fn summed(members: &Members, checksums: Option<Checksums>) -> Vec<Option<Checksums>> {
    let has_room = |member: &Arc<dyn Store>| Space::of(member.media().as_ref(), 0).conventional_blocks > 0;
    let have_room: Vec<bool> = members.iter().map(has_room).collect();
    let any = have_room.contains(&true);
    have_room.into_iter().map(|has_room| checksums.filter(|_| has_room || !any)).collect()
}

/// The layers of the members, and the one above them.
fn layered(
    members: &Members,
    options: &FormatOptions<'_>,
    checksums: &[Option<Checksums>],
) -> Result<(Vec<Layered>, Option<Layered>), VolumeError> {
    let FormatOptions { layer, config, map_memory, .. } = options;
    if layer.recording != Recording::Cached {
        let [member] = members.as_slice() else {
            return Err(VolumeError::Members(format!("{} stands on one drive", layer.name)));
        };
        return Ok((vec![fitted(member.as_ref(), checksums[0], options)?], None));
    }
    if map_memory.is_some() {
        let text = format!("{} stands on two drives, and the maps of such a volume stay in memory", layer.name);
        return Err(VolumeError::Refused(format!("{text}; leave --map-memory out")));
    }
    let [flash, disk] = members.as_slice() else {
        return Err(VolumeError::Members(format!("{} stands on two drives: flash, then a disk", layer.name)));
    };
    let on_flash = on_flash(flash.as_ref(), checksums[0], options)?;
    let below = BelowConfig::read(layer, config)?;
    let own = own(layers::find(&below.disk_layer)?, &below.disk_config, Some(below.disk_buffer));
    let on_disk = fitted(disk.as_ref(), checksums[1], &own);
    let on_disk = on_disk.map_err(|e| chosen_by(layer, "the second member", DISK_LAYER, e))?;
    let above = above([(flash.as_ref(), &on_flash, checksums[0]), (disk.as_ref(), &on_disk, checksums[1])], options)?;
    Ok((vec![on_flash, on_disk], Some(above)))
}

/// What is asked for of a layer below a cache.
fn own<'a>(layer: &'static LayerInfo, config: &'a toml::Table, buffer: Option<BufferSize>) -> FormatOptions<'a> {
    FormatOptions { layer, config, buffer, journal_blocks: None, map_memory: None }
}

/// Says of a layer below a cache that does not suit its drive how another one is chosen.
fn chosen_by(cache: &LayerInfo, drive: &'static str, field: &str, error: VolumeError) -> VolumeError {
    match error {
        VolumeError::Unsuited { layer, needed, is, .. } => {
            let by = format!(" with --set {}.{field}=NAME", cache.name);
            VolumeError::Unsuited { layer, needed, drive, is, by }
        }
        other => other,
    }
}

/// The layer on the flash of a cache.
pub(super) fn on_flash(
    flash: &dyn Store,
    checksums: Option<Checksums>,
    options: &FormatOptions<'_>,
) -> Result<Layered, VolumeError> {
    let below = BelowConfig::read(options.layer, options.config)?;
    let on_flash = fitted(flash, checksums, &own(layers::find(&below.flash_layer)?, &below.flash_config, None));
    on_flash.map_err(|e| chosen_by(options.layer, "the first member", FLASH_LAYER, e))
}

/// The cache above two members with layers of their own, the flash and then the disk.
pub(super) fn above(
    members: [(&dyn Store, &Layered, Option<Checksums>); 2],
    options: &FormatOptions<'_>,
) -> Result<Layered, VolumeError> {
    let FormatOptions { layer, config, buffer, journal_blocks, .. } = options;
    let [block_bytes, on_disk] = members.map(|(member, ..)| member.block_bytes());
    if block_bytes != on_disk {
        let text = format!("blocks of {block_bytes} and of {on_disk} bytes");
        return Err(VolumeError::Members(format!("the drives have {text}; a cache needs equal ones")));
    }
    let mut capacities = [0; 2];
    for (capacity, (member, own, checksums)) in capacities.iter_mut().zip(members) {
        *capacity = (setup::own(member, own, checksums, 0)?.make)().capacity();
    }
    let bytes = capacities[1].saturating_mul(block_bytes.into());
    let wanted = buffer.map(|buffer| buffer.blocks(bytes, block_bytes));
    let journal = JournalLength::chosen(*journal_blocks, 0);
    with_journal(layer, config, journal, block_bytes, |layered| {
        let left = capacities[0].saturating_sub(COPIES as u64 * u64::from(layered.journal_blocks));
        layered.buffer_blocks = blocks(wanted.unwrap_or(left.min(capacities[1])))?;
        check_cache(layer, layered.buffer_blocks, capacities[1])?;
        setup::above_all(layered, &capacities, block_bytes, 0)
    })
}

/// The layer of one member, with a journal that its map fits.
fn fitted(
    member: &dyn Store,
    checksums: Option<Checksums>,
    options: &FormatOptions<'_>,
) -> Result<Layered, VolumeError> {
    let FormatOptions { layer, config, buffer, journal_blocks, map_memory } = *options;
    let (media, block_bytes) = (member.media(), member.block_bytes());
    map_memory.map(|memory| map::cache(memory, block_bytes)).transpose()?;
    let wanted = buffer.map(|buffer| buffer.blocks(media.blocks().saturating_mul(block_bytes.into()), block_bytes));
    let with_journal_of = |journal_blocks| {
        let layered = Layered { layer: layer.name.to_owned(), journal_blocks, ..Layered::default() };
        Ok::<_, VolumeError>(setup::layout(member, &layered, checksums)?.space.conventional_blocks)
    };
    let room = with_journal_of(0)?;
    let journal = JournalLength::chosen(journal_blocks, room);
    with_journal(layer, config, journal, block_bytes, |layered| {
        let left = with_journal_of(layered.journal_blocks)?;
        layered.buffer_blocks = if layer.buffered { blocks(wanted.unwrap_or(left))? } else { 0 };
        if u64::from(layered.buffer_blocks) > left {
            let text = format!("a buffer of {} blocks", layered.buffer_blocks);
            let have =
                format!("the {left} conventional blocks that {} blocks of journal leave", layered.journal_blocks);
            return Err(VolumeError::Refused(format!(
                "{text} does not fit {have}; choose a smaller one with --buffer"
            )));
        }
        layered.map_memory = map_memory;
        layered.map_blocks = setup::map_blocks(member, layered, checksums)?;
        setup::own(member, layered, checksums, 0)
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
    let mut config = layer.settled(config)?.into_owned();
    live_defaults::write_out(layer, &mut config);
    let mut layered = Layered { layer: layer.name.to_owned(), config, ..Layered::default() };
    journal.settle(block_bytes, GATHER, |blocks| {
        layered.journal_blocks = blocks;
        let setup = try_with(&mut layered)?;
        let made = (setup.make)();
        let facts = made.facts();
        active::suits(layer.name, facts.most_active, setup.media.as_ref(), &setup.journal)?;
        match facts.loses_flushed {
            Some(why) => Err(VolumeError::Refused(format!("{} cannot be served: {why}", layer.name))),
            None => Ok(made),
        }
    })?;
    Ok(layered)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use imbrex::block::Extent;
    use imbrex::drive::DrivePreset;

    use super::*;
    use crate::explore::Volatile;
    use crate::image::Image;

    #[test]
    fn a_hybrid_drive_is_conventional_again_as_far_as_it_can() {
        let preset = DrivePreset::named("tiny-hybrid").unwrap();
        let file = Volatile::new(Image::<Volatile>::len(&preset).unwrap() as usize, false);
        let image = Image::create(file, &preset).unwrap();
        let realms = image.media().realms().unwrap();
        for realm in [0, 2, 5, 7] {
            image.reset(realms.to_sequential(realm)).unwrap();
            let zeros = vec![0; preset.block_bytes as usize];
            image.write(Extent::new(realms.sequential(realm).start, 1), &zeros.into()).unwrap();
        }
        image.fail(realms.zones().unit(realms.sequential_of(5).start + 2), Condition::ReadOnly).unwrap();
        clear(&image).unwrap();
        let report = image.media().report();
        let is = |zone: u32| report[realms.zones().unit(zone).index as usize].condition;
        for realm in 0..realms.count {
            let expected = if realm == 5 { Condition::Inactive } else { Condition::Conventional };
            assert!(realms.conventional_of(realm).all(|zone| is(zone) == expected), "realm {realm}");
        }
        assert!(report.iter().all(|zone| zone.condition != Condition::Sequential || zone.pointer == 0));
    }
}
