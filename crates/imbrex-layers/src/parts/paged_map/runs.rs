//! A page of few runs: for what is written to one block in ten, and for a page that was filled in order and has
//! been written to here and there.

use thin_vec::{ThinVec, thin_vec};

use super::{ENTRY, Entries, NONE, PAGE, Page};

/// Runs of a page at most. With more an array is quicker, and not five times as large.
const MOST: usize = PAGE / 8;

/// Where the number of entries begins in a run, less one, and where that of its first entry.
const BLOCKS: u32 = 8 * ENTRY as u32;
const START: u32 = BLOCKS + PAGE.ilog2();

/// Entries that ascend by ones. One word, so that a search of a page passes few cache lines.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Run(u64);

impl Run {
    fn new(start: usize, blocks: usize, value: u64) -> Self {
        Self((start as u64) << START | (blocks as u64 - 1) << BLOCKS | value)
    }

    fn start(self) -> usize {
        (self.0 >> START) as usize
    }

    fn blocks(self) -> usize {
        (self.0 >> BLOCKS) as usize % PAGE + 1
    }

    fn value(self) -> u64 {
        self.0 & NONE
    }

    fn end(self) -> usize {
        self.start() + self.blocks()
    }

    /// The part of it from one offset to another, if there is any.
    fn part(self, from: usize, to: usize) -> Option<Self> {
        let (start, end) = (from.max(self.start()), to.min(self.end()));
        (start < end).then(|| Self::new(start, end - start, self.value() + (start - self.start()) as u64))
    }

    /// Whether another one goes on where this one ends.
    fn goes_on(self, other: Self) -> bool {
        self.end() == other.start() && self.value() + self.blocks() as u64 == other.value()
    }
}

/// The runs of a page by where they begin. They do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    runs: ThinVec<Run>,
}

impl Runs {
    /// A page that is one run from `value` on.
    pub fn of_page(value: u64) -> Self {
        Self { runs: thin_vec![Run::new(0, PAGE, value)] }
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The first value, if values ascend over the whole page.
    pub fn whole(&self) -> Option<u64> {
        let first = self.runs.first().filter(|run| run.blocks() == PAGE);
        first.map(|run| run.value())
    }

    /// The value at an offset, and for how many entries values ascend from there or are not set.
    pub fn get(&self, offset: usize) -> (u64, usize) {
        let next = self.runs.partition_point(|run| run.end() <= offset);
        match self.runs.get(next) {
            None => (NONE, PAGE - offset),
            Some(run) if run.start() > offset => (NONE, run.start() - offset),
            Some(run) => (run.value() + (offset - run.start()) as u64, run.end() - offset),
        }
    }

    /// Reads what lies where a run at an offset would if they were spread evenly: no search waits for it.
    #[inline]
    pub fn prefetch(&self, offset: usize) -> u64 {
        self.runs.get(self.runs.len() * offset / PAGE).map_or(0, |run| run.0)
    }

    /// Sets values that ascend from `first` by ones, or are [`NONE`]. False if that would be too many runs, when
    /// nothing has changed.
    pub fn set(&mut self, offset: usize, blocks: usize, first: u64) -> bool {
        let end = offset + blocks;
        let from = self.runs.partition_point(|run| run.end() <= offset);
        let to = from + self.runs[from..].partition_point(|run| run.start() < end);
        let before = self.runs[from..to].first().and_then(|run| run.part(0, offset));
        let behind = self.runs[from..to].last().and_then(|run| run.part(end, PAGE));
        let new = (first != NONE).then(|| Run::new(offset, blocks, first));
        // In an array: an iterator that does not know its length would be gathered first, in memory of its own.
        let (mut parts, mut count) = ([Run::default(); 3], 0);
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

    /// Joins runs that go on in the next one: `count` of them, from `first` on.
    fn join(&mut self, first: usize, count: usize) {
        for at in (first..first + count).rev() {
            if let Some(&[run, next]) = self.runs.get(at..at + 2)
                && run.goes_on(next)
            {
                self.runs[at] = Run::new(run.start(), run.blocks() + next.blocks(), run.value());
                self.runs.remove(at + 1);
            }
        }
    }

    /// The page as an array.
    pub fn entries(&self) -> Page {
        let mut entries = Box::new(Entries::new());
        for run in &self.runs {
            entries.fill(run.start(), run.blocks(), run.value());
        }
        Page::Each(entries, self.runs.iter().map(|run| run.blocks() as u16).sum())
    }
}
