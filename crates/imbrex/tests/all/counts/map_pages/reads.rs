//! Uniformly random reads over a map that is irregular everywhere: how many miss the pages in memory, and what that
//! costs.

use imbrex::block::{Access, Pba};
use imbrex::layers;
use imbrex::media::{Shingled, ZonedSpec};
use imbrex::random::Random;
use imbrex::replay::{Configured, MapOutcome, Outcome, ReplayOptions, WarmUp};

use super::log::ENTRIES;
use crate::fixture::{Listed, SECTOR_NS, SEEK_NS, disk, request};

/// Pages of blocks, all of which are read from.
const PAGES: u64 = 100;
const READS: u64 = 20_000;
/// Reads before what is measured, in which pages that were changed leave.
const BEFORE: u64 = 3_000;

/// What reads cost with so many pages in memory.
fn read_with(pages: u64) -> Outcome {
    let spec = ZonedSpec { zones: 151, zone_blocks: 768, conventional_zones: 1, max_open: 0, max_active: 0 };
    let options = ReplayOptions {
        map_memory: Some(pages * 4096),
        queue_depth: Some(1),
        warm_up: Some(WarmUp::Requests(PAGES + BEFORE)),
        ..ReplayOptions::default()
    };
    let (layer, config) = (layers::find("log-greedy").unwrap(), toml::Table::new());
    let simulation = Configured { layer, config: &config, buffer_blocks: 0 }
        .simulation(disk(Shingled::new(Pba::DISK, spec)), &options)
        .unwrap();
    assert!(simulation.capacity() >= PAGES * ENTRIES);
    // One block of each page moves. Others are read, none of which follows another.
    let mut random = Random::new(7);
    let mut place = || random.below(PAGES) * ENTRIES + 2 * random.below(ENTRIES / 2);
    let moves = (0..PAGES).map(|page| request(0, Access::Write, page * ENTRIES + 1, 1));
    let reads = (0..BEFORE + READS).map(|_| request(0, Access::Read, place(), 1));
    simulation.run(&mut Listed::new(moves.chain(reads).collect()), &mut ()).unwrap()
}

#[test]
fn as_many_reads_miss_as_pages_are_not_in_memory() {
    for pages in [16, 50, 90] {
        let outcome = read_with(pages);
        let MapOutcome { lookups, read_pages, written_pages, .. } = outcome.map.unwrap();
        assert_eq!((lookups, written_pages), (READS, 0));
        let (missed, expected) = (read_pages as f64 / READS as f64, 1.0 - pages as f64 / PAGES as f64);
        println!("{pages} of {PAGES} pages: {missed} missed, expected {expected}");
        assert!((missed - expected).abs() < 0.01, "{missed} of reads miss, expected {expected}");
        // Pages lie apart from blocks, so each access begins with a seek.
        let access_ns = SEEK_NS + 8 * SECTOR_NS;
        let expected_ms = ((READS + read_pages) * access_ns) as f64 / READS as f64 / 1e6;
        assert!((outcome.latency_ms.read.mean - expected_ms).abs() < 1e-9, "{:?}", outcome.latency_ms.read);
        // A map with a tenth fewer pages in memory is not the same.
        assert!((missed - (expected + 0.1)).abs() > 0.01);
    }
}
