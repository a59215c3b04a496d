mod compare;
mod forged;
mod runner;

use crate::{ALL, find};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{MapCache, Pressure};
use imbrex_core::plan::{Record, Unit};
use imbrex_core::samples;
use imbrex_core::space::{Space, Zones};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use runner::{Case, Runner};

const LAYERS: [&str; 8] = [
    "log-greedy",
    "log-fifo",
    "log-choices",
    "sepbit",
    "log-lifetimes",
    "log-cost-benefit",
    "cold-weight",
    "tuned-weight",
];

/// Layers, and fields of theirs.
const LOGS: [(&str, &str); 17] = [
    ("log-greedy", ""),
    ("log-greedy", "sequence = \"heat\""),
    ("log-fifo", ""),
    ("log-choices", ""),
    ("sepbit", ""),
    ("log-lifetimes", ""),
    // With more bands to spare there are more streams.
    ("log-lifetimes", "spare_fraction = 0.5\nsample = 0"),
    ("log-lifetimes", "spare_fraction = 0.9\nsample = 0"),
    ("log-cost-benefit", ""),
    ("log-cost-benefit", "age = \"live\"\nsequence = \"heat\""),
    ("log-cost-benefit", "age = \"mean\""),
    ("log-cost-benefit", "age = \"band\""),
    ("cold-weight", ""),
    ("cold-weight", "open_bands = 2\nhot_from = 2"),
    ("cold-weight", "open_bands = 3\ncooling = \"halve\"\nequal = \"oldest\""),
    ("tuned-weight", ""),
    ("tuned-weight", "open_bands = 3"),
];

fn cases(is_fragile: bool) -> impl Strategy<Value = Case> {
    let disk = (0..LOGS.len(), 12u32..16, 6u32..20);
    let log = (1u32..3, 1u32..4, 1u32..24);
    let cache = (3u32..9, prop::sample::select(vec![3u32, 4, 8]), any::<bool>(), any::<u64>());
    (disk, log, cache).prop_map(move |(disk, log, cache)| {
        let ((log, bands, band), (spare_bands, compact_bands, step_blocks)) = (disk, log);
        let (entries, pages, spares_ram, seed) = cache;
        let (layer, fields) = LOGS[log];
        Case {
            layer,
            fields,
            bands,
            band,
            spare_bands,
            compact_bands,
            step_blocks,
            entries,
            pages,
            spares_ram,
            seed,
            is_fragile,
            is_quiet: false,
        }
    })
}

/// Plays a case through; in how many epochs a compaction was gone on with.
fn play(case: Case, steps: Vec<(u8, f64, u32)>) -> u32 {
    let mut runner = Runner::new(case);
    for (kind, part, blocks) in steps {
        let capacity = runner.model.len();
        let start = (part * capacity as f64) as u64;
        let at = Extent::new(Lba(start), blocks.min((capacity as u64 - start) as u32));
        // A power cut ends what is under way.
        let _is_cut = match kind {
            0..10 => runner.write(at).is_err(),
            10 => {
                runner.trim(at);
                false
            }
            11..13 => (0..blocks).any(|_| runner.clean(Pressure::Asked).is_err()),
            13 => (0..blocks).any(|_| runner.clean(Pressure::Ahead { room: 20 }).is_err()),
            14 => {
                runner.commit();
                runner.tidy();
                false
            }
            15 => {
                (0..blocks).for_each(|_| runner.checkpoint());
                false
            }
            16 => {
                (0..blocks).for_each(|i| runner.lose((part + f64::from(i) * 0.381) % 1.0));
                false
            }
            17 => {
                runner.crash();
                runner.verify();
                true
            }
            _ => {
                runner.verify();
                runner.check_records();
                false
            }
        };
    }
    runner.verify();
    runner.commit();
    runner.crash();
    runner.verify();
    runner.settled_on
}

fn steps() -> impl Strategy<Value = Vec<(u8, f64, u32)>> {
    prop::collection::vec((0u8..19, 0.0f64..1.0, 1u32..30), 1..120)
}

proptest! {
    #[test]
    fn a_part_of_the_map_is_enough(case in cases(false), steps in steps()) {
        play(case, steps);
    }

    #[test]
    fn what_is_durable_survives_power_cuts(case in cases(true), steps in steps()) {
        play(case, steps);
    }
}

#[test]
fn compactions_are_gone_on_with() {
    let mut random = TestRunner::deterministic();
    let settled_on: u32 = (0..40)
        .map(|_| {
            let case = cases(true).new_tree(&mut random).unwrap().current();
            play(case, steps().new_tree(&mut random).unwrap().current())
        })
        .sum();
    assert!(settled_on > 5, "{settled_on} epochs went on with a compaction: the tests above do not test that");
}

const CACHE: MapCache = MapCache { page_bytes: 4096, pages: 1000 };

#[test]
fn a_layer_has_a_cache_exactly_if_it_is_asked_for() {
    for info in ALL {
        let build = |map_cache: Option<MapCache>| {
            info.build(&Space { map_cache, ..samples::ample_space() }, &toml::Table::new())
        };
        assert!(build(None).unwrap().cached_map().is_none());
        match build(Some(CACHE)) {
            Ok(layer) => {
                assert!(LAYERS.contains(&info.name) && layer.cached_map().is_some(), "{}", info.name);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(!LAYERS.contains(&info.name), "{error}");
                assert!(error.contains(info.name) && error.contains("leave out --map-memory"), "{error}");
            }
        }
    }
}

#[test]
fn what_keeps_the_map_in_memory_is_named() {
    let refused_by = |layer: &str, config: &str, map_cache: MapCache| {
        let space = Space { map_cache: Some(map_cache), ..samples::ample_space() };
        find(layer).unwrap().build(&space, &config.parse().unwrap()).map(drop).unwrap_err().to_string()
    };
    assert!(refused_by("cold-weight", "oracle = 0.1", CACHE).contains("oracle"));
    let refused = |config: &str, map_cache| refused_by("log-greedy", config, map_cache);
    for (config, named) in [("buffer_bands = 1", "buffer_bands"), ("spare_bands = 0", "spare_bands = 0")] {
        assert!(refused(config, CACHE).contains(named));
    }
    assert!(refused("", MapCache { pages: 2, ..CACHE }).contains("at least 3"));
    assert!(refused("", MapCache { page_bytes: 64, ..CACHE }).contains("of 69"));
}

/// 18 TB in zones of 256 MiB and blocks of 4 KiB.
fn large(map_cache: Option<MapCache>) -> Space {
    let zones = Some(Zones { first: Unit::disk(0), count: 67_000, zone_blocks: 65_536 });
    Space { zones, map_cache, ..samples::ample_space() }
}

#[test]
fn the_cache_bounds_memory_and_the_journal() {
    for layer in LAYERS {
        let facts = |space: &Space| find(layer).unwrap().build(space, &toml::Table::new()).unwrap().facts();
        let (whole, cached) = (facts(&large(None)), facts(&large(Some(CACHE))));
        assert!(whole.memory.most > 30 << 30, "{layer} {:?}", whole.memory);
        assert!(cached.memory.most < 72 << 20, "{layer} {:?}", cached.memory);
        let half_a_gib = facts(&large(Some(MapCache { pages: 1 << 17, ..CACHE }))).memory.most;
        assert!(half_a_gib < 5 << 28, "{layer} {half_a_gib}");
        assert!(cached.journal.records < 500_000 && cached.journal.in_order.records == 0, "{:?}", cached.journal);
    }
}

#[test]
fn records_that_cannot_be_are_refused() {
    let mut log = find("log-greedy").unwrap().build(&large(Some(CACHE)), &toml::Table::new()).unwrap();
    let pages = log.cached_map().unwrap().count();
    let words = pages.div_ceil(64) as u32;
    let at = Extent::new(Lba(5), 4);
    let wrong = [
        Record::Note { key: 0, value: 65_537 },
        Record::Note { key: 67_000 + words, value: 1 },
        Record::Note { key: u32::MAX, value: u64::MAX },
        Record::Copy { at, to: Pba::disk(65_534) },
        Record::Copy { at: Extent::new(Lba(u64::MAX >> 9), 1), to: Pba::disk(0) },
        Record::Map { at, to: Pba::disk(67_000 * 65_536) },
        Record::Unit { unit: Unit::disk(0), is: u32::MAX - 1 },
        Record::Unit { unit: Unit::disk(67_000), is: u32::MAX },
    ];
    wrong.iter().for_each(|record| assert!(log.apply(record).is_err(), "{record:?}"));
    for record in [Record::Note { key: 0, value: 65_536 }, Record::Note { key: 67_000 + words - 1, value: 1 }] {
        log.apply(&record).unwrap();
    }
    let mut whole = find("log-greedy").unwrap().build(&large(None), &toml::Table::new()).unwrap();
    for record in [Record::Note { key: 0, value: 1 }, Record::Unit { unit: Unit::disk(0), is: u32::MAX }] {
        assert!(whole.apply(&record).is_err());
    }
    assert!(whole.apply(&Record::Copy { at, to: Pba::disk(0) }).is_err());
}
