//! A greedy log whose map is a table of pages: what a request or a step of cleaning needs of them and does to them.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::memory::{Memory, Touch};

/// Entries of a page, and those that are regular or not together.
pub const ENTRIES: u64 = 768;
const GROUP: usize = 256;

/// One direction of the map: a number or nothing for each number.
struct Table {
    entries: Vec<Option<u64>>,
    /// Of each group whether it has to be kept: not if nothing is set in it, or all of it to numbers that ascend by ones.
    is_kept: Vec<bool>,
    /// The number of its first page.
    first_page: u64,
}

impl Table {
    fn new(length: u64, first_page: u64) -> Self {
        let length = length as usize;
        Self { entries: vec![None; length], is_kept: vec![false; length.div_ceil(GROUP)], first_page }
    }

    /// Numbers in order, from the first entry on.
    fn fill(&mut self, count: usize) {
        (0..count).for_each(|at| self.entries[at] = Some(at as u64));
        if !count.is_multiple_of(GROUP) {
            self.is_kept[count / GROUP] = true;
        }
    }

    fn pages(&self, first: u64, count: u64) -> Range<u64> {
        self.first_page + first / ENTRIES..self.first_page + (first + count).div_ceil(ENTRIES)
    }

    /// Whether a page is needed at all.
    fn has(&self, page: u64) -> bool {
        let from = ((page - self.first_page) * ENTRIES) as usize;
        let to = (from + ENTRIES as usize).min(self.entries.len());
        self.is_kept[from / GROUP..to.div_ceil(GROUP)].iter().any(|&is_kept| is_kept)
    }

    fn set(&mut self, first: u64, count: u64, value: Option<u64>) {
        for i in 0..count {
            let (at, value) = ((first + i) as usize, value.map(|value| value + i));
            // What is regular stays so if nothing changes.
            if self.entries[at] != value {
                self.is_kept[at / GROUP] = true;
                self.entries[at] = value;
            }
        }
        for group in first as usize / GROUP..((first + count) as usize).div_ceil(GROUP) {
            let entries = &self.entries[group * GROUP..self.entries.len().min((group + 1) * GROUP)];
            if entries.iter().all(Option::is_none) {
                self.is_kept[group] = false;
            }
        }
    }
}

#[derive(Default)]
struct Band {
    written: u64,
    live: u64,
    /// When it came to as many live blocks as it has.
    since: u64,
}

pub struct Log {
    band_blocks: u64,
    bands: Vec<Band>,
    places: Table,
    holders: Table,
    empty: BTreeSet<usize>,
    closed: BTreeSet<usize>,
    open: Option<usize>,
    events: u64,
    touched: Vec<(u64, Touch)>,
    /// How many victims there are at most.
    together: usize,
    pub memory: Memory,
    pub moved: u64,
}

impl Log {
    /// A full disk: all blocks lie in order from the first band on, and no page has been needed for that.
    pub fn full(bands: usize, band_blocks: u64, capacity: u64, together: usize, memory: Memory) -> Self {
        let mut log = Self {
            band_blocks,
            bands: (0..bands).map(|_| Band::default()).collect(),
            places: Table::new(capacity, 0),
            holders: Table::new(bands as u64 * band_blocks, capacity.div_ceil(ENTRIES)),
            empty: BTreeSet::new(),
            closed: BTreeSet::new(),
            open: None,
            events: 0,
            touched: Vec::new(),
            together,
            memory,
            moved: 0,
        };
        log.places.fill(capacity as usize);
        log.holders.fill(capacity as usize);
        for number in 0..bands {
            let written = capacity.saturating_sub(number as u64 * band_blocks).min(band_blocks);
            (log.bands[number].written, log.bands[number].live) = (written, written);
            match written {
                0 => drop(log.empty.insert(number)),
                _ if written < band_blocks => log.open = Some(number),
                _ => log.close(number),
            }
        }
        log
    }

    pub fn read(&mut self, first: u64, count: u64) {
        self.look_up(first, count);
    }

    pub fn write(&mut self, mut first: u64, mut count: u64) {
        while count > 0 {
            self.look_up(first, count);
            let mut taken = 0;
            while taken < count
                && let Some((slot, room)) = self.room()
            {
                let run = room.min(count - taken);
                self.wrote(slot, run, first + taken);
                self.lie(first + taken, run, Some(slot));
                let band = (slot / self.band_blocks) as usize;
                if run == room {
                    self.close(band);
                    self.open = None;
                }
                taken += run;
            }
            self.settle();
            (first, count) = (first + taken, count - taken);
            if taken == 0 {
                self.compact();
            }
        }
    }

    pub fn trim(&mut self, first: u64, count: u64) {
        self.look_up(first, count);
        let lived: Vec<bool> = self.bands.iter().map(|band| band.live > 0).collect();
        self.lie(first, count, None);
        for band in self.closed.clone() {
            if lived[band] && self.bands[band].live == 0 {
                self.forget(band, 0);
            }
        }
        self.settle();
    }

    fn look_up(&mut self, first: u64, count: u64) {
        let pages = self.places.pages(first, count);
        self.memory.fetch(&pages.filter(|&page| self.places.has(page)).collect());
    }

    fn settle(&mut self) {
        self.memory.settle(std::mem::take(&mut self.touched));
    }

    fn close(&mut self, band: usize) {
        self.events += 1;
        self.bands[band].since = self.events;
        self.closed.insert(band);
    }

    /// The slot that the host's next block takes, and how many follow. One band stays empty.
    fn room(&mut self) -> Option<(u64, u64)> {
        if self.open.is_none() && self.empty.len() > 1 {
            self.open = self.empty.pop_first();
        }
        let band = self.open?;
        let written = self.bands[band].written;
        Some((band as u64 * self.band_blocks + written, self.band_blocks - written))
    }

    /// Slots of a band have been written with blocks from `lba` on. A page that the write begins, and that has no slots
    /// of the next band, is not needed as it was.
    fn wrote(&mut self, slot: u64, count: u64, lba: u64) {
        let band_end = (slot / self.band_blocks + 1) * self.band_blocks;
        for page in self.holders.pages(slot, count) {
            let from = (page - self.holders.first_page) * ENTRIES;
            let begins = from >= slot && from + ENTRIES <= band_end;
            let touch = if begins || !self.holders.has(page) { Touch::Anew } else { Touch::Changed };
            self.touched.push((page, touch));
        }
        let from = self.touched.len() - self.holders.pages(slot, count).count();
        self.holders.set(slot, count, Some(lba));
        for (page, touch) in &mut self.touched[from..] {
            if !self.holders.has(*page) {
                *touch = Touch::Gone;
            }
        }
        self.bands[(slot / self.band_blocks) as usize].written += count;
    }

    /// Blocks lie in the slots from `slot` on, or nowhere.
    fn lie(&mut self, first: u64, count: u64, slot: Option<u64>) {
        let from = self.touched.len();
        for page in self.places.pages(first, count) {
            self.touched.push((page, if self.places.has(page) { Touch::Changed } else { Touch::Anew }));
        }
        for lba in first..first + count {
            if let Some(place) = self.places.entries[lba as usize] {
                let band = &mut self.bands[(place / self.band_blocks) as usize];
                self.events += 1;
                (band.live, band.since) = (band.live - 1, self.events);
            }
        }
        self.places.set(first, count, slot);
        for (page, touch) in &mut self.touched[from..] {
            if !self.places.has(*page) {
                *touch = Touch::Gone;
            }
        }
        if let Some(slot) = slot {
            self.bands[(slot / self.band_blocks) as usize].live += count;
        }
    }

    /// What a band was written with behind its first slots does not matter any more.
    fn forget(&mut self, band: usize, kept: u64) {
        let (first, count) = (band as u64 * self.band_blocks + kept, self.band_blocks - kept);
        self.holders.set(first, count, None);
        let gone = self.holders.pages(first, count).filter(|&page| !self.holders.has(page));
        self.touched.extend(gone.map(|page| (page, Touch::Gone)));
    }

    /// Compacts bands: their slots are looked at some at a time, and then all live blocks are moved by one plan.
    fn compact(&mut self) {
        let victims = self.choose();
        let mut live = VecDeque::new();
        for &victim in &victims {
            if self.bands[victim].live > 0 {
                self.list(victim, &mut live);
            }
        }
        let mut target = self.open.take();
        let mut copying: Vec<(usize, u64)> = Vec::new();
        while let Some(&(lba, slot)) = live.front() {
            target = target.filter(|&band| self.bands[band].written < self.band_blocks);
            let band = *target.get_or_insert_with(|| self.empty.pop_first().unwrap());
            let written = self.bands[band].written;
            if !copying.iter().any(|(other, _)| *other == band) {
                copying.push((band, written));
                self.forget(band, written);
            }
            let room = self.band_blocks - written;
            let follows = |(i, moving): (u64, &(u64, u64))| *moving == (lba + i, slot + i) && i < room;
            let run = (0..).zip(&live).take_while(|&each| follows(each)).count() as u64;
            live.drain(..run as usize);
            self.wrote(band as u64 * self.band_blocks + written, run, lba);
            self.moved += run;
        }
        for (band, from) in copying {
            for offset in from..self.bands[band].written {
                let slot = band as u64 * self.band_blocks + offset;
                let lba = self.holders.entries[slot as usize].unwrap();
                self.lie(lba, 1, Some(slot));
            }
            if self.bands[band].written == self.band_blocks {
                self.close(band);
            }
        }
        for victim in victims {
            self.bands[victim] = Band::default();
            self.empty.insert(victim);
        }
        self.open = target.filter(|&band| self.bands[band].written < self.band_blocks);
        self.settle();
    }

    /// The bands with the fewest live blocks, of equals the one that came to that number first, as many as fit the
    /// empty band, but one at least.
    fn choose(&mut self) -> Vec<usize> {
        let (mut victims, mut live) = (Vec::new(), 0);
        while victims.len() < self.together {
            let fewest =
                self.closed.iter().copied().min_by_key(|&band| (self.bands[band].live, self.bands[band].since));
            let Some(best) = fewest.filter(|&band| self.bands[band].live < self.band_blocks) else { break };
            live += self.bands[best].live;
            if live > self.band_blocks {
                break;
            }
            self.closed.remove(&best);
            victims.push(best);
        }
        victims
    }

    /// Lists what lives on a victim: what each slot was written with, and where each of these blocks lies.
    fn list(&mut self, victim: usize, live: &mut VecDeque<(u64, u64)>) {
        let (first, all) = (victim as u64 * self.band_blocks, self.bands[victim].written);
        for from in (first..first + all).step_by(self.memory.half()) {
            let count = (self.memory.half() as u64).min(first + all - from);
            let slots = self.holders.pages(from, count).filter(|&page| self.holders.has(page));
            let mut needed: BTreeSet<u64> = slots.collect();
            for slot in from..from + count {
                let Some(lba) = self.holders.entries[slot as usize] else { continue };
                needed.extend(self.places.pages(lba, 1).filter(|&page| self.places.has(page)));
                if self.places.entries[lba as usize] == Some(slot) {
                    live.push_back((lba, slot));
                }
            }
            self.memory.fetch(&needed);
        }
    }
}
