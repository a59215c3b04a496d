//! `page-ftl`: a flash translation layer that maps every page, and collects the erase block with the fewest live pages.
//!
//! Source: greedy cleaning of a page-mapped log (Desnoyers, ACM TOS 2014, whose closed form it is held against), with
//! the flash of the PORE reproduction report (§3: `erase_block` moves what is valid first, then erases).
//!
//! What the host writes goes to the next page of the *frontier*, the one erase block that is open. When that is full, a
//! free erase block becomes the frontier, as long as `spare_units` remain free or about to be. Otherwise the write is
//! blocked and a *collection* makes room: it copies the live pages of the closed erase block that has the fewest to a
//! free one, which then becomes the frontier with the pages that are left, and erases the victim.
//!
//! # State
//! - durable: the place of each block ([`Record::Map`]), lost blocks;
//! - soft: what each erase block is ([`UnitPool`]), the frontier, the collection under way. After a crash an erase
//!   block without live pages is free, or erased if anything was programmed; any other one is closed, also when pages
//!   are left.
//!
//! # Invariants
//! - a page is live exactly when a block maps to it, and the live pages of an erase block are counted right;
//! - a block is never both mapped and lost;
//! - *some erase block holds no live page, after every record*: the host opens a free one only if another is free or
//!   pending, and a collection moves all pages of its victim with records that are durable together. Without that, a
//!   crash in the middle of a collection would leave live pages in victim and target both, garbage behind them, and
//!   nowhere to write: a few crashes in a row would fill the drive.
//!
//! # A collection
//! Its steps copy at most `step_blocks` pages and change no map. When all are copied, one plan maps those that the host
//! has not trimmed since and resets the victim. The host writes nothing meanwhile, since there is no room for it; reads
//! are served between two steps.
//!
//! # Decisions where sources are silent
//! - *Over-provisioning* (`over_provisioning`) is the spare part of the physical pages, as the closed forms count it,
//!   not of the logical ones. At least `spare_units + 1` erase blocks are kept back, however small it is.
//! - *Equally many live pages*: the erase block that has had this number of them for longest.
//! - *One frontier*: pages of the host follow collected ones in the same erase block, as in the closed form. Drives
//!   that keep them apart gain on skewed writes.
//! - *When to collect*: when a write is blocked, never in idle time. A collection that was begun goes on in idle time.
//! - *Free erase blocks* are used in turn, the one that has been free for longest first.
//! - *A trimmed block* reads as zeros from then on, a lost one too.

mod collect;
mod content;
mod records;

use crate::fields::Steps;
use crate::parts::full_map::FullMap;
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use crate::parts::unit_pool::{Reuse, UnitPool, Victims};
use crate::{ConfigError, Family, LayerInfo};
use collect::Collection;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::config::Configuration;
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Condition, Corrupt, Facts, Freed, JournalFacts, Occupancy, Pressure, REGION_RECORDS, Standing, Step,
    TranslationLayer, UnitReport, Violation, Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::space::{Space, Zones};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "page-ftl",
    family: Some(Family::Ssd),
    source: "greedy cleaning (Desnoyers, TOS 2014); flash of the PORE report",
    summary: "Pages are mapped one by one; the erase block with the fewest live pages is collected.",
    recording: Recording::Flash,
    buffered: false,
    fields: PageFtlConfig::FIELDS,
    make: &|space, config| Ok(Box::new(PageFtl::new(space, config)?)),
};

#[derive(Clone, Debug, Configuration)]
struct PageFtlConfig {
    /// share of the pages that the host does not see
    #[field(default = 0.07, samples = [0.07, 0.4])]
    over_provisioning: f64,
    /// erase blocks kept free for collecting
    #[field(default = 1, samples = [1, 2])]
    spare_units: u32,
    #[field(flatten)]
    steps: Steps,
}

/// The erase block that is being written, and how many of its pages are.
#[derive(Copy, Clone, Debug)]
struct Frontier {
    unit: u32,
    written: u32,
}

struct PageFtl {
    config: PageFtlConfig,
    step: StepSize,
    units: Zones,
    map: FullMap,
    lost: LostBlocks,
    pool: UnitPool,
    /// Has room for a page, if there is one.
    frontier: Option<Frontier>,
    collection: Option<Collection>,
    /// What the collection has copied: the block and its place before. Block `i` lies at page `i` of the target.
    copied: Vec<(Lba, u64)>,
}

impl PageFtl {
    fn new(space: &Space, config: &toml::Table) -> Result<Self, ConfigError> {
        let config: PageFtlConfig = INFO.read(config)?;
        if !(0.0..1.0).contains(&config.over_provisioning) || config.spare_units == 0 || config.steps.step_blocks == 0 {
            let reason = "over_provisioning must be a part below 1, spare_units and step_blocks at least 1".to_owned();
            return Err(ConfigError::Field { layer: INFO.name, reason });
        }
        let misfit = |reason: String| Err(ConfigError::Space { layer: INFO.name, reason });
        let Some(units) = space.zones else { return misfit("it needs erase blocks; choose a flash drive".to_owned()) };
        let (pages, count) = (u64::from(units.zone_blocks), u64::from(units.count));
        if pages > REGION_RECORDS as u64 {
            return misfit(format!(
                "erase blocks have {pages} pages, and it collects at most {REGION_RECORDS} at once"
            ));
        }
        let kept_back = u64::from(config.spare_units) + 1;
        if count <= kept_back || count * pages > FullMap::PLACES {
            let most = FullMap::PLACES / pages;
            return misfit(format!(
                "it needs more than {kept_back} and at most {most} erase blocks, and there are {count}"
            ));
        }
        let seen = ((count * pages) as f64 * (1.0 - config.over_provisioning)) as u64;
        let capacity = seen.clamp(1, (count - kept_back) * pages);
        Ok(Self {
            step: StepSize::new(config.steps.step_blocks),
            config,
            units,
            map: FullMap::new(capacity, units.count, units.zone_blocks),
            lost: LostBlocks::default(),
            pool: UnitPool::new(units.count, units.zone_blocks, Reuse::Oldest, Victims::ByLive),
            frontier: None,
            collection: None,
            copied: Vec::with_capacity(units.zone_blocks as usize),
        })
    }

    fn pages(&self) -> u32 {
        self.units.zone_blocks
    }

    /// Whether the host may open an erase block: another one must remain empty, or be so as soon as its reset is
    /// durable.
    fn may_open(&self) -> bool {
        self.pool.free() > 0 && self.pool.free() + self.pool.pending() > self.config.spare_units
    }

    /// The frontier, opened if need and right be.
    #[inline]
    fn frontier(&mut self) -> Option<Frontier> {
        if self.frontier.is_none() && self.collection.is_none() && self.may_open() {
            self.frontier = self.pool.open().map(|unit| Frontier { unit, written: 0 });
        }
        self.frontier
    }

    /// `written` pages of the erase block are: it is the frontier if some are left.
    #[inline]
    fn go_on(&mut self, unit: u32, written: u32) {
        if written < self.pages() {
            self.frontier = Some(Frontier { unit, written });
        } else {
            self.frontier = None;
            self.pool.close(unit, self.map.live(unit));
        }
    }
}

impl PageFtl {
    fn occupancy(&self) -> Option<Occupancy> {
        let blocks = |units: u32| u64::from(units) * u64::from(self.units.zone_blocks);
        let taken = self.units.count - self.pool.free() - self.pool.pending();
        Some(Occupancy { used: blocks(taken), blocks: blocks(self.units.count) })
    }
}

impl TranslationLayer for PageFtl {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.map.memory() + self.pool.memory() + Memory::room::<(Lba, u64)>(self.copied.capacity() as u64),
            trims_to_zeros: true,
            step_blocks: Some(self.step.most()),
            journal: JournalFacts {
                records: self.map.most_records(),
                in_order: self.map.most_in_order(&self.units),
                ..JournalFacts::default()
            },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.map.capacity()
    }

    fn standing(&self) -> Standing {
        Standing { occupancy: self.occupancy(), ..Standing::default() }
    }

    fn prefetch(&self, ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        ahead.iter().map(|request| self.map.prefetch(request.at.start)).fold(0, u64::wrapping_add)
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.map.plan_read(at, 0, &self.lost, &self.units, plan);
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        let Some(Frontier { unit, written }) = self.frontier() else { return 0 };
        let at = at.first(self.pages() - written);
        let to = self.units.block(unit, written);
        plan.copy(Place::Host(0), Place::At(to), at.blocks, Why::Host);
        plan.record(Record::Map { at, to });
        self.map_run(at, self.map.place(unit, written));
        self.go_on(unit, written + at.blocks);
        at.blocks
    }

    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if self.lost.any(at) || self.map.any(at) {
            plan.record(Record::Unmap(at));
            self.unmap(at);
        }
        at.blocks
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        match (self.collection.take(), why) {
            (Some(collection), _) => self.collect(collection, plan),
            (None, Pressure::Blocked(_)) => self.make_room(plan),
            (None, Pressure::Idle { .. } | Pressure::Asked | Pressure::Ahead { .. }) => Step::Nothing,
        }
    }

    fn bound_step(&mut self, blocks: u32) {
        self.step.bound(blocks);
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        if let Some((unit, 0)) = self.units.locate(space.start) {
            self.pool.freed(unit);
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.apply_record(record)
    }

    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        (self.collection, self.frontier) = (None, None);
        self.pool.clear();
        for index in 0..self.units.count {
            let unit = self.units.unit(index);
            let Some(state) = units.unit(unit) else {
                return Err(Corrupt(format!("the drive does not report erase block {unit:?}")));
            };
            let mut behind = state.pointer..self.pages();
            if behind.any(|page| self.map.owner(self.map.place(index, page)).is_some()) {
                return Err(Corrupt(format!("{unit:?} ends at page {}, and a block is mapped behind", state.pointer)));
            }
            let live = self.map.live(index);
            match state.condition {
                Condition::Sequential if live > 0 => self.pool.close(index, live),
                Condition::Sequential if state.pointer == 0 => self.pool.put(index),
                Condition::Sequential => self.give_up(index, plan),
                Condition::ReadOnly | Condition::Offline | Condition::Inactive => {}
                Condition::Conventional => return Err(Corrupt(format!("{unit:?} is no erase block"))),
            }
        }
        Ok(())
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        let end = self.map.checkpoint(Lba(from), &self.lost, &self.units, plan);
        (end.0 < self.capacity()).then_some(end.0)
    }

    fn contents(&self) -> Option<Contents> {
        Some(Contents::Bands((0..self.units.count).map(|unit| self.content(unit)).collect()))
    }

    fn check(&self) -> Result<(), Violation> {
        self.map.check()?;
        self.pool.check(&self.map)?;
        self.lost.check_unmapped(&self.map)
    }
}
