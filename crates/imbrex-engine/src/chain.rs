//! What the blocks found in the journal ring amount to.
//!
//! Every block says how far the journal was durable when it was written. All entries from the tail to there must be
//! whole; what is missing is damage. Commits after it count as long as all their entries are whole, follow each other
//! and do not go back to an earlier epoch: they were being written when the power failed. Of a commit that is not whole
//! nothing counts, since nothing was answered for it: so power that fails again and again does not fill the ring.
//!
//! A new epoch goes on where the one before it found the end of the last commit that counts. So what a run holds counts
//! up to the end of its last commit, or to where a later epoch goes on. Entries are looked at one by one only when they
//! are read again for what they hold.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::fatal::Fatal;
use super::runs::{Closed, Run, Runs};

/// Segments of a journal beyond which a checkpoint is due: each start of the store makes one.
pub(super) const MOST_SEGMENTS: usize = 1024;

/// Blocks of the journal that follow each other, of one epoch.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub start: u64,
    pub end: u64,
    pub epoch: u32,
}

/// The journal from its tail to its head.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Whole entries, oldest first.
    pub segments: Vec<Segment>,
    /// Where the next entry goes.
    pub head: u64,
    /// Where recovery began.
    pub tail: u64,
    /// The epoch after the last one seen.
    pub epoch: u32,
    /// The redo images of entries that begin here or later must be written again.
    pub redone: u64,
}

/// That is damaged which begins with the block numbered `at`.
pub(super) fn damaged(at: u64) -> Fatal {
    Fatal::JournalDamaged(format!("the journal entry that begins with block {at} is damaged"))
}

/// Finds the chain in the blocks of the ring.
///
/// # Errors
/// What is missing or harmed.
pub(super) fn find(runs: &Runs) -> Result<Chain, Fatal> {
    let durable = runs.durable.ok_or(Fatal::NoJournal)?;
    let all = All::new(runs);
    let Closed { end: head, tail, redone } = all.last(durable)?;
    if tail >= head {
        let what =
            format!("the journal entry that ends before block {head} is damaged: it names block {tail} as the first");
        return Err(Fatal::JournalDamaged(what));
    }
    let segments = all.segments(tail, head)?;
    Ok(Chain { segments, head, tail, epoch: runs.epoch.saturating_add(1), redone })
}

/// All runs, as they follow each other.
struct All {
    runs: Vec<Run>,
    /// The runs that begin with an entry, by where the entry before ended; of several the one of the latest epoch, which
    /// knew of the others.
    after: BTreeMap<u64, usize>,
}

impl All {
    fn new(runs: &Runs) -> Self {
        let runs = runs.of_all();
        // The later epochs are the later ones in order.
        let after = runs.iter().enumerate().filter_map(|(at, run)| Some((run.follows?, at))).collect();
        Self { runs, after }
    }

    /// The run of the latest epoch that holds a block.
    fn holding(&self, number: u64) -> Option<&Run> {
        self.runs.iter().rev().find(|run| (run.start..run.end).contains(&number))
    }

    /// The first run of a later epoch that goes on where a run has come to a number of these, and where that is.
    fn later(&self, run: &Run, from: u64, to: u64) -> Option<(u64, &Run)> {
        let after = self.after.range(from..to.max(from)).map(|(end, at)| (*end, &self.runs[*at]));
        after.into_iter().find(|(_, later)| later.epoch > run.epoch)
    }

    /// The last entry of the last commit that counts.
    fn last(&self, durable: u64) -> Result<Closed, Fatal> {
        let missing = || match durable {
            0 => Fatal::JournalNeverBegun,
            _ => Fatal::JournalDamaged(format!("the journal entry that ends before block {durable} is damaged")),
        };
        let first = match durable.checked_sub(1) {
            Some(before) => self.holding(before),
            None => self.after.get(&0).map(|at| &self.runs[*at]),
        };
        let (mut run, mut at, mut last) = (first.ok_or_else(missing)?, durable, None);
        loop {
            let closed = run.closed.filter(|closed| closed.end >= at);
            let most = closed.map_or(at, |closed| closed.end);
            let Some((end, later)) = self.later(run, at, most + 1) else {
                return closed.or(last).ok_or_else(missing);
            };
            last = closed.or(last).filter(|last| last.end == end);
            (run, at) = (later, end);
        }
    }

    /// What lies between tail and head.
    fn segments(&self, tail: u64, head: u64) -> Result<Vec<Segment>, Fatal> {
        let (mut run, mut start) = (self.holding(tail).ok_or_else(|| damaged(tail))?, tail);
        let mut segments = Vec::new();
        loop {
            let closed = run.closed.map_or(start, |closed| closed.end);
            let Some((end, later)) = self.later(run, start + 1, head.min(closed + 1)) else {
                if closed < head || start >= head {
                    return Err(damaged(run.goes_on.max(start)));
                }
                segments.push(Segment { start, end: head, epoch: run.epoch });
                return Ok(segments);
            };
            segments.push(Segment { start, end, epoch: run.epoch });
            (run, start) = (later, later.start);
        }
    }
}
