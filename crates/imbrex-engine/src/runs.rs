//! The blocks of the journal that were found, without their content: those that follow each other take one entry.

use std::collections::BTreeMap;

use super::journal::Header;
use imbrex_core::block::{Address, Extent, Pba};

/// What the last entry of a commit says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Closed {
    /// Where it ends.
    pub end: u64,
    pub tail: u64,
    pub redone: u64,
}

/// Blocks of one epoch whose numbers follow each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub start: u64,
    pub end: u64,
    pub epoch: u32,
    /// Where the entry before ended, if the first block is the first of an entry.
    pub follows: Option<u64>,
    /// Where the entry begins that goes on behind the last block; the end if none does.
    pub goes_on: u64,
    /// The last entry in it that ends a commit.
    pub closed: Option<Closed>,
}

impl Run {
    fn of(header: &Header) -> Self {
        let Header { start, index, count, epoch, tail, redone, .. } = *header;
        let end = header.number() + 1;
        let is_last = index + 1 == count;
        Self {
            start: header.number(),
            end,
            epoch,
            follows: (index == 0).then(|| header.follows()),
            goes_on: if is_last { end } else { start },
            closed: (is_last && header.closes).then_some(Closed { end, tail, redone }),
        }
    }

    /// Takes in a run that begins in this one or goes on with it, if it is one.
    fn join(&mut self, next: &Self) -> bool {
        let goes_on = next.start == self.end && next.follows.is_none_or(|end| end == self.end);
        if self.epoch != next.epoch || !(goes_on || (self.start..self.end).contains(&next.start)) {
            return false;
        }
        if next.end > self.end {
            (self.end, self.goes_on) = (next.end, next.goes_on);
        }
        if next.closed.is_some_and(|next| self.closed.is_none_or(|closed| closed.end < next.end)) {
            self.closed = next.closed;
        }
        true
    }
}

/// The blocks that were found in all copies.
#[derive(Debug)]
pub(super) struct Runs {
    copies: Vec<Extent<Pba>>,
    /// By the places of their first blocks.
    runs: BTreeMap<Pba, Run>,
    /// The highest mark up to which the journal was durable, if any block was found.
    pub durable: Option<u64>,
    /// The latest epoch.
    pub epoch: u32,
}

impl Runs {
    pub fn new(copies: &[Extent<Pba>]) -> Self {
        Self { copies: copies.to_vec(), runs: BTreeMap::new(), durable: None, epoch: 0 }
    }

    /// Adds a block. One that lies where its number does not belong is none of the journal.
    pub fn add(&mut self, place: Pba, header: &Header) {
        let Some(copy) = self.copies.iter().find(|copy| copy.contains(place)) else { return };
        if copy.start.plus(header.number() % u64::from(copy.blocks)) != place {
            return;
        }
        let (is_first, next) = (place == copy.start, place.plus(1));
        self.durable = self.durable.max(Some(header.durable));
        self.epoch = self.epoch.max(header.epoch);
        let mut run = Run::of(header);
        // What lies behind it may have come before.
        if copy.contains(next) && self.runs.get(&next).is_some_and(|behind| run.join(behind)) {
            self.runs.remove(&next);
        }
        let before = self.runs.range_mut(..place).next_back();
        let goes_on = |start: Pba, before: &Run| start.plus(before.end - before.start) == place && !is_first;
        let joins = before.is_some_and(|(start, before)| goes_on(*start, before) && before.join(&run));
        if !joins {
            self.runs.insert(place, run);
        }
    }

    /// The runs of a copy, by epoch and number.
    pub fn of_copy(&self, copy: &Extent<Pba>) -> Vec<Run> {
        joined(self.runs.range(copy.start..copy.end()).map(|(_, run)| *run).collect())
    }

    /// What is in any copy, by epoch and number.
    pub fn of_all(&self) -> Vec<Run> {
        joined(self.runs.values().copied().collect())
    }
}

/// The runs that these are when those that overlap or follow each other are taken together.
fn joined(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable_by_key(|run| (run.epoch, run.start));
    runs.dedup_by(|next, run| run.join(next));
    runs
}
