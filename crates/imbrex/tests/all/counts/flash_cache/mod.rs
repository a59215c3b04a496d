//! Caches on flash in front of a disk: hits, evictions and the blocks read and written on each of the two devices,
//! against lists and sets that take requests block by block.
//!
//! The models know no frame, no plan and no record, only which blocks are in the cache and which of them are dirty.

mod bare_bands;
mod costs;
mod places;
mod readings;
mod regions;
mod replaced;
mod sets;
mod stretches;

use std::collections::{BTreeSet, HashMap};

use imbrex::block::{Access, Extent, Lba};
use imbrex::layers::LayerInfo;
use imbrex::layers::ssd::{band_cache, lru_cache, pore};
use imbrex::random::Random;
use imbrex::space::HomeCosts;
use imbrex::trace::Workload;
use test_material::{beside, cases};

use crate::counts::{mixed, requests, sample};
use crate::fixture::two_devices::{Counts, Journal, SLOW_FLASH, TwoDevices, space_costing};
use costs::Costs;
use readings::READINGS;
use replaced::Replaced;
use sets::Sets;
use stretches::Stretches;

/// Blocks that are numbered anew together.
const STRETCH: u64 = 256;

/// Requests of a workload.
const LONGEST: usize = 4_000;

trait Model {
    fn write(&mut self, first: u64, blocks: u64);
    fn read(&mut self, first: u64, blocks: u64);
    /// A step in idle time.
    fn idle(&mut self) {}
    fn counts(&self) -> &Counts;
    fn dirty(&self) -> BTreeSet<u64>;
}

/// A dirty block goes home.
fn write_back(counts: &mut Counts) {
    counts.evicted += 1;
    counts.read[0] += 1;
    counts.written[1] += 1;
}

/// The fields of a layer.
pub struct Settings<'a>(pub &'a toml::Table);

impl Settings<'_> {
    pub fn number(&self, key: &str, default: u64) -> u64 {
        self.0.get(key).and_then(toml::Value::as_integer).map_or(default, |number| number as u64)
    }

    pub fn part(&self, key: &str, default: f64) -> f64 {
        self.0.get(key).and_then(toml::Value::as_float).unwrap_or(default)
    }

    /// Whether a field that is on by default is on.
    pub fn flag(&self, key: &str) -> bool {
        self.0.get(key).is_none_or(|value| value.as_bool() == Some(true))
    }

    pub fn text<'s>(&'s self, key: &str, default: &'s str) -> &'s str {
        self.0.get(key).and_then(toml::Value::as_str).unwrap_or(default)
    }
}

fn model(layer: &str, settings: &Settings, frames: u64, costs: HomeCosts) -> Box<dyn Model> {
    match layer {
        "static-sets" => Box::new(Sets::new(settings, frames)),
        "band-cache" => Box::new(Stretches::new(settings, frames, costs)),
        "sac" => Box::new(Costs::new(settings, frames)),
        _ => Box::new(Replaced::new(settings, frames, layer == "pore")),
    }
}

/// What is read and written in a workload, and how many blocks the disk has that it needs. Blocks are numbered anew in
/// stretches in order of appearance, so that a large address range makes no large disk. Of a long workload only the front
/// is taken, where somebody waits.
fn accesses(workload: &Workload) -> (Vec<(Access, Extent<Lba>)>, u64) {
    let mut places = HashMap::new();
    let mut small = Vec::new();
    for request in requests(workload).into_iter().take(cases(LONGEST, usize::MAX)) {
        let mut rest = request.blocks(4096);
        while !rest.is_empty() {
            let (stretch, offset) = (rest.start.0 / STRETCH, rest.start.0 % STRETCH);
            let part = rest.first((STRETCH - offset) as u32);
            let next = places.len() as u64;
            let place = *places.entry(stretch).or_insert(next) * STRETCH + offset;
            small.push((request.access, Extent::new(Lba(place), part.blocks)));
            rest = rest.skip(part.blocks);
        }
    }
    (small, places.len() as u64 * STRETCH)
}

/// A cache, and what it meets.
#[derive(Copy, Clone, Debug)]
struct Case<'a> {
    frames: u32,
    config: &'a str,
    costs: HomeCosts,
    /// There is idle time for a step after so many requests each; without, never.
    idle: Option<usize>,
}

impl<'a> Case<'a> {
    /// On slow flash, without idle time.
    fn new(frames: u32, config: &'a str) -> Self {
        Self { frames, config, costs: SLOW_FLASH, idle: None }
    }

    fn is_idle_after(&self, request: usize) -> bool {
        self.idle.is_some_and(|requests| request % requests == requests - 1)
    }
}

fn modelled(layer: &str, accesses: &[(Access, Extent<Lba>)], case: Case<'_>) -> Counts {
    let config = case.config.parse().expect("a TOML table");
    let mut model = model(layer, &Settings(&config), u64::from(case.frames), case.costs);
    for (request, &(access, at)) in accesses.iter().enumerate() {
        match access {
            Access::Write => model.write(at.start.0, u64::from(at.blocks)),
            Access::Read => model.read(at.start.0, u64::from(at.blocks)),
            Access::Trim => {}
        }
        if case.is_idle_after(request) {
            model.idle();
        }
    }
    model.counts().clone()
}

fn compare(info: &'static LayerInfo, workload: &Workload, frames: u32, config: &str) -> Counts {
    let (accesses, blocks) = accesses(workload);
    compared(info, &accesses, blocks, Case::new(frames, config))
}

fn compared(info: &'static LayerInfo, accesses: &[(Access, Extent<Lba>)], blocks: u64, case: Case<'_>) -> Counts {
    let space = space_costing(case.costs, case.frames, blocks);
    let mut devices = TwoDevices::new(info, case.config, space, Journal::AtOnce);
    devices.checks = false;
    for (request, &(access, at)) in accesses.iter().enumerate() {
        match access {
            Access::Write => devices.write(at),
            Access::Read => devices.read(at),
            Access::Trim => {}
        }
        if case.is_idle_after(request) {
            devices.idle();
        }
    }
    devices.check();
    let model = modelled(info.name, accesses, case);
    assert_eq!(devices.counts, model, "{} with {case:?}", info.name);
    devices.counts
}

/// More reads than in other comparisons.
fn reads_and_writes() -> Workload {
    let mut workload = mixed();
    if let Workload::Synthetic(spec) = &mut workload {
        spec.write_ratio = 0.6;
    }
    workload
}

#[test]
fn counts_of_flash_caches_agree() {
    let workload = reads_and_writes();
    for (info, readings) in READINGS {
        for config in std::iter::once(&"").chain(readings) {
            for frames in if config.is_empty() { [300, 2500] } else { [300, 900] } {
                let counts = compare(info, &workload, frames, config);
                println!("{} with {frames} frames, {config:?}: {counts:?}", info.name);
                let Counts { write_hits, read_hits, evicted, passed, read, written } = counts;
                assert!(passed == 0 || info.name == "band-cache", "nothing waits for the journal");
                assert!(
                    [write_hits, read_hits, evicted, read[1], written[1]].into_iter().all(|n| n > 10),
                    "{counts:?}"
                );
            }
        }
    }
}

/// That the models agree says something only if others would not.
#[test]
fn every_reading_of_a_flash_cache_moves_a_count() {
    let (accesses, _) = accesses(&reads_and_writes());
    for (info, readings) in READINGS {
        let mut seen: Vec<(Counts, &str)> = Vec::new();
        for config in std::iter::once(&"").chain(readings) {
            let counts = modelled(info.name, &accesses, Case::new(900, config));
            let same = seen.iter().find(|(other, _)| *other == counts);
            assert!(same.is_none(), "{}: {config:?} counts as {:?}", info.name, same.map(|same| same.1));
            seen.push((counts, config));
        }
    }
}

/// Short requests that often go where others went, some longer ones, and now and then a stream.
fn long_and_short(blocks: u64) -> Vec<(Access, Extent<Lba>)> {
    let mut random = Random::new(5);
    let mut accesses = Vec::new();
    for round in 0..4000 {
        let access = if random.below(3) == 0 { Access::Read } else { Access::Write };
        let length = if random.below(4) == 0 { random.below(150) } else { random.below(6) } + 1;
        let within = if random.below(3) == 0 { blocks } else { blocks / 64 };
        let start = random.below(within - length);
        accesses.push((access, Extent::new(Lba(start), length as u32)));
        if round % 500 == 499 {
            let start = random.below(blocks - 2000);
            accesses.extend((0..20).map(|part| (Access::Write, Extent::new(Lba(start + 100 * part), 100))));
        }
    }
    accesses
}

#[test]
fn counts_agree_where_writes_go_past_the_cache() {
    let blocks = 100_000;
    for (frames, config) in [(400, ""), (3000, ""), (3000, "read_allocate = false"), (20_000, "")] {
        let counts = compared(&band_cache::INFO, &long_and_short(blocks), blocks, Case::new(frames, config));
        println!("{frames} frames, {config:?}: {counts:?}");
        let Counts { write_hits, read_hits, evicted, passed, .. } = counts;
        // The streams alone come to some 7000, of which a few blocks are cached.
        assert!([write_hits, read_hits, passed].into_iter().all(|n| n > 1000), "{counts:?}");
        assert_eq!(evicted > 1000, frames < 20_000, "{counts:?}");
    }
}

/// On fast flash only streams go past, and more is copied; where the disk rewrites, nothing goes past.
#[test]
fn counts_agree_whatever_it_costs_to_write_home() {
    let blocks = 100_000;
    let counts = |seek_pages, rewrites, idle| {
        let costs = HomeCosts { seek_pages, rewrites };
        let case = Case { costs, idle, ..Case::new(3000, "") };
        let counts = compared(&band_cache::INFO, &long_and_short(blocks), blocks, case);
        println!("{case:?}: {counts:?}");
        counts
    };
    for idle in [None, Some(20)] {
        let [slow, fast, rewriting] =
            [(11, false), (500, false), (11, true)].map(|(pages, rewrites)| counts(pages, rewrites, idle));
        assert!(slow.passed > fast.passed && fast.passed > 1000 && rewriting.passed == 0);
        let [few, many] = [&slow, &fast].map(|counts| counts.written[0] + counts.passed);
        assert!(idle.is_some() || few < many, "as much is written, and more copied");
    }
    counts(1, false, Some(100));
    counts(30, true, Some(7));
}

/// Short requests anywhere: units hold few blocks, and hardly one is written again.
fn scattered(blocks: u64) -> Vec<(Access, Extent<Lba>)> {
    let mut random = Random::new(6);
    let mut one = || {
        let access = if random.below(5) == 0 { Access::Read } else { Access::Write };
        (access, Extent::new(Lba(random.below(blocks - 4)), 1 + random.below(4) as u32))
    };
    (0..6000).map(|_| one()).collect()
}

#[test]
fn counts_agree_where_blocks_are_seldom_written_again() {
    let blocks = 2_000_000;
    let counts = |frames, idle| {
        let case = Case { idle, ..Case::new(frames, "") };
        let counts = compared(&band_cache::INFO, &scattered(blocks), blocks, case);
        println!("{frames} frames, idle after {idle:?}: {counts:?}");
        assert!(counts.evicted > 1000 && counts.write_hits < 1000, "{counts:?}");
        counts
    };
    for frames in [300, 2000] {
        let (never, seldom, often) = (counts(frames, None), counts(frames, Some(500)), counts(frames, Some(20)));
        assert!(never != seldom && seldom != often);
    }
}

#[test]
fn counts_of_flash_caches_agree_on_a_sample() {
    let workload = Workload::File(sample("vscsi2", 8000).into());
    for (info, _) in READINGS {
        let Counts { write_hits, read_hits, evicted, .. } = compare(info, &workload, 3000, "");
        assert!([write_hits, read_hits, evicted].into_iter().all(|n| n > 100));
    }
}

#[test]
fn counts_of_flash_caches_agree_on_a_real_trace() {
    let Some(folder) = beside("the counts of flash caches on a real trace", "traces") else { return };
    let workload = Workload::File(folder.join("cloudphysics.vscsi.zst").into());
    for (info, _) in READINGS {
        let counts = compare(info, &workload, 2000, "");
        println!("{} with 2000 frames: {counts:?}", info.name);
        assert!(counts.evicted + counts.passed > 1000, "{}: {counts:?}", info.name);
    }
    for config in ["region_blocks = 256", "region_blocks = 256\nevict = 'region'\nread_allocate = false"] {
        let counts = compare(&pore::INFO, &workload, 800, config);
        println!("pore with 800 frames, {config:?}: {counts:?}");
    }
    for policy in ["clock", "lirs", "arc", "s3-fifo", "sieve"] {
        let counts = compare(&lru_cache::INFO, &workload, 800, &format!("replacement = '{policy}'"));
        println!("{policy} with 800 frames: {counts:?}");
    }
}
