//! What layers share that keep single blocks in a persistent buffer in front of shingled zones.
//!
//! Blocks that would break the sequential rule lie in slots of conventional space. A zone leaves the buffer as a whole:
//! all its buffered blocks are appended at its write pointer, or the zone is rewritten with them. Which slot a block
//! takes and which zone leaves when there is no room is a layer's [`Policy`]; everything else is here, once.
//!
//! # State
//! - durable: the place of each buffered block ([`Record::Map`]), the physical zone of each native zone
//!   ([`Record::Unit`]), lost blocks;
//! - soft: the eviction under way, and what the policy keeps beside its slot table.
//!
//! # Invariants
//! - a slot is live exactly when a block maps to it;
//! - a block is never both buffered and lost;
//! - while a zone is being evicted nothing is written at its pointer by the host, and a block updated after it was
//!   copied stays buffered when the zone switches.
//!
//! # An eviction
//! It copies the zone in steps of `step_blocks` blocks, which change no map: old content and buffered blocks are read
//! into RAM and written to a spare zone, or behind the zone's own write pointer if no buffered block lies before it.
//! The last step's plan switches the zone, unmaps every block that was copied and not updated since, and frees its
//! slot. Without spare zones the zone is read, reset and written back in one step.

pub mod config;
mod evict;
mod policy;
mod trimmed;
mod write;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::parts::bitmap::Bitmap;
use crate::parts::buffered_blocks::BufferedBlocks;
use crate::parts::circular_log::Coming;
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use crate::parts::zone_map::ZoneMap;
use crate::parts::zone_pass::Newer;
use config::BufferConfig;
use evict::Eviction;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Occupancy, Outlook, Pressure, REGION_RECORDS, Standing, Step,
    TranslationLayer, UnitReport, Violation, Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Plan, Record};
pub use policy::{Collected, Goal, InPlace, Policy, Takes};
use trimmed::Trimmed;

/// The part of the slots that is room ahead at most: a buffer is smaller by that for what it gathers of a zone.
const AHEAD_OF_SLOTS: u64 = 8;

/// The part of that which is looked forward to: less room than that is gone at once.
const ENOUGH: u64 = 4;

/// A persistent buffer in front of shingled zones.
pub struct ZoneBuffer<P> {
    name: &'static str,
    pub config: BufferConfig,
    pub step: StepSize,
    pub policy: P,
    pub blocks: BufferedBlocks,
    pub zones: ZoneMap,
    eviction: Option<Eviction>,
    /// The room that it and others after it make, once that was asked for and where it can be said.
    coming: OnceCell<Option<Coming>>,
    trimmed: Trimmed,
    /// Native zones that are not evicted when their turn comes: the owner of the buffer has other plans for them.
    pub apart: BTreeSet<u32>,
    /// The last of them whose turn has come.
    pub due: Option<u32>,
    /// Whether a zone that is rewritten may take a vacant conventional one.
    pub takes_vacant: bool,
    /// Offsets of the zone under eviction whose newest content has been copied.
    copied: Bitmap,
    /// The blocks that have been collected for it, by offset when the zone is written.
    collected: Vec<Collected>,
    /// Whether the step that is planned is one of idle time.
    is_idle: bool,
    /// Reused for the newer blocks of one step.
    newer: Vec<Newer>,
}

impl<P: Policy> ZoneBuffer<P> {
    /// Where a slot lies.
    #[inline]
    pub fn slot_place(&self, slot: u32) -> Pba {
        self.blocks.place_of(slot)
    }

    /// `at` lies in the slots from `first` from now on.
    pub fn map_run(&mut self, at: Extent<Lba>, first: u32) {
        self.blocks.map_run(at, first, &mut self.policy);
    }

    /// Whether so much is free that nothing needs to be cleaned for `goal`.
    pub fn is_reached(&self, goal: Goal) -> bool {
        match goal {
            Goal::Idle => self.free_share() >= self.config.idle_free,
            Goal::All => self.free_share() >= 1.0,
            Goal::Room(slots) => self.policy.room().is_none_or(|room| u64::from(room) >= slots),
        }
    }

    /// The room of writes, and what the eviction under way, or the next one, is about to add.
    fn room_ahead(&self) -> Option<Outlook> {
        let room = self.policy.room().filter(|_| self.config.spare.spare_zones > 0)?;
        let zone = u64::from(self.zones.zone_blocks());
        let mapped = self.blocks.map.mapped();
        let work = self.eviction.as_ref().map_or(2 * zone, |eviction| 2 * u64::from(eviction.left()));
        let most = self.most_ahead();
        let coming = |eviction: &Eviction| {
            let enough = (most / ENOUGH).max(1) as u32;
            *self.coming.get_or_init(|| self.policy.coming(eviction.native, enough, |lba| self.zones.native_of(lba).0))
        };
        if let Some(Coming { groups, slots }) = self.eviction.as_ref().and_then(coming) {
            let others = 2 * zone * u64::from(groups - 1);
            return Some(Outlook { room: room.into(), most, work: work + others, gain: slots.into() });
        }
        // All zones are taken to hold as many.
        let gain = mapped.div_ceil(u64::from(self.zones.natives().max(1)));
        Some(Outlook { room: room.into(), most, work, gain })
    }

    /// The most room that is worth having ahead.
    fn most_ahead(&self) -> u64 {
        u64::from(self.policy.most_room()) / AHEAD_OF_SLOTS
    }

    /// The share of the slots that hold nothing.
    pub fn free_share(&self) -> f64 {
        let table = self.policy.table();
        f64::from(table.slots() - table.live()) / f64::from(table.slots())
    }

    /// The physical zone that an eviction writes to.
    pub fn written_zone(&self) -> Option<u32> {
        self.eviction.as_ref().and_then(Eviction::target)
    }

    /// The native zone that is being evicted.
    pub fn evicted(&self) -> Option<u32> {
        self.eviction.as_ref().map(|eviction| eviction.native)
    }

    /// What a step says that does not come to an end.
    pub fn between_steps(&self) -> Step {
        if self.config.interrupts.interruptible { Step::More } else { Step::Hold }
    }

    /// Restates the policy's notes from `key` on, which the cursor `from` stands for.
    fn checkpoint_notes(&self, from: u64, key: u32, plan: &mut Plan) -> Option<u64> {
        let keys = self.policy.note_keys();
        let end = keys.min(key + REGION_RECORDS as u32);
        for key in key..end {
            if let Some(value) = self.policy.note(key) {
                plan.record(Record::Note { key, value });
            }
        }
        (end < keys).then(|| from + u64::from(end - key))
    }
}

impl<P: Policy> ZoneBuffer<P> {
    fn memory(&self) -> Memory {
        let zone_blocks = self.zones.zone_blocks();
        let zone = u64::from(zone_blocks);
        let collected = Memory::growing::<Collected>(self.policy.most_collected().into());
        let evicting = self.copied.memory() + collected + Memory::growing::<Newer>(zone);
        self.policy.memory() + self.blocks.memory(zone_blocks) + self.zones.memory() + self.trimmed.memory() + evicting
    }

    fn ram_blocks(&self) -> u32 {
        let step = self.step_blocks().unwrap_or(self.zones.zone_blocks());
        (self.policy.most_collected() + step).max(self.policy.ram_blocks())
    }

    fn step_blocks(&self) -> Option<u32> {
        (self.config.spare.spare_zones > 0).then_some(self.step.most())
    }

    fn most_records(&self) -> u64 {
        let slots = u64::from(self.policy.table().slots());
        let regions = slots / (REGION_RECORDS as u64 / 2 - 1);
        let notes = u64::from(self.policy.note_keys());
        let capacity = self.zones.most_capacity();
        u64::from(self.zones.most_natives()) + slots + regions + LostBlocks::regions(capacity) + notes
    }
}

impl<P: Policy> TranslationLayer for ZoneBuffer<P> {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.memory(),
            ram_blocks: self.ram_blocks(),
            step_blocks: self.step_blocks(),
            looks_at_waiting: self.policy.looks_at_waiting(),
            journal: JournalFacts { records: self.most_records(), ..JournalFacts::default() },
            counters: P::COUNTERS,
            loses_flushed: self.config.spare.loses_zones(),
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.zones.capacity()
    }

    fn standing(&self) -> Standing {
        Standing {
            holds_ram: self.eviction.is_some(),
            occupancy: Some(Occupancy { used: self.blocks.map.mapped(), blocks: self.policy.table().slots().into() }),
            outlook: self.room_ahead(),
            ..Standing::default()
        }
    }

    fn idle_after_ns(&self) -> u64 {
        self.policy.idle_after_ns()
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn prefetch(&self, ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        ahead.iter().fold(0, |sum, request| sum ^ self.blocks.map.prefetch(request.at.start))
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let home = |run: Extent<Lba>, host: u32, plan: &mut Plan| self.zones.read(run, host, &self.blocks.lost, plan);
        self.blocks.read(at, 0, plan, |_slot| {}, home);
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        let Self { policy, zones, blocks, .. } = self;
        let home = |run: Extent<Lba>, host: u32, plan: &mut Plan| zones.read(run, host, &blocks.lost, plan);
        let hits = blocks.read(at, 0, plan, |slot| policy.read(slot), home);
        plan.count(Event::ReadHit, hits);
    }

    fn write(&mut self, Write { at, request_bytes }: Write, plan: &mut Plan) -> u32 {
        if let Some(bytes) = request_bytes {
            self.policy.announced(at, bytes);
        }
        let taken = P::write(self, at, plan);
        self.trimmed.written(at.first(taken));
        taken
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        self.drop_bare(at, plan);
        self.note_trimmed(at, plan);
        at.blocks
    }

    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        self.is_idle = matches!(why, Pressure::Idle { .. });
        if self.eviction.as_ref().is_some_and(Eviction::is_writing) {
            return self.evict_step(plan);
        }
        if self.empty_trimmed(plan) {
            return Step::More;
        }
        let step = match why {
            Pressure::Blocked(at) => P::make_room(self, at, waiting, plan),
            Pressure::Idle { .. } => P::clean_ahead(self, Goal::Idle, plan),
            Pressure::Asked => P::clean_ahead(self, Goal::All, plan),
            Pressure::Ahead { .. } if self.config.spare.spare_zones == 0 => Step::Nothing,
            Pressure::Ahead { room } => P::clean_ahead(self, Goal::Room(room), plan),
        };
        self.after_trims(why, step)
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        if !self.blocks.freed(space, &mut self.policy) {
            self.zones.freed(space);
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { .. } | Record::Copy { .. } | Record::Unmap(_) | Record::Lost(_) => {
                self.blocks.apply(record, &mut self.policy)
            }
            Record::Unit { unit, is } => self.zones.apply(unit, is),
            Record::Note { key, value } if self.policy.apply_note(key, value) => Ok(()),
            Record::Note { key, value } => {
                Err(Corrupt(format!("{} keeps no number {value:#x} under key {key}", self.name)))
            }
        }
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.eviction = None;
        self.trimmed.clear();
        self.apart.clear();
        self.due = None;
        self.policy.recovered();
        self.zones.recovered(units, plan)?;
        self.policy.begin(&self.zones)
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let start = match self.zones.checkpoint(from, plan) {
            ControlFlow::Break(next) => return Some(next),
            ControlFlow::Continue(start) => start,
        };
        let capacity = self.zones.most_capacity();
        if start.0 >= capacity {
            return self.checkpoint_notes(from, (start.0 - capacity) as u32, plan);
        }
        let end = self.blocks.checkpoint(start, plan);
        let notes = (self.policy.note_keys() > 0).then(|| u64::from(self.zones.most_natives()) + capacity);
        self.zones.cursor_after(end).or(notes)
    }

    fn contents(&self) -> Option<Contents> {
        let zone = |native: u32| (self.zones.blocks_of(native), self.zones.pointer(self.zones.physical(native)));
        let zones: Vec<_> = (0..self.zones.natives()).map(zone).collect();
        let zone_of = |lba| self.zones.native_of(lba).0;
        Some(Contents::Zones(BufferedBlocks::contents(&self.policy, &zones, zone_of)))
    }

    fn check(&self) -> Result<(), Violation> {
        self.zones.check()?;
        self.policy.check()?;
        self.policy.check_zones(&self.zones, self.evicted())?;
        self.blocks.check(&self.policy)
    }
}
