//! `zone-ages` as sets of blocks and slots, with the time at which each block was last written.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Counts, Disk, Model};

/// Free runs that are looked at for one that a request fits into.
const RUNS: usize = 16;
/// Fewer free slots than this part of all are kept for blocks that have none.
const SCARCE: u64 = 64;

pub struct ZoneAges {
    disk: Disk,
    slots: u64,
    free: BTreeSet<u64>,
    /// The slot behind the last one that was taken.
    head: u64,
    /// Where each buffered block lies, and how many blocks had been written when it was.
    blocks: BTreeMap<u64, (u64, u64)>,
    /// When a block of a zone was last put into the buffer.
    newest: BTreeMap<u64, u64>,
    now: u64,
}

impl ZoneAges {
    pub fn new(disk: Disk, slots: u64) -> Self {
        let (blocks, newest) = (BTreeMap::new(), BTreeMap::new());
        Self { disk, slots, free: (0..slots).collect(), head: 0, blocks, newest, now: 0 }
    }

    /// The free runs from a slot on, cut to so many slots.
    fn runs(&self, from: u64, most: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let mut next = from;
        while let (Some(&first), true) = (self.free.range(next..).next(), runs.len() < RUNS) {
            let length = (first..first + most).take_while(|slot| self.free.contains(slot)).count() as u64;
            runs.push((first, length));
            next = first + length;
        }
        runs
    }

    /// Takes adjacent slots behind the last ones, or from the front when there are none.
    fn take(&mut self, wanted: u64) -> Option<(u64, u64)> {
        let behind = self.runs(self.head, wanted);
        let runs = if behind.is_empty() { self.runs(0, wanted) } else { behind };
        let fits = runs.iter().find(|(_, length)| *length == wanted);
        let (first, length) = *fits.or(runs.first())?;
        (first..first + length).for_each(|slot| assert!(self.free.remove(&slot), "it was free"));
        self.head = (first + length) % self.slots;
        Some((first, length))
    }

    fn put(&mut self, block: u64, slot: u64) {
        self.blocks.insert(block, (slot, self.now));
        self.newest.insert(self.disk.zone(block), self.now);
        self.disk.counts.hits += u64::from(!self.disk.buffered.insert(block));
    }

    /// Writes blocks from the first on, and says how many it could. The slots that they leave are free for others.
    fn write_some(&mut self, first: u64, end: u64) -> u64 {
        let (mut block, mut left) = (first, Vec::new());
        while block < end {
            let zone = self.disk.zone(block);
            if self.disk.is_direct(block) {
                left.extend(self.blocks.remove(&block).map(|(slot, _)| slot));
                self.disk.write_direct(block);
                block += 1;
                continue;
            }
            let stays = self.blocks.get(&block).map(|(slot, _)| *slot);
            let is_scarce = (self.free.len() as u64) < self.slots / SCARCE || self.free.is_empty();
            if let Some(slot) = stays.filter(|_| is_scarce) {
                self.put(block, slot);
                block += 1;
                continue;
            }
            let run = (block..end).take_while(|next| self.disk.zone(*next) == zone && !self.disk.is_direct(*next));
            let Some((slot, taken)) = self.take(run.count() as u64) else { break };
            for (to, block) in (slot..slot + taken).zip(block..) {
                left.extend(self.blocks.get(&block).map(|(slot, _)| *slot));
                self.put(block, to);
            }
            block += taken;
        }
        self.now += block - first;
        self.free.extend(left);
        block - first
    }

    /// The square of what a zone weighs, which is its blocks squared times the root of the product of their mean age and
    /// of the time since one came. Blocks times the mean age is the sum of the ages.
    fn weight(&self, zone: u64) -> u128 {
        let times: Vec<u64> = self.blocks.range(self.disk.blocks_of(zone)).map(|(_, (_, time))| *time).collect();
        let blocks = times.len() as u128;
        let ages: u128 = times.iter().map(|time| u128::from(self.now - time)).sum();
        let idle = u128::from(self.now - self.newest[&zone]);
        blocks * blocks * blocks * ages.max(blocks) * idle.max(1)
    }

    /// The zone that weighs most, and of several the last, is written back.
    fn clean(&mut self) {
        let zones: BTreeSet<u64> = self.blocks.keys().map(|block| self.disk.zone(*block)).collect();
        let zone = zones.into_iter().max_by_key(|zone| self.weight(*zone)).expect("a full buffer has a zone");
        for block in self.disk.write_back(zone) {
            let (slot, _) = self.blocks.remove(&block).expect("the block is buffered");
            self.free.insert(slot);
        }
    }
}

impl Model for ZoneAges {
    fn write(&mut self, first: u64, blocks: u64) {
        let (mut next, end) = (first, first + blocks);
        while next < end {
            next += self.write_some(next, end);
            if next < end && self.free.is_empty() {
                self.clean();
            }
        }
    }

    fn counts(&self) -> &Counts {
        &self.disk.counts
    }
}
