//! Each reading of each layer, against the model; and that readings differ where they are compared.

use std::collections::BTreeSet;

use super::log::Counts;
use super::{CASE, Case, mixed, real_trace};

const LAYERS: [&str; 5] = ["log-fifo", "log-greedy", "log-cost-benefit", "log-choices", "cold-weight"];

/// Two bands of RAM that outlive the power, no spare band.
pub const PAPER: &str = "buffer_bands = 2\nbuffer_volatile = false\nsequence = 'heat'\nspare_bands = 0";

/// What is counted on the usual disk under the usual requests.
pub fn compare(layer: &'static str, config: &str) -> Counts {
    CASE.compare(layer, config, mixed)
}

pub fn all_differ(moved: &[u64]) -> bool {
    moved.iter().collect::<BTreeSet<_>>().len() == moved.len()
}

#[test]
fn moved_blocks_of_log_structured_bands_agree() {
    let shared = ["", "compact_bands = 1", "spare_bands = 3\ncompact_bands = 4\nspare_fraction = 0.3"];
    for layer in LAYERS {
        for config in shared {
            let counts = compare(layer, config);
            assert!(counts.moved > 10_000, "{counts:?}");
        }
    }
}

#[test]
fn every_reading_of_age_agrees() {
    for config in ["compact_bands = 1", "compact_bands = 3\nspare_bands = 2", "buffer_bands = 2"] {
        let moved = |age: &str| compare("log-cost-benefit", &format!("age = '{age}'\n{config}")).moved;
        let by_age = ["block", "mean", "live", "band"].map(moved);
        assert!(by_age[1] != by_age[0] && by_age[1] != by_age[3] && by_age[0] != by_age[3], "{by_age:?}");
        assert_eq!(moved("block"), compare("log-cost-benefit", config).moved);
    }
}

#[test]
fn draws_agree_for_every_number_of_choices_and_seed() {
    let moved = |choices: u32, seed: u32| {
        compare("log-choices", &format!("compact_bands = 1\nchoices = {choices}\nseed = {seed}")).moved
    };
    let by_choices = [1, 2, 10, 300].map(|choices| moved(choices, 1));
    assert!(by_choices.is_sorted_by(|fewer, more| fewer > more), "{by_choices:?}");
    assert_ne!(moved(2, 1), moved(2, 7));
}

#[test]
fn every_weight_and_every_tie_of_it_agrees() {
    let moved = |weights: &str, equal: &str| {
        compare("cold-weight", &format!("{weights}\nequal = '{equal}'\ncompact_bands = 1")).moved
    };
    for weight in [0.1, 0.3, 0.5, 0.8, 1.0] {
        let by_tie = ["fewest", "oldest", "lowest"].map(|equal| moved(&format!("cold_weight = {weight:?}"), equal));
        assert!(by_tie.iter().all(|&moved| moved > 10_000), "{weight}: {by_tie:?}");
        assert!(weight < 0.5 || all_differ(&by_tie), "{weight}: {by_tie:?}");
    }
    // Hot blocks that count for more than cold ones, and a pair of weights that is another way to say 0.3.
    moved("cold_weight = 0.1\nhot_weight = 0.4", "oldest");
    assert_eq!(moved("cold_weight = 0.65\nhot_weight = 0.5", "lowest"), moved("cold_weight = 0.3", "lowest"));
}

/// Of two bands with equally few live blocks the one that came to that number first is none of those that `cold-weight`
/// can take; with the lower number a weight of 0 is the same as greedy cleaning.
#[test]
fn every_tie_of_greedy_cleaning_agrees_and_a_weight_of_nothing_is_one_of_them() {
    for set_up in ["", "spare_bands = 2\ncompact_bands = 4", PAPER] {
        let moved = |equal: &str| compare("log-greedy", &format!("equal = '{equal}'\n{set_up}")).moved;
        let by_tie = ["first", "oldest", "lowest"].map(moved);
        assert!(all_differ(&by_tie), "{by_tie:?}");
        assert!(by_tie.iter().all(|moved| moved.abs_diff(by_tie[0]) * 25 < by_tie[0]), "{by_tie:?}");
        for equal in ["fewest", "lowest"] {
            let weightless = compare("cold-weight", &format!("cold_weight = 0.0\nequal = '{equal}'\n{set_up}")).moved;
            assert_eq!(weightless, by_tie[2], "{set_up}");
        }
        assert_eq!(compare("log-greedy", set_up).moved, by_tie[0]);
    }
}

/// Where victims wait in RAM as many as were asked for are read, though only one of them may have a dead block.
#[test]
fn without_spare_bands_always_as_many_are_compacted() {
    for layer in LAYERS.into_iter().chain(["sepbit"]) {
        for config in ["", "buffer_bands = 2\nbuffer_volatile = false\nsequence = 'heat'"] {
            let config = format!("spare_bands = 0\ncompact_bands = 4\nspare_fraction = 0.003\n{config}");
            let counts = compare(layer, &config);
            assert!(counts.resets > 400 && counts.resets.is_multiple_of(4), "{layer}: {counts:?}");
        }
    }
}

#[test]
fn a_write_buffer_agrees_under_every_layer() {
    for layer in LAYERS {
        for config in [
            "buffer_bands = 1",
            "buffer_bands = 2\nbuffered_heat = false",
            "buffer_bands = 2\nbuffer_tie = 'hot'\nsequence = 'heat'",
            "buffer_bands = 3\nbuffer_volatile = false\nspare_bands = 2\ncompact_bands = 3",
        ] {
            let counts = compare(layer, config);
            assert!(counts.moved > 5_000 && counts.hits > 500 && counts.appended == 0, "{counts:?}");
        }
    }
}

#[test]
fn readings_of_the_write_buffer_move_the_count_as_in_the_model() {
    // With several victims and targets, so that the order in which blocks are moved matters.
    let shared = "buffer_bands = 2\nspare_bands = 2\ncompact_bands = 4";
    let readings = ["", "buffered_heat = false", "buffer_tie = 'hot'", "buffer_volatile = false", "sequence = 'heat'"];
    for layer in ["cold-weight", "log-greedy"] {
        let moved = readings.map(|reading| compare(layer, &format!("{shared}\n{reading}")).moved);
        assert!(all_differ(&moved), "{layer}: {moved:?}");
        assert_eq!(moved.iter().min(), Some(&moved[3]), "what is dead at once is not moved: {moved:?}");
    }
}

#[test]
fn the_papers_set_up_agrees_for_every_number_of_bands_and_both_sizes_of_blocks() {
    for layer in LAYERS {
        let mut moved = Vec::new();
        for block_bytes in [512, 4096] {
            let case = Case { block_bytes, band_blocks: 24 * 4096 / block_bytes as usize, flush: true, ..CASE };
            for together in [1, 2, 4] {
                let counts = case.compare(layer, &format!("{PAPER}\ncompact_bands = {together}"), mixed);
                assert!(counts.resets > 1_000 && counts.hits > 1_000, "{counts:?}");
                moved.push(counts.moved);
            }
        }
        assert!(all_differ(&moved), "{layer}: {moved:?}");
    }
}

/// With victims in RAM a large weight has bands compacted that gain nothing, as long as another does.
#[test]
fn large_weights_agree_where_victims_wait_in_ram() {
    for together in [1, 2, 4] {
        let counts = |weight: &str, spare: f64| {
            let config =
                format!("{PAPER}\ncompact_bands = {together}\ncold_weight = {weight}\nspare_fraction = {spare}");
            compare("cold-weight", &config)
        };
        let [small, large] = ["0.2", "1.0"].map(|weight| counts(weight, 0.15));
        assert!(large.moved > 2 * small.moved, "{small:?} {large:?}");
        counts("0.9", 0.04);
        // Bands of cold blocks alone then all count alike, dead or live, so that only the rule makes one gain.
        let by_tie = ["fewest", "oldest", "lowest"].map(|equal| counts(&format!("1.0\nequal = '{equal}'"), 0.15).moved);
        assert!(all_differ(&by_tie), "{by_tie:?}");
    }
}

#[test]
fn what_is_left_in_the_buffer_is_written_when_that_is_asked_for() {
    for config in ["buffer_bands = 2", PAPER] {
        for layer in LAYERS {
            let counts = |flush| Case { flush, ..CASE }.compare(layer, config, mixed);
            let [left, flushed] = [false, true].map(counts);
            assert_eq!(left.hits, flushed.hits);
            assert!((1..=48).contains(&(flushed.destaged - left.destaged)), "{left:?} {flushed:?}");
        }
    }
}

/// Blocks that are written for the first time are cold.
#[test]
fn counts_agree_on_a_disk_that_was_empty() {
    for layer in LAYERS {
        for config in ["", "buffer_bands = 2", PAPER] {
            let empty = Case { prefill: 0.0, ..CASE }.compare(layer, config, mixed);
            assert!(empty.moved > 10_000 && empty.moved < compare(layer, config).moved, "{empty:?}");
        }
    }
}

#[test]
fn counts_agree_on_a_real_trace() {
    let Some((case, dense)) = real_trace("the counts of log-structured bands on a real trace") else { return };
    for layer in LAYERS {
        for config in ["buffer_bands = 2", PAPER] {
            let counts = case.compare(layer, config, |_| dense.clone());
            assert!(counts.moved > 20_000 && counts.hits > 5_000, "{counts:?}");
        }
    }
}
