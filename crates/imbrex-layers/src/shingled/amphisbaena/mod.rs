//! `amphisbaena`: a hot buffer of blocks and a cold buffer of chunks before shingled zones.
//!
//! Source: Amphisbaena (Appl. Sci. 2024, 14, 630), §5. Small requests and blocks that are soon written again go to the
//! hot buffer (HFB), any block to any slot; others to the cold one (LFB), in which a chunk holds a chunk of a zone.
//! Blocks leave the hot buffer for the cold one, and the cold one by zones: the chunks of a victim are collected in
//! RAM, stage by stage, and appended to the zone or merged into it. Once in a period chunks change sides.
//! `docs/layers/amphisbaena.md` has the rules, a worked example of the roles, and every decision that the paper leaves
//! open with the field that takes it.
//!
//! # State
//! - durable: that of every zone buffer (`zone_buffer/`), and which chunks of the buffer are loaned to the hot part
//!   ([`Record::Note`](imbrex_core::plan::Record::Note), 64 chunks each);
//! - soft: sizes of the last requests (`label`), roles, ghosts and shadows (`roles`), what is padding in the zones
//!   (`natives`), the collection and the reallocation under way. After a crash the blocks in the hot buffer come in
//!   again by slot, as if it were warming up, and nothing else is known; all that lies below a write pointer counts as
//!   content.
//!
//! # Invariants
//! - those of every zone buffer;
//! - I1: the bottom of R is SUP; I2: Q is the set of LUP blocks; I3: ghosts and shadows are in R alone, and no more
//!   than their limit; I4: no more SUP blocks than their share, no more blocks than slots;
//! - a block in the hot buffer has a role, and no other block in a slot has one;
//! - a cold chunk is empty, or holds live blocks of one chunk of a zone, each at its place, and no other chunk holds
//!   any of that one;
//! - a chunk changes sides when it is empty and nothing of it is pending;
//! - what is counted of each zone (chunks, blocks, those with an older copy) is what lies in the cold buffer.
//!
//! # A collection
//! A stage is one cleaning step and reads one chunk. The eviction that follows is that of every zone buffer with two
//! differences: newer content comes from RAM, and what was not collected stays. While a zone's chunks are collected the
//! host writes nothing at its pointer, and a block written after its chunk was collected stays buffered.

mod chunks;
mod clean;
mod config;
pub mod counters;
mod label;
mod natives;
mod reallocate;
mod remembered;
mod roles;
mod write;

use crate::parts::buffered_blocks::Slots;
use crate::parts::slot_table::SlotTable;
use crate::parts::zone_map::ZoneMap;
use crate::zone_buffer::{Collected, Goal, Policy, ZoneBuffer};
use crate::{ConfigError, Family, LayerInfo};
use chunks::{ChunkKind, Chunks, Split};
use config::AmphisbaenaConfig;
use imbrex_core::block::{Extent, Lba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::event::Counter;
use imbrex_core::layer::{Corrupt, Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;
use label::Label;
use natives::Natives;
use reallocate::Shift;
use roles::Roles;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "amphisbaena",
    family: Some(Family::Shingled),
    source: "Amphisbaena (Appl. Sci. 2024)",
    summary: "Blocks that are soon written again lie in a hot buffer, others in a cold one that leaves by chunks of a zone.",
    recording: Recording::Zoned,
    buffered: true,
    fields: AmphisbaenaConfig::FIELDS,
    make: &|space, config| Ok(Box::new(build(space, config)?)),
};

struct Amphisbaena {
    config: AmphisbaenaConfig,
    label: Label,
    roles: Roles,
    chunks: Chunks,
    natives: Natives,
    /// The reallocation under way, and the chunks that it takes back.
    shift: Option<Shift>,
    returning: Vec<u32>,
    /// Write requests and ghost hits of this period.
    requests: u32,
    ghost_hits: u64,
    /// The chunk of a zone from which its collection goes on, and how many have been collected.
    next_chunk: u64,
    collected_chunks: u32,
    /// Reused for the blocks that leave the hot buffer together, with their slots, and for the slots that the blocks of
    /// a write leave.
    leaving: Vec<(Lba, u32)>,
    superseded: Vec<u32>,
    /// Whether all records have been applied, so that it is known what lies where.
    is_ready: bool,
}

fn build(space: &Space, config: &toml::Table) -> Result<ZoneBuffer<Amphisbaena>, ConfigError> {
    let config: AmphisbaenaConfig = INFO.read(config)?;
    config.check()?;
    ZoneBuffer::new(&INFO, space, config.buffer(), |slots, zones| {
        let AmphisbaenaConfig { chunk_blocks, hot_start, hot_most, hot_most_is, .. } = config;
        let split = Split::new(slots, chunk_blocks, hot_start, hot_most, hot_most_is);
        let rules = config.role_rules();
        Amphisbaena {
            label: Label::new(config.window, config.sizes, config.hot_below),
            roles: Roles::new(rules, zones.capacity(), split.slots(), split.most_hot * split.chunk_blocks),
            chunks: Chunks::new(split, zones),
            natives: Natives::new(zones),
            shift: None,
            returning: Vec::with_capacity((split.most_hot - split.first_hot) as usize),
            requests: 0,
            ghost_hits: 0,
            next_chunk: 0,
            collected_chunks: 0,
            leaving: Vec::with_capacity(split.chunk_blocks as usize),
            superseded: Vec::new(),
            is_ready: false,
            config,
        }
    })
}

impl Amphisbaena {
    /// Hot slots, without those of chunks that leave.
    fn hot_slots(&self) -> u32 {
        self.chunks.hot() * self.chunks.split().chunk_blocks
    }
}

impl ZoneBuffer<Amphisbaena> {
    /// Whether the block is in the hot buffer.
    fn hot_slot(&self, lba: Lba) -> Option<u32> {
        self.blocks.map.get(lba).filter(|&slot| !self.policy.chunks.is_cold(slot))
    }
}

impl Slots for Amphisbaena {
    fn table(&self) -> &SlotTable {
        self.chunks.table()
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        let is_new = self.chunks.table().owner(slot).is_none();
        self.chunks.table_mut().hold(slot, lba);
        if !self.is_ready || !is_new {
            return;
        }
        self.chunks.occupied(slot);
        if self.chunks.is_cold(slot) {
            let (native, offset) = self.natives.locate(lba);
            self.natives.came(native, offset);
        }
    }

    fn give_up(&mut self, slot: u32) {
        let owner = self.chunks.table().owner(slot);
        self.chunks.table_mut().give_up(slot);
        let Some(lba) = owner.filter(|_| self.is_ready) else { return };
        if self.chunks.is_cold(slot) {
            let (native, offset) = self.natives.locate(lba);
            self.natives.went(native, offset);
            if self.chunks.left(slot, lba) {
                self.natives.chunk_went(native);
            }
        } else {
            self.chunks.left(slot, lba);
            if self.roles.holds(slot) {
                self.roles.forget(slot);
            }
        }
    }

    fn freed(&mut self, slot: u32) {
        self.chunks.freed(slot);
    }
}

impl Policy for Amphisbaena {
    const COUNTERS: &[Counter] = counters::ALL;

    fn memory(&self) -> Memory {
        let leaving = Memory::growing::<(Lba, u32)>(self.leaving.capacity() as u64);
        let lists = Memory::room::<u32>(self.returning.capacity() as u64) + leaving;
        let roles = self.roles.memory(self.natives.blocks());
        self.label.memory() + roles + self.chunks.memory() + self.natives.memory() + lists
    }

    /// Roles are not durable: the blocks in the hot buffer come in again, by slot, as if it were warming up.
    fn recovered(&mut self) {
        self.is_ready = true;
        self.label.clear();
        self.roles.clear();
        self.shift = None;
        self.returning.clear();
        (self.requests, self.ghost_hits) = (0, 0);
    }

    fn begin(&mut self, zones: &ZoneMap) -> Result<(), Corrupt> {
        self.chunks.recovered()?;
        self.natives.recovered(zones);
        self.roles.resize(self.hot_slots());
        for slot in 0..self.chunks.split().slots() {
            let Some(lba) = self.chunks.table().owner(slot) else { continue };
            if self.chunks.is_cold(slot) {
                let (native, offset) = self.natives.locate(lba);
                self.natives.came(native, offset);
            } else {
                self.roles.enter(lba, slot);
            }
        }
        for native in 0..zones.natives() {
            (0..self.chunks.cold_of(native, 0).count()).for_each(|_| self.natives.chunk_came(native));
        }
        Ok(())
    }

    fn most_collected(&self) -> u32 {
        let split = self.chunks.split();
        (split.slots() - split.first_hot * split.chunk_blocks).min(self.natives.zone_blocks())
    }

    fn ram_blocks(&self) -> u32 {
        self.chunks.split().chunk_blocks
    }

    fn destaged(&mut self, native: u32, pointer: u32, collected: &[Collected]) {
        let chunks = &self.chunks;
        let cold = chunks.cold_of(native, 0).flat_map(|(_, at)| chunks.live_of(at));
        self.natives.destaged(native, pointer, collected, cold.map(|(offset, _)| offset));
    }

    fn emptied(&mut self, native: u32) {
        self.natives.emptied(native);
    }

    /// Any block may be the first of its chunk, or the next to come into the hot buffer.
    fn room(&self) -> Option<u32> {
        let chunks = &self.chunks;
        let hot = if chunks.hot() > 0 { chunks.room_for_hot() } else { u32::MAX };
        Some(chunks.room_for_chunks().min(hot))
    }

    fn most_room(&self) -> u32 {
        let hot = if self.chunks.hot() > 0 { self.hot_slots() } else { u32::MAX };
        (self.chunks.split().chunks - self.chunks.hot()).min(hot)
    }

    fn apply_note(&mut self, key: u32, value: u64) -> bool {
        self.chunks.set_loans(key, value)
    }

    fn note_keys(&self) -> u32 {
        self.chunks.note_keys()
    }

    fn note(&self, key: u32) -> Option<u64> {
        self.chunks.loans(key)
    }

    fn check(&self) -> Result<(), Violation> {
        if !self.is_ready {
            return self.chunks.table().check();
        }
        self.chunks.check()?;
        let (slots, blocks) = (self.chunks.split().slots(), self.chunks.split().chunk_blocks);
        let (mut live, mut hot) = (0, 0);
        for slot in 0..slots {
            let is_live_hot = !self.chunks.is_cold(slot) && self.chunks.table().owner(slot).is_some();
            if self.roles.holds(slot) != is_live_hot {
                return Err(Violation(format!("slot {slot} has a role and no hot block, or the other way round")));
            }
            live += u32::from(is_live_hot);
            hot += u32::from(self.chunks.kind(slot) != ChunkKind::Cold);
        }
        debug_assert!(hot % blocks == 0);
        self.roles.check(hot, live)
    }

    fn check_zones(&self, zones: &ZoneMap, evicted: Option<u32>) -> Result<(), Violation> {
        for native in (0..zones.natives()).filter(|&native| self.is_ready && evicted != Some(native)) {
            let of_zone = self.chunks.cold_of(native, 0);
            let cold =
                self.chunks.cold_of(native, 0).flat_map(|(_, at)| self.chunks.live_of(at)).map(|(offset, _)| offset);
            let cold: Vec<u32> = cold.collect();
            let pointer = zones.pointer(zones.physical(native));
            if !self.natives.agrees(native, pointer, of_zone.count() as u32, cold.iter().copied()) {
                return Err(Violation(format!("native zone {native} is not as it is counted")));
            }
        }
        Ok(())
    }

    fn announced(&mut self, at: Extent<Lba>, bytes: u64) {
        self.label.announced(at, bytes);
    }

    fn looks_at_waiting(&self) -> bool {
        self.config.checkpoints
    }

    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        buffer.write_by_role(at, plan)
    }

    fn make_room(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, waiting: &[Request], plan: &mut Plan) -> Step {
        buffer.room_for(at, waiting, plan)
    }

    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step {
        if goal == Goal::All { buffer.empty(plan) } else { buffer.gain_chunks(goal, plan) }
    }
}

#[cfg(test)]
mod tests;
