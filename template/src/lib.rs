//! `front`: a host-managed shingled disk whose first addresses lie in its conventional zones.
//!
//! File systems keep what they update all the time at the beginning of a disk. Such disks have a few conventional zones
//! there, so the layer gives them the first addresses and writes these in place. The other addresses lie in sequential
//! zones, where a write at the write pointer is written and any other rewrites its zone into a spare one, as in
//! `in-place`.
//!
//! # State
//! - durable: the physical zone of each native zone ([`Record::Unit`]), lost blocks;
//! - soft: write pointers and spare zones (the drive's), the rewrite being prepared.
//!
//! # Invariants, checked by `check`
//! - Those of [`ZoneMap`].
//! - The zone of a rewrite is written exactly as far as the rewrite has come.
//!
//! # Decisions
//! - Cleaning prepares the beginning of a zone's rewrite in steps, and the write itself ends it: so nothing is kept in
//!   RAM between plans, and nothing is done in idle time.
//! - A trim keeps what is there.
#![forbid(unsafe_code)]

/// What it counts of its own.
pub mod counters {
    imbrex::counters! {
        IN_FRONT = "front_blocks", "blocks", "written in place at the front";
    }
}

use std::ops::ControlFlow;

use imbrex::block::{Address, Extent, Lba, Pba, Request};
use imbrex::config::Configuration;
use imbrex::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Step, TranslationLayer, UnitReport, Unwritten, Violation, Write,
};
use imbrex::layers::fields::{Spare, Steps};
use imbrex::layers::{ConfigError, Family, LayerInfo};
use imbrex::parts::lost::LostBlocks;
use imbrex::parts::step_size::StepSize;
use imbrex::parts::zone_map::ZoneMap;
use imbrex::parts::zone_pass::ZonePass;
use imbrex::plan::{Event, Place, Plan, Record, Why};
use imbrex::recording::Recording;
use imbrex::space::Space;

/// What a program adds to its layers.
pub const INFO: LayerInfo = LayerInfo {
    name: "front",
    family: Some(Family::Shingled),
    source: "the example of docs/adding-a-layer.md",
    summary: "The first addresses lie in the conventional zones; other writes off a write pointer rewrite a zone.",
    recording: Recording::Zoned,
    buffered: false,
    fields: Config::FIELDS,
    make: &|space, config| Ok(Box::new(Front::new(space, INFO.read(config)?)?)),
};

#[derive(Debug, Configuration)]
struct Config {
    // Without a spare zone a rewrite would not survive a power cut.
    /// zones kept free to rewrite into, at least 1
    #[field(default = 1, samples = [1, 2])]
    spare_zones: u32,
    #[field(flatten)]
    steps: Steps,
    /// the part of the conventional blocks, from 0 to 1, that has the first addresses
    #[field(default = 1.0, samples = [1.0, 0.5, 0.0])]
    front: f64,
}

/// A spare zone that is being filled with the beginning of a native one.
struct Rewrite {
    native: u32,
    target: u32,
    /// Blocks of the target written so far.
    written: u32,
}

struct Front {
    step: StepSize,
    /// The place of the first address, and how many follow it in conventional zones.
    first: Pba,
    front: u64,
    zones: ZoneMap,
    lost: LostBlocks,
    rewrite: Option<Rewrite>,
}

/// Blocks of a zone: which native one, from which offset on, and their logical numbers.
struct Run {
    native: u32,
    offset: u32,
    at: Extent<Lba>,
}

impl Front {
    fn new(space: &Space, config: Config) -> Result<Self, ConfigError> {
        let Config { spare_zones, steps: Steps { step_blocks }, front } = config;
        let wrong = |reason: &str| Err(ConfigError::Field { layer: INFO.name, reason: reason.to_owned() });
        if spare_zones == 0 || step_blocks == 0 {
            return wrong("spare_zones and step_blocks must be at least 1");
        }
        if !(0.0..=1.0).contains(&front) {
            return wrong("front must be between 0 and 1");
        }
        Ok(Self {
            step: StepSize::new(step_blocks),
            first: space.conventional,
            front: (space.conventional_blocks as f64 * front) as u64,
            zones: Spare { spare_zones }.zone_map(INFO.name, space)?,
            lost: LostBlocks::default(),
            rewrite: None,
        })
    }

    /// The blocks from the beginning of `at` on that lie in the front or in one zone.
    fn first_of(&self, at: Extent<Lba>) -> Result<Extent<Lba>, Run> {
        if at.start.0 < self.front {
            return Ok(Extent::between(at.start, at.end().min(Lba(self.front))));
        }
        let (native, offset) = self.zones.native_of(Lba(at.start.0 - self.front));
        Err(Run { native, offset, at: at.first(self.zones.zone_blocks() - offset) })
    }

    /// The logical blocks of a native zone.
    fn blocks_of(&self, native: u32) -> Extent<Lba> {
        let zone = self.zones.blocks_of(native);
        Extent::new(Lba(self.front + zone.start.0), zone.blocks)
    }

    fn home(&self, at: Extent<Lba>) -> Pba {
        self.first.plus(at.start.0)
    }

    /// Plans a write at the write pointer of its zone. Says whether that is where it goes.
    fn is_appended(&mut self, run: &Run, plan: &mut Plan) -> bool {
        let is_next = self.zones.writable_at(run.native) == Some(run.offset);
        if is_next {
            self.append(self.zones.physical(run.native), run, plan);
            plan.count(Event::Direct, run.at.blocks);
        }
        is_next
    }

    /// Plans that the host's blocks are written at the write pointer of a physical zone.
    fn append(&mut self, physical: u32, run: &Run, plan: &mut Plan) {
        let to = Place::At(self.zones.block(physical, run.offset));
        plan.copy(Place::Host(0), to, run.at.blocks, Why::Host);
        self.zones.advance(physical, run.at.blocks);
    }

    /// Plans the end of the rewrite whose beginning has been prepared. Says whether it has been.
    fn is_rewritten(&mut self, run: &Run, plan: &mut Plan) -> bool {
        let is_prepared = |rewrite: &mut Rewrite| (rewrite.native, rewrite.written) == (run.native, run.offset);
        let Some(Rewrite { target, .. }) = self.rewrite.take_if(is_prepared) else { return false };
        self.append(target, run, plan);
        let held = self.zones.pointer(self.zones.physical(run.native));
        self.carry(run.native, target, run.offset + run.at.blocks, held, plan);
        self.zones.switch(run.native, target, plan);
        self.found(run.at, plan);
        plan.count(Event::Rmw, 1);
        true
    }

    /// Plans that blocks just overwritten are not lost any more.
    fn found(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        if self.lost.any(at) {
            plan.record(Record::Unmap(at));
            self.lost.remove(at);
        }
    }

    /// Plans that what a native zone holds from one offset to another is copied to `target`, through the RAM there is.
    fn carry(&mut self, native: u32, target: u32, from: u32, to: u32, plan: &mut Plan) {
        let physical = self.zones.physical(native);
        let old = (self.zones.block(physical, 0), self.zones.pointer(physical));
        let mut at = from;
        while at < to {
            let end = to.min(at + self.step.most());
            let zone = self.blocks_of(native);
            let pass = ZonePass { zone, old, from: at, to: end, newer: &[], ram: 0, lost: &self.lost };
            pass.collect(plan);
            pass.write(self.zones.block(target, 0), plan);
            self.zones.advance(target, end - at);
            at = end;
        }
    }

    /// Plans a step of the rewrite of a zone up to an offset.
    fn prepare(&mut self, run: &Run, plan: &mut Plan) -> Step {
        let is_other = |rewrite: &mut Rewrite| rewrite.native != run.native || rewrite.written > run.offset;
        if let Some(other) = self.rewrite.take_if(is_other) {
            self.zones.abandon(other.target, plan);
        }
        let begun = self.rewrite.take().or_else(|| {
            let target = self.zones.take_spare()?;
            Some(Rewrite { native: run.native, target, written: 0 })
        });
        let Some(rewrite) = begun else {
            return if self.zones.spare_is_coming() { Step::Wait } else { Step::Nothing };
        };
        let written = run.offset.min(rewrite.written.saturating_add(self.step.blocks()));
        self.carry(run.native, rewrite.target, rewrite.written, written, plan);
        self.rewrite = Some(Rewrite { written, ..rewrite });
        if written == run.offset { Step::Done } else { Step::More }
    }
}

impl TranslationLayer for Front {
    fn facts(&self) -> Facts {
        Facts {
            ram_blocks: self.step.most(),
            memory: self.zones.memory(),
            step_blocks: Some(self.step.most()),
            // The front is read from where it lies, whoever wrote there.
            unwritten: Unwritten::OldContent,
            journal: JournalFacts {
                records: u64::from(self.zones.natives()) + LostBlocks::regions(self.capacity()),
                ..JournalFacts::default()
            },
            counters: counters::ALL,
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.front + self.zones.capacity()
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let host = rest.start.since(at.start) as u32;
            let blocks = match self.first_of(rest) {
                Ok(front) => {
                    self.lost.read(front, self.home(front), front.blocks, host, plan);
                    front.blocks
                }
                Err(Run { native, offset, at: run }) => {
                    let physical = self.zones.physical(native);
                    let written = self.zones.pointer(physical).saturating_sub(offset);
                    self.lost.read(run, self.zones.block(physical, offset), written, host, plan);
                    run.blocks
                }
            };
            rest = rest.skip(blocks);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        match self.first_of(at) {
            Ok(front) => {
                plan.copy(Place::Host(0), Place::At(self.home(front)), front.blocks, Why::Host);
                self.found(front, plan);
                plan.count(Event::Direct, front.blocks);
                plan.count(counters::IN_FRONT, front.blocks);
                front.blocks
            }
            Err(run) if self.is_appended(&run, plan) || self.is_rewritten(&run, plan) => run.at.blocks,
            Err(_) => 0,
        }
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match why {
            Pressure::Blocked(at) => match self.first_of(at) {
                Ok(_) => Step::Done,
                Err(run) => self.prepare(&run, plan),
            },
            Pressure::Idle { .. } | Pressure::Asked | Pressure::Ahead { .. } => Step::Nothing,
        }
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        self.zones.freed(space);
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Unit { unit, is } => return self.zones.apply(unit, is),
            Record::Unmap(at) if at.is_within(self.capacity()) => self.lost.remove(at),
            // Any block may be one that the drive cannot read, in the front too.
            Record::Lost(at) if at.is_within(self.capacity()) => self.lost.insert(at),
            other => return Err(Corrupt(format!("front cannot take the record {other:?}"))),
        }
        Ok(())
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.rewrite = None;
        self.zones.recovered(units, plan)
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let start = match self.zones.checkpoint(from, plan) {
            ControlFlow::Break(next) => return Some(next),
            ControlFlow::Continue(start) => start,
        };
        let region = Extent::between(start, self.lost.region_end(start, self.capacity()));
        self.lost.checkpoint(region, plan);
        let is_last = region.end().0 == self.capacity();
        (!is_last).then(|| u64::from(self.zones.most_natives()) + region.end().0)
    }

    fn check(&self) -> Result<(), Violation> {
        let is_off = |rewrite: &Rewrite| self.zones.pointer(rewrite.target) != rewrite.written;
        if self.rewrite.as_ref().is_some_and(is_off) {
            return Err(Violation("the rewrite being prepared disagrees with its zone's write pointer".to_owned()));
        }
        self.zones.check()
    }
}
