//! `band-cache` as tables of blocks, written from its page.

use std::collections::{BTreeMap, BTreeSet};

use super::places::Places;
use super::{Model, Settings, write_back};
use crate::fixture::two_devices::Counts;
use imbrex::space::HomeCosts;

/// Blocks of a unit.
const UNIT: u64 = 8192;
/// Blocks that leave together at first.
const FEWEST: u64 = 64;
/// A hit rate of one.
const WHOLE: u64 = 65_536;

pub struct Stretches {
    frames: u64,
    /// Pages that the flash programs while the disk comes to a block.
    seek: u64,
    /// Whether the disk rewrites a zone for each write.
    rewrites: bool,
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
    /// Blocks that may be copied though they were not read before.
    credit: u64,
    last_read: Option<u64>,
    leaving: BTreeSet<u64>,
    places: Places,
    /// Blocks written that were in the cache, of 65,536.
    hits: u64,
    /// Blocks that leave together, once some have.
    together: Option<u64>,
    /// Where the last write ended, and how long that had gone on.
    stream: (u64, u64),
    counts: Counts,
}

impl Stretches {
    pub fn new(settings: &Settings, frames: u64, costs: HomeCosts) -> Self {
        Self {
            frames,
            seek: costs.seek_pages.into(),
            rewrites: costs.rewrites,
            step: settings.number("step_blocks", 4096),
            allocates: settings.flag("read_allocate"),
            dirty: BTreeMap::new(),
            newest: BTreeMap::new(),
            uses: 0,
            clean: Vec::new(),
            missed: Vec::new(),
            written: 0,
            credit: frames.div_ceil(64),
            last_read: None,
            leaving: BTreeSet::new(),
            places: Places::new(frames),
            hits: 0,
            together: None,
            stream: (u64::MAX, 0),
            counts: Counts::default(),
        }
    }

    fn place(&self, block: u64) -> Option<usize> {
        self.clean.iter().position(|&(clean, _)| clean == block)
    }

    fn is_cached(&self, block: u64) -> bool {
        self.places.contains(block)
    }

    fn uncached(&self, first: u64, end: u64) -> u64 {
        (first..end).take_while(|&block| !self.is_cached(block)).count() as u64
    }

    fn is_rare(&self) -> bool {
        self.hits < WHOLE / 4
    }

    /// Frames for the first of so many blocks that have none, perhaps that of the coldest clean block; how many.
    fn find_frames(&mut self, block: u64, blocks: u64) -> u64 {
        if !self.places.is_full() {
            return self.places.take(block, blocks, self.is_rare());
        }
        if self.clean.is_empty() {
            return 0;
        }
        let (coldest, _) = self.clean.remove(0);
        self.places.give_up(coldest);
        self.places.take(block, 1, false)
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

    fn most_together(&self) -> u64 {
        (self.frames / 4).max(FEWEST)
    }

    /// The next blocks are to leave, or the heaviest units, as few as hold enough.
    fn choose(&mut self) {
        let (together, most) = (self.together.unwrap_or(FEWEST), self.most_together());
        let mut units: BTreeSet<u64> = self.dirty.keys().map(|block| block / UNIT).collect();
        if self.is_rare() && together < most && self.dirty.len() < 4 * units.len() {
            self.leaving.extend(self.places.oldest(self.dirty.keys().copied(), together as usize));
            return;
        }
        while (self.leaving.len() as u64) < together {
            let Some(unit) = units.iter().copied().max_by_key(|&unit| (self.weight(unit), unit)) else { return };
            units.remove(&unit);
            self.leaving.extend(self.dirty.range(unit * UNIT..(unit + 1) * UNIT).map(|(block, _)| *block));
        }
    }

    /// A step of those that leave goes home.
    fn leave(&mut self) {
        for _ in 0..self.step.min(2 * self.together.unwrap_or(FEWEST)) {
            let Some(block) = self.leaving.pop_first() else { return };
            self.dirty.remove(&block);
            self.places.give_up(block);
            write_back(&mut self.counts);
        }
    }

    fn goes_past(&self, run: u64) -> bool {
        !self.rewrites && (self.stream.1 > 1024 || run > self.seek)
    }

    /// Blocks that may be written before a run of so many has to come back.
    fn within(&self, run: u64) -> u64 {
        self.frames.min(self.frames * self.seek / 88 / run)
    }

    /// Frames that idle time makes free, or of clean blocks.
    fn reserve(&self) -> u64 {
        let dirty =
            if self.rewrites { self.frames * 9 / 10 } else { (self.frames / 5).min(self.frames * self.seek / 220) };
        (self.frames - dirty).max(1)
    }

    /// Writes blocks from the front; where it has to wait for a frame.
    fn write_some(&mut self, first: u64, end: u64) -> u64 {
        if end != self.stream.0 {
            let before = if first == self.stream.0 { self.stream.1 } else { 0 };
            self.stream = (end, before + end - first);
        }
        self.drop_stale();
        let (mut block, mut kept) = (first, first);
        while block < end {
            if self.is_cached(block) {
                self.clean.retain(|&(clean, _)| clean != block);
                self.counts.write_hits += 1;
                self.hits += 64;
                self.put_dirty(block);
                block += 1;
                continue;
            }
            let run = self.uncached(block, end);
            if block >= kept && self.goes_past(run) {
                self.counts.passed += run;
                self.counts.written[1] += run;
                block += run;
                continue;
            }
            kept = kept.max(block + run);
            let found = self.find_frames(block, run);
            if found == 0 {
                break;
            }
            (block..block + found).for_each(|block| self.put_dirty(block));
            block += found;
        }
        block
    }

    fn drop_stale(&mut self) {
        let is_stale = |&&(_, used): &&(u64, u64)| self.written - used > self.within(1);
        let stale = self.clean.iter().take_while(is_stale).count();
        for (block, _) in self.clean.drain(..stale) {
            self.places.give_up(block);
        }
    }

    fn put_dirty(&mut self, block: u64) {
        self.uses += 1;
        self.written += 1;
        self.hits -= self.hits / 1024;
        self.use_dirty(block);
        self.counts.written[0] += 1;
    }

    fn read_cached(&mut self, block: u64) {
        self.uses += 1;
        if let Some(place) = self.place(block) {
            self.clean.remove(place);
            self.clean.push((block, self.written));
            if self.last_read.is_none_or(|last| last + 1 != block) {
                self.credit = (self.credit + self.seek.div_ceil(2)).min(self.frames.div_ceil(64));
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
        if blocks > self.seek {
            return false;
        }
        let mut soon = 0;
        for block in first..first + blocks {
            if let Some(place) = self.missed.iter().position(|&(missed, _)| missed == block) {
                let (_, time) = self.missed.remove(place);
                soon += u64::from(self.written - time <= self.within(blocks));
            }
            self.missed.push((block, self.written));
            if self.missed.len() as u64 > self.frames.div_ceil(2) {
                self.missed.remove(0);
            }
        }
        if 2 * soon >= blocks {
            return true;
        }
        let room = (self.frames * self.seek).div_ceil(48).min(self.frames - self.frames / 4);
        let pays = self.places.used() < room && self.credit >= blocks;
        if pays {
            self.credit -= blocks;
        }
        pays
    }

    /// Reads blocks from home, and says how many of them.
    fn read_uncached(&mut self, first: u64, run: u64) -> u64 {
        let is_admitted = self.allocates && self.admits(first, run);
        let blocks = if is_admitted { run.min(self.step) } else { run };
        self.counts.read[1] += blocks;
        let mut block = first;
        while is_admitted && block < first + blocks {
            let found = self.find_frames(block, first + blocks - block);
            if found == 0 {
                break;
            }
            for copy in block..block + found {
                self.uses += 1;
                self.written += 1;
                self.clean.push((copy, self.written));
                self.counts.written[0] += 1;
            }
            block += found;
        }
        blocks
    }
}

impl Model for Stretches {
    fn write(&mut self, first: u64, blocks: u64) {
        let (mut next, end) = (first, first + blocks);
        while next < end {
            next = self.write_some(next, end);
            while next < end && self.places.is_full() && self.clean.is_empty() {
                if self.leaving.is_empty() {
                    let most = self.most_together();
                    self.together = Some(self.together.map_or(FEWEST, |together| (2 * together).min(most)));
                    self.choose();
                }
                self.leave();
            }
        }
    }

    fn idle(&mut self) {
        if self.leaving.is_empty() {
            self.together = None;
            if self.frames - (self.dirty.len() as u64) < self.reserve() {
                self.choose();
            }
        }
        self.leave();
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
