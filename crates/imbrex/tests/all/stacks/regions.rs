//! A cache that lets blocks leave for a part of the disk only, over every kind of disk there is.

use imbrex::block::Access;
use imbrex::layers;
use imbrex::recording::Recording;
use imbrex::replay::{Configured, Device, ReplayOptions};

use super::{BUFFER, below, request, run};
use crate::fixture::{ZONE_BLOCKS, simulate};

#[test]
fn every_disk_may_lie_behind_regions() {
    let options = ReplayOptions { verify: true, check_every: 50, ..ReplayOptions::default() };
    let disks = layers::ALL.iter().filter(|info| ![Recording::Flash, Recording::Cached].contains(&info.recording));
    for disk in disks {
        for evict in ["block", "region"] {
            let config = format!("region_blocks = 16\nperiod_blocks = 8\nevict = '{evict}'").parse().unwrap();
            let device = Device::stack(vec![below("page-ftl", &options), below(disk.name, &options)]);
            let pore = layers::find("pore").unwrap();
            let simulation = Configured { layer: pore, config: &config, buffer_blocks: BUFFER }
                .simulation(device, &options)
                .unwrap();
            let capacity = simulation.capacity();
            let place = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let requests = (1..3000).map(|number| {
                let access = if number % 3 == 0 { Access::Read } else { Access::Write };
                request(number * 20_000_000, access, place(number) % (capacity - 2), 1 + (place(number) % 2) as u32)
            });
            let outcome = run(simulation, requests.collect());
            let home = &outcome.devices[1].outcome;
            println!("{} behind {evict}: {} blocks went home", disk.name, home.host_write_blocks);
            // With a journal nothing would be freed at once, and blocks would go past the cache.
            assert_eq!((home.host_write_blocks, outcome.direct_blocks), (outcome.evicted_blocks, 0), "{}", disk.name);
            assert!(home.host_write_blocks > 500, "{}: {}", disk.name, home.host_write_blocks);
        }
    }
}

/// What the report's own simulator does: no buffer on the disk, and each zone of the region is rewritten once.
#[test]
fn a_region_over_bare_bands_has_each_band_rewritten_once() {
    let options = ReplayOptions { verify: true, prefill: 1.0, ..ReplayOptions::default() };
    let pore = layers::find("pore").unwrap();
    // A region is a zone, and its blocks are no neighbours.
    let of_pore = "period_blocks = 1\nevict = 'region'\nread_allocate = false";
    let config = format!("region_blocks = {ZONE_BLOCKS}\n{of_pore}").parse().unwrap();
    let rewrites = |gather: &str| {
        let in_place = layers::find("in-place").unwrap();
        let disk = simulate(in_place, &format!("gather = '{gather}'"), BUFFER, &options).unwrap();
        let device = Device::stack(vec![below("page-ftl", &options), disk]);
        let simulation =
            Configured { layer: pore, config: &config, buffer_blocks: BUFFER }.simulation(device, &options).unwrap();
        let (zone_blocks, zones) = (u64::from(ZONE_BLOCKS), simulation.capacity() / u64::from(ZONE_BLOCKS));
        let place = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let block = |number: u64| place(number) % zones * zone_blocks + place(number + 7) % (zone_blocks / 2) * 2;
        let requests = (1..3000).map(|number| request(number * 20_000_000, Access::Write, block(number), 1));
        let outcome = run(simulation, requests.collect());
        (outcome.devices[1].outcome.rmw, outcome.evicted_blocks, outcome.blocked_cleaning.episodes)
    };
    let [(run_by_run, evicted, _), (once, same, flushes)] = ["request", "zone"].map(rewrites);
    println!("{evicted} blocks left in {flushes} flushes, with {run_by_run} rewrites, or {once}");
    assert_eq!((run_by_run, same), (evicted, evicted), "no two blocks are neighbours");
    // The last zone is still open.
    assert_eq!(once, flushes - 1);
    assert!(once * 3 < run_by_run * 2);
}

/// What leaves at two times shares a rewrite if it is for one zone, unless the disk is flushed in between.
#[test]
fn a_zone_is_rewritten_for_each_flush_of_a_region_if_home_is_flushed() {
    let options = ReplayOptions { verify: true, prefill: 1.0, check_every: 1, ..ReplayOptions::default() };
    let (pore, in_place) = (layers::find("pore").unwrap(), layers::find("in-place").unwrap());
    let run_with = |flush_home: bool| {
        let config = format!(
            "region_blocks = {ZONE_BLOCKS}\nperiod_blocks = 1\nevict = 'region'\nselect = 'most-dirty'\n\
             read_allocate = false\nflush_home = {flush_home}"
        );
        let disk = simulate(in_place, "gather = 'zone'", BUFFER, &options).unwrap();
        let device = Device::stack(vec![below("conventional", &options), disk]);
        let config = config.parse().unwrap();
        let simulation =
            Configured { layer: pore, config: &config, buffer_blocks: 4 }.simulation(device, &options).unwrap();
        // All writes are to one zone, and most of the time all that is cached is of it.
        let requests = (1..200).map(|number| request(number * 2_000_000_000, Access::Write, number * 7 % 31, 1));
        let outcome = run(simulation, requests.collect());
        let home = &outcome.devices[1].outcome;
        (home.rmw, outcome.blocked_cleaning, home.blocked_cleaning, outcome.evicted_blocks)
    };
    let (merged, flushes, .., evicted) = run_with(false);
    assert_eq!((merged, evicted), (0, 196), "the zone is open to the end");
    let (rewritten, same, at_home, _) = run_with(true);
    assert_eq!((rewritten, same.episodes), (flushes.episodes, flushes.episodes));
    assert_eq!(at_home.episodes, rewritten, "each is counted as cleaning of the disk");
    assert!(same.total_ns > flushes.total_ns + at_home.total_ns / 2, "who waits for the frames waits for the rewrite");
}
