//! Reading the journal's blocks back, whatever can be read of them in any copy.
//!
//! A ring is as long as the largest map needs, and mostly holds nothing or what has been superseded. So one block of
//! each stretch is read first. A stretch counts if its first block is this store's, or cannot be read, in some copy:
//! the chain from tail to head has no gap, so a stretch whose first block holds nothing is part of it only if that
//! block is damaged, and then it is beside one that counts. And a stretch counts only if it is not wholly before the
//! tail that the newest of those blocks names that are known to be durable: others may be of a commit that was never
//! whole.
//!
//! In sequential zones the stretches are the zones, since a chain that leaves blocks out goes on with the next zone's
//! first one, and what lies above a write pointer is not read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::journal::{self, Block, Header};
use crate::block::{Address, Extent, Pba};

/// Journal blocks of one read.
const PART_BLOCKS: u32 = 16;
/// Reads under way at a time.
const PARTS: usize = 64;
/// How often a block is tried before it counts as unreadable.
const TRIES: u32 = 5;
/// Stretches of a long ring.
const STRETCHES: u32 = 1024;

/// The journal as far as it has been read.
pub(super) struct Scan {
    copies: Vec<Extent<Pba>>,
    /// Blocks of a stretch.
    stretch: u32,
    /// Whether the first blocks of stretches are still being read.
    probing: bool,
    todo: VecDeque<Extent<Pba>>,
    under_way: BTreeMap<Pba, u32>,
    /// How often single blocks could not be read.
    failures: BTreeMap<Pba, u32>,
    found: Vec<Found>,
    /// The stretches of which a first block counts, and the highest number of such a block.
    stretches: BTreeMap<u32, u64>,
    /// The first blocks of stretches that were found.
    probed: Vec<Header>,
    /// How much is written of each stretch of each copy, if not all of it is.
    written: BTreeMap<Pba, u32>,
    /// Nothing before this block is needed.
    tail: u64,
}

/// A block of the journal as it was read.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub place: Pba,
    pub raw: Bytes,
    pub block: Block,
}

impl Scan {
    /// Of every copy of a journal.
    pub fn new(copies: &[Extent<Pba>]) -> Self {
        let blocks = copies.first().map_or(0, |copy| copy.blocks);
        Self::of_stretches(copies, blocks.div_ceil(STRETCHES).max(PART_BLOCKS), |_| u32::MAX)
    }

    /// Of every copy of a journal that lies in sequential zones, of which so much is `written`.
    pub fn of_zones(copies: &[Extent<Pba>], zone_blocks: u32, written: impl Fn(Pba) -> u32) -> Self {
        Self::of_stretches(copies, zone_blocks, written)
    }

    fn of_stretches(copies: &[Extent<Pba>], stretch: u32, written: impl Fn(Pba) -> u32) -> Self {
        let starts = |copy: &Extent<Pba>| {
            let start = copy.start;
            (0..copy.blocks).step_by(stretch as usize).map(move |at| start.plus(at.into()))
        };
        let written: BTreeMap<Pba, u32> = copies.iter().flat_map(starts).map(|at| (at, written(at))).collect();
        let probes = written.iter().filter(|(_, written)| **written > 0);
        Self {
            todo: probes.map(|(start, _)| Extent::new(*start, 1)).collect(),
            copies: copies.to_vec(),
            stretch,
            probing: true,
            under_way: BTreeMap::new(),
            failures: BTreeMap::new(),
            found: Vec::new(),
            stretches: BTreeMap::new(),
            probed: Vec::new(),
            written,
            tail: 0,
        }
    }

    /// What to read next; nothing when all has been read.
    pub fn next(&mut self) -> Vec<Extent<Pba>> {
        if self.todo.is_empty() && self.probing {
            self.choose();
        }
        let parts: Vec<_> = self.todo.drain(..self.todo.len().min(PARTS)).collect();
        self.under_way.extend(parts.iter().map(|part| (part.start, part.blocks)));
        parts
    }

    /// All first blocks of stretches have been read: takes in hand what counts.
    fn choose(&mut self) {
        self.probing = false;
        let durable = self.probed.iter().map(|header| header.durable).max().unwrap_or(0);
        let trusted = self.probed.iter().filter(|header| header.number() < durable);
        self.tail = trusted.map(|header| header.tail).max().unwrap_or(0);
        let ring = self.copies.first().map_or(0, |copy| copy.blocks);
        let stretches = ring.div_ceil(self.stretch);
        let mut chosen: BTreeSet<u32> = self.unreadable().map(|block| self.stretch_of(block)).collect();
        let reaches = |first: &u64| first + u64::from(self.stretch) > self.tail;
        let count = self.stretches.iter().filter(|(_, first)| reaches(first)).map(|(number, _)| *number);
        let around = count.flat_map(|number| {
            // Where the chain begins in the middle of a stretch, the first block is not part of it and may be damaged
            // everywhere.
            let before = (number + stretches - 1) % stretches;
            let before = (!self.stretches.contains_key(&before)).then_some(before);
            [Some(number), Some((number + 1) % stretches), before]
        });
        chosen.extend(around.flatten());
        if chosen.is_empty() {
            // Unless the first blocks are all damaged, nothing was ever written here.
            chosen.extend(0..stretches);
        }
        for copy in &self.copies {
            for number in &chosen {
                let stretch = copy.skip(number * self.stretch).first(self.stretch);
                let stretch = stretch.first(self.written.get(&stretch.start).copied().unwrap_or(0));
                let parts = (0..stretch.blocks).step_by(PART_BLOCKS as usize);
                self.todo.extend(parts.map(|done| stretch.skip(done).first(PART_BLOCKS)));
            }
        }
    }

    /// The blocks from `start` on have been read; those of the store `identity` are kept.
    pub fn read(&mut self, start: Pba, data: &Bytes, (identity, block_bytes): (u64, usize)) {
        self.under_way.remove(&start);
        for (at, i) in (0..).zip(0..data.len() / block_bytes) {
            let raw = data.slice(i * block_bytes..(i + 1) * block_bytes);
            let Some(block) = journal::decode_block(&raw, Some(identity)) else { continue };
            let number = block.header.number();
            if self.probing {
                self.probed.push(block.header);
                let stretch = self.stretches.entry(self.stretch_of(start.plus(at))).or_default();
                *stretch = number.max(*stretch);
            } else if number >= self.tail {
                self.found.push(Found { place: start.plus(at), raw, block });
            }
        }
    }

    /// The number of the stretch that a block of any copy lies in.
    fn stretch_of(&self, block: Pba) -> u32 {
        let copy = self.copies.iter().find(|copy| copy.contains(block));
        copy.map_or(0, |copy| (block.since(copy.start) / u64::from(self.stretch)) as u32)
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
    /// The first block that cannot be read in any copy: nobody knows whether something durable was in it.
    pub fn finish(self) -> Result<Vec<Found>, String> {
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
            Some(place) => Err(format!("block {place} of the journal cannot be read in any copy")),
            None => Ok(self.found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::{Entry, encode};
    use super::*;

    const RING: u32 = 100;
    const COPIES: [Extent<Pba>; 2] = [Extent::new(Pba::disk(10), RING), Extent::new(Pba::disk(500), RING)];

    /// Reads everything but `bad` of a ring that the blocks up to `head` were written to, in both copies, each when
    /// those before it were durable; `tail` is what they say it is.
    fn scan(head: u64, tail: u64, bad: &[u64]) -> (u32, Result<Vec<u64>, String>) {
        scan_of(head, |start| Header { start, tail, durable: start, ..Header::default() }, bad)
    }

    fn scan_of(head: u64, says: impl Fn(u64) -> Header, bad: &[u64]) -> (u32, Result<Vec<u64>, String>) {
        let content = |place: u64| {
            let number = (0..head).rev().find(|number| number % u64::from(RING) == place);
            number.map_or(Bytes::from(vec![0; 512]), |start| {
                encode(&Entry::default(), Header { identity: 1, ..says(start) }, 512).remove(0)
            })
        };
        let (mut scan, mut read) = (Scan::new(&COPIES), 0);
        loop {
            let parts = scan.next();
            if parts.is_empty() {
                let numbers = scan.finish().map(|found| found.iter().map(|found| found.block.header.start).collect());
                return (read, numbers);
            }
            for part in parts {
                if bad.iter().any(|block| part.contains(Pba::disk(*block))) {
                    scan.failed(part.start);
                    continue;
                }
                read += part.blocks;
                let copy = COPIES.iter().find(|copy| copy.contains(part.start)).unwrap();
                let data: Vec<Bytes> = part.iter().map(|block| content(block.since(copy.start))).collect();
                scan.read(part.start, &data.concat().into(), (1, 512));
            }
        }
    }

    #[test]
    fn only_what_counts_is_read() {
        let twice = |numbers: std::ops::Range<u64>| numbers.clone().chain(numbers).collect::<Vec<u64>>();
        let sorted = |head, tail: u64| {
            let (read, numbers) = scan(head, tail, &[]);
            let mut numbers = numbers.unwrap();
            numbers.sort_unstable();
            (read, numbers)
        };
        let expected = |range| {
            let mut numbers = twice(range);
            numbers.sort_unstable();
            numbers
        };
        // 7 first blocks of each copy, and then the two stretches that hold something and those beside them.
        assert_eq!(sorted(20, 0), (14 + 96 + 8, expected(0..20)));
        // The ring has come round; of the seven stretches two hold only what lies before the tail.
        assert_eq!(sorted(230, 190), (14 + 2 * (100 - 32), expected(190..230)));
        assert_eq!(sorted(0, 0), (14 + 200, vec![]));
    }

    #[test]
    fn what_one_copy_does_not_give_another_one_may() {
        let (_, numbers) = scan(100, 0, &[10, 29, 501]);
        assert_eq!(numbers.unwrap().len(), 197);
        assert!(scan(100, 0, &[11, 501]).1.unwrap_err().contains("block 1 "));
    }

    #[test]
    fn the_tail_of_what_may_not_be_durable_is_not_believed() {
        let says = |start| {
            let (tail, durable) = if start < 32 { (0, start) } else { (32, 32) };
            Header { start, tail, durable, ..Header::default() }
        };
        let (_, numbers) = scan_of(40, says, &[]);
        assert!(numbers.unwrap().contains(&0), "the last commit may not be whole, and then the older tail counts");
    }
}
