//! `loop-back`: a circular log in front of shingled zones whose tail re-queues the blocks of hot zones.
//!
//! Source: ZoneAlloy's "loop-back log" (HotStorage 2019, §3.3), called Fluid_loop in Amphisbaena's comparison. It is
//! [`fifo-log`](super::fifo_log) with one difference: when the tail meets a block of a *hot* zone, the block is read
//! and appended at the head, because a hot zone's blocks would come back soon after they were evicted: the rewrite
//! would be paid and little space gained. Zone-Swap (§3.4) is no part of it.
//!
//! A zone is hot when its blocks lie only in the more recently used half of the buffered blocks. All blocks are in one
//! list by recency with a pointer at its middle; each zone counts its blocks in the less recently used half, and is hot
//! while that count is 0.
//!
//! # State
//! - durable: that of every zone buffer (`zone_buffer/`);
//! - soft: head and tail; the recency of blocks; how far the tail has come since cleaning began. After a crash head and
//!   tail are found as in `fifo-log`, and blocks count as used in the order in which they lie from tail to head.
//!
//! # Invariants
//! - those of every zone buffer; live slots lie between tail and head;
//! - the recency list holds exactly the live slots; a zone's count is that of its slots in the old half;
//! - the host's blocks leave the reserve free, so re-queueing never waits for space that only cleaning can give.
//!
//! # Re-queueing and crashes
//! A block that is re-queued lies twice until the record of its new place is durable; only then is its old slot free.
//! So re-queueing needs slots before it gives any back. It takes them from a *reserve* of `requeue_blocks` slots that
//! the host never gets; while these are pending the step says [`Step::Wait`]. At the end of a step the reserve is as
//! large as before.
//!
//! # Termination
//! If the number of blocks is odd the middle one counts as old, so at least half of the buffered blocks belong to zones
//! that are not hot, and one cycle of the tail evicts at least one zone. When a whole request has to fit (`clean_for`),
//! that may be too little: once as many blocks have been re-queued as are buffered, the zone of the least recently used
//! block is evicted, and the tail begins another cycle.
//!
//! # Decisions where the paper is silent
//! - *What is re-queued*: only the blocks that the tail reaches, not the rest of their zone.
//! - *Recency*: re-queueing does not change it. A write does; a read does not, unless `reads_count` says so.
//! - *The reserve* (`requeue_blocks`): a number of slots, which is also how many hot blocks are read at the tail before
//!   they are written at the head. By default a 64th of the slots, at least 1 and at most 128 (512 KiB of 4 KiB
//!   blocks); never more than half of the slots, so that a log of a single slot never re-queues.
//! - Everything else is decided as in `fifo-log`.

mod clean;

use crate::parts::buffered_blocks::Slots;
use crate::parts::circular_log::{CircularLog, Coming};
use crate::parts::recency::{Crossing, RecencyHalves};
use crate::parts::slot_table::SlotTable;
use crate::parts::zone_map::ZoneMap;
use crate::zone_buffer::config::{BufferConfig, Reads};
use crate::zone_buffer::{Goal, InPlace, Policy, Takes, ZoneBuffer};
use crate::{ConfigError, Family, LayerInfo};
use imbrex_core::block::{Extent, Lba, Request, unit_and_offset};
use imbrex_core::config::Configuration;
use imbrex_core::layer::{Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "loop-back",
    family: Some(Family::Shingled),
    source: "ZoneAlloy (HotStorage 2019) §3.3, loop-back log; also Fluid_loop",
    summary: "A circular log whose tail appends blocks of hot zones again instead of evicting them.",
    recording: Recording::Zoned,
    buffered: true,
    fields: LoopBackConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

/// The part of the slots that the reserve is by default, and its largest default: 512 KiB in blocks of 4 KiB.
const RESERVE_PART: u32 = 64;
const RESERVE_MOST: u32 = 128;

#[derive(Debug, Configuration)]
struct LoopBackConfig {
    #[field(flatten)]
    buffer: BufferConfig,
    #[field(flatten)]
    again: LoopConfig,
}

/// What is appended again.
#[derive(Clone, Debug, Configuration)]
pub(crate) struct LoopConfig {
    /// slots kept to re-queue into at a time; 0: 1/64 of all, 128 at most
    #[field(default = 0, samples = [0, 1, 3, 8])]
    pub requeue_blocks: u32,
    #[field(flatten)]
    pub reads: Reads,
}

fn build(space: &Space, config: &toml::Table) -> Result<ZoneBuffer<LoopBack>, ConfigError> {
    let LoopBackConfig { buffer, again } = INFO.read(config)?;
    let step_blocks = buffer.steps.step_blocks;
    ZoneBuffer::new(&INFO, space, buffer, |slots, zones| LoopBack::configured(slots, zones, &again, step_blocks))
}

pub(crate) struct LoopBack {
    log: CircularLog,
    recency: RecencyHalves,
    /// By native zone, how many of its blocks are in the old half.
    old_blocks: Vec<u32>,
    zone_blocks: u32,
    /// Slots that only re-queueing takes, and blocks that it moves at a time.
    reserve: u32,
    batch: u32,
    reads_count: bool,
    /// Blocks re-queued since the space wanted was last there, or the least recently used zone was last evicted.
    requeued: u32,
    /// Reused: the blocks of one batch and their new slots.
    moved: Vec<(Lba, u32)>,
}

impl LoopBack {
    /// A buffer of `slots` slots, of which `requeue_blocks` are kept to re-queue into, or a 64th if that is 0. As many
    /// blocks are re-queued at a time within a step.
    pub fn configured(slots: u32, zones: &ZoneMap, config: &LoopConfig, step_blocks: u32) -> Self {
        let default = (slots / RESERVE_PART).clamp(1, RESERVE_MOST);
        let reserve = if config.requeue_blocks == 0 { default } else { config.requeue_blocks }.min(slots / 2);
        Self::new(slots, zones, reserve, reserve.min(step_blocks), config.reads.reads_count)
    }

    fn new(slots: u32, zones: &ZoneMap, reserve: u32, batch: u32, reads_count: bool) -> Self {
        Self {
            log: CircularLog::new(slots),
            recency: RecencyHalves::new(slots),
            old_blocks: vec![0; zones.most_natives() as usize],
            zone_blocks: zones.zone_blocks(),
            reserve,
            batch,
            reads_count,
            requeued: 0,
            moved: Vec::new(),
        }
    }

    /// Whether no block of the zone of `lba` is in the old half.
    fn is_hot(&self, lba: Lba) -> bool {
        self.old_blocks[unit_and_offset(lba.0, self.zone_blocks).0 as usize] == 0
    }

    /// The slots that the host's blocks can take at most.
    fn most(&self) -> u32 {
        self.table().slots() - self.reserve
    }

    /// The recency list, and what keeps the zones' counts when a slot crosses its middle.
    fn recency(&mut self) -> (&mut RecencyHalves, impl FnMut(Crossing)) {
        let (table, counts, zone_blocks) = (self.log.table(), &mut self.old_blocks, self.zone_blocks);
        let zone = move |slot| {
            let Some(lba) = table.owner(slot) else { unreachable!("slot {slot} is in the list and so live") };
            unit_and_offset(lba.0, zone_blocks).0 as usize
        };
        let crossed = move |crossing| match crossing {
            Crossing::Entered(slot) => counts[zone(slot)] += 1,
            Crossing::Left(slot) => counts[zone(slot)] -= 1,
        };
        (&mut self.recency, crossed)
    }
}

impl Slots for LoopBack {
    fn table(&self) -> &SlotTable {
        self.log.table()
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        self.log.hold(slot, lba);
        if !self.recency.list().contains(slot) {
            let (recency, crossed) = self.recency();
            recency.push(slot, crossed);
        }
    }

    fn give_up(&mut self, slot: u32) {
        // A re-queued block's new slot has taken the place of its old one in the list.
        if self.recency.list().contains(slot) {
            let (recency, crossed) = self.recency();
            recency.remove(slot, crossed);
        }
        self.log.give_up(slot);
    }

    fn freed(&mut self, slot: u32) {
        self.log.freed(slot);
    }
}

impl Policy for LoopBack {
    fn memory(&self) -> Memory {
        let batch = Memory::growing::<(Lba, u32)>(self.batch.into());
        self.log.memory() + self.recency.memory() + Memory::room::<u32>(self.old_blocks.len() as u64) + batch
    }

    fn read(&mut self, slot: u32) {
        if self.reads_count {
            self.updated(slot);
        }
    }

    fn updated(&mut self, slot: u32) {
        let (recency, crossed) = self.recency();
        recency.renew(slot, crossed);
    }

    fn recovered(&mut self) {
        self.log.recovered();
        self.requeued = 0;
        self.recency.clear();
        self.old_blocks.fill(0);
        let slots: Vec<u32> = self.log.in_order().map(|(slot, _)| slot).collect();
        for slot in slots {
            let (recency, crossed) = self.recency();
            recency.push(slot, crossed);
        }
    }

    fn laps(&self) -> u64 {
        self.log.laps()
    }

    fn check(&self) -> Result<(), Violation> {
        self.log.check()?;
        let mut counts = vec![0; self.old_blocks.len()];
        for slot in self.recency.list().in_order() {
            let Some(lba) = self.table().owner(slot) else {
                return Err(Violation(format!("slot {slot} is in the recency list and holds nothing")));
            };
            counts[unit_and_offset(lba.0, self.zone_blocks).0 as usize] += u32::from(self.recency.is_old(slot));
        }
        let (listed, live) = (self.recency.list().len(), self.table().live());
        if listed != live || counts != self.old_blocks {
            return Err(Violation(format!("{listed} slots by recency, {live} live, or a zone's count is wrong")));
        }
        Ok(())
    }

    fn ram_blocks(&self) -> u32 {
        self.batch
    }

    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        buffer.write_in_place(at, plan)
    }

    fn make_room(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, _waiting: &[Request], plan: &mut Plan) -> Step {
        buffer.make_room(at, plan)
    }

    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step {
        buffer.clean_ahead(goal, plan)
    }

    fn coming(&self, first: u32, enough: u32, zone_of: impl Fn(Lba) -> u32) -> Option<Coming> {
        Some(self.log.coming(first, enough, zone_of))
    }

    fn room(&self) -> Option<u32> {
        Some(self.log.room().saturating_sub(self.reserve))
    }
}

impl Takes for LoopBack {
    fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let run = run.first(self.log.room().saturating_sub(self.reserve));
        self.log.take_run(run)
    }
}

impl InPlace for LoopBack {
    fn ready(&self, slots: u32) -> bool {
        let slots = slots.min(self.most());
        self.log.room() >= slots + self.reserve && self.log.ready(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Unit;
    use imbrex_core::space::Zones;

    /// Ten slots for zones of four blocks, holding the blocks in the order of their use.
    fn holding(blocks: &[u64]) -> LoopBack {
        let zones = ZoneMap::new(Zones { first: Unit::disk(8), count: 9, zone_blocks: 4 }, 1);
        let mut policy = LoopBack::new(10, &zones, 1, 1, false);
        for &block in blocks {
            let (slot, _) = policy.take(Extent::new(Lba(block), 1)).unwrap();
            policy.hold(slot, Lba(block));
        }
        policy
    }

    #[test]
    fn a_zone_is_hot_while_all_its_blocks_are_in_the_newer_half() {
        let mut policy = holding(&[0, 4, 8, 1, 9]);
        let hot = |policy: &LoopBack| [0, 4, 8].map(|block| policy.is_hot(Lba(block)));
        assert_eq!(hot(&policy), [false, false, false], "the middle one of five is old");
        policy.updated(2);
        assert_eq!(hot(&policy), [false, false, true]);
        policy.read(0);
        assert_eq!(hot(&policy), [false, false, true], "reads do not count");
        policy.reads_count = true;
        policy.read(0);
        assert_eq!(hot(&policy), [false, false, false], "blocks 1 and 9 are old now");
        policy.check().unwrap();
    }

    #[test]
    fn after_a_crash_blocks_are_as_old_as_their_place_in_the_log() {
        let mut policy = holding(&[0, 4, 8, 12]);
        policy.updated(0);
        assert!(policy.is_hot(Lba(0)) && !policy.is_hot(Lba(8)));
        policy.recovered();
        assert!(!policy.is_hot(Lba(0)) && policy.is_hot(Lba(8)));
        policy.check().unwrap();
    }

    #[test]
    fn a_wrong_count_or_list_is_noticed() {
        let mut policy = holding(&[0, 4, 8]);
        policy.old_blocks[0] += 1;
        assert!(policy.check().is_err());
        let mut policy = holding(&[0, 4, 8]);
        policy.recency.remove(0, |_| {});
        assert!(policy.check().is_err());
    }
}
