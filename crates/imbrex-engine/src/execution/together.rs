//! Writes that one operation of the drive carries out: those of clients that come behind each other on it, and wait for
//! nothing but the one before them.
//!
//! A log puts what many clients write in one place after the other. Each would be an operation of its own, and where a
//! write pointer rules only one at a time could be under way.

use super::Execution;
use crate::content::{Content, Joined};
use crate::core::Core;
use crate::operations::Move;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::plan::Place;

/// The most bytes that are written together: as many as take a drive little longer than a few.
const MOST_BYTES: usize = 256 << 10;

impl Execution {
    /// Writes a Move of the host's content, together with those behind it.
    pub(super) fn write_together(&mut self, core: &mut Core, number: u64) {
        let Some(first) = self.host_content(number, core.setup.block_bytes) else { return };
        let (mut last, mut all) = (number, Joined::Lying(first));
        while let Some((next, content)) = self.behind(core, last, MOST_BYTES.saturating_sub(all.len())) {
            all.add(&content);
            self.operations.start_behind(last, next);
            last = next;
        }
        self.deliver(core, number, all.into_bytes());
    }

    /// The write that may go together with the one before it, and its content, of at most so many bytes.
    fn behind(&self, core: &Core, before: u64, most: usize) -> Option<(u64, Content)> {
        let before_it = self.operations.get_move(before)?;
        let end = target(before_it)?.end();
        let goes_on = |number: &u64| {
            let next = self.operations.get_move(*number).filter(|next| matches!(next.from, Place::Host(_)));
            next.and_then(target).is_some_and(|at| at.start == end)
        };
        let next = self.operations.candidates(before).find(goes_on)?;
        let content = self.host_content(next, core.setup.block_bytes).filter(|content| content.len() <= most)?;
        // The drive takes a write in one unit.
        let media = core.setup.media.as_ref();
        let last = Pba::from_raw(end.to_raw() - 1);
        (media.unit_of(last) == media.unit_of(end)).then_some((next, content))
    }
}

/// Where a Move writes on a drive as soon as all that it conflicts with has completed.
fn target(m: &Move) -> Option<Extent<Pba>> {
    match m.to {
        Place::At(to) if !to.is_ram() && !m.held => Some(Extent::new(to, m.blocks)),
        _ => None,
    }
}
