//! Whether a volume is whole, and what can be done where it is not.

use std::collections::BTreeSet;

use imbrex::block::{Extent, Pba};
use imbrex::perform::{Request, Stack};

use super::counts::Counts;
use super::taken::Taken;
use super::{LayerState, layers};
use crate::solo::Solo;
use crate::store::Store;
use crate::volume::{self, Volume, VolumeError};

/// Blocks of one read of data.
const PART: u32 = 256;

/// Something that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// What it is.
    pub what: String,
    /// Whether a repair puts it right, or at least on record.
    pub is_repairable: bool,
}

/// What a check came to.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// What is not as it should be.
    pub problems: Vec<Problem>,
    /// Mapped blocks that cannot be read, of each member.
    pub unreadable: Vec<BTreeSet<Pba>>,
    /// Logical blocks that lie somewhere, of all layers.
    pub mapped_blocks: u64,
    /// Logical blocks on record as lost.
    pub lost_blocks: u64,
    /// Blocks that were read.
    pub read_blocks: u64,
}

/// Checks a volume; with `read_data` every mapped block is read.
#[must_use]
pub fn check(volume: &Volume, read_data: bool) -> Checked {
    let mut checked = Checked { unreadable: vec![BTreeSet::new(); volume.members.len()], ..Checked::default() };
    for what in &volume.stale {
        checked.found(format!("{what} is damaged or older than its other copy"), true);
    }
    match layers(volume) {
        Ok(states) => states.into_iter().for_each(|state| checked.layer(volume, state, read_data)),
        Err(why) => checked.found(why.to_string(), false),
    }
    checked
}

impl Checked {
    fn found(&mut self, what: String, is_repairable: bool) {
        self.problems.push(Problem { what, is_repairable });
    }

    fn layer(&mut self, volume: &Volume, mut state: LayerState, read_data: bool) {
        let name = state.name.clone();
        for place in &state.journal.lacking {
            self.found(format!("block {} of the journal of {name} is damaged or old in one copy", place.block()), true);
        }
        if let Err(violation) = state.layer.check() {
            self.found(format!("{name} contradicts itself: {violation}"), false);
        }
        self.map(volume, &mut state, read_data);
        let Some(member) = state.member else { return };
        if let Some(first) = self.unreadable[member].first().copied().filter(|_| read_data) {
            let blocks = self.unreadable[member].len();
            let first = first.block();
            self.found(
                format!("{blocks} mapped blocks of member {} cannot be read, from {first} on", member + 1),
                true,
            );
        }
    }

    /// Goes through the map: whether blocks lie where they can, and each in a place of its own.
    fn map(&mut self, volume: &Volume, state: &mut LayerState, read_data: bool) {
        let name = state.name.clone();
        let store = |member: usize| volume.members[member].as_ref();
        let on = state.member.map(|member| (member, store(member), store(member).media()));
        let (mut taken, mut shared) = (Taken::default(), None);
        let mut counts = state.layer.cached_map().map(Counts::of);
        let walked = state.walk(|run| {
            let twice = taken.take(run.at);
            counts.iter_mut().for_each(|counts| counts.lie(run));
            shared = shared.or(twice.map(|place| (place, run)));
            let Some((member, store, media)) = &on else { return };
            if let Err(e) = media.read(run.at) {
                self.found(format!("block {} of {name} lies where nothing is: {e}", run.lba.0), false);
            } else if read_data {
                self.read(*store, *member, run.at);
            }
        });
        self.mapped_blocks += walked.blocks;
        self.lost_blocks += walked.lost;
        if let Some(counts) = counts {
            self.pages(state, counts, &taken);
        }
        if let Some((place, second)) = shared {
            let mut first = None;
            state.walk(|run| first = first.or(Some(run.lba.0).filter(|_| run.at.contains(place))));
            let (first, second) = (first.unwrap_or(second.lba.0), second.lba.0);
            self.found(format!("{name} has blocks from {first} and from {second} on in one place"), false);
        }
    }

    /// Goes through the pages that say what places hold, and compares that with where blocks lie.
    fn pages(&mut self, state: &mut LayerState, mut counts: Counts, taken: &Taken) {
        let (name, Some(pages)) = (&state.name, &mut state.pages) else { return };
        pages.holders(state.layer.as_mut(), |place, lba| counts.held(place, lba, taken));
        let (problems, more) = pages.problems();
        for Problem { what, is_repairable } in problems {
            self.found(format!("{name}: {what}"), *is_repairable);
        }
        if more > 0 {
            self.found(format!("{name}: {more} more blocks or pages of the map are damaged"), false);
        }
        // Without all of its pages no map agrees with itself.
        if problems.is_empty() {
            let texts = counts.problems();
            texts.into_iter().for_each(|what| self.found(format!("{name} contradicts itself: its map {what}"), false));
        }
    }

    /// Reads a run, and what of it cannot be read block by block.
    fn read(&mut self, store: &dyn Store, member: usize, run: Extent<Pba>) {
        let mut left = run;
        while left.blocks > 0 {
            let part = left.first(left.blocks.min(PART));
            if store.read(part).is_err() {
                self.unreadable[member].extend(part.iter().filter(|block| store.read(Extent::new(*block, 1)).is_err()));
            }
            self.read_blocks += u64::from(part.blocks);
            left = left.skip(part.blocks);
        }
    }
}

/// Writes damaged copies anew from good ones, begins an epoch in which blocks that cannot be read are on record as
/// lost, and leaves a checkpoint. Nothing that can be reached is given up, and a power cut leaves less repaired and no
/// more lost. The result says which copies could not be written, and why.
///
/// # Errors
/// When nothing can be repaired, or a store fails.
pub fn repair(volume: &Volume, checked: &Checked) -> Result<Vec<String>, VolumeError> {
    layers(volume)?;
    let left = volume.mend()?;
    volume::advance(&volume.members, &mut volume.superblocks.clone())?;
    let stack = Stack::open_suspecting(volume.setup()?, checked.unreadable.clone())?;
    let mut solo = Solo::begin(stack, volume.members.clone())?;
    let failed = |e: imbrex::perform::Failure| VolumeError::Refused(format!("the repair could not be completed: {e}"));
    solo.call(Request::Flush).map_err(failed)?;
    solo.stack.checkpoint();
    solo.settle();
    solo.call(Request::Flush).map_err(failed)?;
    volume.members.iter().try_for_each(|member| member.flush().and_then(|()| member.rest()))?;
    Ok(left)
}
