//! Whether the data of a volume with checksums is what was written.

use std::collections::BTreeSet;

use imbrex::block::{Address, Extent, Lba, Pba};

use super::map::{Mapped, Run};
use super::{LayerState, layers};
use crate::scrub::{self, Found, MemberBlocks, NoSums, runs};
use crate::volume::{Volume, VolumeError};

/// Reads everything that has a checksum. `go_on` is told how many more blocks have been looked at, and says whether to.
///
/// # Errors
/// When nothing has checksums, or the map cannot be read.
pub fn scrub(volume: &Volume, mut go_on: impl FnMut(u64) -> bool) -> Result<Found, VolumeError> {
    let mut found = Found::default();
    let mut damaged: Vec<BTreeSet<Pba>> = Vec::new();
    for member in &volume.members {
        damaged.push(scrub::scan(member.as_ref(), &mut found, &mut go_on));
    }
    if !volume.members.iter().any(|member| member.summed().is_some()) {
        return Err(NoSums.into());
    }
    if damaged.iter().any(|blocks| !blocks.is_empty()) {
        name(&mut found, layers(volume)?, damaged);
    }
    Ok(found)
}

/// Tells damaged logical blocks from damaged places that no logical block needs.
fn name(found: &mut Found, states: Vec<LayerState>, damaged: Vec<BTreeSet<Pba>>) {
    let (members, above): (Vec<LayerState>, Vec<LayerState>) =
        states.into_iter().partition(|state| state.member.is_some());
    let above = above.into_iter().next().map(|mut state| Mapped::of(&mut state));
    let mut logical = BTreeSet::new();
    for (number, (mut state, mut left)) in members.into_iter().zip(damaged).enumerate() {
        state.walk(|run| {
            let within: Vec<Pba> = left.range(run.at.start..run.at.end()).copied().collect();
            for place in within {
                let own = run.lba.plus(place.since(run.at.start));
                if let Some(lba) = of_host(above.as_ref(), number, own) {
                    logical.insert(lba);
                    left.remove(&place);
                }
            }
        });
        found.unneeded.extend(runs(left.into_iter().map(Pba::block)).map(|run| MemberBlocks::of(number, run)));
    }
    found.damaged = runs(logical.into_iter().map(|lba: Lba| lba.0)).collect();
}

/// The block of the host that a member's layer presents as its block `own`: without a layer above, the same. A disk
/// behind a cache presents the same too, unless the cache has a copy.
fn of_host(above: Option<&Mapped>, member: usize, own: Lba) -> Option<Lba> {
    let Some(above) = above else { return Some(own) };
    let place = Pba::new(Pba::DISK + member as u8, own.0);
    let cached = above.runs.iter().find(|run| run.at.contains(place));
    let is_copied = |run: &Run| Extent::new(run.lba, run.at.blocks).contains(own);
    match cached {
        Some(run) => Some(run.lba.plus(place.since(run.at.start))),
        None if member > 0 && !above.runs.iter().any(is_copied) => Some(own),
        None => None,
    }
}
