//! A cache that weighs whether clean or dirty blocks leave, as a table of blocks that is searched.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Model, Settings, write_back};
use crate::fixture::two_devices::Counts;

#[derive(Copy, Clone)]
struct Block {
    used: u64,
    is_dirty: bool,
}

/// What was decided.
enum Decision {
    Nothing,
    Clean { left: u64 },
    Flush { units: BTreeSet<u64> },
}

pub struct Costs {
    frames: u64,
    unit_blocks: u64,
    most_units: usize,
    clean_blocks: u64,
    window: u64,
    rest: u64,
    prices: [u64; 3],
    step_blocks: u64,
    reads_count: bool,
    allocates: bool,
    cached: BTreeMap<u64, Block>,
    uses: u64,
    decision: Decision,
    leaving: BTreeSet<u64>,
    /// The units that were written home, flush by flush.
    flushed: Vec<BTreeSet<u64>>,
    counts: Counts,
}

impl Costs {
    pub fn new(settings: &Settings, frames: u64) -> Self {
        let or = |key: &str, otherwise: u64| match settings.number(key, 0) {
            0 => otherwise,
            number => number,
        };
        let unit_blocks = settings.number("region_blocks", 5120);
        Self {
            frames,
            unit_blocks,
            most_units: (or("period_blocks", frames / 4) / unit_blocks).max(1) as usize,
            clean_blocks: or("clean_blocks", (frames / 80).max(1)),
            window: (frames as f64 * settings.part("recent", 0.8)) as u64,
            rest: settings.number("rest_periods", 2),
            prices: [("read_us", 14_000), ("rewrite_us", 435_833), ("write_us", 728)]
                .map(|(key, default)| settings.number(key, default)),
            step_blocks: settings.number("step_blocks", 4096),
            reads_count: settings.flag("reads_count"),
            allocates: settings.flag("read_allocate"),
            cached: BTreeMap::new(),
            uses: 0,
            decision: Decision::Nothing,
            leaving: BTreeSet::new(),
            flushed: Vec::new(),
            counts: Counts::default(),
        }
    }

    fn is_out_of_date(&self, block: Block) -> bool {
        block.used + self.window < self.uses
    }

    fn coldest_clean(&self) -> Vec<(u64, Block)> {
        let mut clean: Vec<_> = self.cached.iter().filter(|(_, b)| !b.is_dirty).map(|(&n, &b)| (n, b)).collect();
        clean.sort_by_key(|(_, block)| block.used);
        clean
    }

    /// The units to be written home, and what that costs: microseconds, and the blocks that are out of date.
    fn worst_units(&self) -> (BTreeSet<u64>, u64, u64) {
        let mut units: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (number, &block) in self.cached.iter().filter(|(_, block)| block.is_dirty) {
            let (dirty, out_of_date) = units.entry(number / self.unit_blocks).or_default();
            *dirty += 1;
            *out_of_date += u64::from(self.is_out_of_date(block));
        }
        let resting: BTreeSet<u64> = self.flushed.iter().rev().take(self.rest as usize).flatten().copied().collect();
        if units.keys().any(|unit| !resting.contains(unit)) {
            units.retain(|unit, _| !resting.contains(unit));
        }
        let mut sorted: Vec<_> = units.into_iter().collect();
        sorted.sort_by_key(|&(unit, (_, out_of_date))| (Reverse(out_of_date), unit));
        sorted.truncate(self.most_units);
        let [_, rewrite, write] = self.prices;
        let us = sorted.iter().map(|(_, (dirty, _))| rewrite + write * dirty).sum();
        let won = sorted.iter().map(|(_, (_, out_of_date))| out_of_date).sum();
        (sorted.into_iter().map(|(unit, _)| unit).collect(), us, won)
    }

    fn decide(&mut self) {
        let clean = self.coldest_clean();
        match self.decision {
            Decision::Clean { .. } if clean.is_empty() => {}
            Decision::Nothing => {}
            _ => return,
        }
        if !self.leaving.is_empty() {
            return;
        }
        let leaving = &clean[..clean.len().min(self.clean_blocks as usize)];
        let out_of_date = leaving.iter().filter(|(_, block)| self.is_out_of_date(*block)).count() as u64;
        let reads = (leaving.len() as u64 - out_of_date) * self.prices[0];
        let (units, us, won) = self.worst_units();
        let is_clean_cheaper = u128::from(reads) * u128::from(won + 1) < u128::from(us) * u128::from(out_of_date + 1);
        self.decision = if clean.is_empty() && units.is_empty() {
            Decision::Nothing
        } else if units.is_empty() || (!clean.is_empty() && is_clean_cheaper) {
            Decision::Clean { left: self.clean_blocks }
        } else {
            Decision::Flush { units }
        };
    }

    fn begin_flush(&mut self) {
        let Decision::Flush { units } = &self.decision else { return };
        let dirty = self.cached.iter().filter(|(_, block)| block.is_dirty).map(|(&number, _)| number);
        self.leaving = dirty.filter(|number| units.contains(&(number / self.unit_blocks))).collect();
        self.flushed.push(units.clone());
        self.decision = Decision::Nothing;
    }

    fn flush_step(&mut self) {
        for _ in 0..self.step_blocks {
            let Some(number) = self.leaving.pop_first() else { return };
            self.cached.remove(&number);
            write_back(&mut self.counts);
        }
    }

    /// Whether there is a frame for one block more, perhaps that of a clean one.
    fn finds_frame(&mut self) -> bool {
        if (self.cached.len() as u64) < self.frames {
            return true;
        }
        self.decide();
        let Decision::Clean { left } = self.decision else { return false };
        self.cached.remove(&self.coldest_clean()[0].0);
        self.decision = if left > 1 { Decision::Clean { left: left - 1 } } else { Decision::Nothing };
        true
    }

    fn put(&mut self, number: u64, is_dirty: bool) {
        self.cached.insert(number, Block { used: self.uses, is_dirty });
        self.uses += 1;
        self.counts.written[0] += 1;
    }

    fn read_uncached(&mut self, run: std::ops::Range<u64>) {
        self.counts.read[1] += run.end - run.start;
        for number in run {
            if !self.allocates || !self.finds_frame() {
                return;
            }
            self.put(number, false);
        }
    }
}

impl Model for Costs {
    fn write(&mut self, first: u64, blocks: u64) {
        for number in first..first + blocks {
            if self.cached.contains_key(&number) {
                self.counts.write_hits += 1;
            } else {
                while !self.finds_frame() {
                    if self.leaving.is_empty() {
                        self.begin_flush();
                    }
                    while !self.leaving.is_empty() {
                        self.flush_step();
                    }
                }
            }
            self.put(number, true);
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        let (mut number, end, mut missed) = (first, first + blocks, false);
        while number < end {
            if let Some(block) = self.cached.get_mut(&number) {
                self.counts.read_hits += 1;
                self.counts.read[0] += 1;
                if self.reads_count {
                    block.used = self.uses;
                    self.uses += 1;
                }
                number += 1;
                continue;
            }
            let uncached = (number..end).take_while(|number| !self.cached.contains_key(number)).count() as u64;
            let run = if self.allocates { uncached.min(self.step_blocks) } else { uncached };
            self.read_uncached(number..number + run);
            (number, missed) = (number + run, true);
        }
        if missed && self.allocates {
            if self.leaving.is_empty() {
                self.begin_flush();
            }
            self.flush_step();
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn dirty(&self) -> BTreeSet<u64> {
        self.cached.iter().filter(|(_, block)| block.is_dirty).map(|(&number, _)| number).collect()
    }
}
