//! From superblocks to what the runner needs to know.

use imbrex::block::{Extent, Pba};
use imbrex::layers::{self, LayerInfo};
use imbrex::media::{Joined, Media};
use imbrex::perform::journal::Coding;
use imbrex::perform::rules::Rules;
use imbrex::perform::{GATHER, Setup, StackSetup};
use imbrex::recording::Recording;
use imbrex::space::Space;

use super::{ENTRY_BLOCKS, Members, VolumeError, kind};
use crate::layout::{COPIES, Layout};
use crate::store::Store;
use crate::sums::Checksums;
use crate::superblock::{Layered, Superblock};

/// The runner of every layer.
pub(super) fn stack(members: &Members, superblocks: &[Superblock]) -> Result<StackSetup, VolumeError> {
    let mut below = Vec::new();
    for (member, superblock) in members.iter().zip(superblocks) {
        let own = own(member.as_ref(), &superblock.own, superblock.checksums, superblock.identity)?;
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
    let layout = layout(member, layered, checksums)?;
    let (journals, block_bytes) = (layout.journals.to_vec(), member.block_bytes());
    setup(info, layered, Ground { space: layout.space, media, journals, block_bytes, identity })
}

/// Where things lie on a member.
pub(super) fn layout(
    member: &dyn Store,
    layered: &Layered,
    checksums: Option<Checksums>,
) -> Result<Layout, VolumeError> {
    let (media, block_bytes) = (member.media(), member.block_bytes());
    let layout = Layout::new(media.as_ref(), block_bytes, layered.journal_blocks, layered.buffer_blocks)?;
    Ok(match checksums {
        Some(checksums) => layout.with_sums(checksums, media.blocks(), block_bytes)?,
        None => layout,
    })
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
    setup(info, layered, Ground { space, media: Box::new(media), journals, block_bytes, identity: !identity })
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
    block_bytes: u32,
    /// What its journal is marked with.
    identity: u64,
}

/// The runner of a layer that can be made on this ground.
fn setup(info: &'static LayerInfo, layered: &Layered, ground: Ground) -> Result<Setup, VolumeError> {
    let Ground { space, media, journals, block_bytes, identity } = ground;
    let (config, space) = (layered.config.clone(), Space { spares_ram: true, ..space });
    let build = move || info.build(&space, &config);
    build()?;
    Ok(Setup {
        make: Box::new(move || match build() {
            Ok(layer) => layer,
            Err(e) => unreachable!("the same layer was made before: {e}"),
        }),
        media,
        journal: journals,
        map_home: None,
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
