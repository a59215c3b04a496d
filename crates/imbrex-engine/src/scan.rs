//! Reading the journal's blocks back, whatever can be read of them in any copy. What is kept is what they say of their
//! place in the journal, and no content.
//!
//! A ring is as long as the largest map needs, and mostly holds nothing or what has been superseded. So one block of
//! each stretch is read first. A stretch counts if its first block is this store's, or cannot be read, in some copy:
//! the chain from tail to head has no gap, so a stretch whose first block holds nothing is part of it only if that
//! block is damaged, and then it is beside one that counts. And a stretch counts only if it is not wholly before the
//! tail that the newest of those blocks names that are known to be durable: others may be of a commit that was never
//! whole.
//!
//! The stretches of a long ring are long, and those in which the chain begins or ends are taken for rings of shorter
//! stretches, until they are as short as a read. So what is read before the chain is some hundred blocks, however long
//! the ring is, and the chain is all that is read then, but for a few stretches.
//!
//! In sequential zones the stretches are the zones, since a chain that leaves blocks out goes on with the next zone's
//! first one, and what lies above a write pointer is not read.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::fatal::Fatal;
use super::journal::{self, Header};
use super::runs::Runs;
use imbrex_core::block::{Address, Extent, Pba};

/// Journal blocks of one read, and of the shortest stretches.
pub(super) const PART_BLOCKS: u32 = 16;
/// Reads under way at a time.
pub(super) const PARTS: usize = 64;
/// How often a block is tried before it counts as unreadable.
pub(super) const TRIES: u32 = 5;
/// Stretches of a ring at most, at first.
const STRETCHES: u32 = 256;
/// Shorter stretches that a stretch is divided into.
const DIVISIONS: u32 = 16;

/// The journal as far as it has been read. Places are counted from the beginning of a copy.
pub(super) struct Scan {
    copies: Vec<Extent<Pba>>,
    /// Blocks of a stretch.
    stretch: u32,
    /// Blocks of the shortest stretches.
    shortest: u32,
    /// The stretches, by their first places, of which it is not known yet whether they count; none if the first blocks
    /// that were asked for are the last.
    candidates: BTreeSet<u32>,
    /// What is to be read, part by part.
    todo: VecDeque<Extent<Pba>>,
    under_way: BTreeMap<Pba, u32>,
    /// How often single blocks could not be read.
    failures: BTreeMap<Pba, u32>,
    found: Runs,
    /// The first places of stretches that are this store's, and the highest number of a block there.
    firsts: BTreeMap<u32, u64>,
    /// First places of stretches that have been asked for.
    asked: BTreeSet<u32>,
    /// The first blocks of stretches that were found.
    probed: Vec<Header>,
    /// The stretches that count: places, blocks, and whether the chain goes on from their beginnings to their ends.
    counts: Vec<(u32, u32, bool)>,
    /// How much is written of each stretch of each copy, if not all of it is.
    written: BTreeMap<Pba, u32>,
    /// Nothing before this block is needed.
    tail: u64,
}

impl Scan {
    /// A scan of every copy of a journal.
    pub fn new(copies: &[Extent<Pba>]) -> Self {
        let ring = copies.first().map_or(0, |copy| copy.blocks);
        let mut stretch = PART_BLOCKS;
        while ring.div_ceil(stretch) > STRETCHES {
            stretch *= DIVISIONS;
        }
        Self::of_stretches(copies, stretch, PART_BLOCKS, BTreeMap::new())
    }

    /// A scan of every copy of a journal that lies in sequential zones, of which as much is `written` as said.
    pub fn of_zones(copies: &[Extent<Pba>], zone_blocks: u32, written: impl Fn(Pba) -> u32) -> Self {
        let starts = |copy: &Extent<Pba>| {
            let start = copy.start;
            (0..copy.blocks).step_by(zone_blocks as usize).map(move |at| start.plus(at.into()))
        };
        let written = copies.iter().flat_map(starts).map(|at| (at, written(at))).collect();
        Self::of_stretches(copies, zone_blocks, zone_blocks, written)
    }

    fn of_stretches(copies: &[Extent<Pba>], stretch: u32, shortest: u32, written: BTreeMap<Pba, u32>) -> Self {
        let ring = copies.first().map_or(0, |copy| copy.blocks);
        let mut scan = Self {
            copies: copies.to_vec(),
            stretch,
            shortest,
            candidates: (0..ring).step_by(stretch as usize).collect(),
            todo: VecDeque::new(),
            under_way: BTreeMap::new(),
            failures: BTreeMap::new(),
            found: Runs::new(copies),
            firsts: BTreeMap::new(),
            asked: BTreeSet::new(),
            probed: Vec::new(),
            counts: Vec::new(),
            written,
            tail: 0,
        };
        scan.ask_for_firsts();
        scan
    }

    /// Asks for the first blocks of the candidates, as far as that has not been done.
    fn ask_for_firsts(&mut self) {
        let new: Vec<u32> = self.candidates.difference(&self.asked).copied().collect();
        for copy in &self.copies {
            let places = new.iter().map(|place| copy.start.plus((*place).into()));
            let written = places.filter(|place| self.written.get(place) != Some(&0));
            self.todo.extend(written.map(|place| Extent::new(place, 1)));
        }
        self.asked.extend(new);
    }

    /// What to read next; nothing when all has been read.
    pub fn next(&mut self) -> Vec<Extent<Pba>> {
        while self.todo.is_empty() && self.is_probing() {
            self.choose();
        }
        let mut parts = Vec::new();
        while parts.len() < PARTS
            && let Some(extent) = self.todo.pop_front()
        {
            let part = extent.first(PART_BLOCKS);
            parts.push(part);
            let rest = extent.skip(part.blocks);
            if !rest.is_empty() {
                self.todo.push_front(rest);
            }
        }
        self.under_way.extend(parts.iter().map(|part| (part.start, part.blocks)));
        parts
    }

    /// Whether first blocks of stretches are still being read.
    fn is_probing(&self) -> bool {
        !self.candidates.is_empty()
    }

    fn ring(&self) -> u32 {
        self.copies.first().map_or(0, |copy| copy.blocks)
    }

    /// Blocks of the stretch that begins at a place.
    fn length(&self, place: u32) -> u32 {
        self.stretch.min(self.ring() - place)
    }

    /// Where the next stretch begins, and the one before.
    fn beside(&self, place: u32) -> (u32, u32) {
        let next = place + self.length(place);
        let before = if place == 0 { self.ring() } else { place } - 1;
        (if next == self.ring() { 0 } else { next }, before - before % self.stretch)
    }

    /// All first blocks of the candidates have been read: takes in hand what counts.
    fn choose(&mut self) {
        let durable = self.probed.iter().map(|header| header.durable).max().unwrap_or(0);
        let trusted = self.probed.iter().filter(|header| header.number() < durable);
        self.tail = trusted.map(|header| header.tail).max().unwrap_or(0);
        let chosen = self.chosen();
        // What lies before the newest first block is looked at more closely too: the newest word on the tail that can be
        // trusted is there.
        let newest = self.firsts.iter().max_by_key(|(_, number)| **number);
        let last = newest.map(|(place, _)| self.beside(*place).1);
        let mut candidates = BTreeSet::new();
        for place in chosen {
            let (length, is_inside) = (self.length(place), self.is_inside(place));
            if self.stretch == self.shortest || (is_inside && Some(place) != last) {
                self.counts.push((place, length, is_inside));
            } else {
                let shorter = (self.stretch / DIVISIONS) as usize;
                candidates.extend((place..place + length).step_by(shorter));
            }
        }
        self.candidates = candidates;
        if self.is_probing() {
            self.stretch /= DIVISIONS;
            self.ask_for_firsts();
        } else {
            self.ask_for_all();
        }
    }

    /// The candidates that count.
    fn chosen(&self) -> BTreeSet<u32> {
        let mut chosen: BTreeSet<u32> =
            self.unreadable().map(|block| self.place_of(block)).map(|place| place - place % self.stretch).collect();
        let reaches =
            |place: &u32| self.firsts.get(place).is_some_and(|first| first + u64::from(self.stretch) > self.tail);
        for place in self.candidates.iter().copied().filter(reaches) {
            let (next, before) = self.beside(place);
            // Where the chain begins in the middle of a stretch, the first block is not part of it and may be damaged
            // everywhere.
            let before = (!self.firsts.contains_key(&before)).then_some(before);
            chosen.extend([place, next].into_iter().chain(before));
        }
        chosen.retain(|place| self.candidates.contains(place));
        if chosen.is_empty() && self.counts.is_empty() {
            // Unless the first blocks are all damaged, nothing was ever written here.
            chosen.clone_from(&self.candidates);
        }
        chosen
    }

    /// Whether the chain is known to go on from the beginning of a stretch to its end.
    fn is_inside(&self, place: u32) -> bool {
        let Some(&first) = self.firsts.get(&place).filter(|first| **first >= self.tail) else { return false };
        self.firsts.get(&self.beside(place).0) == Some(&(first + u64::from(self.length(place))))
    }

    /// Blocks at the beginning of a stretch inside the chain that lie before the tail: it may have been found after the
    /// stretch was taken in hand.
    fn before_tail(&self, place: u32) -> u32 {
        let first = self.firsts.get(&place).copied().unwrap_or(self.tail);
        u32::try_from(self.tail.saturating_sub(first)).unwrap_or(u32::MAX)
    }

    /// Asks for all that counts.
    fn ask_for_all(&mut self) {
        for copy in &self.copies {
            for &(place, blocks, is_inside) in &self.counts {
                let stretch = copy.skip(place).first(blocks);
                let stretch = stretch.first(self.written.get(&stretch.start).copied().unwrap_or(blocks));
                let before = if is_inside { self.before_tail(place).min(stretch.blocks) } else { 0 };
                self.todo.extend(Some(stretch.skip(before)).filter(|stretch| !stretch.is_empty()));
            }
        }
    }

    /// The blocks from `start` on have been read; what those of the store `identity` say is kept.
    pub fn read(&mut self, start: Pba, data: &Bytes, identity: u64, block_bytes: usize) {
        self.under_way.remove(&start);
        for (at, i) in (0..).zip(0..data.len() / block_bytes) {
            let raw = data.slice(i * block_bytes..(i + 1) * block_bytes);
            let Some(block) = journal::decode_block(&raw, Some(identity)) else { continue };
            let (number, place) = (block.header.number(), start.plus(at));
            if self.is_probing() {
                self.probed.push(block.header);
                let first = self.firsts.entry(self.place_of(place)).or_default();
                *first = number.max(*first);
            } else if number >= self.tail {
                self.found.add(place, &block.header);
            }
        }
    }

    /// The place of a block in the copy that it is of.
    fn place_of(&self, block: Pba) -> u32 {
        let copy = self.copies.iter().find(|copy| copy.contains(block));
        copy.map_or(0, |copy| block.since(copy.start) as u32)
    }

    /// The blocks from `start` on could not be read: they are tried one by one.
    pub fn failed(&mut self, start: Pba) {
        let Some(blocks) = self.under_way.remove(&start) else { return };
        for block in Extent::new(start, blocks).iter() {
            if blocks == 1 {
                *self.failures.entry(block).or_insert(0) += 1;
            }
            if self.failures.get(&block).is_none_or(|failures| *failures < TRIES) {
                self.todo.push_back(Extent::new(block, 1));
            }
        }
    }

    fn unreadable(&self) -> impl Iterator<Item = Pba> {
        self.failures.iter().filter(|(_, failures)| **failures >= TRIES).map(|(block, _)| *block)
    }

    /// The blocks found.
    ///
    /// # Errors
    /// The first block that cannot be read in any copy, and may have held something durable.
    pub fn finish(self) -> Result<Runs, Fatal> {
        let places = |copy: &Extent<Pba>| {
            let copy = *copy;
            self.unreadable()
                .filter(move |block| copy.contains(*block))
                .map(move |block| block.since(copy.start))
                .collect()
        };
        let places: Vec<BTreeSet<u64>> = self.copies.iter().map(places).collect();
        let everywhere = |place: &&u64| places.iter().all(|copy| copy.contains(*place));
        match places.first().and_then(|first| first.iter().find(everywhere)) {
            Some(place) => Err(Fatal::JournalUnreadable(*place)),
            None => Ok(self.found),
        }
    }
}
