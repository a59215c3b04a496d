//! The buffers of the layers, as lists and sets.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::model::{Buffer, Counts, Disk, Model};

/// Blocks in order of arrival; those that left are holes until they are passed.
#[derive(Default)]
struct Log {
    blocks: VecDeque<Option<u64>>,
    place: HashMap<u64, usize>,
    passed: usize,
    pushed: u64,
}

impl Log {
    fn len(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn push(&mut self, block: u64) {
        self.place.insert(block, self.passed + self.blocks.len());
        self.blocks.push_back(Some(block));
        self.pushed += 1;
    }

    fn remove(&mut self, block: u64) {
        let at = self.place.remove(&block).expect("the block is in the log");
        self.blocks[at - self.passed] = None;
    }

    fn oldest(&mut self) -> Option<u64> {
        while let Some(None) = self.blocks.front() {
            self.blocks.pop_front();
            self.passed += 1;
        }
        self.blocks.front().copied().flatten()
    }
}

/// Blocks by the time of their last use.
#[derive(Default)]
pub struct Recency {
    now: u64,
    by_time: BTreeMap<u64, u64>,
    times: HashMap<u64, u64>,
}

impl Recency {
    pub fn used(&mut self, block: u64) {
        self.remove(block);
        self.now += 1;
        self.by_time.insert(self.now, block);
        self.times.insert(block, self.now);
    }

    pub fn remove(&mut self, block: u64) {
        if let Some(time) = self.times.remove(&block) {
            self.by_time.remove(&time);
        }
    }

    fn oldest(&self) -> u64 {
        *self.by_time.values().next().expect("there is a block")
    }

    /// The time of the newest block of the older half, in which the middle one is.
    fn middle(&self) -> u64 {
        let half = self.by_time.len().div_ceil(2);
        *self.by_time.keys().nth(half - 1).expect("there is a block")
    }
}

pub struct FifoLog {
    slots: u64,
    log: Log,
}

impl FifoLog {
    pub fn new(slots: u64) -> Self {
        Self { slots, log: Log::default() }
    }
}

impl Buffer for FifoLog {
    fn room(&mut self) -> u64 {
        self.slots - self.log.len()
    }
    fn most(&self) -> u64 {
        self.slots
    }
    fn put(&mut self, block: u64) {
        self.log.push(block);
    }
    fn gone(&mut self, block: u64) {
        self.log.remove(block);
    }
    fn turn(&mut self, disk: &mut Disk, _apart: &BTreeSet<u64>) -> Option<u64> {
        self.log.oldest().map(|block| disk.zone(block))
    }
    fn pass(&mut self) {
        self.log.oldest();
    }
}

pub struct LoopBack {
    slots: u64,
    reserve: u64,
    log: Log,
    recency: Recency,
    requeued: u64,
}

impl LoopBack {
    pub fn new(slots: u64, requeue_blocks: u64) -> Self {
        let default = (slots / 64).clamp(1, 128);
        let reserve = if requeue_blocks == 0 { default } else { requeue_blocks }.min(slots / 2);
        Self { slots, reserve, log: Log::default(), recency: Recency::default(), requeued: 0 }
    }

    fn is_hot(&self, zone: u64, disk: &Disk) -> bool {
        let range = zone * disk.zone_blocks..(zone + 1) * disk.zone_blocks;
        let middle = self.recency.middle();
        disk.buffered.range(range).all(|block| self.recency.times[block] > middle)
    }
}

impl Buffer for LoopBack {
    fn room(&mut self) -> u64 {
        (self.slots - self.log.len()).saturating_sub(self.reserve)
    }
    fn most(&self) -> u64 {
        self.slots - self.reserve
    }
    fn put(&mut self, block: u64) {
        self.log.push(block);
        self.recency.used(block);
    }
    fn used(&mut self, block: u64) {
        self.recency.used(block);
    }
    fn gone(&mut self, block: u64) {
        self.log.remove(block);
        self.recency.remove(block);
    }
    fn turn(&mut self, disk: &mut Disk, apart: &BTreeSet<u64>) -> Option<u64> {
        let block = self.log.oldest()?;
        let zone = disk.zone(block);
        if self.reserve == 0 || apart.contains(&zone) || !self.is_hot(zone, disk) {
            return Some(zone);
        }
        if self.requeued == disk.buffered.len() as u64 {
            self.requeued = 0;
            return Some(disk.zone(self.recency.oldest()));
        }
        self.log.remove(block);
        self.log.push(block);
        self.requeued += 1;
        disk.counts.requeued += 1;
        None
    }
    fn pass(&mut self) {
        self.log.oldest();
    }
    fn laps(&self) -> u64 {
        self.log.pushed / self.slots
    }
    fn cleaned(&mut self) {
        self.requeued = 0;
    }
}

pub struct BlockLru {
    slots: u64,
    recency: Recency,
}

impl BlockLru {
    pub fn new(slots: u64) -> Self {
        Self { slots, recency: Recency::default() }
    }
}

impl Buffer for BlockLru {
    fn room(&mut self) -> u64 {
        self.slots - self.recency.times.len() as u64
    }
    fn most(&self) -> u64 {
        self.slots
    }
    fn put(&mut self, block: u64) {
        self.recency.used(block);
    }
    fn used(&mut self, block: u64) {
        self.recency.used(block);
    }
    fn gone(&mut self, block: u64) {
        self.recency.remove(block);
    }
    fn turn(&mut self, disk: &mut Disk, _apart: &BTreeSet<u64>) -> Option<u64> {
        Some(disk.zone(self.recency.oldest()))
    }
}

/// Copies in order of arrival, by buffer zone.
pub struct HashedZones {
    disk: Disk,
    length: usize,
    zones: Vec<Vec<u64>>,
}

impl HashedZones {
    pub fn new(disk: Disk, slots: u64, zone_slots: u64) -> Self {
        let least = if zone_slots == 0 { (slots / 16).max(256) } else { zone_slots };
        let count = (slots / least).max(1);
        Self { disk, length: (slots / count) as usize, zones: vec![Vec::new(); count as usize] }
    }

    fn write_block(&mut self, block: u64) {
        let at = (self.disk.zone(block) % self.zones.len() as u64) as usize;
        if self.zones[at].len() == self.length && !self.disk.is_direct(block) {
            let copies = std::mem::take(&mut self.zones[at]);
            let mut last: HashMap<u64, usize> = HashMap::new();
            last.extend(copies.iter().enumerate().map(|(i, copy)| (*copy, i)));
            for (i, copy) in copies.iter().enumerate() {
                if last[copy] == i && self.disk.buffered.contains(copy) {
                    self.disk.write_back(self.disk.zone(*copy));
                }
            }
        }
        // Writing back may have moved the write pointer to this very block.
        if self.disk.is_direct(block) {
            return self.disk.write_direct(block);
        }
        self.zones[at].push(block);
        self.disk.counts.hits += u64::from(!self.disk.buffered.insert(block));
    }
}

impl Model for HashedZones {
    fn write(&mut self, first: u64, blocks: u64) {
        (first..first + blocks).for_each(|block| self.write_block(block));
    }
    fn counts(&self) -> &Counts {
        &self.disk.counts
    }
}
