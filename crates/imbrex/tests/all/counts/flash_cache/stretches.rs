//! `band-cache` as tables of blocks, written from its page.

use std::collections::{BTreeMap, BTreeSet};

use super::{Model, Settings, write_back};
use crate::fixture::two_devices::Counts;

/// Blocks of a unit.
const UNIT: u64 = 8192;
/// Blocks that units leave for, and that leave in a step.
const TOGETHER: usize = 64;
/// A share of one.
const WHOLE: u64 = 65_536;

pub struct Stretches {
    frames: u64,
    step: u64,
    allocates: bool,
    /// Dirty blocks, and after how many uses of blocks each was used last.
    dirty: BTreeMap<u64, u64>,
    /// When a block of a unit was last used while it was dirty.
    newest: BTreeMap<u64, u64>,
    uses: u64,
    /// Clean blocks, from the one used longest ago, and after how many blocks written that was.
    clean: Vec<(u64, u64)>,
    /// Blocks that were read from home, likewise.
    missed: Vec<(u64, u64)>,
    written: u64,
    /// The share of runs that were read before.
    returning: u64,
    last_read: Option<u64>,
    leaving: BTreeSet<u64>,
    /// Where the last write ended, and how long that had gone on.
    stream: (u64, u64),
    counts: Counts,
}

impl Stretches {
    pub fn new(settings: &Settings, frames: u64) -> Self {
        Self {
            frames,
            step: settings.number("step_blocks", 4096),
            allocates: settings.flag("read_allocate"),
            dirty: BTreeMap::new(),
            newest: BTreeMap::new(),
            uses: 0,
            clean: Vec::new(),
            missed: Vec::new(),
            written: 0,
            returning: 0,
            last_read: None,
            leaving: BTreeSet::new(),
            stream: (u64::MAX, 0),
            counts: Counts::default(),
        }
    }

    fn place(&self, block: u64) -> Option<usize> {
        self.clean.iter().position(|&(clean, _)| clean == block)
    }

    fn is_cached(&self, block: u64) -> bool {
        self.dirty.contains_key(&block) || self.place(block).is_some()
    }

    fn uncached(&self, first: u64, end: u64) -> u64 {
        (first..end).take_while(|&block| !self.is_cached(block)).count() as u64
    }

    /// A frame for a block that has none, perhaps that of the coldest clean block.
    fn finds_frame(&mut self) -> bool {
        if (self.dirty.len() + self.clean.len()) as u64 == self.frames {
            if self.clean.is_empty() {
                return false;
            }
            self.clean.remove(0);
        }
        true
    }

    /// A dirty block is used, or a block becomes dirty.
    fn use_dirty(&mut self, block: u64) {
        self.dirty.insert(block, self.uses);
        self.newest.insert(block / UNIT, self.uses);
    }

    /// The square of what a unit weighs: its blocks squared, times the root of their mean age times its idle age.
    fn weight(&self, unit: u64) -> u128 {
        let used: Vec<u64> = self.dirty.range(unit * UNIT..(unit + 1) * UNIT).map(|(_, used)| *used).collect();
        let blocks = used.len() as u128;
        let ages: u128 = used.iter().map(|used| u128::from(self.uses - used)).sum();
        blocks.pow(3) * ages.max(blocks) * u128::from(self.uses - self.newest[&unit]).max(1)
    }

    /// The heaviest units are to leave, as few as hold enough.
    fn choose(&mut self) {
        let mut units: BTreeSet<u64> = self.dirty.keys().map(|block| block / UNIT).collect();
        while self.leaving.len() < TOGETHER {
            let Some(unit) = units.iter().copied().max_by_key(|&unit| (self.weight(unit), unit)) else { return };
            units.remove(&unit);
            self.leaving.extend(self.dirty.range(unit * UNIT..(unit + 1) * UNIT).map(|(block, _)| *block));
        }
    }

    /// A step of those that leave goes home.
    fn leave(&mut self) {
        for _ in 0..self.step.min(TOGETHER as u64) {
            let Some(block) = self.leaving.pop_first() else { return };
            self.dirty.remove(&block);
            write_back(&mut self.counts);
        }
    }

    fn goes_past(&self, run: u64) -> bool {
        let is_pressed = self.dirty.len() as u64 >= self.frames / 4;
        self.stream.1 > 1024 || (is_pressed && run >= 32)
    }

    /// Writes blocks from the front; where it has to wait for a frame.
    fn write_some(&mut self, first: u64, end: u64) -> u64 {
        if end != self.stream.0 {
            let before = if first == self.stream.0 { self.stream.1 } else { 0 };
            self.stream = (end, before + end - first);
        }
        let written = self.written;
        self.clean.retain(|&(_, used)| written - used <= self.frames / 8);
        let (mut block, mut kept) = (first, first);
        while block < end {
            if self.is_cached(block) {
                self.clean.retain(|&(clean, _)| clean != block);
                self.counts.write_hits += 1;
            } else {
                let run = self.uncached(block, end);
                if block >= kept {
                    if self.goes_past(run) {
                        self.counts.passed += run;
                        self.counts.written[1] += run;
                        block += run;
                        continue;
                    }
                    kept = block + run;
                }
                if !self.finds_frame() {
                    break;
                }
            }
            self.put_dirty(block);
            block += 1;
        }
        block
    }

    fn put_dirty(&mut self, block: u64) {
        self.uses += 1;
        self.written += 1;
        self.use_dirty(block);
        self.counts.written[0] += 1;
    }

    fn note_run(&mut self, returns: bool) {
        self.returning = self.returning - self.returning / 64 + if returns { WHOLE / 64 } else { 0 };
    }

    fn read_cached(&mut self, block: u64) {
        self.uses += 1;
        if let Some(place) = self.place(block) {
            self.clean.remove(place);
            self.clean.push((block, self.written));
            if self.last_read.is_none_or(|last| last + 1 != block) {
                self.note_run(true);
            }
        } else {
            self.use_dirty(block);
        }
        self.last_read = Some(block);
        self.counts.read_hits += 1;
        self.counts.read[0] += 1;
    }

    /// Whether a run that is read from home is worth frames.
    fn admits(&mut self, first: u64, blocks: u64) -> bool {
        self.last_read = Some(first + blocks - 1);
        if blocks > 16 {
            return false;
        }
        let mut soon = 0;
        for block in first..first + blocks {
            if let Some(place) = self.missed.iter().position(|&(missed, _)| missed == block) {
                let (_, time) = self.missed.remove(place);
                soon += u64::from(self.written - time <= self.frames / 8 / blocks);
            }
            self.missed.push((block, self.written));
            if self.missed.len() as u64 > self.frames.div_ceil(2) {
                self.missed.remove(0);
            }
        }
        let returns = 2 * soon >= blocks;
        let is_admitted = returns || self.returning >= WHOLE / 2;
        self.note_run(returns);
        is_admitted
    }

    /// Reads blocks from home, and says how many of them.
    fn read_uncached(&mut self, first: u64, run: u64) -> u64 {
        let is_admitted = self.allocates && self.admits(first, run);
        let blocks = if is_admitted { run.min(self.step) } else { run };
        self.counts.read[1] += blocks;
        for block in (first..first + blocks).take_while(|_| is_admitted) {
            if self.finds_frame() {
                self.uses += 1;
                self.written += 1;
                self.clean.push((block, self.written));
                self.counts.written[0] += 1;
            }
        }
        blocks
    }
}

impl Model for Stretches {
    fn write(&mut self, first: u64, blocks: u64) {
        let (mut next, end) = (first, first + blocks);
        while next < end {
            next = self.write_some(next, end);
            while next < end && (self.dirty.len() + self.clean.len()) as u64 == self.frames && self.clean.is_empty() {
                if self.leaving.is_empty() {
                    self.choose();
                }
                self.leave();
            }
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        let (mut block, end) = (first, first + blocks);
        while block < end {
            if self.is_cached(block) {
                self.read_cached(block);
                block += 1;
                continue;
            }
            let run = self.uncached(block, end);
            block += self.read_uncached(block, run);
        }
    }

    fn counts(&self) -> &Counts {
        &self.counts
    }

    fn dirty(&self) -> BTreeSet<u64> {
        self.dirty.keys().copied().collect()
    }
}
