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

mod evict;

use crate::block::{Address, Extent, Lba, Pba, Request};
use crate::layer::{Corrupt, Pressure, Step, TranslationLayer, UnitReport, Unsafe, Violation};
use crate::layers::{ConfigError, Field, LayerInfo, Recording, configure};
use crate::parts::block_map::BlockMap;
use crate::parts::circular_log::CircularLog;
use crate::parts::lost::LostBlocks;
use crate::parts::zone_map::ZoneMap;
use crate::parts::zone_pass::Newer;
use crate::plan::{Event, Place, Plan, Record, Why};
use crate::space::Space;
use evict::Eviction;

pub(super) const INFO: LayerInfo = LayerInfo {
    name: "fifo-log",
    family: "shingled",
    source: "ZoneAlloy (HotStorage 2019) §3.3, in-place FIFO log",
    summary: "A circular log absorbs non-sequential writes; its tail decides which zone is rewritten.",
    recording: Recording::Zoned,
    buffered: true,
    fields: &[
        Field {
            key: "spare_zones",
            default: "1",
            meaning: "zones kept free to rewrite into; 0: read, reset, rewrite",
            samples: &["1", "2"],
        },
        Field {
            key: "step_blocks",
            default: "4096",
            meaning: "blocks one cleaning step moves at most",
            samples: &["1", "3", "64"],
        },
        Field {
            key: "interruptible",
            default: "true",
            meaning: "reads may be served between the steps of an eviction",
            samples: &["true", "false"],
        },
        Field {
            key: "clean_for",
            default: "\"block\"",
            meaning: "\"block\" or \"request\": what must fit before a write",
            samples: &["\"block\"", "\"request\""],
        },
        Field {
            key: "at_pointer",
            default: "\"direct\"",
            meaning: "\"direct\" or \"buffered\": what a buffered block does",
            samples: &["\"direct\"", "\"buffered\""],
        },
        Field {
            key: "idle_free",
            default: "0.0",
            meaning: "share of the slots that idle cleaning keeps free",
            samples: &["0.0", "0.5", "1.0"],
        },
    ],
    build: |space, config| Ok(Box::new(FifoLog::new(space, config)?)),
};

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CleanFor {
    Block,
    Request,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AtPointer {
    Direct,
    Buffered,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    spare_zones: u32,
    step_blocks: u32,
    interruptible: bool,
    clean_for: CleanFor,
    at_pointer: AtPointer,
    idle_free: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            spare_zones: 1,
            step_blocks: 4096,
            interruptible: true,
            clean_for: CleanFor::Block,
            at_pointer: AtPointer::Direct,
            idle_free: 0.0,
        }
    }
}

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
        let misfit = |reason: String| Err(ConfigError::Space { layer: INFO.name, reason });
        if config.step_blocks == 0 || !(0.0..=1.0).contains(&config.idle_free) {
            let reason = "step_blocks must be at least 1 and idle_free between 0 and 1".to_owned();
            return Err(ConfigError::Field { layer: INFO.name, reason });
        }
        let Some(zones) = space.zones else {
            return misfit("it needs sequential zones; choose a zoned drive".to_owned());
        };
        if zones.count <= config.spare_zones {
            return misfit(format!("{} sequential zones leave none beside {} spare", zones.count, config.spare_zones));
        }
        if space.buffer_blocks == 0 || u64::from(space.buffer_blocks) > space.conventional_blocks {
            let (want, have) = (space.buffer_blocks, space.conventional_blocks);
            return misfit(format!(
                "a buffer of {want} blocks must be at least 1 and fit the {have} conventional blocks"
            ));
        }
        let zones = ZoneMap::new(zones, config.spare_zones);
        Ok(Self {
            buffer: space.conventional,
            log: CircularLog::new(space.buffer_blocks),
            map: BlockMap::new(zones.capacity()),
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

    /// Where in `native` the host may write directly: at the write pointer, unless the zone is being evicted.
    fn direct_offset(&self, native: u32) -> Option<u32> {
        if self.eviction.as_ref().is_some_and(|e| e.native == native) {
            return None;
        }
        self.zones.writable_at(native)
    }

    /// Plans what of `rest` goes straight to its zone's write pointer; `host` is its first block's number in the request.
    fn write_direct(&mut self, rest: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(rest.start);
        if self.direct_offset(native) != Some(offset) {
            return 0;
        }
        let mut run = rest.first(self.zones.zone_blocks() - offset);
        if self.config.at_pointer == AtPointer::Buffered
            && let Some((lba, _)) = self.map.next(run.start, run.end())
        {
            run = run.first((lba.0 - run.start.0) as u32);
        }
        if run.is_empty() {
            return 0;
        }
        let physical = self.zones.physical(native);
        plan.copy(Place::Host(host), Place::At(self.zones.block(physical, offset)), run.blocks, Why::Host);
        self.zones.advance(physical, run.blocks);
        self.forget(run, plan);
        plan.count(Event::Direct, run.blocks);
        run.blocks
    }

    /// Plans that no block of `run` is buffered or lost any more.
    fn forget(&mut self, run: Extent<Lba>, plan: &mut Plan) {
        self.slots.clear();
        self.slots.extend(self.map.range(run).map(|(_, slot)| slot));
        if self.slots.is_empty() && !self.lost.any(run) {
            return;
        }
        plan.record(Record::Unmap(run));
        self.unmap(run);
        self.free_slots(plan);
    }

    /// The effect of [`Record::Unmap`].
    fn unmap(&mut self, at: Extent<Lba>) {
        let log = &mut self.log;
        self.map.remove_range(at, |_, slot| log.give_up(slot));
        self.lost.remove(at);
    }

    /// The effect of [`Record::Map`]: `at` lies in the slots from `first`.
    fn map_run(&mut self, at: Extent<Lba>, first: u32) {
        for (slot, lba) in (first..).zip(at.iter()) {
            if let Some(old) = self.map.set(lba, slot).filter(|old| *old != slot) {
                self.log.give_up(old);
            }
            self.log.hold(slot, lba);
        }
        self.lost.remove(at);
    }

    fn free_slots(&mut self, plan: &mut Plan) {
        for &slot in &self.slots {
            plan.free(Extent::new(self.buffer.plus(u64::from(slot)), 1));
        }
    }

    /// Plans the update of the block in its slot, if it has one.
    fn write_hit(&mut self, lba: Lba, host: u32, plan: &mut Plan) -> bool {
        let Some(slot) = self.map.get(lba) else { return false };
        plan.copy(Place::Host(host), Place::At(self.slot_place(slot)), 1, Why::Host);
        self.updated(lba);
        true
    }

    /// Notes that the copy an eviction may have made of a buffered block is old now.
    fn updated(&mut self, lba: Lba) {
        if let Some(eviction) = &self.eviction {
            let (native, offset) = self.zones.native_of(lba);
            if native == eviction.native {
                self.copied[offset as usize / 64] &= !(1 << (offset % 64));
            }
        }
    }

    /// Plans as many blocks from the front of `rest` as are neither buffered nor direct and find contiguous slots.
    fn append(&mut self, rest: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(rest.start);
        let mut limit = rest.blocks.min(self.zones.zone_blocks() - offset);
        if let Some(pointer) = self.direct_offset(native).filter(|p| *p > offset) {
            limit = limit.min(pointer - offset);
        }
        let Some(first) = self.log.take(rest.start) else { return 0 };
        let mut run = 1;
        while run < limit && first + run < self.log.slots() {
            let lba = rest.start.plus(u64::from(run));
            if self.map.get(lba).is_some() || self.log.take(lba).is_none() {
                break;
            }
            run += 1;
        }
        let (at, to) = (rest.first(run), self.slot_place(first));
        plan.copy(Place::Host(host), Place::At(to), run, Why::Host);
        plan.record(Record::Map { at, to });
        self.map_run(at, first);
        run
    }

    /// Slots that a write of `at` needs before it may start.
    fn wanted(&self, at: Extent<Lba>) -> u32 {
        if self.config.clean_for == CleanFor::Block {
            return 1;
        }
        let mut new = 0;
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.zones.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks() - offset);
            let direct = self.direct_run(native, offset, run);
            let buffered = self.map.range(run).filter(|(lba, _)| !direct.contains(*lba)).count();
            new += run.blocks - direct.blocks - buffered as u32;
            rest = rest.skip(run.blocks);
        }
        new.min(self.log.slots())
    }

    /// The blocks of `run`, which begins at `offset` of `native`, that would go straight to the write pointer.
    fn direct_run(&self, native: u32, offset: u32, run: Extent<Lba>) -> Extent<Lba> {
        let none = run.first(0);
        let Some(ahead) = self.direct_offset(native).and_then(|pointer| pointer.checked_sub(offset)) else {
            return none;
        };
        if ahead >= run.blocks {
            return none;
        }
        let direct = run.skip(ahead);
        match self.map.next(direct.start, direct.end()) {
            Some((lba, _)) if self.config.at_pointer == AtPointer::Buffered => Extent::between(direct.start, lba),
            _ => direct,
        }
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
        if self.config.spare_zones == 0 {
            let reason =
                "a zone that is reset before it is rewritten is lost with the power; set spare_zones to 1 or more";
            return Err(Unsafe(reason.to_owned()));
        }
        Ok(())
    }

    fn warm(&self, ahead: &[Request]) -> u64 {
        ahead.iter().fold(0, |sum, request| sum ^ self.map.touch(request.at.start))
    }

    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        let mut next = at.start;
        let mut hits = 0;
        let host = |lba: Lba| (lba.0 - at.start.0) as u32;
        let mut buffered = self.map.next(next, at.end());
        while let Some((lba, slot)) = buffered {
            if lba > next {
                self.zones.read(Extent::between(next, lba), host(next), &self.lost, plan);
            }
            plan.copy(Place::At(self.slot_place(slot)), Place::Host(host(lba)), 1, Why::Host);
            hits += 1;
            next = lba.plus(1);
            buffered = self.map.next(next, at.end());
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
        let natives = u64::from(self.zones.natives());
        if from < natives {
            let limit = crate::layer::REGION_RECORDS as u32;
            return Some(self.zones.restate(from as u32, limit, plan).map_or(natives, u64::from));
        }
        let start = Lba(from - natives);
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
        (region.end().0 < self.capacity()).then_some(natives + region.end().0)
    }

    fn most_records(&self) -> u64 {
        let regions = u64::from(self.log.slots()) / (crate::layer::REGION_RECORDS as u64 / 2 - 1);
        u64::from(self.zones.natives()) + u64::from(self.log.slots()) + regions + LostBlocks::regions(self.capacity())
    }

    fn memory_bytes(&self) -> usize {
        let reused = self.newer.capacity() * size_of::<Newer>() + self.slots.capacity() * size_of::<u32>();
        let copied = self.copied.capacity() * size_of::<u64>();
        let parts = self.log.memory_bytes() + self.map.memory_bytes() + self.zones.memory_bytes();
        size_of::<Self>() + parts + self.lost.memory_bytes() + copied + reused
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

impl FifoLog {
    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = || Corrupt(format!("a record puts {at:?} at {to:?}, outside the log or the capacity"));
        let first = self.slot_of(to).ok_or_else(wrong)?;
        if !at.is_within(self.capacity()) || at.blocks > self.log.slots() - first {
            return Err(wrong());
        }
        for (slot, lba) in (first..).zip(at.iter()) {
            if self.log.owner(slot).is_some_and(|owner| owner != lba) {
                return Err(Corrupt(format!("a record puts {lba:?} into slot {slot}, which holds another block")));
            }
        }
        self.map_run(at, first);
        Ok(())
    }

    fn restate_run(&self, run: Option<(Extent<Lba>, u32)>, plan: &mut Plan) {
        if let Some((at, slot)) = run {
            plan.record(Record::Map { at, to: self.slot_place(slot) });
        }
    }

    /// Where a region that starts at `start` ends, so that its records are few enough.
    fn region_end(&self, start: Lba) -> Lba {
        let end = self.lost.region_end(start, self.capacity());
        let limit = crate::layer::REGION_RECORDS / 2 - 1;
        self.map.range(Extent::between(start, end)).nth(limit).map_or(end, |(lba, _)| lba)
    }
}
