//! A page of few runs: for what is written to one block in a thousand, and for a page that was filled in order and has
//! been written to here and there.

use super::{Entries, NONE, PAGE};

/// Runs of a page at most. With more an array is not much larger, and quicker.
const MOST: usize = 256;

/// Entries that ascend by ones.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Run {
    start: u16,
    blocks: u16,
    value: u64,
}

impl Run {
    fn end(self) -> usize {
        usize::from(self.start) + usize::from(self.blocks)
    }

    /// The part of it from one offset to another, if there is any.
    fn part(self, from: usize, to: usize) -> Option<Self> {
        let (start, end) = (from.max(self.start.into()), to.min(self.end()));
        let skipped = start.saturating_sub(self.start.into()) as u64;
        (start < end).then(|| Self { start: start as u16, blocks: (end - start) as u16, value: self.value + skipped })
    }

    /// Whether another one goes on where this one ends.
    fn goes_on(self, other: Self) -> bool {
        self.end() == usize::from(other.start) && self.value + u64::from(self.blocks) == other.value
    }
}

/// The runs of a page by where they begin. They do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
}

impl Runs {
    /// A page that is one run from `value` on.
    pub fn of_page(value: u64) -> Self {
        Self { runs: vec![Run { start: 0, blocks: PAGE as u16, value }] }
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The value at an offset, and for how many entries values ascend from there or are not set.
    pub fn get(&self, offset: usize) -> (u64, usize) {
        let next = self.runs.partition_point(|run| run.end() <= offset);
        match self.runs.get(next) {
            None => (NONE, PAGE - offset),
            Some(run) if usize::from(run.start) > offset => (NONE, usize::from(run.start) - offset),
            Some(run) => (run.value + (offset - usize::from(run.start)) as u64, run.end() - offset),
        }
    }

    /// Sets values that ascend from `first` by ones, or are [`NONE`]. False if that would be too many runs, when
    /// nothing has changed.
    pub fn set(&mut self, offset: usize, blocks: usize, first: u64) -> bool {
        let end = offset + blocks;
        let from = self.runs.partition_point(|run| run.end() <= offset);
        let to = from + self.runs[from..].partition_point(|run| usize::from(run.start) < end);
        let before = self.runs[from..to].first().and_then(|run| run.part(0, offset));
        let behind = self.runs[from..to].last().and_then(|run| run.part(end, PAGE));
        let new = (first != NONE).then_some(Run { start: offset as u16, blocks: blocks as u16, value: first });
        // In an array: an iterator that does not know its length would be gathered first, in memory of its own.
        let (mut parts, mut count) = ([Run { start: 0, blocks: 0, value: 0 }; 3], 0);
        for part in [before, new, behind].into_iter().flatten() {
            parts[count] = part;
            count += 1;
        }
        if self.runs.len() - (to - from) + count > MOST {
            return false;
        }
        self.runs.splice(from..to, parts[..count].iter().copied());
        self.join(from.saturating_sub(1), 4);
        true
    }

    /// Joins runs that go on in the next one, so many from one on.
    fn join(&mut self, first: usize, count: usize) {
        for at in (first..first + count).rev() {
            if let Some(&[run, next]) = self.runs.get(at..at + 2)
                && run.goes_on(next)
            {
                self.runs[at].blocks += next.blocks;
                self.runs.remove(at + 1);
            }
        }
    }

    /// The page as an array.
    pub fn entries(&self) -> Box<Entries> {
        let mut entries = Box::new(Entries::new());
        for run in &self.runs {
            entries.set_run(run.start.into(), run.blocks.into(), run.value);
        }
        entries
    }
}
