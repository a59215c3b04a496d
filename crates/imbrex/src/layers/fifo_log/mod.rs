//! `fifo-log`: a circular log in front of shingled zones, updated in place and cleaned from its tail.
//!
//! Source: ZoneAlloy's "in-place FIFO log" (HotStorage 2019, §3.3; called Fluid elsewhere). Writes that would break the
//! sequential rule go to a persistent buffer of conventional blocks, the H-Buffer. A block that is buffered is updated in
//! its slot; any other takes the slot at the log's head. When room is short, the block at the tail is looked at: a hole
//! is passed; otherwise *every* buffered block of its native zone is evicted with one zone rewrite, or, when all of them
//! lie at or behind the zone's write pointer, by appending there.
//!
//! # State
//! - durable: the place of each buffered block ([`Record::Map`]), the physical zone of each native zone
//!   ([`Record::Unit`]), lost blocks;
//! - soft: head and tail of the log, the eviction under way. After a crash the longest run of slots without live blocks
//!   becomes the log's free part; the first-in order before it is kept.
//!
//! # Invariants
//! - a slot is live exactly when a block maps to it; live slots lie between tail and head;
//! - a block is never both buffered and lost;
//! - while a zone is being evicted nothing is written at its pointer by the host, and a block updated after it was copied
//!   stays buffered when the zone switches.
//!
//! # Decisions where the paper is silent
//! - *When to clean* (`clean_for`): each block of a request takes a slot as it comes, and cleaning starts when there is
//!   none (`block`); or a request waits until all its new blocks fit (`request`). With `request` its earlier blocks cannot
//!   be updated in place after their zone was evicted for its later ones, so hits and evictions differ.
//! - *Writes at the write pointer* (`at_pointer`): they bypass the log, as the paper says, even when an older copy is
//!   buffered; that copy becomes a hole (`direct`). Or a buffered block is updated in its slot first (`buffered`).
//! - *Spare zones* (`spare_zones`): the paper reads, resets and rewrites in place, which loses the zone to a power cut. With
//!   at least one spare zone the new image is written there and the map switches. 0 is the paper's order, planned as one
//!   uninterruptible step and refused by the performing runner.
//! - *Interruption* (`interruptible`): whether reads may be served between the steps of an eviction.
//! - *A rewrite's length*: up to the write pointer or the last buffered block, whichever is further; filler between.
//! - *Idle time* (`idle_free`): the paper cleans only when room is short (0). Otherwise idle time is used until that share
//!   of the slots is free.
//! - *Trim*: a buffered block is dropped only if no older copy would reappear under it.

mod config;
mod evict;
mod records;
mod write;

use std::ops::ControlFlow;

use crate::block::{Address, Extent, Lba, Pba, Request};
use crate::layer::{Corrupt, Pressure, Step, TranslationLayer, UnitReport, Unsafe, Violation};
use crate::layers::{ConfigError, LayerInfo, Recording, configure, rewrite_survives, zone_map};
use crate::parts::block_map::BlockMap;
use crate::parts::circular_log::CircularLog;
use crate::parts::lost::LostBlocks;
use crate::parts::zone_map::ZoneMap;
use crate::parts::zone_pass::Newer;
use crate::plan::{Event, Place, Plan, Record, Why};
use crate::space::Space;
use config::{CleanFor, Config, FIELDS};
use evict::Eviction;

pub(super) const INFO: LayerInfo = LayerInfo {
    name: "fifo-log",
    family: "shingled",
    source: "ZoneAlloy (HotStorage 2019) §3.3, in-place FIFO log",
    summary: "A circular log absorbs non-sequential writes; its tail decides which zone is rewritten.",
    recording: Recording::Zoned,
    buffered: true,
    fields: FIELDS,
    build: |space, config| Ok(Box::new(FifoLog::new(space, config)?)),
};

struct FifoLog {
    config: Config,
    buffer: Pba,
    log: CircularLog,
    map: BlockMap,
    zones: ZoneMap,
    lost: LostBlocks,
    eviction: Option<Eviction>,
    /// Offsets of the zone under eviction whose newest content has been copied, one bit each.
    copied: Vec<u64>,
    /// Reused for the newer blocks of one step and the slots one eviction gives up.
    newer: Vec<Newer>,
    slots: Vec<u32>,
}

impl FifoLog {
    fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let config: Config = configure(INFO.name, config)?;
        if config.step_blocks == 0 || !(0.0..=1.0).contains(&config.idle_free) {
            let reason = "step_blocks must be at least 1 and idle_free between 0 and 1".to_owned();
            return Err(ConfigError::Field { layer: INFO.name, reason });
        }
        if space.buffer_blocks == 0 || u64::from(space.buffer_blocks) > space.conventional_blocks {
            let (want, have) = (space.buffer_blocks, space.conventional_blocks);
            let reason = format!("a buffer of {want} blocks must be at least 1 and fit the {have} conventional blocks");
            return Err(ConfigError::Space { layer: INFO.name, reason });
        }
        if space.buffer_blocks > BlockMap::PLACES {
            let reason = format!("a buffer holds at most {} blocks; choose a smaller one", BlockMap::PLACES);
            return Err(ConfigError::Space { layer: INFO.name, reason });
        }
        let zones = zone_map(INFO.name, space, config.spare_zones)?;
        Ok(Self {
            buffer: space.conventional,
            log: CircularLog::new(space.buffer_blocks),
            map: BlockMap::new(zones.capacity(), space.buffer_blocks),
            copied: vec![0; zones.zone_blocks().div_ceil(64) as usize],
            zones,
            lost: LostBlocks::default(),
            eviction: None,
            newer: Vec::new(),
            slots: Vec::new(),
            config,
        })
    }

    fn slot_place(&self, slot: u32) -> Pba {
        self.buffer.plus(u64::from(slot))
    }

    fn slot_of(&self, place: Pba) -> Option<u32> {
        if place.device() != self.buffer.device() || place < self.buffer {
            return None;
        }
        u32::try_from(place.since(self.buffer)).ok().filter(|slot| *slot < self.log.slots())
    }
}

impl TranslationLayer for FifoLog {
    fn capacity(&self) -> u64 {
        self.zones.capacity()
    }

    fn ram_blocks(&self) -> u32 {
        self.step_limit()
    }

    fn survives_power_loss(&self) -> Result<(), Unsafe> {
        rewrite_survives(self.config.spare_zones)
    }

    fn warm(&self, ahead: &[Request]) -> u64 {
        ahead.iter().fold(0, |sum, request| sum ^ self.map.touch(request.at.start))
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        let mut next = at.start;
        let mut hits = 0;
        let host = |lba: Lba| (lba.0 - at.start.0) as u32;
        for (lba, slot) in self.map.range(at) {
            if lba > next {
                self.zones.read(Extent::between(next, lba), host(next), &self.lost, plan);
            }
            plan.copy(Place::At(self.slot_place(slot)), Place::Host(host(lba)), 1, Why::Host);
            hits += 1;
            next = lba.plus(1);
        }
        if next < at.end() {
            self.zones.read(Extent::between(next, at.end()), host(next), &self.lost, plan);
        }
        plan.count(Event::ReadHit, hits);
    }

    fn write(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if self.config.clean_for == CleanFor::Request && !self.log.ready(self.wanted(at)) {
            return 0;
        }
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let rest = at.skip(done);
            let direct = self.write_direct(rest, done, plan);
            if direct > 0 {
                done += direct;
            } else if self.write_hit(rest.start, done, plan) {
                hits += 1;
                done += 1;
            } else {
                match self.append(rest, done, plan) {
                    0 => break,
                    run => done += run,
                }
            }
        }
        plan.count(Event::WriteHit, hits);
        done
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.zones.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks() - offset);
            if let Some(pointer) = self.direct_offset(native)
                && pointer < offset + run.blocks
            {
                let bare = run.skip(pointer.saturating_sub(offset));
                if self.map.next(bare.start, bare.end()).is_some() {
                    self.forget(bare, plan);
                }
            }
            rest = rest.skip(run.blocks);
        }
        at.blocks
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        if self.eviction.is_some() {
            return self.evict_step(plan);
        }
        match why {
            Pressure::Blocked(at) => self.make_room(at, plan),
            Pressure::Idle { .. } => self.clean_idle(plan),
        }
    }

    fn freed(&mut self, space: Extent<Pba>) {
        if self.slot_of(space.start).is_none() {
            self.zones.freed(space);
            return;
        }
        for place in space.iter() {
            if let Some(slot) = self.slot_of(place) {
                self.log.freed(slot);
            }
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        match *record {
            Record::Map { at, to } => self.apply_map(at, to),
            Record::Unmap(at) | Record::Lost(at) if !at.is_within(self.capacity()) => {
                Err(Corrupt(format!("a record names {at:?}, beyond the capacity")))
            }
            Record::Unmap(at) => {
                self.unmap(at);
                Ok(())
            }
            Record::Lost(at) => {
                self.unmap(at);
                self.lost.insert(at);
                Ok(())
            }
            Record::Unit { unit, is } => self.zones.apply(unit, is),
            Record::Note { key, .. } => Err(Corrupt(format!("fifo-log keeps no number under key {key}"))),
        }
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.eviction = None;
        self.log.recovered();
        self.zones.recovered(units, plan)
    }

    fn restate(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let start = match self.zones.restate(from, plan) {
            ControlFlow::Break(next) => return Some(next),
            ControlFlow::Continue(start) => start,
        };
        let region = Extent::between(start, self.region_end(start));
        self.lost.restate(region, plan);
        let mut run: Option<(Extent<Lba>, u32)> = None;
        for (lba, slot) in self.map.range(region) {
            match &mut run {
                Some((at, first)) if at.end() == lba && *first + at.blocks == slot => at.blocks += 1,
                _ => {
                    self.restate_run(run, plan);
                    run = Some((Extent::new(lba, 1), slot));
                }
            }
        }
        self.restate_run(run, plan);
        self.zones.cursor_after(region.end())
    }

    fn most_records(&self) -> u64 {
        let regions = u64::from(self.log.slots()) / (crate::layer::REGION_RECORDS as u64 / 2 - 1);
        u64::from(self.zones.natives()) + u64::from(self.log.slots()) + regions + LostBlocks::regions(self.capacity())
    }

    fn check(&self) -> Result<(), Violation> {
        self.zones.check()?;
        self.log.check()?;
        if u64::from(self.log.live()) != self.map.mapped() {
            let (live, mapped) = (self.log.live(), self.map.mapped());
            return Err(Violation(format!("{live} live slots for {mapped} buffered blocks")));
        }
        for slot in 0..self.log.slots() {
            if let Some(lba) = self.log.owner(slot)
                && (self.map.get(lba) != Some(slot) || self.lost.any(Extent::new(lba, 1)))
            {
                return Err(Violation(format!("slot {slot} holds {lba:?}, which maps elsewhere or is lost")));
            }
        }
        Ok(())
    }
}
