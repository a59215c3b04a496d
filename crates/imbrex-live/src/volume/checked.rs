//! Members whose data is summed.

use std::sync::Arc;

use super::{Members, VolumeError, setup};
use crate::store::Store;
use crate::sums::{Checked, SumsSetup};
use crate::superblock::Superblock;

/// The members as a layer uses them: with checksums where their superblocks say so. Those of a volume that was open
/// before have them already.
pub(super) fn open(members: Members, superblocks: &[Superblock], keeps_intents: bool) -> Result<Members, VolumeError> {
    wrapped(members, superblocks, |member, superblock| {
        if member.summed().is_some() {
            return Ok(None);
        }
        let setup = of(member.as_ref(), superblock, keeps_intents)?;
        Ok(setup.map(|setup| Arc::new(Checked::open(member, setup)) as _))
    })
}

/// The members of a volume that is being formatted, as a layer uses them: no block has a checksum yet.
pub(super) fn create(
    members: Members,
    superblocks: &[Superblock],
    keeps_intents: bool,
) -> Result<Members, VolumeError> {
    wrapped(members, superblocks, |member, superblock| match of(member.as_ref(), superblock, keeps_intents)? {
        Some(setup) => Ok(Some(Arc::new(Checked::create(member, setup)?) as _)),
        None => Ok(None),
    })
}

/// Members, of which `wrap` says what stands before them.
fn wrapped(
    members: Members,
    superblocks: &[Superblock],
    wrap: impl Fn(Arc<dyn Store>, &Superblock) -> Result<Option<Arc<dyn Store>>, VolumeError>,
) -> Result<Members, VolumeError> {
    let one = |(member, superblock): (Arc<dyn Store>, &Superblock)| {
        Ok(wrap(Arc::clone(&member), superblock)?.unwrap_or(member))
    };
    members.into_iter().zip(superblocks).map(one).collect()
}

/// The checksums of a member.
fn of(member: &dyn Store, superblock: &Superblock, keeps_intents: bool) -> Result<Option<SumsSetup>, VolumeError> {
    let Some(checksums) = superblock.checksums else { return Ok(None) };
    let layout = setup::layout(member, &superblock.own, Some(checksums))?;
    let exempt = layout.superblocks.into_iter().chain(layout.journals).chain(layout.map).collect();
    let identity = superblock.identity;
    Ok(layout.sums.map(|place| SumsSetup { checksums, place, identity, exempt, keeps_intents }))
}
