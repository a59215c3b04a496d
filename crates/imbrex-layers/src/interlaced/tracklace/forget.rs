//! Trims, and when what they gave up can no longer be needed again.
//!
//! A slot that is given up is freed, and taken again when that has taken effect. A home is not: it is written again as
//! soon as the host likes. So a block of RAM that is not used is freed instead, once for each plan, as a mark; when it
//! comes back, the records planned before are durable.

use std::collections::VecDeque;

use super::relocation::Lies;
use super::trimmed::{GROUP, Trimmed};
use super::{TrackLace, from_start};
use crate::parts::needed_blocks::NeededBlocks;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Plan, Record};

/// Homes that the queue keeps room for.
const SHORT: usize = 64;

/// Groups that are trimmed at a time.
const GROUPS: u64 = 64;

/// Homes that are needed no more, until that is durable.
#[derive(Default)]
pub(super) struct Forgotten {
    /// In the order of the marks, with the number of theirs.
    homes: VecDeque<(u64, Pba)>,
    marks: u64,
    came_back: u64,
}

impl Forgotten {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        // This is for one trim: the runner knows how many more it waits for.
        Memory::growing::<(u64, Pba)>(GROUPS * GROUP)
    }

    /// A home is needed no more; the plan being made is to free the mark.
    pub fn push(&mut self, home: Pba) {
        self.homes.push_back((self.marks + 1, home));
    }

    /// Frees the mark if the plan gives up a home.
    pub fn free_mark(&mut self, mark: Pba, plan: &mut Plan) {
        if self.homes.back().is_some_and(|(number, _)| *number > self.marks) {
            self.marks += 1;
            plan.free(Extent::new(mark, 1));
        }
    }

    /// The oldest mark has come back.
    pub fn mark_is_free(&mut self, needed: &mut NeededBlocks) {
        self.came_back += 1;
        while let Some(&(number, home)) = self.homes.front()
            && number <= self.came_back
        {
            needed.settle(home.block(), 1);
            self.homes.pop_front();
        }
        if self.homes.is_empty() {
            self.homes.shrink_to(SHORT);
        }
    }
}

impl TrackLace {
    /// Forgets blocks from the front of `at`, and says how many.
    pub(super) fn forget(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let end = Lba((at.start.0 / GROUP + GROUPS) * GROUP).min(at.end());
        let at = Extent::between(at.start, end);
        // First that they hold nothing, and only then that they are not buffered: older content never comes back.
        for group in Trimmed::groups(at) {
            self.change(self.trimmed.record(group, at, true), false, plan);
        }
        let mut rest = at;
        while let Some(lba) = self.moved.first_moved(rest) {
            rest = rest.skip(from_start(rest, lba) + 1);
            if let Some(Lies::Slot(slot)) = self.moved.lies(lba) {
                self.change(Record::Unmap(Extent::new(lba, 1)), false, plan);
                plan.free(Extent::new(self.frames.place_of(slot), 1));
            }
        }
        self.forgotten.free_mark(self.ram().mark, plan);
        at.blocks
    }
}
