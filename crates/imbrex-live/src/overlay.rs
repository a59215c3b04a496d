//! An overlay: a drive that is only read. What is written to it stays in memory, up to a bound, and is gone with it.
//!
//! Recovery writes: it replays redo images, empties zones and begins a new epoch in the journal. Over an overlay that
//! leaves the drive below as it was found, which is how a volume is looked at, checked and served without being
//! changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use imbrex::block::{Address, Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layer::UnitReport;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;

use crate::active;
use crate::store::{Store, StoreError};

/// Bytes that an overlay keeps unless it is told otherwise.
pub const KEEPS: u64 = 256 << 20;

/// What a block holds that another one's write destroyed.
const DESTROYED: u8 = 0xdb;

/// A drive below, and what would have been written to it.
pub struct Overlay {
    below: Arc<dyn Store>,
    most_blocks: usize,
    state: Mutex<State>,
}

struct State {
    /// The rules in the state that the drive would have.
    media: Box<dyn Media>,
    kept: BTreeMap<Pba, Bytes>,
    /// Units that would have been emptied: what the drive below holds there does not count.
    emptied: BTreeSet<Unit>,
    /// Units that would have been made full, and how far the drive below has written them: behind that are zeros.
    filled: BTreeMap<Unit, u32>,
}

impl Overlay {
    /// Over `below`, keeping at most `most_bytes`.
    #[must_use]
    pub fn new(below: Arc<dyn Store>, most_bytes: u64) -> Self {
        let most_blocks = usize::try_from(most_bytes / u64::from(below.block_bytes())).unwrap_or(usize::MAX);
        let state =
            State { media: below.media(), kept: BTreeMap::new(), emptied: BTreeSet::new(), filled: BTreeMap::new() };
        Self { below, most_blocks, state: Mutex::new(state) }
    }

    /// Bytes kept in memory.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        self.state().kept.len() as u64 * u64::from(self.below.block_bytes())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the runs of `at` that are not kept hold below.
    fn read_below(&self, state: &State, at: Extent<Pba>, into: &mut BytesMut) -> Result<(), StoreError> {
        let unit = state.media.unit_of(at.start);
        if state.emptied.contains(&unit) {
            into.resize(into.len() + at.blocks as usize * self.below.block_bytes() as usize, 0);
            return Ok(());
        }
        let unit_start = state.media.extent_of(unit).start.block();
        let written = state.filled.get(&unit).map_or(u64::MAX, |written| unit_start + u64::from(*written));
        let there = at.first(written.saturating_sub(at.start.block()).min(at.blocks.into()) as u32);
        if !there.is_empty() {
            into.extend_from_slice(&self.below.read(there)?);
        }
        let behind = at.blocks - there.blocks;
        into.resize(into.len() + behind as usize * self.below.block_bytes() as usize, 0);
        Ok(())
    }

    /// The longest run from the start of `at` that has not been written, within a unit.
    fn run_below(state: &State, at: Extent<Pba>) -> Extent<Pba> {
        let kept = state.kept.range(at.start..at.end()).next().map_or(at.end(), |(block, _)| *block);
        let unit = state.media.extent_of(state.media.unit_of(at.start));
        let is_whole = state.emptied.is_empty() && state.filled.is_empty();
        let end = if is_whole { kept } else { kept.min(unit.end()) };
        at.first((end.block() - at.start.block()) as u32)
    }

    fn full(&self, at: Extent<Pba>) -> StoreError {
        let most = self.most_blocks as u64 * u64::from(self.below.block_bytes());
        let text = format!("the store is only read, and the {most} bytes kept in memory are used up");
        // Not the error of a full disk: no room comes later.
        StoreError::of("writing", at)(io::Error::new(io::ErrorKind::OutOfMemory, text))
    }
}

impl Store for Overlay {
    fn block_bytes(&self) -> u32 {
        self.below.block_bytes()
    }

    fn recording(&self) -> Recording {
        self.below.recording()
    }

    fn media(&self) -> Box<dyn Media> {
        self.state().media.copy()
    }

    fn drive(&self) -> Option<&DrivePreset> {
        self.below.drive()
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        let state = self.state();
        state.media.read(at)?;
        let mut content = BytesMut::with_capacity(at.blocks as usize * self.below.block_bytes() as usize);
        let mut rest = at;
        while !rest.is_empty() {
            if let Some(kept) = state.kept.get(&rest.start) {
                content.extend_from_slice(kept);
                rest = rest.skip(1);
            } else {
                let run = Self::run_below(&state, rest);
                self.read_below(&state, run, &mut content)?;
                rest = rest.skip(run.blocks);
            }
        }
        Ok(content.freeze())
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        let mut state = self.state();
        let mut destroyed = Vec::new();
        state.media.destroys(at, &mut |gone| destroyed.push(gone));
        let new = destroyed.iter().chain([&at]).map(|run| new_blocks(&state, *run)).sum::<usize>();
        if state.kept.len() + new > self.most_blocks {
            return Err(self.full(at));
        }
        state.media.write(at)?;
        let block_bytes = self.below.block_bytes() as usize;
        // A copy, so that a block that is kept does not keep the rest of a long write.
        let blocks = content.chunks(block_bytes).map(Bytes::copy_from_slice);
        state.kept.extend(at.iter().zip(blocks));
        let garbage = Bytes::from(vec![DESTROYED; block_bytes]);
        state.kept.extend(destroyed.iter().flat_map(Extent::iter).map(|block| (block, garbage.clone())));
        Ok(())
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        let mut state = self.state();
        state.media.reset(unit)?;
        let State { media, kept, emptied, .. } = &mut *state;
        media.emptied_by(unit, &mut |space| {
            kept.retain(|block, _| !space.contains(*block));
            let last = media.unit_of(space.start.plus(u64::from(space.blocks) - 1));
            emptied.extend((media.unit_of(space.start).index..=last.index).map(|index| Unit { index, ..unit }));
        });
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        let mut state = self.state();
        for unit in active::crowding(state.media.as_ref()) {
            let written = state.media.report()[unit.index as usize].pointer;
            let is_emptied = state.emptied.contains(&unit);
            let all = state.media.extent_of(unit).blocks;
            state.media.set_pointer(unit, all);
            if !is_emptied {
                state.filled.insert(unit, written);
            }
        }
        Ok(state.media.unit_report())
    }
}

/// Blocks of a run that are not kept yet.
fn new_blocks(state: &State, at: Extent<Pba>) -> usize {
    at.blocks as usize - state.kept.range(at.start..at.end()).count()
}
