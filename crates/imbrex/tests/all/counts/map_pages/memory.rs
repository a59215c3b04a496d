//! Pages in memory: a list of them, the least recently used first.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub lookups: u64,
    pub read: u64,
    pub written: u64,
}

/// What became of a page.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Touch {
    /// A part of it was changed.
    Changed,
    /// Nothing of what was there is needed.
    Anew,
    /// It needs no page any more.
    Gone,
}

pub struct Memory {
    most: usize,
    /// How many of the least recently used pages are looked at when a changed one leaves.
    together: usize,
    recent: Vec<u64>,
    changed: BTreeSet<u64>,
    pub counts: Counts,
}

impl Memory {
    pub fn new(most: usize) -> Self {
        let together = most.div_ceil(4).min(512);
        Self { most, together, recent: Vec::new(), changed: BTreeSet::new(), counts: Counts::default() }
    }

    /// Half of the pages that fit are needed at a time.
    pub fn half(&self) -> usize {
        (self.most / 2).max(1)
    }

    /// Whether a page is there; then it counts as used.
    fn has(&mut self, page: u64) -> bool {
        let place = self.recent.iter().position(|&other| other == page);
        if let Some(place) = place {
            self.recent.remove(place);
            self.recent.push(page);
        }
        place.is_some()
    }

    fn take_in(&mut self, page: u64) {
        if self.recent.len() == self.most {
            if self.changed.contains(&self.recent[0]) {
                let oldest: Vec<u64> = self.recent[..self.together].to_vec();
                self.counts.written += oldest.iter().filter(|&page| self.changed.remove(page)).count() as u64;
            }
            self.recent.remove(0);
        }
        self.recent.push(page);
    }

    /// Pages that are needed before a plan is made.
    pub fn fetch(&mut self, needed: &BTreeSet<u64>) {
        let needed: Vec<u64> = needed.iter().copied().collect();
        for some in needed.chunks(self.half()) {
            self.counts.lookups += some.len() as u64;
            let missing: Vec<u64> = some.iter().copied().filter(|&page| !self.has(page)).collect();
            self.counts.read += missing.len() as u64;
            missing.into_iter().for_each(|page| self.take_in(page));
        }
    }

    /// What a plan has done to pages.
    pub fn settle(&mut self, touched: Vec<(u64, Touch)>) {
        let mut pages: BTreeMap<u64, (Touch, Touch)> = BTreeMap::new();
        for (page, touch) in touched {
            pages.entry(page).or_insert((touch, touch)).1 = touch;
        }
        for (page, (first, last)) in pages {
            if last == Touch::Gone {
                self.recent.retain(|&other| other != page);
                self.changed.remove(&page);
                continue;
            }
            self.counts.lookups += 1;
            if !self.has(page) {
                self.counts.read += u64::from(first == Touch::Changed);
                self.take_in(page);
            }
            self.changed.insert(page);
        }
    }
}
