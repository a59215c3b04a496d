//! The map of dirty regions: where the sums may be older than what was written.
//!
//! A region is marked durably before the first of its blocks changes, and is clean again when blocks and sums are
//! durable. A clean mark needs no flush: should it be lost, the region is dirty for longer than it need be.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Pba};

use super::place::{self, HEAD, Place, REGIONS, SECTOR};
use crate::store::{Store, StoreError};

/// Regions that are dirty at most, if no more of them are being written.
pub(super) const MOST_DIRTY: usize = 256;
/// Flushes during which a region has not been written before it becomes clean.
const QUIET_FLUSHES: u64 = 64;

/// The map.
pub(super) struct Intents {
    identity: u64,
    place: Place,
    block_bytes: u32,
    region_blocks: u64,
    /// Regions that are durably dirty.
    dirty: BTreeMap<u64, Dirty>,
    /// What is being changed.
    changing: Vec<Extent<Pba>>,
    flushes: u64,
    /// Counts what begins and ends.
    clock: u64,
}

/// When a region was last changed.
#[derive(Copy, Clone)]
struct Dirty {
    /// By the clock.
    clock: u64,
    /// By the number of flushes.
    flushes: u64,
}

impl Intents {
    pub fn new(identity: u64, place: Place, block_bytes: u32, region_blocks: u32) -> Self {
        Self {
            identity,
            place,
            block_bytes,
            region_blocks: region_blocks.max(1).into(),
            dirty: BTreeMap::new(),
            changing: Vec::new(),
            flushes: 0,
            clock: 0,
        }
    }

    /// The regions that the store says are dirty. A part of the map that is damaged says that all in it are.
    pub fn read(&self, below: &dyn Store, blocks: u64) -> BTreeSet<u64> {
        let regions = blocks.div_ceil(self.region_blocks);
        let mut dirty = BTreeSet::new();
        for (number, block) in self.place.map.iter().enumerate() {
            let mut bytes = vec![0; self.block_bytes as usize];
            let read = below.read(Extent::new(block, 1));
            let is_read = read.map(|content| bytes.copy_from_slice(&content)).is_ok();
            let sector = self.place.sector(block, self.block_bytes);
            let mut damaged = place::damaged(&mut bytes, self.identity, sector);
            if !is_read {
                damaged = (0..bytes.len() / SECTOR).collect();
            }
            let first = number as u64 * self.per_block();
            for at in damaged {
                tracing::warn!("the map of regions that are being written is damaged: all of a part count as such");
                let from = first + at as u64 * REGIONS;
                dirty.extend(from..from + REGIONS);
            }
            let is_set = |region: &u64| bytes[byte(*region)] & bit(*region) != 0;
            dirty.extend((0..self.per_block()).filter(is_set).map(|region| first + region));
        }
        dirty.split_off(&regions);
        dirty
    }

    /// The regions that blocks lie in.
    pub fn regions(&self, at: Extent<Pba>) -> RangeInclusive<u64> {
        let first = at.start.block();
        first / self.region_blocks..=(first + u64::from(at.blocks) - 1) / self.region_blocks
    }

    /// The blocks of a region of a drive of `blocks` blocks.
    pub fn extent(&self, region: u64, blocks: u64) -> Extent<Pba> {
        let start = region * self.region_blocks;
        Extent::new(Pba::disk(start), (blocks - start).min(self.region_blocks) as u32)
    }

    /// The regions of `runs` that are not dirty yet.
    pub fn clean(&self, runs: &[Extent<Pba>]) -> BTreeSet<u64> {
        let regions = runs.iter().flat_map(|run| self.regions(*run));
        regions.filter(|region| !self.dirty.contains_key(region)).collect()
    }

    /// How many regions are dirty.
    pub fn dirty(&self) -> usize {
        self.dirty.len()
    }

    /// Marks regions and makes that durable.
    ///
    /// # Errors
    /// When that fails; they are not marked then.
    pub fn mark(&mut self, below: &dyn Store, regions: &BTreeSet<u64>) -> Result<(), StoreError> {
        let new: BTreeSet<u64> = regions.iter().copied().filter(|region| !self.dirty.contains_key(region)).collect();
        self.found(regions);
        let marked = self.write(below, regions).and_then(|()| below.flush());
        if marked.is_err() {
            self.dirty.retain(|region, _| !new.contains(region));
        }
        marked
    }

    /// Takes regions for dirty that the store says are.
    pub fn found(&mut self, regions: &BTreeSet<u64>) {
        let now = Dirty { clock: self.clock, flushes: self.flushes };
        self.dirty.extend(regions.iter().map(|region| (*region, now)));
    }

    /// Something begins to change.
    pub fn begins(&mut self, runs: &[Extent<Pba>]) {
        self.changing.extend_from_slice(runs);
        self.notice(runs);
    }

    /// It has changed.
    pub fn ends(&mut self, runs: &[Extent<Pba>]) {
        for run in runs {
            if let Some(at) = self.changing.iter().position(|other| other == run) {
                self.changing.swap_remove(at);
            }
        }
        self.notice(runs);
    }

    fn notice(&mut self, runs: &[Extent<Pba>]) {
        self.clock += 1;
        let now = Dirty { clock: self.clock, flushes: self.flushes };
        for region in runs.iter().map(|run| self.regions(*run)).collect::<Vec<_>>().into_iter().flatten() {
            if let Some(last) = self.dirty.get_mut(&region) {
                *last = now;
            }
        }
    }

    /// Whether some of the blocks are being changed.
    pub fn is_changing(&self, at: Extent<Pba>) -> bool {
        self.changing.iter().any(|run| run.overlaps(&at))
    }

    /// A flush begins: what has changed by now is durable when it has ended.
    pub fn flush_begins(&mut self) -> u64 {
        self.flushes += 1;
        self.clock
    }

    /// The dirty regions that have not changed since `clock`, when a flush began, and are not being changed; those that
    /// were written longest ago first.
    fn settled(&self, clock: u64) -> Vec<u64> {
        let is_changing = |region: &u64| self.changing.iter().any(|run| self.regions(*run).contains(region));
        let old = self.dirty.iter().filter(|(region, last)| last.clock <= clock && !is_changing(region));
        let mut settled: Vec<(u64, u64)> = old.map(|(region, last)| (last.clock, *region)).collect();
        settled.sort_unstable();
        settled.into_iter().map(|(_, region)| region).collect()
    }

    /// A flush that began at `clock` has ended: regions that have been quiet for long are clean.
    ///
    /// # Errors
    /// When the map cannot be written.
    pub fn flush_ended(&mut self, below: &dyn Store, clock: u64) -> Result<(), StoreError> {
        let is_quiet =
            |region: &u64| self.dirty.get(region).is_some_and(|last| last.flushes + QUIET_FLUSHES <= self.flushes);
        let quiet: Vec<u64> = self.settled(clock).into_iter().filter(is_quiet).collect();
        self.clear(below, quiet)
    }

    /// Makes the oldest `most` regions clean, where room for others is needed or nothing more will be written.
    ///
    /// # Errors
    /// When the map cannot be written.
    pub fn clear_oldest(&mut self, below: &dyn Store, clock: u64, most: usize) -> Result<(), StoreError> {
        let oldest = self.settled(clock).into_iter().take(most).collect();
        self.clear(below, oldest)
    }

    fn clear(&mut self, below: &dyn Store, regions: Vec<u64>) -> Result<(), StoreError> {
        for region in &regions {
            self.dirty.remove(region);
        }
        self.write(below, &regions.into_iter().collect())
    }

    /// Writes the blocks of the map in which regions are.
    fn write(&self, below: &dyn Store, regions: &BTreeSet<u64>) -> Result<(), StoreError> {
        let blocks: BTreeSet<u64> = regions.iter().map(|region| region / self.per_block()).collect();
        for number in blocks {
            let first = number * self.per_block();
            let mut bytes = vec![0; self.block_bytes as usize];
            for (region, _) in self.dirty.range(first..first + self.per_block()) {
                bytes[byte(region - first)] |= bit(region - first);
            }
            let block = self.place.map.start.plus(number);
            place::seal(&mut bytes, self.identity, self.place.sector(block, self.block_bytes));
            below.write(Extent::new(block, 1), &Bytes::from(bytes))?;
        }
        Ok(())
    }

    /// Regions in a block of the map.
    fn per_block(&self) -> u64 {
        u64::from(self.block_bytes) / SECTOR as u64 * REGIONS
    }
}

/// Where the bit of a region is in a block.
fn byte(region: u64) -> usize {
    (region / REGIONS) as usize * SECTOR + HEAD + (region % REGIONS / 8) as usize
}

fn bit(region: u64) -> u8 {
    1 << (region % 8)
}
