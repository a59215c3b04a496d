//! What waits for the journal, in planning order.

use std::collections::VecDeque;

use super::pages::PageCopy;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::plan::{Record, Unit};

/// Something that waits for the journal.
pub(super) struct Item {
    /// Moves with lower numbers were planned before it.
    pub before: u64,
    pub what: What,
}

pub(super) enum What {
    Record(Record),
    /// A region of a checkpoint: one commit holds all of it.
    Region(Vec<Record>),
    /// Redo moves, if there are any, and redo records: one entry holds the images and the records.
    Redo(Redo),
    Reset(Unit),
    Free(Extent<Pba>),
    Flush(Flush),
    /// A page of the map, as it is with all that was planned before.
    Page(PageCopy),
}

/// What one entry holds of a plan.
pub(super) struct Redo {
    pub moves: Vec<u64>,
    pub records: Vec<Record>,
    /// Blocks of the journal that the images take at most.
    pub journal_blocks: usize,
}

/// A flush to be answered.
pub(super) struct Flush {
    /// The request's number.
    pub id: u64,
    /// How many writes had been acknowledged when it was planned.
    pub acknowledged: u64,
}

impl Item {
    /// Whether a client waits for it, so that a commit starts for its sake.
    fn is_urgent(&self) -> bool {
        matches!(self.what, What::Flush(_) | What::Redo(_))
    }

    pub fn redo(&self) -> Option<&Redo> {
        match &self.what {
            What::Redo(redo) => Some(redo),
            _ => None,
        }
    }

    /// Blocks of the journal that its images take at most.
    pub fn journal_blocks(&self) -> usize {
        self.redo().map_or(0, |redo| redo.journal_blocks)
    }

    /// Whether space comes back with it.
    fn gives_space(&self) -> bool {
        matches!(self.what, What::Reset(_) | What::Free(_))
    }
}

/// The items of which no commit has begun.
#[derive(Default)]
pub(super) struct Items {
    waiting: VecDeque<Item>,
    /// How many of them are waited for.
    urgent: usize,
    /// Blocks of the journal that their images take at most.
    journal_blocks: usize,
}

impl Items {
    pub fn push(&mut self, item: Item) {
        self.insert(self.waiting.len(), item);
    }

    /// Adds an item at a place in the queue.
    pub fn insert(&mut self, at: usize, item: Item) {
        self.urgent += usize::from(item.is_urgent());
        self.journal_blocks += item.journal_blocks();
        self.waiting.insert(at, item);
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn journal_blocks(&self) -> usize {
        self.journal_blocks
    }

    pub fn has_urgent(&self) -> bool {
        self.urgent > 0
    }

    /// Whether space comes back when they are durable.
    pub fn give_space(&self) -> bool {
        self.waiting.iter().any(Item::gives_space)
    }

    /// How many single records wait.
    pub fn records(&self) -> usize {
        self.waiting.iter().filter(|item| matches!(item.what, What::Record(_))).count()
    }

    pub fn have_redo(&self) -> bool {
        self.waiting.iter().any(|item| item.redo().is_some())
    }

    /// Takes what one commit can hold: everything, or what comes up to the last of the redo plans that `may_join` those
    /// before them.
    pub fn take_commit(&mut self, mut may_join: impl FnMut(&Item) -> bool) -> Vec<Item> {
        let mut redo = (1..).zip(&self.waiting).filter(|(_, item)| item.redo().is_some()).peekable();
        let cut = match redo.peek() {
            Some(_) => redo.take_while(|(_, item)| may_join(item)).last().map_or(0, |(end, _)| end),
            None => self.waiting.len(),
        };
        let items: Vec<Item> = self.waiting.drain(..cut).collect();
        self.urgent -= items.iter().filter(|item| item.is_urgent()).count();
        self.journal_blocks -= items.iter().map(Item::journal_blocks).sum::<usize>();
        items
    }

    /// Takes what gives space back.
    pub fn take_space(&mut self) -> Vec<Item> {
        let (space, others) = std::mem::take(&mut self.waiting).into_iter().partition(Item::gives_space);
        self.waiting = others;
        Vec::from_iter::<VecDeque<Item>>(space)
    }

    /// Takes everything.
    pub fn take_all(&mut self) -> impl Iterator<Item = Item> {
        std::mem::take(self).waiting.into_iter()
    }
}
