//! What bounded memory for the map must not change: everything that a layer does itself.

use std::cell::Cell;

use imbrex::block::Pba;
use imbrex::layer::MAP_PAGE_BYTES;
use imbrex::layers::{ConfigError, Field, LayerInfo};
use imbrex::media::{Shingled, ZonedSpec};
use imbrex::plan::Why;
use imbrex::replay::{Configured, LEAST_MAP_MEMORY, Outcome, ReplayError, ReplayOptions, Scheduler, Simulation, space};
use imbrex::samples::sampled;
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::fixture::random::{Choices, Drawn, any_choices, any_options, any_request, configured, made, trace_over};
use crate::fixture::{Listed, disk, simulate};
use crate::for_any;

const CASES: u32 = 25;

/// Requests: enough of them that bands are compacted.
const REQUESTS: std::ops::Range<usize> = 300..800;

/// A disk on which every map that is divided has more pages than the least memory holds.
fn divisible() -> Shingled {
    let spec = ZonedSpec { zones: 29, zone_blocks: 512, conventional_zones: 1, max_open: 0, max_active: 0 };
    Shingled::new(Pba::DISK, spec)
}

/// A layer with a map in pages, in a configuration, on that disk.
struct Case<'a> {
    info: &'static LayerInfo,
    config: &'a toml::Table,
    requests: &'a [Drawn],
    options: &'a ReplayOptions,
}

impl Case<'_> {
    fn simulation(&self, map_memory: Option<u64>) -> Result<Simulation, ReplayError> {
        let options = ReplayOptions { map_memory, ..self.options.clone() };
        let Self { info: layer, config, .. } = *self;
        Configured { layer, config, buffer_blocks: 0 }.simulation(disk(divisible()), &options)
    }

    fn outcome(&self, map_memory: Option<u64>) -> Result<Outcome, TestCaseError> {
        let run = || {
            let simulation = self.simulation(map_memory)?;
            let trace = trace_over(simulation.capacity(), self.requests);
            simulation.run(&mut Listed::new(trace), &mut ())
        };
        run().map_err(|error| TestCaseError::fail(format!("{:?} {map_memory:?}: {error}", self.config.to_string())))
    }

    /// Pages that the map has.
    fn pages(&self) -> u64 {
        let space = space(&disk(divisible()), 0, self.options).unwrap();
        self.info.build(&space, self.config).unwrap().map_pages().unwrap().count()
    }
}

/// A configuration that fits that disk.
fn fitting<'f>(
    info: &'static LayerInfo,
    choose: impl FnMut(&'f Field) -> Option<&'f str>,
    options: &ReplayOptions,
) -> toml::Table {
    let fits = |config: &toml::Table| match (Case { info, config, requests: &[], options }).simulation(None) {
        Ok(_) => Ok(true),
        Err(ReplayError::Config(refused @ (ConfigError::Field { .. } | ConfigError::Sample { .. }))) => Err(refused),
        Err(_) => Ok(false),
    };
    sampled(info.name, info.fields, choose, fits).unwrap()
}

/// Options under which nothing depends on time but times, and the map may be divided.
fn whatever_the_time(options: ReplayOptions) -> ReplayOptions {
    ReplayOptions {
        as_live: false,
        scheduler: Scheduler::Fcfs,
        idle: false,
        extend: Vec::new(),
        check_every: 100,
        ..options
    }
}

/// Everything that a layer did, apart from pages of its map and the steps in which it did it.
fn own_work(outcome: &Outcome) -> Vec<u64> {
    let mut all = vec![
        outcome.requests,
        outcome.host_read_blocks,
        outcome.host_write_blocks,
        outcome.write_hit_blocks,
        // A read that overtakes a blocked write finds a block in the buffer or already on its band.
        outcome.read_hit_blocks + outcome.media_read_blocks.get(Why::Host),
        outcome.evicted_blocks,
        outcome.direct_blocks,
        outcome.padding_blocks,
        outcome.rmw,
        outcome.rmw_free,
        outcome.resets,
        outcome.blocked_cleaning.episodes,
    ];
    let own = |why: &Why| *why != Why::Metadata;
    all.extend(Why::ALL.into_iter().filter(own).map(|why| outcome.media_write_blocks.get(why)));
    all.extend(
        Why::ALL.into_iter().filter(|why| own(why) && *why != Why::Host).map(|why| outcome.media_read_blocks.get(why)),
    );
    all.extend(outcome.counters.iter().map(|(_, times)| times));
    all
}

/// The memory that a map has changes what is done to the map, and nothing else.
pub fn does_the_same_in_any_map_memory(info: &'static LayerInfo) -> Result<(), Failed> {
    let space = space(&disk(divisible()), 0, &ReplayOptions::default()).unwrap();
    let has_pages = info.build(&space, &toml::Table::new()).is_ok_and(|mut layer| layer.map_pages().is_some());
    if has_pages { divided(info) } else { whole(info) }
}

fn divided(info: &'static LayerInfo) -> Result<(), Failed> {
    let requests = prop::collection::vec(any_request(), REQUESTS);
    let (cases, read, written, compacted) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    for_any(CASES, (requests, any_options(), any_choices()), |(requests, options, choices)| {
        let options = whatever_the_time(options);
        let config = fitting(info, choices.each(), &options);
        let case = Case { info, config: &config, requests: &requests, options: &options };
        let whole = case.outcome(None)?;
        prop_assert!(whole.map.is_none());
        let pages = case.pages();
        prop_assert!(pages * u64::from(MAP_PAGE_BYTES) > LEAST_MAP_MEMORY);
        prop_assert_eq!(&case.outcome(Some(pages * u64::from(MAP_PAGE_BYTES)))?, &whole);
        for memory in [LEAST_MAP_MEMORY, (pages - 1) * u64::from(MAP_PAGE_BYTES)] {
            let few = case.outcome(Some(memory))?;
            prop_assert_eq!(own_work(&few), own_work(&whole), "{:?} in {}", config.to_string(), memory);
            let map = few.map.unwrap();
            prop_assert_eq!((map.memory_bytes, map.map_bytes), (memory, pages * u64::from(MAP_PAGE_BYTES)));
            prop_assert_eq!(map.read_pages, few.media_read_blocks.get(Why::Metadata));
            prop_assert_eq!(map.written_pages, few.media_write_blocks.get(Why::Metadata));
            prop_assert!(map.read_pages <= map.lookups);
            read.set(read.get() + map.read_pages);
            written.set(written.get() + map.written_pages);
        }
        cases.set(cases.get() + 1);
        compacted.set(compacted.get() + whole.media_write_blocks.get(Why::Migrate));
        Ok(())
    })?;
    let seen = [read.get(), written.get(), compacted.get()];
    println!("{}: {seen:?}", info.name);
    // Of a few cases none need compact anything.
    if cases.get() < CASES || seen.iter().all(|&times| times > 0) {
        Ok(())
    } else {
        Err(format!("hardly anything happens: {seen:?}").into())
    }
}

/// A map without pages has to fit, and then nothing changes.
fn whole(info: &'static LayerInfo) -> Result<(), Failed> {
    let input = (prop::collection::vec(any_request(), 1..100), any_options(), 1u32..60, any_choices());
    for_any(CASES, input, |(requests, options, buffer_blocks, choices): (_, _, _, Choices)| {
        let options = ReplayOptions { as_live: false, scheduler: Scheduler::Fcfs, ..options };
        let (config, options) = configured(info, choices.each(), buffer_blocks, &options);
        let run = |map_memory| {
            let options = ReplayOptions { map_memory, ..options.clone() };
            let simulation = simulate(info, &config, buffer_blocks, &options)?;
            let trace = trace_over(simulation.capacity(), &requests);
            simulation.run(&mut Listed::new(trace), &mut ())
        };
        let in_memory = run(None).unwrap();
        let layer = made(info, &config.parse().unwrap(), buffer_blocks, &options).unwrap();
        let needed = layer.facts().memory.most.max(LEAST_MAP_MEMORY);
        // A stack has maps below, too.
        let ample = if in_memory.devices.is_empty() { needed } else { 1 << 30 };
        prop_assert_eq!(&run(Some(ample)).unwrap(), &in_memory, "{:?}", config);
        if needed > LEAST_MAP_MEMORY {
            let refused = run(Some(needed - 1)).unwrap_err().to_string();
            let remedy = format!("bytes, more than {}; choose more, or a smaller buffer", needed - 1);
            prop_assert!(refused.starts_with("map_memory: ") && refused.contains(&remedy), "{}", refused);
        }
        Ok(())
    })
}
