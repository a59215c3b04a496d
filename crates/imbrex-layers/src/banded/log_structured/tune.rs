//! Which weight of cold blocks moves least: the one of the small disk that does, of some that follow the workload.
//!
//! Small disks are the miniature simulations of Waldspurger, Saemundsson, Ahmad and Park ("Cache Modeling and
//! Optimization using Miniature Simulations", USENIX ATC 2017), with logs in place of caches. Each is a log with a
//! weight of its own, as many bands, and a fraction of the blocks: one of every `sample` neighbours is written to it
//! when the host has written it. So each weight meets in full what follows from it, also where what it moves now pays
//! off much later, and none is tried on the disk itself. All of it is soft state.
//!
//! Blocks are numbered in groups of `sample` neighbours, from 0 on, and one block of each group is followed: the
//! neighbours of group n lie evenly between 0 and 1, and the fractional part of n times the golden ratio points to the
//! one. A rest of fewer neighbours is not followed. A small disk has as large a share of its blocks for the host as the
//! disk, and all other fields alike: its own write buffer, which no flush empties, and as large a share of blocks known
//! to be hot. Whenever the disk is about to compact, the small disk that has moved least since the epoch began, the
//! lower weight of two, is looked for, and its weight is in use from then on if it moved less than the present one by
//! [`MARGIN`].
//!
//! Of a disk with a part of its map in memory fewer neighbours are followed, so that the maps of small disks, which are in
//! memory as a whole, take no more than that part, if their bands have enough blocks then. As an epoch begins it is only known which
//! pages have ever been used: all blocks of these count as lying somewhere, in order.

use super::LogStructured;
use super::bands::Bands;
use super::config::Weights;
use super::score::Score;
use crate::parts::heat::COUNTER;
use crate::parts::paged_map::ENTRY;
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::layer::{Condition, Freed, Pressure, Step, TranslationLayer, UnitReport, UnitState, Violation, Write};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Op, Plan, Unit, Why};
use imbrex_core::space::Zones;

/// The weights to choose from. Larger ones lose in every table of the paper.
const WEIGHTS: [f64; 8] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];

/// The number of the weight that is in use until there is a reason for another one.
const FIRST: usize = 1;

/// Blocks that a band of a small disk has at least, where the bands themselves do: fewer say little of large ones.
const FEWEST: u32 = 32;

/// Bytes that a small disk takes for a block: where it lies, what lies there, its heat, and its part of the list that an
/// epoch begins with.
const BYTES: u64 = (2 * ENTRY + COUNTER + size_of::<(u64, Lba)>() / WEIGHTS.len()) as u64;

/// A weight is left for one that has moved less by this share at least: a change costs, as the bands are not as the new
/// weight would have left them.
const MARGIN: f64 = 0.01;

/// 2^64 by the golden ratio: its multiples spread evenly.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The small disks, and the weight in use.
pub struct Tuner {
    /// One of this many neighbours is followed.
    sample: u64,
    /// How many stretches of `sample` blocks there are.
    stretches: u64,
    disks: Vec<Small>,
    chosen: usize,
}

/// A log with one weight that follows the sample.
struct Small {
    weights: Weights,
    log: LogStructured,
    plan: Plan,
    /// Blocks that compaction has moved.
    moved: u64,
}

impl Tuner {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let disks =
            Memory::of::<Small>(self.disks.len() as u64) + self.disks.iter().map(|disk| disk.log.memory()).sum();
        // What is listed as an epoch begins.
        disks + Memory::growing::<(u64, Lba)>(self.stretches)
    }

    /// Small disks for `log`, to which one of `sample` neighbours is written.
    pub fn new(sample: u32, log: &LogStructured) -> Self {
        let (zones, capacity) = (*log.bands.zones(), log.bands.map.capacity());
        let all = u64::from(zones.count) * u64::from(zones.zone_blocks) * WEIGHTS.len() as u64 * BYTES;
        let least = log.cached.as_ref().map_or(0, |cached| u32::try_from(all / cached.bytes).unwrap_or(u32::MAX));
        let sample = sample.max(least).min(zones.zone_blocks / FEWEST).max(1);
        let small = Zones { first: Unit::disk(0), zone_blocks: zones.zone_blocks / sample, ..zones };
        let [small_blocks, blocks] = [small, zones].map(|zones| u64::from(zones.count) * u64::from(zones.zone_blocks));
        let blocks_of_host = (u128::from(capacity) * u128::from(small_blocks) / u128::from(blocks)).max(1) as u64;
        let disk = |weight| Small::new(Weights::of(weight, 0.0), log, small, blocks_of_host);
        Self {
            sample: sample.into(),
            stretches: blocks_of_host,
            disks: WEIGHTS.into_iter().map(disk).collect(),
            chosen: FIRST,
        }
    }

    /// The weight in use.
    pub fn weights(&self) -> Weights {
        self.disks[self.chosen].weights
    }

    /// The host writes the blocks of `at`.
    pub fn wrote(&mut self, at: Extent<Lba>) {
        for small in sampled(self.sample, self.stretches, at).iter() {
            self.disks.iter_mut().for_each(|disk| disk.write(small));
        }
    }

    /// The host trims the blocks of `at`.
    pub fn trimmed(&mut self, at: Extent<Lba>) {
        let small = sampled(self.sample, self.stretches, at);
        if !small.is_empty() {
            self.disks.iter_mut().for_each(|disk| disk.trim(small));
        }
    }

    /// Chooses anew.
    pub fn choose(&mut self) {
        let moved = |disk: usize| self.disks[disk].moved as f64;
        let least = (0..self.disks.len()).min_by(|&a, &b| moved(a).total_cmp(&moved(b))).unwrap_or(self.chosen);
        if moved(least) < moved(self.chosen) * (1.0 - MARGIN) {
            self.chosen = least;
        }
    }

    /// An epoch begins with the blocks that `bands` hold, which the small disks take in the order of their places.
    pub fn begin(&mut self, bands: &Bands) {
        let mut lying: Vec<(u64, Lba)> = Vec::new();
        let mut lies = |at: Extent<Lba>, slot: u64| {
            let place = |small: Lba| slot + followed(self.sample, small.0).since(at.start);
            lying.extend(sampled(self.sample, self.stretches, at).iter().map(|small| (place(small), small)));
            true
        };
        match bands.map.tables() {
            None => bands.map.all_runs(lies),
            Some((places, _)) => {
                let numbers = |page| places.layout().numbers_of(page);
                for at in places.used(0, u64::MAX).map(numbers) {
                    lies(Extent::between(Lba(at.start), Lba(at.end)), at.start);
                }
            }
        }
        lying.sort_unstable();
        for disk in &mut self.disks {
            disk.begin();
            lying.iter().for_each(|&(_, small)| disk.write(small));
            disk.moved = 0;
        }
    }

    /// Verifies the small disk whose weight is in use.
    pub fn check(&self) -> Result<(), Violation> {
        self.disks[self.chosen].log.check()
    }
}

/// The block that is followed of a stretch of `sample`: each stands where no period of the workload is likely to.
fn followed(sample: u64, stretch: u64) -> Lba {
    let fraction = stretch.wrapping_mul(GOLDEN) >> 32;
    Lba(stretch * sample + ((fraction * sample) >> 32))
}

/// The blocks of `at` that are followed, by the numbers of their stretches, which are theirs on the small disks.
fn sampled(sample: u64, stretches: u64, at: Extent<Lba>) -> Extent<Lba> {
    let (mut first, mut end) = (at.start.0 / sample, stretches.min((at.end().0 - 1) / sample + 1));
    // Of the stretches between, all blocks are there.
    let is_out = |stretch: u64| !at.contains(followed(sample, stretch));
    first += u64::from(first < end && is_out(first));
    end -= u64::from(first < end && is_out(end - 1));
    Extent::between(Lba(first), Lba(end.max(first)))
}

impl Small {
    /// One with these weights, as `large` is configured.
    fn new(weights: Weights, large: &LogStructured, zones: Zones, capacity: u64) -> Self {
        let (config, heat) = (large.config.clone(), large.heat.clone());
        let score = Score::ColdWeight(weights, large.heat.equal);
        let mut small = Self {
            weights,
            log: LogStructured::over(large.name, score, zones, capacity, config, heat),
            plan: Plan::new(),
            moved: 0,
        };
        small.begin();
        small
    }

    /// All bands are empty.
    fn begin(&mut self) {
        let all = Extent::new(Lba(0), self.log.capacity() as u32);
        self.log.trim(all, &mut self.plan);
        self.plan.clear();
        let empty = UnitState { condition: Condition::Sequential, pointer: 0 };
        let units = vec![empty; self.log.bands.zones().count as usize];
        let report = UnitReport { devices: vec![Vec::new(), units] };
        // Nothing lies anywhere and no band is written, which is no contradiction.
        let begun = self.log.recovered(&report, &mut self.plan);
        debug_assert!(begun.is_ok());
        self.plan.clear();
    }

    fn write(&mut self, lba: Lba) {
        let at = Extent::new(lba, 1);
        while self.log.write(Write { at, request_bytes: None }, &mut self.plan) == 0 {
            let step = self.log.clean(Pressure::Blocked(at), &[], &mut self.plan);
            self.carry_out();
            if step == Step::Nothing {
                debug_assert!(false, "a small disk is as full as the large one");
                return;
            }
        }
        self.carry_out();
    }

    fn trim(&mut self, at: Extent<Lba>) {
        self.log.trim(at, &mut self.plan);
        self.carry_out();
    }

    /// Counts what was planned, and gives back the bands that were reset.
    fn carry_out(&mut self) {
        for op in self.plan.ops() {
            match *op {
                Op::Move { why: Why::Migrate, blocks, .. } => self.moved += u64::from(blocks),
                Op::Reset(unit) => {
                    let band = self.log.bands.zones().block(unit.index, 0);
                    self.log.freed(Extent::new(band, 1), Freed::GivenUp);
                }
                _ => {}
            }
        }
        self.plan.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Equal, HeatConfig, LogConfig};
    use super::*;
    use imbrex_core::block::Pba;
    use imbrex_core::layer::{MAP_PAGE_HEADER, MapCache};
    use imbrex_core::plan::Record;
    use imbrex_core::samples;
    use imbrex_core::space::Space;

    #[test]
    fn one_of_each_stretch_is_followed() {
        for sample in [1, 3, 64] {
            let of = |start, blocks| sampled(sample, 100, Extent::new(Lba(start), blocks)).iter().map(|lba| lba.0);
            let all: Vec<u64> = (0..100 * sample + 20).flat_map(|lba| of(lba, 1)).collect();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
            let runs: Vec<u64> = (0..10 * sample + 2).flat_map(|run| of(10 * run, 10)).collect();
            assert_eq!(runs, all);
        }
    }

    /// With a part of the map in memory: pages of 3 blocks.
    #[test]
    fn an_epoch_begins_with_the_blocks_of_used_pages() {
        let zones = Zones { first: Unit::disk(0), count: 10, zone_blocks: 64 };
        let map_cache = Some(MapCache { page_bytes: MAP_PAGE_HEADER + 21, pages: 4 });
        let space = Space { zones: Some(zones), map_cache, ..samples::ample_space() };
        let score = Score::ColdWeight(Weights::of(0.3, 0.0), Equal::Fewest);
        let (config, heat) = (LogConfig::default(), HeatConfig::default());
        let mut log = LogStructured::new("tuned-weight", score, &space, config, heat).unwrap().tuned(1);
        assert_eq!(log.tuner.as_ref().unwrap().sample, 2, "cached pages are small, and 32 blocks of a band are left");
        let map = Record::Map { at: Extent::new(Lba(100), 4), to: Pba::disk(0) };
        [map, Record::Note { key: 0, value: 4 }].iter().for_each(|record| log.apply(record).unwrap());
        let unit = |pointer| UnitState { condition: Condition::Sequential, pointer };
        let units = (0..10).map(|band| unit(if band == 0 { 4 } else { 0 })).collect();
        log.recovered(&UnitReport { devices: vec![Vec::new(), units] }, &mut Plan::new()).unwrap();
        let followed: Vec<Lba> = (99..105).map(Lba).filter(|lba| (0..60).any(|n| followed(2, n) == *lba)).collect();
        for disk in &log.tuner.as_ref().unwrap().disks {
            let mut lying = Vec::new();
            disk.log.bands.map.all_runs(|at, _| {
                lying.extend(at.iter().map(|small| super::followed(2, small.0)));
                true
            });
            assert_eq!(lying, followed);
        }
    }

    #[test]
    fn followed_blocks_are_spread_evenly() {
        let mut counts = [0; 8];
        (0..8000).for_each(|stretch| counts[(followed(64, stretch).0 % 64 / 8) as usize] += 1);
        assert!(counts.iter().all(|count| (990..1010).contains(count)), "{counts:?}");
    }
}
