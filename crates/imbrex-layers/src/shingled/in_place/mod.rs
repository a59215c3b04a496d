//! `in-place`: shingled zones without any buffer, where every non-sequential write is a zone rewrite.
//!
//! Source: the device model that the papers start from (ZoneAlloy §2, Amphisbaena §2): a write at a zone's write
//! pointer is written, any other reads the zone, merges and writes it again. It is the naive shingled disk to compare
//! with.
//!
//! # State
//! - durable: the physical zone of each native zone ([`Record::Unit`]), lost blocks;
//! - soft: the rewrite being prepared: a spare zone that holds the native zone's blocks in front of the blocked write;
//!   or the open zone, whose newer blocks lie in RAM.
//!
//! # How a write is served
//! With spare zones a blocked write makes `clean` copy what lies in front of it into a spare zone, step by step; then
//! the write itself plans the host's blocks, what follows them, the switch of the map and the reset of the old zone. So
//! the request completes when its rewrite does, as the papers have it.
//!
//! With `gather = "zone"` the host's blocks go to RAM instead, as long as they are for one zone. A write to another
//! one, or a flush, has that zone rewritten first, once, with all that was gathered. So a host that writes zone after
//! zone, as a cache does that writes a region home, has each rewritten once.
//!
//! # Invariants
//! - a zone is open exactly if RAM holds blocks of it;
//! - a rewrite has come as far as its zone's write pointer, and where blocks are gathered it is that of the open zone.
//!
//! # Decisions
//! - *Spare zones* (`spare_zones`): 0 reads, resets and rewrites in place in one step, as the papers do, and cannot be
//!   served live.
//! - *A write ahead of the pointer* (`ahead`): rewrites the zone like any other non-sequential write (`rewrite`), or
//!   fills the gap and appends (`pad`).
//! - *What a rewrite merges* (`gather`): what one request has for the zone, however many blocks that is; or all that
//!   comes until another zone is written. A write that some zone takes at its pointer closes none. Idle time does not
//!   either, so counts do not depend on time.
//! - *Trim* changes nothing.

mod gathered;
mod merge;

use std::ops::ControlFlow;

use crate::fields::{Spare, Steps};
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use crate::parts::zone_map::ZoneMap;
use crate::parts::zone_pass::ZonePass;
use crate::{ConfigError, Family, LayerInfo};
use gathered::Gathered;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::contents::{Contents, ZoneContent};
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Step, TranslationLayer, UnitReport, Violation, Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::space::Space;

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "in-place",
    family: Some(Family::Shingled),
    source: "the device model of ZoneAlloy §2 and Amphisbaena §2",
    summary: "No buffer: every write that is not at a write pointer rewrites its zone.",
    recording: Recording::Zoned,
    buffered: false,
    fields: InPlaceZonesConfig::FIELDS,
    make: &|space, config| Ok(Box::new(InPlace::new(space, config)?)),
};

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ahead {
    Rewrite,
    Pad,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Gather {
    Request,
    Zone,
}

#[derive(Clone, Debug, Configuration)]
struct InPlaceZonesConfig {
    #[field(flatten)]
    spare: Spare,
    #[field(flatten)]
    steps: Steps,
    /// "rewrite" or "pad": a write ahead of the pointer
    #[field(default = "rewrite", samples = ["rewrite", "pad"])]
    ahead: Ahead,
    /// what a rewrite merges: what a "request" has for the zone, or all that comes for the "zone" until another one is
    /// written or a flush comes
    #[field(default = "request", samples = ["request", "zone"])]
    gather: Gather,
}

/// A spare zone that is being filled: with the front of a native zone, or with the open one.
struct Rewrite {
    native: u32,
    target: u32,
    /// Blocks of the target written so far.
    written: u32,
}

struct InPlace {
    config: InPlaceZonesConfig,
    step: StepSize,
    zones: ZoneMap,
    lost: LostBlocks,
    rewrite: Option<Rewrite>,
    /// Nothing where each request has its own rewrite.
    gathered: Option<Gathered>,
}

impl InPlace {
    fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let config: InPlaceZonesConfig = INFO.read(config)?;
        if config.steps.step_blocks == 0 {
            let reason = "step_blocks must be at least 1".to_owned();
            return Err(ConfigError::Field { layer: INFO.name, reason });
        }
        let zones = config.spare.zone_map(INFO.name, space)?;
        let step = StepSize::new(config.steps.step_blocks);
        let gathered = (config.gather == Gather::Zone).then(|| Gathered::new(zones.zone_blocks()));
        Ok(Self { config, step, zones, lost: LostBlocks::default(), rewrite: None, gathered })
    }

    fn pass(&self, native: u32, held: u32, from: u32, to: u32) -> ZonePass<'_> {
        let own = self.zones.block(self.zones.physical(native), 0);
        ZonePass {
            zone: self.zones.blocks_of(native),
            old: (own, held),
            from,
            to,
            newer: &[],
            ram: 0,
            lost: &self.lost,
        }
    }

    /// Plans that `to` of a native zone is written up to `until` with what the zone holds, in steps of the RAM there
    /// is.
    fn carry(&mut self, native: u32, target: u32, from: u32, until: u32, plan: &mut Plan) {
        let held = self.zones.pointer(self.zones.physical(native));
        let mut at = from;
        while at < until {
            let to = until.min(at + self.step.most());
            let pass = self.pass(native, held, at, to);
            pass.collect(plan);
            pass.write(self.zones.block(target, 0), plan);
            at = to;
        }
        self.zones.advance(target, until - from);
    }

    /// Plans a write at the write pointer, or ahead of it with padding. 0 when the zone takes neither.
    fn write_direct(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(at.start);
        let run = at.first(self.zones.zone_blocks() - offset);
        let physical = self.zones.physical(native);
        match self.zones.writable_at(native) {
            Some(pointer) if pointer == offset => {}
            Some(pointer) if pointer < offset && self.config.ahead == Ahead::Pad => {
                plan.copy(Place::Zero, Place::At(self.zones.block(physical, pointer)), offset - pointer, Why::Pad);
                self.zones.advance(physical, offset - pointer);
                plan.count(Event::RmwFree, 1);
            }
            _ => return 0,
        }
        plan.copy(Place::Host(0), Place::At(self.zones.block(physical, offset)), run.blocks, Why::Host);
        self.zones.advance(physical, run.blocks);
        plan.count(Event::Direct, run.blocks);
        run.blocks
    }

    /// Plans the rewrite whose front has been prepared. 0 when it has not.
    fn write_prepared(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(at.start);
        let Some(Rewrite { target, .. }) = self.rewrite.take_if(|r| r.native == native && r.written == offset) else {
            return 0;
        };
        let run = at.first(self.zones.zone_blocks() - offset);
        let end = offset + run.blocks;
        plan.copy(Place::Host(0), Place::At(self.zones.block(target, offset)), run.blocks, Why::Host);
        self.zones.advance(target, run.blocks);
        let held = self.zones.pointer(self.zones.physical(native));
        if held > end {
            self.carry(native, target, end, held, plan);
        }
        self.zones.switch(native, target, plan);
        self.found(run, plan);
        plan.count(Event::Rmw, 1);
        run.blocks
    }

    /// Plans read, reset and rewrite of the zone in one go: the papers' order.
    fn write_over(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(at.start);
        let physical = self.zones.physical(native);
        if !self.zones.is_writable(physical) {
            return 0;
        }
        let run = at.first(self.zones.zone_blocks() - offset);
        let held = self.zones.pointer(physical);
        let end = held.max(offset + run.blocks);
        let target = self.zones.block(physical, 0);
        self.pass(native, held, 0, end).collect(plan);
        plan.reset(self.zones.unit(physical));
        if offset > 0 {
            self.pass(native, held.min(offset), 0, offset).write(target, plan);
        }
        plan.copy(Place::Host(0), Place::At(self.zones.block(physical, offset)), run.blocks, Why::Host);
        let after = offset + run.blocks;
        if end > after {
            let from = Place::At(Pba::ram(u64::from(after)));
            plan.copy(from, Place::At(self.zones.block(physical, after)), end - after, Why::Destage);
        }
        self.zones.emptied(physical);
        self.zones.advance(physical, end);
        self.found(run, plan);
        plan.count(Event::Rmw, 1);
        run.blocks
    }

    /// Plans that blocks just overwritten are not lost any more.
    fn found(&mut self, run: Extent<Lba>, plan: &mut Plan) {
        if self.lost.any(run) {
            plan.record(Record::Unmap(run));
            self.lost.remove(run);
        }
    }

    /// The rewrite of a native zone, as far as it has come; what there is to do where it cannot begin.
    fn begun(&mut self, native: u32) -> Result<Rewrite, Step> {
        if let Some(rewrite) = self.rewrite.take() {
            return Ok(rewrite);
        }
        match self.zones.take_spare() {
            Some(target) => Ok(Rewrite { native, target, written: 0 }),
            None if self.zones.spare_is_coming() => Err(Step::Wait),
            None => Err(Step::Nothing),
        }
    }

    /// Prepares the rewrite of the zone of `at`, up to `at`.
    fn prepare(&mut self, at: Extent<Lba>, plan: &mut Plan) -> Step {
        let (native, offset) = self.zones.native_of(at.start);
        if let Some(other) = self.rewrite.take_if(|r| r.native != native || r.written > offset) {
            self.zones.abandon(other.target, plan);
        }
        let mut rewrite = match self.begun(native) {
            Ok(rewrite) => rewrite,
            Err(step) => return step,
        };
        let to = offset.min(rewrite.written.saturating_add(self.step.blocks()));
        if to > rewrite.written {
            self.carry(native, rewrite.target, rewrite.written, to, plan);
            rewrite.written = to;
        }
        self.rewrite = Some(rewrite);
        if to == offset { Step::Done } else { Step::More }
    }
}

impl InPlace {
    fn memory(&self) -> Memory {
        let gathered = self.gathered.as_ref().map_or_else(Memory::default, Gathered::memory);
        self.zones.memory() + gathered
    }

    fn ram_blocks(&self) -> u32 {
        // What is gathered lies at its offset.
        let is_whole = self.config.spare.spare_zones == 0 || self.gathered.is_some();
        if is_whole { self.zones.zone_blocks() } else { self.step.most() }
    }

    fn most_records(&self) -> u64 {
        u64::from(self.zones.natives()) + LostBlocks::regions(self.capacity())
    }
}

impl TranslationLayer for InPlace {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.memory(),
            ram_blocks: self.ram_blocks(),
            step_blocks: (self.config.spare.spare_zones > 0).then_some(self.step.most()),
            journal: JournalFacts { records: self.most_records(), ..JournalFacts::default() },
            loses_flushed: self.config.spare.loses_zones(),
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.zones.capacity()
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.read_gathered(at, plan);
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        if self.gathered.is_some() {
            return self.write_gathered(at, plan);
        }
        match self.write_direct(at, plan) {
            0 if self.config.spare.spare_zones == 0 => self.write_over(at, plan),
            0 => self.write_prepared(at, plan),
            run => run,
        }
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            Pressure::Blocked(_) if self.open_zone().is_some() => self.rewrite_open(plan),
            Pressure::Asked if self.open_zone().is_some() => match self.rewrite_open(plan) {
                Step::Done => Step::More,
                step => step,
            },
            Pressure::Blocked(at) if self.config.spare.spare_zones > 0 => self.prepare(at, plan),
            Pressure::Blocked(_) | Pressure::Idle { .. } | Pressure::Asked | Pressure::Ahead { .. } => Step::Nothing,
        }
    }

    fn flush(&mut self, plan: &mut Plan) -> Step {
        self.rewrite_open(plan)
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        self.zones.freed(space);
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Unit { unit, is } => return self.zones.apply(unit, is),
            Record::Unmap(at) if at.is_within(self.capacity()) => self.lost.remove(at),
            Record::Lost(at) if at.is_within(self.capacity()) => self.lost.insert(at),
            other => return Err(Corrupt(format!("in-place cannot take the record {other:?}"))),
        }
        Ok(())
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.rewrite = None;
        if let Some(gathered) = &mut self.gathered {
            gathered.close();
        }
        self.zones.recovered(units, plan)
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let start = match self.zones.checkpoint(from, plan) {
            ControlFlow::Break(next) => return Some(next),
            ControlFlow::Continue(start) => start,
        };
        let region = Extent::between(start, self.lost.region_end(start, self.capacity()));
        self.lost.checkpoint(region, plan);
        self.zones.cursor_after(region.end())
    }

    fn contents(&self) -> Option<Contents> {
        let zone = |native: u32| {
            let gathered = self.gathered.as_ref().filter(|gathered| gathered.native() == Some(native));
            let pointer = self.zones.pointer(self.zones.physical(native));
            let buffered = |below: u32| gathered.map_or(0, |gathered| gathered.below(below));
            let blocks = self.zones.blocks_of(native).blocks;
            let held = pointer.min(blocks);
            ZoneContent { blocks, buffered: buffered(blocks), home: held - buffered(held) }
        };
        Some(Contents::Zones((0..self.zones.natives()).map(zone).collect()))
    }

    fn check(&self) -> Result<(), Violation> {
        if let Some(rewrite) = &self.rewrite
            && self.zones.pointer(rewrite.target) != rewrite.written
        {
            return Err(Violation("the rewrite being prepared disagrees with its zone's write pointer".to_owned()));
        }
        if let Some(gathered) = &self.gathered
            && (!gathered.is_sound() || self.rewrite.as_ref().is_some_and(|r| gathered.native() != Some(r.native)))
        {
            return Err(Violation("the open zone is not that of the blocks in RAM or of the rewrite".to_owned()));
        }
        self.zones.check()
    }
}
