//! From superblocks to what the runner needs to know.

use imbrex::block::{Extent, Pba};
use imbrex::layers::{self, LayerInfo};
use imbrex::media::{Joined, Media};
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{GATHER, MapHome, Setup, StackSetup};
use imbrex::recording::Recording;
use imbrex::space::Space;

use super::{ENTRY_BLOCKS, Members, VolumeError, kind, map};
use crate::layout::{COPIES, Layout};
use crate::store::Store;
use crate::sums::Checksums;
use crate::superblock::{Layered, Superblock};

/// The runner of every layer. Of a map with pages on the drive `map_memory` bytes are in memory, or as many as the
/// superblock says.
pub(super) fn stack(
    members: &Members,
    superblocks: &[Superblock],
    map_memory: Option<u64>,
) -> Result<StackSetup, VolumeError> {
    let mut below = Vec::new();
    for (member, superblock) in members.iter().zip(superblocks) {
        let of_map = superblock.own.map_memory;
        let layered = Layered { map_memory: of_map.and(map_memory).or(of_map), ..superblock.own.clone() };
        let own = own(member.as_ref(), &layered, superblock.checksums, superblock.identity)?;
        below.push(Setup { coding: superblock.coding(), ..own });
    }
    let above = superblocks.first().and_then(|first| Some((first.above.as_ref()?, first)));
    match (above, below.len()) {
        (Some((layered, first)), _) => {
            let capacities: Vec<u64> = below.iter().map(|setup| (setup.make)().capacity()).collect();
            let block_bytes = members[0].block_bytes();
            let top = above_all(layered, &capacities, block_bytes, first.identity)?;
            let top = Setup { coding: first.coding(), ..top };
            Ok(StackSetup { top, below: below.into_iter().map(|top| StackSetup { top, below: Vec::new() }).collect() })
        }
        (None, 1) => Ok(StackSetup { top: below.remove(0), below: Vec::new() }),
        (None, _) => Err(VolumeError::Members("several members need a layer above them".to_owned())),
    }
}

/// The runner of the layer on a member.
pub(super) fn own(
    member: &dyn Store,
    layered: &Layered,
    checksums: Option<Checksums>,
    identity: u64,
) -> Result<Setup, VolumeError> {
    let info = layers::find(&layered.layer)?;
    suits(info, member.recording())?;
    let media = member.media();
    let Layout { journals, map: home, space, .. } = layout(member, layered, checksums)?;
    let (journals, block_bytes) = (journals.to_vec(), member.block_bytes());
    let map_cache = layered.map_memory.map(|memory| map::cache(memory, block_bytes)).transpose()?;
    let map_home = home.zip(map_cache).map(|(at, cache)| MapHome { at, pages: cache.pages });
    if home.is_some() != map_cache.is_some() {
        let text = "the superblock has memory for a map and no blocks for its pages, or these and no memory";
        return Err(VolumeError::Refused(text.to_owned()));
    }
    let space = Space { map_cache, ..space };
    setup(info, layered, Ground { space, media, journals, map_home, block_bytes, identity })
}

/// Where things lie on a member.
pub(super) fn layout(
    member: &dyn Store,
    layered: &Layered,
    checksums: Option<Checksums>,
) -> Result<Layout, VolumeError> {
    let (media, block_bytes) = (member.media(), member.block_bytes());
    let layout = Layout::new(media.as_ref(), block_bytes, layered.journal_blocks, layered.buffer_blocks)?;
    let layout = match checksums {
        Some(checksums) => layout.with_sums(checksums, media.blocks(), block_bytes)?,
        None => layout,
    };
    Ok(if layered.map_blocks > 0 { layout.with_map(layered.map_blocks.into())? } else { layout })
}

/// Blocks that the pages of the layer's map take: none if all of it stays in memory. What they take from the layer's
/// own blocks can only make them fewer.
pub(super) fn map_blocks(
    member: &dyn Store,
    layered: &Layered,
    checksums: Option<Checksums>,
) -> Result<u32, VolumeError> {
    let Some(memory) = layered.map_memory else { return Ok(0) };
    let info = layers::find(&layered.layer)?;
    suits(info, member.recording())?;
    let layout = layout(member, &Layered { map_blocks: 0, ..layered.clone() }, checksums)?;
    let map_cache = Some(map::cache(memory, member.block_bytes())?);
    let made = info.build(&Space { spares_ram: true, map_cache, ..layout.space.clone() }, &layered.config)?;
    let map = layout.with_map(map::blocks(made.as_ref(), info.name)?)?.map;
    Ok(map.map_or(0, |map| map.blocks))
}

/// The runner of the layer above members of these capacities.
pub(super) fn above_all(
    layered: &Layered,
    capacities: &[u64],
    block_bytes: u32,
    identity: u64,
) -> Result<Setup, VolumeError> {
    let info = layers::find(&layered.layer)?;
    suits(info, Recording::Cached)?;
    let media = Joined::new(capacities.iter().copied());
    let space = above_space(capacities, layered)?;
    let journal = |copy: usize| {
        let start = copy as u64 * u64::from(layered.journal_blocks);
        Extent::new(Pba::disk(start), layered.journal_blocks)
    };
    let journals = (0..COPIES).map(journal).collect();
    // A journal of its own: it lies where a member's layer could have been asked to put another's.
    let (media, map_home) = (Box::new(media), None);
    setup(info, layered, Ground { space, media, journals, map_home, block_bytes, identity: !identity })
}

/// The space of a layer above members: what the journal leaves of the first, and the second.
fn above_space(capacities: &[u64], layered: &Layered) -> Result<Space, VolumeError> {
    let &[cache, home] = capacities else {
        return Err(VolumeError::Members(format!("{} stands on two members: flash, then a disk", layered.layer)));
    };
    let journals = COPIES as u64 * u64::from(layered.journal_blocks);
    let Some(left) = cache.checked_sub(journals).filter(|left| *left >= u64::from(layered.buffer_blocks)) else {
        let text = format!("{journals} blocks of journal and {} of cache", layered.buffer_blocks);
        return Err(VolumeError::Refused(format!("{text} do not fit the {cache} blocks of the first member")));
    };
    let space = Space::of(&Joined::new(capacities.iter().copied()), layered.buffer_blocks).cached(left, home);
    Ok(Space { conventional: Pba::disk(journals), ..space })
}

/// What a layer stands on: a member, or several behind layers of their own.
struct Ground {
    space: Space,
    media: Box<dyn Media>,
    journals: Vec<Extent<Pba>>,
    map_home: Option<MapHome>,
    block_bytes: u32,
    /// What its journal is marked with.
    identity: u64,
}

/// The runner of a layer that can be made on this ground.
fn setup(info: &'static LayerInfo, layered: &Layered, ground: Ground) -> Result<Setup, VolumeError> {
    let Ground { space, media, journals, map_home, block_bytes, identity } = ground;
    let (config, space) = (layered.config.clone(), Space { spares_ram: true, ..space });
    let build = move || info.build(&space, &config);
    let made = build()?;
    map_home.map_or(Ok(()), |home| map::find_room(made.as_ref(), info.name, home))?;
    Ok(Setup {
        make: Box::new(move || match build() {
            Ok(layer) => layer,
            Err(e) => unreachable!("the same layer was made before: {e}"),
        }),
        media,
        journal: journals,
        map_home,
        block_bytes: block_bytes as usize,
        identity,
        gather: GATHER,
        entry_blocks: ENTRY_BLOCKS,
        coding: Coding::Compact,
        rules: Rules::all(),
        audit: false,
    })
}

/// Whether a layer is for drives of that kind.
fn suits(info: &LayerInfo, is: Recording) -> Result<(), VolumeError> {
    let same = info.recording == is || (info.recording == Recording::WholeZones && is == Recording::Zoned);
    if same {
        return Ok(());
    }
    let (needed, drive) = (kind(info.recording), "the drive");
    Err(VolumeError::Unsuited { layer: info.name.to_owned(), needed, drive, is: kind(is), by: String::new() })
}
