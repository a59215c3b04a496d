//! The weight of cold blocks that miniatures find, against a model that has such; and that it is the best one.

use super::comparisons::{PAPER, all_differ, compare};
use super::miniatures::TENTHS;
use super::{CASE, Case, mixed};

const TUNED: &str = "tuned-weight";

/// Bands long enough for a sample.
const LONG: Case = Case { band_blocks: 128, ..CASE };

#[test]
fn a_weight_that_miniatures_find_agrees() {
    for shared in [
        "",
        "spare_bands = 0",
        "buffer_bands = 2\nopen_bands = 2",
        "open_bands = 3\ncooling = 'halve'\nequal = 'oldest'\ncompact_bands = 1",
        PAPER,
    ] {
        for prefill in [0.0, 1.0] {
            let counts = Case { prefill, ..CASE }.compare(TUNED, shared, mixed);
            assert!(counts.moved > 5_000, "{shared:?}: {counts:?}");
        }
    }
}

#[test]
fn readings_of_the_heat_and_of_ties_agree_with_a_weight_that_is_found() {
    let readings = ["", "open_bands = 2", "open_bands = 3", "cooling = 'halve'", "oracle = 0.2", "equal = 'oldest'"];
    for spare in [0, 1] {
        let moved = readings.map(|reading| compare(TUNED, &format!("spare_bands = {spare}\n{reading}")).moved);
        assert!(all_differ(&moved), "{spare}: {moved:?}");
    }
}

#[test]
fn every_sample_agrees() {
    for shared in ["", "spare_bands = 0\nbuffer_bands = 1", "open_bands = 2\noracle = 0.2"] {
        let by_sample =
            [1, 3, 64].map(|sample| LONG.compare(TUNED, &format!("{shared}\nsample = {sample}"), mixed).moved);
        assert!(by_sample[1..] != [by_sample[0]; 2], "{shared:?}: {by_sample:?}");
    }
}

/// Where every block is followed miniatures are as large as the log itself, and each is one with its weight.
#[test]
fn the_weight_in_use_at_the_end_is_that_of_the_log_that_moves_least() {
    let case = LONG;
    let mut at_the_end = Vec::new();
    for shared in ["", "spare_bands = 0\ncompact_bands = 1", "open_bands = 2", "buffer_bands = 2"] {
        let alone =
            |tenths: i64| case.compare("cold-weight", &format!("{shared}\ncold_weight = 0.{tenths}"), mixed).moved;
        let alone = TENTHS.map(alone);
        let config = format!("{shared}\nsample = 1");
        let model = *case.model(TUNED, &config, mixed).miniatures.unwrap();
        assert_eq!(model.logs.iter().map(|log| log.counts.moved).collect::<Vec<_>>(), alone);
        let least = *alone.iter().min().unwrap();
        // It is not left for one that moves less by not even a hundredth and a band.
        let band = LONG.band_blocks as u64;
        assert!(alone[model.chosen] * 99 <= (least + band) * 100, "{shared:?}: {} of {alone:?}", model.chosen);
        println!("{shared:?}: {} of {alone:?}", model.chosen);
        at_the_end.push(model.chosen);
        // The layer has the same weights in use, or it would move something else.
        let tuned = case.compare(TUNED, &config, mixed).moved;
        assert!(tuned * 20 < least * 21, "{shared:?}: {tuned} {alone:?}");
    }
    // All begin with the second.
    assert!(at_the_end.iter().any(|&chosen| chosen != 1), "{at_the_end:?}");
}
