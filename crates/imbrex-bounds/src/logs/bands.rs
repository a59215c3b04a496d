//! What the bands of a log hold.

use super::Log;
use crate::accesses::{Accesses, NONE};
use crate::ranking::Ranking;

/// Bands that are weighed for a compaction: those with the most dead blocks.
const MOST_WEIGHED: usize = 16;
/// When blocks die that nobody ever writes again.
const NEVER: u64 = NONE as u64;

/// The bands, which blocks live on them, and until when.
pub struct Bands {
    band_blocks: u32,
    /// By band: blocks written to it, and those that lived when they were, with when they die. Some are dead by now.
    written: Vec<u32>,
    blocks: Vec<Vec<(u32, u32)>>,
    /// Live blocks of a band that nobody ever writes, and the sum of the times at which all its live blocks die.
    still: Vec<u32>,
    deaths: Vec<u64>,
    /// Closed bands by their dead blocks.
    closed: Ranking,
    is_closed: Vec<bool>,
    dead: Vec<u32>,
    /// Where each block lies, and how often it has been put somewhere: what a list says of an earlier time is old.
    place: Vec<u32>,
    dies: Vec<u32>,
    empty: Vec<u32>,
    /// The open band of each class; several may share one.
    open: Vec<u32>,
    /// Blocks that compaction has moved.
    pub moved: u64,
}

impl Bands {
    /// All blocks of the host lie in the order of their addresses, and die when they are first written.
    pub fn new(writes: &Accesses, log: &Log) -> Self {
        let (count, length) = (log.bands as usize, u64::from(log.band_blocks));
        let full = log.capacity.div_ceil(length) as usize;
        let held = |band: usize| (log.capacity.saturating_sub(band as u64 * length)).min(length) as u32;
        let mut bands = Self {
            band_blocks: log.band_blocks,
            written: (0..count).map(|band| if band < full { log.band_blocks } else { 0 }).collect(),
            blocks: vec![Vec::new(); count],
            still: (0..count).map(held).collect(),
            deaths: (0..count).map(|band| u64::from(held(band)) * NEVER).collect(),
            closed: Ranking::new(log.bands),
            is_closed: (0..count).map(|band| band < full).collect(),
            dead: (0..count).map(|band| if band < full { log.band_blocks - held(band) } else { 0 }).collect(),
            place: vec![NONE; writes.blocks() as usize],
            dies: vec![NONE; writes.blocks() as usize],
            empty: (full as u32..log.bands).rev().collect(),
            open: vec![NONE; log.open_bands as usize],
            moved: 0,
        };
        let mut first = vec![NONE; writes.blocks() as usize];
        for (at, &block) in writes.order().iter().enumerate().rev() {
            first[block as usize] = at as u32;
        }
        for (block, lba) in writes.addresses().enumerate() {
            let band = (lba.0 / length) as usize;
            bands.blocks[band].push((block as u32, first[block]));
            bands.still[band] -= 1;
            bands.deaths[band] -= NEVER - u64::from(first[block]);
            (bands.place[block], bands.dies[block]) = (band as u32, first[block]);
        }
        for band in 0..full {
            (0..bands.dead[band]).for_each(|_| bands.closed.add(band as u32));
        }
        bands
    }

    /// Empty bands.
    pub fn empty(&self) -> usize {
        self.empty.len()
    }

    /// Whether the open band of a class takes a block.
    pub fn has_room(&self, class: u32) -> bool {
        let band = self.open[class as usize];
        band != NONE && self.written[band as usize] < self.band_blocks
    }

    /// Opens an empty band for a class.
    pub fn open(&mut self, class: u32) {
        if let Some(band) = self.empty.pop() {
            self.open[class as usize] = band;
        }
    }

    /// A class goes on in the open band of another one that has room.
    pub fn share(&mut self, class: u32) {
        if let Some(other) = (0..self.open.len() as u32).rev().find(|other| self.has_room(*other)) {
            self.open[class as usize] = self.open[other as usize];
        }
    }

    /// The copy of a block, if there is one, is dead.
    pub fn kill(&mut self, block: u32) {
        let band = std::mem::replace(&mut self.place[block as usize], NONE);
        if band != NONE {
            self.dead[band as usize] += 1;
            self.deaths[band as usize] -= u64::from(self.dies[block as usize]);
            if self.is_closed[band as usize] {
                self.closed.add(band);
            }
        }
    }

    /// Writes a block that dies then behind what the open band of a class has.
    pub fn append(&mut self, block: u32, dies: u32, class: u32) {
        let band = self.open[class as usize];
        (self.place[block as usize], self.dies[block as usize]) = (band, dies);
        self.blocks[band as usize].push((block, dies));
        self.wrote(band, dies.into());
    }

    /// The same, of a block that nobody ever writes.
    pub fn append_still(&mut self, class: u32) {
        let band = self.open[class as usize];
        self.still[band as usize] += 1;
        self.wrote(band, NEVER);
    }

    fn wrote(&mut self, band: u32, dies: u64) {
        self.written[band as usize] += 1;
        self.deaths[band as usize] += dies;
        if self.written[band as usize] == self.band_blocks {
            self.is_closed[band as usize] = true;
            (0..self.dead[band as usize]).for_each(|_| self.closed.add(band));
        }
    }

    /// The closed band to compact, if one has a dead block: of those with the most, or `about` fewer, the one whose live
    /// blocks live longest, on average.
    pub fn victim(&self, now: u64, about: u32) -> Option<u32> {
        let ranked = || self.closed.ranked().take(MOST_WEIGHED);
        let least = ranked().next()?.1.saturating_sub(about);
        let about = ranked().take_while(|(_, dead)| *dead >= least);
        about.map(|(band, _)| (self.life(band, now), band)).max().map(|(_, band)| band)
    }

    /// How long the live blocks of a band live on, on average; nothing lives longest.
    fn life(&self, band: u32, now: u64) -> u64 {
        let live = u64::from(self.written[band as usize].saturating_sub(self.dead[band as usize]));
        (self.deaths[band as usize].saturating_sub(live * now)).checked_div(live).unwrap_or(u64::MAX)
    }

    fn live(&self, band: u32) -> impl Iterator<Item = (u32, u32)> {
        let is_live =
            move |&(block, dies): &(u32, u32)| self.place[block as usize] == band && self.dies[block as usize] == dies;
        self.blocks[band as usize].iter().copied().filter(is_live)
    }

    /// What lives in a band, one by one and in number; the band takes nothing until it is empty.
    pub fn take(&mut self, band: u32) -> (Vec<(u32, u32)>, u32) {
        let live = self.live(band).collect();
        (0..self.dead[band as usize]).for_each(|_| self.closed.remove(band));
        self.is_closed[band as usize] = false;
        (live, self.still[band as usize])
    }

    /// A band whose blocks have been moved is empty.
    pub fn emptied(&mut self, band: u32) {
        (self.written[band as usize], self.dead[band as usize], self.still[band as usize]) = (0, 0, 0);
        self.deaths[band as usize] = 0;
        self.blocks[band as usize].clear();
        for open in &mut self.open {
            if *open == band {
                *open = NONE;
            }
        }
        self.empty.push(band);
    }
}
