//! The bands: what lies where, how far each is written, what may be done with it, and which is compacted next.

mod cached;
mod content;
mod pages;
mod report;

use super::config::{Cooling, HeatConfig, LogConfig};
use super::known::{Asked, Known};
use super::lifetimes;
use super::score::{Closed, Needed, Score};
use super::separation::{COLD, MOST_STREAMS, Separation};
use super::setting::Setting;
use super::times::Written;
use crate::parts::full_map::FullMap;
use crate::parts::unit_pool::{self, Reuse, UnitPool};
pub(super) use cached::USES;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Plan, Unit};
use imbrex_core::space::Zones;
use pages::Divided;

/// What a band is to the compaction under way. Durable: a fold must tell copies from blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The blocks the map puts there.
    Data,
    /// Its blocks are being copied; they move when a copying band becomes data.
    Victim,
    /// It takes copies, behind what is data on it, that count only when it becomes data as a whole.
    Copying,
    /// Its copies are complete, and begin to count one by one. Only where a part of the map is in memory.
    Settling,
}

/// The open band of each stream.
pub(super) type Streams = [Option<u32>; MOST_STREAMS];

#[derive(Copy, Clone, Debug)]
struct Band {
    written: u32,
    /// Where its copies begin, while it takes any.
    copies: u32,
    role: Role,
}

pub(super) struct Bands {
    zones: Zones,
    score: Score,
    bands: Vec<Band>,
    /// Where each logical block lies. A place is called slot here: the block's number on the bands.
    pub map: FullMap,
    pool: UnitPool,
    /// Bands by role, in the order in which they took it. Those whose copies begin to count are among the copying ones.
    pub copying: Vec<u32>,
    pub victims: Vec<u32>,
    pub known: Known,
    separation: Separation,
    /// The map's pages, where it is divided.
    pub pages: Option<Divided>,
}

impl Bands {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let roles = (self.copying.capacity() + self.victims.capacity()) as u64;
        let bands = Memory::of::<Band>(self.bands.len() as u64) + Memory::room::<u32>(roles);
        bands + self.map.memory() + self.pool.memory() + self.known.memory()
    }

    /// Bands for `capacity` logical blocks, of which at most `roles` are victims or copying. What is on them is to be
    /// said.
    pub fn new(zones: Zones, score: Score, config: &LogConfig, heat: &HeatConfig, roles: usize, capacity: u64) -> Self {
        let (count, blocks) = (zones.count, zones.zone_blocks);
        let separation = match score {
            Score::Closed => Separation::Life,
            Score::Rest => Separation::Lifetimes(lifetimes::most_streams(count, blocks, capacity)),
            _ => Separation::by_heat(heat.open_bands),
        };
        let asked = Asked { age: score.reads(), counts_hot: score.counts_hot(), separation };
        Self {
            bands: vec![Band { written: 0, copies: 0, role: Role::Data }; count as usize],
            map: FullMap::new(capacity, count, blocks),
            pool: UnitPool::new(count, blocks, Reuse::Lowest, score.keeps()),
            known: Known::new(&asked, config, heat, &zones, capacity),
            zones,
            score,
            separation,
            copying: Vec::with_capacity(roles),
            victims: Vec::with_capacity(roles),
            pages: None,
        }
    }

    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Blocks of a band.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.zones.zone_blocks
    }

    pub fn unit(&self, band: u32) -> Unit {
        self.zones.unit(band)
    }

    pub fn band_of(&self, unit: Unit) -> Option<u32> {
        self.zones.index(unit)
    }

    /// The physical block of a slot. Bands follow each other, and so do their blocks.
    #[inline]
    pub fn block(&self, slot: u64) -> Pba {
        self.zones.block(0, 0).plus(slot)
    }

    /// The physical blocks of a band.
    pub fn extent(&self, band: u32) -> Extent<Pba> {
        Extent::new(self.zones.block(band, 0), self.blocks())
    }

    /// The slot of a physical block, if it is on a band.
    pub fn slot_of(&self, block: Pba) -> Option<u64> {
        let (band, offset) = self.zones.locate(block)?;
        Some(self.map.place(band, offset))
    }

    /// Reads what a write of the block will look up, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.map.prefetch(lba) ^ self.known.prefetch(lba)
    }

    pub fn live(&self, band: u32) -> u32 {
        self.map.live(band)
    }

    pub fn written(&self, band: u32) -> u32 {
        self.bands[band as usize].written
    }

    pub fn role(&self, band: u32) -> Role {
        self.bands[band as usize].role
    }

    /// Where the copies begin that a band takes.
    pub fn copies(&self, band: u32) -> u32 {
        self.bands[band as usize].copies
    }

    /// The time of the youngest block that counts of a band that has just been the best; of no meaning without ages.
    pub fn youngest(&self, band: u32) -> u64 {
        self.known.ages.as_ref().map_or(0, |ages| ages.youngest(band))
    }

    /// The stream of a block that the host writes as the `ahead`-th from now, if it has not waited in RAM.
    #[inline]
    pub fn stream_of(&self, lba: Lba, ahead: u32) -> u8 {
        if self.separation == Separation::Nothing {
            return COLD;
        }
        if let Some(lifetimes) = &self.known.lifetimes {
            return lifetimes.stream_of_host(lba, self.known.times.after(ahead));
        }
        self.separation.of_host(self.known.will_be_hot(lba, &self.map, || self.lived(lba, ahead)))
    }

    /// How many blocks at the front of `at` are of the same stream as the first, without a look at each.
    #[inline]
    pub fn alike(&self, at: Extent<Lba>) -> u32 {
        self.known.alike(at, &self.map)
    }

    /// How long a block that lies on a band has lived when the host writes it as the `ahead`-th from now.
    pub fn lived(&self, lba: Lba, ahead: u32) -> Option<u64> {
        self.map.get(lba)?;
        Some(self.known.times.after(ahead) - self.known.times.of(lba))
    }

    /// The stream of a block that compaction moves from `band`.
    pub fn stream_of_moved(&self, lba: Lba, band: u32, cooling: Cooling) -> u8 {
        let (heat, left) = (self.known.heat(lba), self.known.heat_left(lba, cooling));
        self.separation.of_moved(heat, left, || self.known.stream_of_moved(lba, band))
    }

    /// What makes a closed band the best one to compact.
    pub fn score(&self) -> &Score {
        &self.score
    }

    /// This is so from now on.
    pub fn set(&mut self, setting: Setting) {
        match setting {
            Setting::Weights(weights) => self.score.weigh(weights),
            Setting::Strategy(strategy) => {
                if let Some(lifetimes) = &mut self.known.lifetimes {
                    lifetimes.follow(strategy);
                }
            }
        }
    }

    pub fn separation(&self) -> Separation {
        self.separation
    }

    pub fn empties(&self) -> u32 {
        self.pool.free()
    }

    pub fn emptying(&self) -> u32 {
        self.pool.pending()
    }

    /// Opens the empty band of the lowest number for a stream.
    pub fn open(&mut self, stream: u8) -> Option<u32> {
        let band = self.pool.open()?;
        self.known.opened(band, stream);
        Some(band)
    }

    /// The slot at the pointer of an open band, and how many follow.
    #[inline]
    pub fn room(&self, band: u32) -> (u64, u32) {
        let written = self.bands[band as usize].written;
        (self.map.place(band, written), self.zones.zone_blocks - written)
    }

    /// The slots from `slot` on, of one band, have been written with `at`; whether they count is another matter.
    #[inline(always)]
    pub fn wrote(&mut self, at: Extent<Lba>, slot: u64) {
        self.mark_slots(slot, at.blocks);
        self.map.wrote(at, slot);
        self.settle();
        let (band, offset) = self.map.locate(slot);
        let written = &mut self.bands[band as usize].written;
        *written = (*written).max(offset + at.blocks);
        self.known.wrote(band);
    }

    /// The blocks of `at` lie in the slots from `slot` on, of one band, which were written with them.
    #[inline]
    pub fn adopt(&mut self, at: Extent<Lba>, slot: u64, written: Written) {
        self.mark(at);
        self.known.enter(at, &self.map, slot, written);
        self.map.assign(at, slot, |band, live| self.pool.changed(band, live));
        self.settle();
    }

    /// The blocks of `at` lie on no band.
    pub fn remove(&mut self, at: Extent<Lba>) {
        self.mark(at);
        self.known.leave(at, &self.map);
        let mut emptied = Vec::new();
        self.map.remove(at, |band, live| {
            self.pool.changed(band, live);
            if live == 0 {
                emptied.push(band);
            }
        });
        self.settle();
        // What a band held that is not written any more is of no use, and takes memory until it is compacted.
        for band in emptied {
            if self.pool.role(band) == unit_pool::Role::Closed && self.role(band) == Role::Data {
                self.map.forget_writes(band, 0);
                self.drop_writes(band, 0);
            }
        }
    }

    /// The block has been overwritten.
    pub fn raise(&mut self, lba: Lba) {
        if self.known.temperatures.is_some() {
            self.mark(Extent::new(lba, 1));
            self.known.raise(lba, &self.map);
            self.settle();
        }
    }

    /// The blocks of `at` that lie on bands have been overwritten.
    #[inline]
    pub fn overwrite(&mut self, at: Extent<Lba>) {
        if self.known.temperatures.is_some() {
            self.mark(at);
            self.known.overwrite(at, &self.map);
            self.settle();
        }
    }

    /// The blocks of `at` are as hot as `cooling` leaves them.
    #[inline]
    pub fn cool(&mut self, at: Extent<Lba>, cooling: Cooling) {
        if self.known.temperatures.is_some() {
            self.mark(at);
            self.known.cool(at, &self.map, cooling);
            self.settle();
        }
    }

    /// Makes an open band a candidate.
    pub fn close(&mut self, band: u32) {
        self.known.closed(band);
        self.pool.close(band, self.map.live(band));
    }

    /// Makes a band a candidate, if it is open.
    pub fn close_opened(&mut self, band: u32) {
        if self.is_open(band) {
            self.close(band);
        }
    }

    /// Whether a band is open; one that cannot be written or reset is not.
    pub fn is_open(&self, band: u32) -> bool {
        self.pool.role(band) == unit_pool::Role::Open
    }

    /// Makes a candidate a victim.
    pub fn leave(&mut self, band: u32) {
        self.score.took(self.map.live(band) < self.zones.zone_blocks);
        self.known.compacted(band);
        self.pool.reopen(band);
    }

    /// Plans the reset of a band without live blocks.
    pub fn abandon(&mut self, band: u32, plan: &mut Plan) {
        debug_assert!(self.live(band) == 0);
        plan.reset(self.unit(band));
        self.pool.give_up(band);
    }

    /// A reset has taken effect.
    pub fn freed(&mut self, block: Pba) {
        if let Some((band, 0)) = self.zones.locate(block)
            && self.pool.freed(band)
        {
            self.bands[band as usize].written = 0;
        }
    }

    /// The candidate to compact next, if that gains what is needed.
    pub fn best(&mut self, needed: Needed) -> Option<u32> {
        self.mark_refreshed();
        let (pool, map, full) = (&self.pool, &self.map, self.zones.zone_blocks);
        let Known { ages, times, lifetimes, .. } = &mut self.known;
        if let Some(ages) = ages {
            pool.by_age().for_each(|band| ages.refresh(band, full, map, times));
        }
        if let Some(lifetimes) = lifetimes {
            lifetimes.look(pool.by_age().map(|band| (band, map.live(band))), times.now());
        }
        self.score.best(&Closed { pool, map, known: &self.known, full, needed })
    }

    /// The live blocks of the closed band with the fewest, where they are kept by that. A disk without closed bands gains
    /// nothing by compaction.
    pub fn least_live(&self) -> Option<u64> {
        if !self.pool.is_by_live() {
            return None;
        }
        Some(self.pool.least_live().map_or(self.blocks(), |(_, live)| live).into())
    }

    /// Whether the closed bands have as many dead blocks as a band has.
    pub fn can_gain_a_band(&self) -> bool {
        let full = u64::from(self.zones.zone_blocks);
        let dead = self.pool.closed().map(|band| full - u64::from(self.map.live(band)));
        dead.sum::<u64>() >= full
    }

    /// The effect of a change of role; nothing is adopted here. What is copied comes behind the first `copies` slots.
    pub fn set_role(&mut self, band: u32, role: Role, copies: u32) {
        self.copying.retain(|&other| other != band);
        self.victims.retain(|&other| other != band);
        self.bands[band as usize].role = role;
        match role {
            Role::Data => {}
            Role::Settling => self.copying.push(band),
            Role::Victim => self.victims.push(band),
            Role::Copying => {
                self.copying.push(band);
                let of = &mut self.bands[band as usize];
                (of.written, of.copies) = (copies, copies);
                self.map.forget_writes(band, copies);
                self.drop_writes(band, copies);
            }
        }
    }

    /// Verifies that map, bands and what was written agree.
    pub fn check(&self) -> Result<(), Violation> {
        if !self.map.is_cached() {
            self.map.check()?;
        }
        self.pool.check(&self.map)?;
        self.known.check(&self.map)?;
        if self.map.is_cached() {
            return Ok(());
        }
        let mut beyond = None;
        self.map.all_runs(|at, slot| {
            let (band, offset) = self.map.locate(slot);
            beyond = (offset + at.blocks > self.written(band)).then_some((at, band));
            beyond.is_none()
        });
        match beyond {
            Some((at, band)) => Err(Violation(format!("{at:?} lies on band {band}, which is not written so far"))),
            None => Ok(()),
        }
    }
}
