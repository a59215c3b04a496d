//! `fifo-log`: a circular log in front of shingled zones, updated in place and cleaned from its tail.
//!
//! Source: ZoneAlloy's "in-place FIFO log" (HotStorage 2019, §3.3; called Fluid elsewhere). Writes that would break the
//! sequential rule go to a persistent buffer of conventional blocks, the H-Buffer. A block that is buffered is updated
//! in its slot; any other takes the slot at the log's head. When room is short, the block at the tail is looked at: a
//! hole is passed; otherwise *every* buffered block of its native zone is evicted with one zone rewrite, or, when all
//! of them lie at or behind the zone's write pointer, by appending there.
//!
//! # State
//! - durable: that of every zone buffer (`zone_buffer/`): what lies in which slot, where native zones lie;
//! - soft: head and tail of the log. After a crash the longest run of slots without live blocks becomes the log's free
//!   part; the first-in order before it is kept.
//!
//! # Invariants
//! - those of every zone buffer;
//! - live slots lie between tail and head.
//!
//! # Decisions where the paper is silent
//! - *When to clean* (`clean_for`): each block of a request takes a slot as it comes, and cleaning starts when there is
//!   none (`block`); or a request waits until all its new blocks fit (`request`). With `request` its earlier blocks
//!   cannot be updated in place after their zone was evicted for its later ones, so hits and evictions differ.
//! - *Writes at the write pointer* (`at_pointer`): they bypass the log, as the paper says, even when an older copy is
//!   buffered; that copy becomes a hole (`direct`). Or a buffered block is updated in its slot first (`buffered`).
//! - *Spare zones* (`spare_zones`): the paper reads, resets and rewrites in place, which loses the zone to a power cut.
//!   With at least one spare zone the new image is written there and the map switches. 0 is the paper's order, planned
//!   as one uninterruptible step and refused by the live engine.
//! - *Interruption* (`interruptible`): whether reads may be served between the steps of an eviction.
//! - *A rewrite's length*: up to the write pointer or the last buffered block, whichever is further; padding between.
//! - *Idle time* (`idle_free`): the paper cleans only when room is short (0). Otherwise idle time is used until that
//!   share of the slots is free.
//! - *Trim*: a buffered block is dropped only if no older copy would reappear under it.

use crate::parts::buffered_blocks::Slots;
use crate::parts::circular_log::{CircularLog, Coming};
use crate::parts::slot_table::SlotTable;
use crate::zone_buffer::config::BufferConfig;
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
    name: "fifo-log",
    family: Some(Family::Shingled),
    source: "ZoneAlloy (HotStorage 2019) §3.3, in-place FIFO log; also Fluid",
    summary: "A circular log absorbs non-sequential writes; its tail decides which zone is rewritten.",
    recording: Recording::Zoned,
    buffered: true,
    fields: BufferConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

fn build(space: &Space, config: &toml::Table) -> Result<ZoneBuffer<FifoLog>, ConfigError> {
    let config: BufferConfig = INFO.read(config)?;
    ZoneBuffer::new(&INFO, space, config, |slots, _| FifoLog::new(slots))
}

pub(crate) struct FifoLog {
    log: CircularLog,
}

impl FifoLog {
    pub fn new(slots: u32) -> Self {
        Self { log: CircularLog::new(slots) }
    }
}

impl Slots for FifoLog {
    fn table(&self) -> &SlotTable {
        self.log.table()
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        self.log.hold(slot, lba);
    }

    fn give_up(&mut self, slot: u32) {
        self.log.give_up(slot);
    }

    fn freed(&mut self, slot: u32) {
        self.log.freed(slot);
    }
}

impl Policy for FifoLog {
    fn memory(&self) -> Memory {
        self.log.memory()
    }

    fn recovered(&mut self) {
        self.log.recovered();
    }

    fn check(&self) -> Result<(), Violation> {
        self.log.check()
    }

    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        buffer.write_in_place(at, plan)
    }

    fn make_room(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, _waiting: &[Request], plan: &mut Plan) -> Step {
        let want = buffer.wanted(at);
        let log = &mut buffer.policy.log;
        let oldest = log.oldest();
        if buffer.policy.ready(want) {
            return Step::Done;
        }
        match oldest {
            Some((_, lba)) if buffer.policy.log.room() < want => buffer.evict(lba, plan),
            _ => Step::Wait,
        }
    }

    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step {
        match buffer.policy.log.oldest() {
            Some((_, lba)) if !buffer.is_reached(goal) => buffer.evict(lba, plan),
            _ => Step::Nothing,
        }
    }

    fn coming(&self, first: u32, enough: u32, zone_of: impl Fn(Lba) -> u32) -> Option<Coming> {
        Some(self.log.coming(first, enough, zone_of))
    }

    fn room(&self) -> Option<u32> {
        Some(self.log.room())
    }
}

impl Takes for FifoLog {
    fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        self.log.take_run(run)
    }
}

impl InPlace for FifoLog {
    fn ready(&self, slots: u32) -> bool {
        self.log.ready(slots.min(self.log.table().slots()))
    }
}
