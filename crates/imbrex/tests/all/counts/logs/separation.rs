//! Streams of blocks that are written to bands of their own, against the model; and what that is for.

use imbrex::layers;
use imbrex::trace::TraceRequest;

use super::comparisons::{PAPER, all_differ, compare};
use super::log::Counts;
use super::{CASE, Case, mixed, real_trace};
use crate::counts::{requests, synthetic};

/// With and without a write buffer and spare bands.
const SHARED: [&str; 5] = [
    "",
    "spare_bands = 0\ncompact_bands = 1",
    "spare_bands = 3\ncompact_bands = 4\nspare_fraction = 0.3",
    "buffer_bands = 2\nspare_bands = 2",
    PAPER,
];

fn moved(layer: &'static str, config: &str) -> u64 {
    compare(layer, config).moved
}

#[test]
fn every_number_of_open_bands_agrees() {
    for shared in SHARED {
        let by_bands = [1, 2, 3].map(|bands| moved("cold-weight", &format!("{shared}\nopen_bands = {bands}")));
        assert!(all_differ(&by_bands), "{shared:?}: {by_bands:?}");
        assert_eq!(by_bands[0], moved("cold-weight", shared));
    }
}

#[test]
fn what_compaction_leaves_of_the_heat_agrees() {
    for shared in SHARED {
        for bands in [1, 2, 3] {
            let by_cooling = ["reset", "halve"]
                .map(|cooling| moved("cold-weight", &format!("{shared}\nopen_bands = {bands}\ncooling = '{cooling}'")));
            assert!(all_differ(&by_cooling), "{shared:?}, {bands}: {by_cooling:?}");
        }
    }
}

/// Compaction does not cool what is known to be hot, so that nothing was hot once.
#[test]
fn blocks_that_are_known_to_be_hot_agree() {
    for shared in SHARED {
        let of = |more: &str| moved("cold-weight", &format!("{shared}\n{more}"));
        let known = [0.0, 0.2, 0.6].map(|share| of(&format!("oracle = {share:?}\nopen_bands = 2")));
        assert!(all_differ(&known), "{shared:?}: {known:?}");
        assert_ne!(known[1], of("oracle = 0.2"));
        for more in ["open_bands = 3", "open_bands = 2\ncooling = 'halve'"] {
            assert_eq!(known[1], of(&format!("oracle = 0.2\n{more}")), "{shared:?}, {more}");
        }
    }
}

/// Every tie is taken as it is with one stream, also where bands are closed in another order than they were filled.
#[test]
fn ties_of_bands_of_several_streams_agree() {
    for shared in SHARED {
        let by_tie = ["fewest", "oldest", "lowest"].map(|equal| {
            moved("cold-weight", &format!("{shared}\nopen_bands = 3\ncold_weight = 0.5\nequal = '{equal}'"))
        });
        assert!(all_differ(&by_tie), "{shared:?}: {by_tie:?}");
    }
}

#[test]
fn blocks_apart_by_how_long_they_live_agree() {
    for shared in SHARED {
        let counts = compare("sepbit", shared);
        assert!(counts.moved > 5_000, "{shared:?}: {counts:?}");
    }
    let readings = [
        "",
        "buffered_heat = false",
        "buffer_tie = 'hot'",
        "buffer_volatile = false",
        "sequence = 'heat'",
        "spare_bands = 0",
        "compact_bands = 1",
        "buffer_bands = 1",
        "spare_fraction = 0.3",
    ];
    let by_reading = readings.map(|reading| {
        let shared = ["buffer_bands = 2", "spare_bands = 2", "compact_bands = 4"].into_iter();
        let others: Vec<&str> = shared.filter(|of| of.split(' ').next() != reading.split(' ').next()).collect();
        moved("sepbit", &format!("{}\n{reading}", others.join("\n")))
    });
    assert!(all_differ(&by_reading), "{by_reading:?}");
}

/// A step is as long as it likes.
#[test]
fn streams_agree_in_steps_of_a_few_blocks() {
    for layer in ["cold-weight", "sepbit"] {
        for shared in SHARED {
            let streams = if layer == "sepbit" { shared.to_owned() } else { format!("{shared}\nopen_bands = 3") };
            assert_eq!(moved(layer, &streams), moved(layer, &format!("{streams}\nstep_blocks = 7")));
        }
    }
}

#[test]
fn streams_agree_on_a_disk_that_was_empty_and_on_one_that_is_nearly_full() {
    for (layer, own) in [("cold-weight", "open_bands = 3"), ("cold-weight", "open_bands = 2"), ("sepbit", "")] {
        for shared in ["", "buffer_bands = 2", PAPER] {
            let config = format!("{shared}\n{own}");
            let empty = Case { prefill: 0.0, flush: true, ..CASE }.compare(layer, &config, mixed);
            assert!(empty.moved > 5_000, "{empty:?}");
            // The streams then share what room there is.
            let full = compare(layer, &format!("{config}\nspare_fraction = 0.04"));
            assert!(full.moved > 2 * empty.moved, "{full:?} {empty:?}");
        }
    }
}

/// Of 100 requests 80 go to the first fifth.
pub fn eighty_twenty(range_bytes: u64) -> Vec<TraceRequest> {
    requests(&synthetic(&format!(
        r#"
        seed = 7
        range_bytes = {range_bytes}
        write_ratio = 1.0
        sizes = [{{ kib = 4, weight = 1 }}]
        streams = [{{ weight = 1, pattern.hot-cold = {{ hot_space = 0.2, hot_accesses = 0.8 }} }}]
    "#
    )))
}

/// What separation is for.
#[test]
fn bands_of_hot_and_of_cold_blocks_alone_move_less() {
    for shared in ["", "spare_bands = 0", "buffer_bands = 2"] {
        let counts = |bands: u32| -> Counts {
            let config =
                format!("{shared}\ncold_weight = 0.0\noracle = 0.2\nopen_bands = {bands}\nspare_fraction = 0.3");
            CASE.compare("cold-weight", &config, eighty_twenty)
        };
        let [together, apart] = [1, 2].map(counts);
        assert!(apart.moved < together.moved, "{shared:?}: {together:?} {apart:?}");
    }
}

/// Each value that a field is tried with, beside several streams, victims and spare bands; but not what is done in idle
/// time, which the model does not know.
#[test]
fn every_sample_of_every_field_agrees() {
    let fields = |layer: &str| layers::find(layer).unwrap().fields.iter().filter(|field| field.key != "idle_bands");
    for layer in ["cold-weight", "sepbit", "tuned-weight"] {
        let base = "buffer_bands = 1\nspare_bands = 2\ncompact_bands = 3";
        let streams = if layer == "sepbit" { "" } else { "open_bands = 3" };
        let base: toml::Table = format!("{base}\n{streams}").parse().unwrap();
        // Nine logs take their time: what the family shares is tried without small disks.
        let is_tried = |key: &str| layer != "tuned-weight" || fields("sepbit").all(|shared| shared.key != key);
        for field in fields(layer).filter(|field| is_tried(field.key)) {
            for sample in field.samples {
                let mut config = base.clone();
                let value: toml::Table = format!("value = {sample}").parse().unwrap();
                config.insert(field.key.to_owned(), value["value"].clone());
                compare(layer, &config.to_string());
            }
        }
    }
}

#[test]
fn streams_agree_on_a_real_trace() {
    let Some((case, dense)) = real_trace("the counts of streams of blocks on a real trace") else { return };
    let two = "open_bands = 2\ncooling = 'halve'";
    for (layer, own) in [("cold-weight", "open_bands = 3"), ("cold-weight", two), ("sepbit", ""), ("tuned-weight", two)]
    {
        for shared in ["", "buffer_bands = 2\nspare_bands = 2", PAPER] {
            let counts = case.compare(layer, &format!("{shared}\n{own}"), |_| dense.clone());
            assert!(counts.moved > 10_000, "{layer}, {shared}: {counts:?}");
        }
    }
}

#[test]
fn streams_agree_for_blocks_of_512_bytes() {
    let case = Case { block_bytes: 512, band_blocks: 24 * 8, flush: true, ..CASE };
    for (layer, own) in [("cold-weight", "open_bands = 3"), ("sepbit", ""), ("tuned-weight", "open_bands = 2")] {
        let counts = case.compare(layer, &format!("{PAPER}\n{own}"), mixed);
        assert!(counts.resets > 500 && counts.hits > 1_000, "{layer}: {counts:?}");
    }
}
