//! Giving back the room of blocks that are not needed any more, before their unit is emptied.

use imbrex::block::{Extent, Pba};
use imbrex::plan::Unit;

use super::{Image, State};
use crate::backing::Backing;
use crate::store::Written;

impl<B: Backing> Image<B> {
    /// The parts of `at`, one for each unit, that lie behind a write pointer.
    pub(super) fn written(&self, at: Extent<Pba>) -> Vec<Written> {
        let state = self.state();
        let (mut parts, mut rest) = (Vec::new(), at);
        while !rest.is_empty() {
            let unit = state.media.unit_of(rest.start);
            let part = rest.first((state.media.extent_of(unit).end().block() - rest.start.block()) as u32);
            if is_written(&state, unit, part) {
                parts.push(Written { at: part, emptied: times_emptied(&state, unit) });
            }
            rest = rest.skip(part.blocks);
        }
        parts
    }

    /// Gives the room of blocks back.
    pub(super) fn forget(&self, blocks: &[Written]) {
        for Written { at, emptied } in blocks.iter().copied() {
            // Held, so that no other thread empties the unit and writes it anew meanwhile.
            let state = self.state();
            let unit = state.media.unit_of(at.start);
            if times_emptied(&state, unit) == emptied && is_written(&state, unit, at) && !state.kept.contains(&unit) {
                self.backing.discard(self.offset(at.start), self.bytes(at));
            }
        }
    }
}

fn times_emptied(state: &State, unit: Unit) -> u64 {
    state.emptied.get(&unit).copied().unwrap_or_default()
}

/// Whether all of `at`, which lies in one unit, has been written and cannot be again.
fn is_written(state: &State, unit: Unit, at: Extent<Pba>) -> bool {
    let end = at.end().block() - state.media.extent_of(unit).start.block();
    state.media.has_pointer(unit) && end <= u64::from(state.entries[unit.index as usize].pointer)
}
