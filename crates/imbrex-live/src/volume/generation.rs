//! Generations: how members of a volume know that none of them is an older copy of itself.
//!
//! Each of several members carries the number of times that the volume has changed hands: when a program that writes to
//! it starts, and when it ends. First every member is told what the next number will be, then that it is that now. So
//! after any power cut, a member that is behind has been told of the number that another one has; an older copy has
//! not.

use super::{Members, VolumeError, format, name};
use crate::superblock::{Generation, Superblock};

/// Refuses members of which one is an older copy.
pub(super) fn check(superblocks: &[Superblock]) -> Result<(), VolumeError> {
    let newest = superblocks.iter().map(|superblock| superblock.generation().is).enumerate().max_by_key(|(_, is)| *is);
    let Some((of, newest)) = newest else { return Ok(()) };
    match superblocks.iter().position(|superblock| superblock.generation().told < newest) {
        Some(old) => Err(VolumeError::Members(format!(
            "{} is an older copy than {}: it has seen the volume change hands {} times, and the other {newest} times; \
             what was written in between is missing from it",
            name(old),
            name(of),
            superblocks[old].generation().is,
        ))),
        None => Ok(()),
    }
}

/// Has the volume change hands: every member is of the next generation afterwards. A volume of one member has none.
///
/// # Errors
/// When a member cannot be written; the volume stays one that can be opened.
pub fn advance(members: &Members, superblocks: &mut [Superblock]) -> Result<(), VolumeError> {
    if members.len() < 2 {
        return Ok(());
    }
    let is = superblocks.iter().map(|superblock| superblock.generation().is).max().unwrap_or_default();
    for next in [Generation { is, told: is + 1 }, Generation { is: is + 1, told: is + 1 }] {
        for (member, superblock) in members.iter().zip(superblocks.iter_mut()) {
            superblock.generation = Some(next);
            format::renew_superblock(member.as_ref(), superblock)?;
        }
    }
    Ok(())
}
