//! Values that wait for their page: runs of numbers, of each number the value that came last.

use std::collections::BTreeMap;

/// Values that ascend by ones, or are not set, and the number of the record that said so.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub at: u64,
    pub blocks: u64,
    pub value: u64,
    pub number: u64,
}

impl Waiting {
    fn end(&self) -> u64 {
        self.at + self.blocks
    }

    /// The part of it from one number to another, if there is any.
    fn part(&self, from: u64, to: u64) -> Option<Self> {
        let (start, end) = (from.max(self.at), to.min(self.end()));
        let value = if self.value == super::NONE { super::NONE } else { self.value + start.saturating_sub(self.at) };
        (start < end).then(|| Self { at: start, blocks: end - start, value, number: self.number })
    }
}

/// The runs by where they begin. They do not overlap.
#[derive(Clone, Debug, Default)]
pub struct Late {
    runs: BTreeMap<u64, Waiting>,
}

impl Late {
    /// Adds a run in place of what waited there.
    pub fn insert(&mut self, at: u64, blocks: u64, value: u64, number: u64) {
        if blocks > 0 {
            self.take(at, at + blocks);
            self.runs.insert(at, Waiting { at, blocks, value, number });
        }
    }

    /// Takes out what waits from one number to another.
    pub fn take(&mut self, from: u64, to: u64) -> Vec<Waiting> {
        if self.runs.is_empty() {
            return Vec::new();
        }
        let before = self.runs.range(..from).next_back().map(|(_, run)| *run).filter(|run| run.end() > from);
        let within = self.runs.range(from..to).map(|(_, run)| *run);
        let cut: Vec<Waiting> = before.into_iter().chain(within).collect();
        for run in &cut {
            self.runs.remove(&run.at);
            let rest = [run.part(0, from), run.part(to, u64::MAX)];
            self.runs.extend(rest.into_iter().flatten().map(|rest| (rest.at, rest)));
        }
        cut.iter().filter_map(|run| run.part(from, to)).collect()
    }

    /// Keeps what waits from `at` on for `blocks` numbers where that is wanted.
    pub fn retain(&mut self, keep: impl Fn(u64, u64) -> bool) {
        self.runs.retain(|_, run| keep(run.at, run.blocks));
    }

    /// Where values wait: from which number on, and how many.
    pub fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.values().map(|run| (run.at, run.blocks))
    }
}
