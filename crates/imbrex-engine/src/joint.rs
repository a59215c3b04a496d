//! Which redo plans one commit can hold: those whose images are known before any of them is written.
//!
//! A commit waits for all that was planned before its last redo plan, but for the redo moves that it holds itself. What
//! waits for one of these moves would wait for ever. So a plan joins the ones before it as long as nothing planned
//! before it waits for them, and none of its own images has to be read from where they write.

use std::collections::BTreeSet;

use super::items::Item;
use super::operations::Operations;
use imbrex_core::plan::Place;

/// The redo plans of a commit.
pub(super) struct Joint<'a> {
    operations: &'a Operations,
    /// Records that plans which join others may bring.
    room: usize,
    /// Their redo moves, in order.
    pub moves: Vec<u64>,
    /// What waits for these, or for something that does.
    waiting: BTreeSet<u64>,
    is_begun: bool,
}

impl<'a> Joint<'a> {
    /// None yet; those that join the first one may have at most `most_records` records.
    pub fn new(operations: &'a Operations, most_records: usize) -> Self {
        Self { operations, room: most_records, moves: Vec::new(), waiting: BTreeSet::new(), is_begun: false }
    }

    /// Takes the next redo plan of the queue, if it can be in the same commit as the others.
    pub fn take(&mut self, item: &Item) -> bool {
        let Some(redo) = item.redo() else { return false };
        if self.is_begun && (redo.records.len() > self.room || self.holds_up(item.before, &redo.moves)) {
            return false;
        }
        if self.is_begun {
            self.room -= redo.records.len();
        }
        self.is_begun = true;
        self.moves.extend(&redo.moves);
        self.operations.add_waiting_for(&redo.moves, &mut self.waiting);
        true
    }

    /// Whether a plan with these redo moves, or what was planned `before` them, needs that the moves of the others are
    /// done.
    fn holds_up(&self, before: u64, moves: &[u64]) -> bool {
        let is_read = |number: &u64| {
            self.operations.get_move(*number).is_some_and(|m| match m.from {
                Place::At(from) => !from.is_ram() && m.content.is_none(),
                Place::Host(_) | Place::Zero | Place::Lost => false,
            })
        };
        self.waiting.range(..before).any(|number| self.moves.binary_search(number).is_err())
            || moves.iter().any(|number| self.waiting.contains(number) && is_read(number))
    }
}
