//! A disk as a list of write pointers, and what every buffer in front of it does with a write.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub hits: u64,
    pub direct: u64,
    pub rmw: u64,
    pub rmw_free: u64,
    pub evicted: u64,
    pub padding: u64,
    /// Padding that was written again with its zone.
    pub padding_again: u64,
    pub requeued: u64,
    /// Of a buffer with a hot and a cold part: hits in the hot one, its cleanings, chunks evicted, collections stopped,
    /// chunks that became hot and cold, and cold chunks that were seen and starved.
    pub hot_cold: [u64; 8],
}

impl Counts {
    /// Adds what is looked at over many runs.
    pub fn add(&mut self, other: &Self) {
        self.rmw += other.rmw;
        self.rmw_free += other.rmw_free;
        self.padding += other.padding;
        self.padding_again += other.padding_again;
        self.hits += other.hits;
        self.direct += other.direct;
        self.requeued += other.requeued;
        for (sum, more) in self.hot_cold.iter_mut().zip(other.hot_cold) {
            *sum += more;
        }
    }
}

pub struct Disk {
    pub zone_blocks: u64,
    pub pointer: Vec<u64>,
    pub buffered: BTreeSet<u64>,
    pub padding: BTreeSet<u64>,
    pub direct_first: bool,
    pub counts: Counts,
}

impl Disk {
    pub fn zone(&self, block: u64) -> u64 {
        block / self.zone_blocks
    }

    pub fn is_direct(&self, block: u64) -> bool {
        let at_pointer = self.pointer[self.zone(block) as usize] == block % self.zone_blocks;
        at_pointer && (self.direct_first || !self.buffered.contains(&block))
    }

    pub fn write_direct(&mut self, block: u64) {
        let zone = self.zone(block);
        self.pointer[zone as usize] += 1;
        self.counts.direct += 1;
        self.buffered.remove(&block);
    }

    pub fn blocks_of(&self, zone: u64) -> Range<u64> {
        zone * self.zone_blocks..(zone + 1) * self.zone_blocks
    }

    /// Writes every buffered block of a zone back and says which.
    pub fn write_back(&mut self, zone: u64) -> Vec<u64> {
        self.write_back_to(zone, 0)
    }

    /// The same; with an `end` the zone is rewritten up to there at least, wherever its blocks lie.
    pub fn write_back_to(&mut self, zone: u64, end: u64) -> Vec<u64> {
        let range = self.blocks_of(zone);
        let blocks: Vec<u64> = self.buffered.range(range.clone()).copied().collect();
        let pointer = &mut self.pointer[zone as usize];
        let is_rewritten = end > 0;
        let end = (blocks[blocks.len() - 1] - range.start + 1).max(*pointer).max(end);
        let behind = blocks.iter().filter(|b| **b - range.start >= *pointer).count();
        self.counts.padding += end - *pointer - behind as u64;
        blocks.iter().for_each(|block| {
            self.padding.remove(block);
        });
        if behind == blocks.len() && !is_rewritten {
            self.counts.rmw_free += 1;
        } else {
            self.counts.rmw += 1;
            self.counts.padding_again += self.padding.range(range.clone()).count() as u64;
        }
        let new = (range.start + *pointer..range.start + end).filter(|block| !self.buffered.contains(block));
        self.padding.extend(new);
        *pointer = end;
        self.counts.evicted += blocks.len() as u64;
        self.buffered.retain(|block| !range.contains(block));
        blocks
    }

    /// The blocks of a request that will need a slot.
    pub fn new_blocks(&self, blocks: impl Iterator<Item = u64>) -> u64 {
        let mut ahead: HashMap<u64, u64> = HashMap::new();
        let mut new = 0;
        for block in blocks {
            let pointer = ahead.entry(self.zone(block)).or_insert(self.pointer[self.zone(block) as usize]);
            let buffered = self.buffered.contains(&block);
            if *pointer == block % self.zone_blocks && (self.direct_first || !buffered) {
                *pointer += 1;
            } else if !buffered {
                new += 1;
            }
        }
        new
    }
}

/// A buffer whose blocks are updated where they are.
pub trait Buffer {
    /// Slots that blocks can take, and the most there ever are.
    fn room(&mut self) -> u64;
    fn most(&self) -> u64;
    fn put(&mut self, block: u64);
    fn used(&mut self, _block: u64) {}
    fn gone(&mut self, block: u64);
    /// One step towards room: the zone whose turn to leave has come, unless a block was re-queued instead, as none of
    /// the zones `apart` is.
    fn turn(&mut self, disk: &mut Disk, apart: &BTreeSet<u64>) -> Option<u64>;
    /// The tail passes the holes that it meets.
    fn pass(&mut self) {}
    /// There is room.
    fn cleaned(&mut self) {}
    /// How often the head has gone round.
    fn laps(&self) -> u64 {
        0
    }
}

pub trait Model {
    fn write(&mut self, first: u64, blocks: u64);
    /// A write that had so many bytes, behind which these others wait, as first block and length.
    fn write_of(&mut self, first: u64, blocks: u64, _bytes: u64, _waiting: &[(u64, u64)]) {
        self.write(first, blocks);
    }
    fn read(&mut self, _first: u64, _blocks: u64) {}
    fn counts(&self) -> &Counts;
}

pub struct Buffered {
    pub disk: Disk,
    pub buffer: Box<dyn Buffer>,
    pub for_request: bool,
    pub reads_count: bool,
}

impl Buffered {
    /// Slots that must be free before blocks are written.
    pub fn wanted(&self, blocks: Range<u64>) -> u64 {
        if self.for_request { self.disk.new_blocks(blocks).min(self.buffer.most()) } else { 1 }
    }

    fn make_room(&mut self, from: u64, end: u64) {
        loop {
            self.buffer.pass();
            if self.buffer.room() >= self.wanted(from..end) {
                return self.buffer.cleaned();
            }
            if let Some(zone) = self.buffer.turn(&mut self.disk, &BTreeSet::new()) {
                self.disk.write_back(zone).into_iter().for_each(|block| self.buffer.gone(block));
            }
        }
    }

    /// Whether the block has been taken.
    pub fn write_block(&mut self, block: u64) -> bool {
        if self.disk.is_direct(block) {
            if self.disk.buffered.contains(&block) {
                self.buffer.gone(block);
            }
            self.disk.write_direct(block);
        } else if self.disk.buffered.contains(&block) {
            self.disk.counts.hits += 1;
            self.buffer.used(block);
        } else if self.buffer.room() > 0 {
            self.buffer.put(block);
            self.disk.buffered.insert(block);
        } else {
            return false;
        }
        true
    }
}

impl Model for Buffered {
    fn write(&mut self, first: u64, blocks: u64) {
        if self.for_request {
            self.make_room(first, first + blocks);
        }
        for block in first..first + blocks {
            while !self.write_block(block) {
                self.make_room(block, first + blocks);
            }
        }
    }

    fn read(&mut self, first: u64, blocks: u64) {
        for block in (first..first + blocks).filter(|block| self.reads_count && self.disk.buffered.contains(block)) {
            self.buffer.used(block);
        }
    }

    fn counts(&self) -> &Counts {
        &self.disk.counts
    }
}
