//! `block-lru`: buffered blocks in order of their last write; the zone of the least recently written one is evicted.
//!
//! Source: ZoneAlloy's "improved block-based LRU" (HotStorage 2019, §3.3), a baseline there. Plain block LRU would
//! evict one block at a time and pay a zone rewrite for it. The improvement: *every* buffered block of that block's
//! zone is evicted with the one rewrite. Free slots then lie scattered over the buffer, so that what a request writes
//! does too: the reason why the paper goes on to logs.
//!
//! A block that is buffered is updated in its slot; any other takes a free slot. When none is free, the zone of the
//! least recently written block leaves.
//!
//! # State
//! - durable: that of every zone buffer (`zone_buffer/`);
//! - soft: the recency of blocks. After a crash they count as used in the order of their slots.
//!
//! # Invariants
//! - those of every zone buffer;
//! - the recency list holds exactly the live slots; the free set exactly the free ones.
//!
//! # Decisions where the paper is silent
//! - *Which free slot* (`allocate`): a run of new blocks takes the first of the 64 lowest free runs that holds it
//!   whole, or else the lowest free slots (`first-fit`); or always the lowest free slots, one after the other
//!   (`lowest`). Time depends on it, counts do not.
//! - *What renews a block*: a write. A read does not, unless `reads_count` says so.
//! - *When to clean*, *writes at the write pointer*, *spare zones*, *a rewrite's length*, *trim*: as in
//!   [`fifo-log`](super::fifo_log). Idle time (`idle_free`) evicts as a blocked write does.

use crate::parts::buffered_blocks::Slots;
use crate::parts::free_slots::FreeSlots;
use crate::parts::recency::RecencyList;
use crate::parts::slot_table::SlotTable;
use crate::zone_buffer::config::{BufferConfig, Reads};
use crate::zone_buffer::{Goal, InPlace, Policy, Takes, ZoneBuffer};
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::block::{Extent, Lba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::layer::{Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "block-lru",
    family: Some(Family::Shingled),
    source: "ZoneAlloy (HotStorage 2019) §3.3, improved block-based LRU",
    summary: "Blocks are buffered anywhere; the zone of the least recently written one is evicted.",
    recording: Recording::Zoned,
    buffered: true,
    fields: BlockLruConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

/// Free runs that `first-fit` looks at: enough to find one that fits, and a bound on the time it takes.
const RUNS: u32 = 64;

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Allocate {
    FirstFit,
    Lowest,
}

#[derive(Debug, Configuration)]
struct BlockLruConfig {
    #[field(flatten)]
    buffer: BufferConfig,
    /// "first-fit" or "lowest": which free slots a run takes
    #[field(default = "first-fit", samples = ["first-fit", "lowest"])]
    allocate: Allocate,
    #[field(flatten)]
    reads: Reads,
}

fn build(space: &Space, config: &toml::Table) -> Result<ZoneBuffer<BlockLru>, ConfigError> {
    let BlockLruConfig { buffer, allocate, reads } = INFO.read(config)?;
    let runs = if allocate == Allocate::FirstFit { RUNS } else { 1 };
    ZoneBuffer::new(&INFO, space, buffer, |slots, _| BlockLru { runs, ..BlockLru::new(slots, reads.reads_count) })
}

pub(crate) struct BlockLru {
    table: SlotTable,
    free: FreeSlots,
    recency: RecencyList,
    /// Free runs to look at for one that is long enough.
    runs: u32,
    reads_count: bool,
}

impl BlockLru {
    /// The layer's default, but for whether a read makes a block recently used.
    pub fn new(slots: u32, reads_count: bool) -> Self {
        let (table, free, recency) = (SlotTable::new(slots), FreeSlots::all(slots), RecencyList::new(slots));
        Self { table, free, recency, runs: RUNS, reads_count }
    }

    /// The least recently used block.
    fn coldest(&self) -> Option<Lba> {
        self.recency.oldest().and_then(|slot| self.table.owner(slot))
    }
}

impl Slots for BlockLru {
    fn table(&self) -> &SlotTable {
        &self.table
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        self.free.remove(slot);
        self.table.hold(slot, lba);
        if !self.recency.contains(slot) {
            self.recency.push(slot);
        }
    }

    fn give_up(&mut self, slot: u32) {
        self.recency.remove(slot);
        self.table.give_up(slot);
    }

    fn freed(&mut self, slot: u32) {
        if self.table.freed(slot) {
            self.free.insert(slot);
        }
    }
}

impl Policy for BlockLru {
    fn memory(&self) -> Memory {
        self.table.memory() + self.free.memory() + self.recency.memory()
    }

    fn read(&mut self, slot: u32) {
        if self.reads_count {
            self.updated(slot);
        }
    }

    fn updated(&mut self, slot: u32) {
        self.recency.renew(slot);
    }

    fn recovered(&mut self) {
        self.table.recovered();
        self.recency.clear();
        for slot in 0..self.table.slots() {
            if self.table.is_free(slot) {
                self.free.insert(slot);
            } else {
                self.recency.push(slot);
            }
        }
    }

    fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        let slots = self.table.slots();
        for slot in 0..slots {
            let is = (self.table.owner(slot).is_some(), self.table.is_free(slot));
            if is != (self.recency.contains(slot), self.free.contains(slot)) {
                return Err(Violation(format!("slot {slot} is live and free as {is:?}, and listed otherwise")));
            }
        }
        let (listed, free) = (self.recency.in_order().count() as u32, self.free.count());
        if (listed, free) != (self.table.live(), slots - self.table.live() - self.table.pending()) {
            return Err(Violation(format!("{listed} slots by recency and {free} free do not add up")));
        }
        Ok(())
    }

    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        buffer.write_in_place(at, plan)
    }

    fn make_room(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, _waiting: &[Request], plan: &mut Plan) -> Step {
        let policy = &buffer.policy;
        let want = buffer.wanted(at).min(policy.table.slots());
        if policy.ready(want) {
            return Step::Done;
        }
        match policy.coldest() {
            Some(lba) if policy.free.count() + policy.table.pending() < want => buffer.evict(lba, plan),
            _ => Step::Wait,
        }
    }

    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step {
        match buffer.policy.coldest() {
            Some(lba) if !buffer.is_reached(goal) => buffer.evict(lba, plan),
            _ => Step::Nothing,
        }
    }

    fn room(&self) -> Option<u32> {
        Some(self.free.count() + self.table.pending())
    }
}

impl Takes for BlockLru {
    fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let (first, taken) = self.free.first_fit(run.blocks, self.runs)?;
        for (slot, lba) in (first..first + taken).zip(run.iter()) {
            self.free.remove(slot);
            self.table.take(slot, lba);
        }
        Some((first, taken))
    }
}

impl InPlace for BlockLru {
    fn ready(&self, slots: u32) -> bool {
        slots.min(self.table.slots()) <= self.free.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(blocks: &[u64]) -> BlockLru {
        let mut policy = BlockLru::new(10, false);
        for &block in blocks {
            let (slot, _) = policy.take(Extent::new(Lba(block), 1)).unwrap();
            policy.hold(slot, Lba(block));
        }
        policy
    }

    #[test]
    fn the_coldest_block_is_the_least_recently_written_one() {
        let mut policy = holding(&[7, 3, 9]);
        policy.updated(0);
        policy.read(1);
        assert_eq!(policy.coldest(), Some(Lba(3)));
        policy.give_up(1);
        assert_eq!(policy.coldest(), Some(Lba(9)));
        policy.check().unwrap();
        policy.recovered();
        assert_eq!((policy.coldest(), policy.free.count()), (Some(Lba(7)), 8), "slot 0 is the lowest");
        policy.check().unwrap();
    }

    #[test]
    fn a_wrong_list_or_set_is_noticed() {
        let mut policy = holding(&[7, 3]);
        policy.recency.remove(1);
        assert!(policy.check().is_err());
        let mut policy = holding(&[7, 3]);
        policy.free.insert(1);
        assert!(policy.check().is_err());
    }
}
