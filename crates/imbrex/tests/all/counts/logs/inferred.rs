//! Streams by what is left of lives, against the model.

use imbrex::layers;
use test_material::cases;

use super::lifetimes::{Lifetimes, STRATEGIES};
use super::log::Counts;
use super::separation::eighty_twenty;
use super::{CASE, Case, mixed, real_trace};

const LAYER: &str = "log-lifetimes";

/// Bands, `spare_fraction` and how many streams that makes, by each strategy.
const STREAMS: [(usize, f64, [usize; 4]); 8] = [
    (40, 0.03, [2, 3, 3, 1]),
    (40, 0.06, [2, 3, 3, 1]),
    (40, 0.15, [3, 4, 4, 2]),
    (40, 0.3, [4, 6, 6, 2]),
    (40, 0.5, [6, 8, 8, 3]),
    (200, 0.15, [7, 10, 10, 4]),
    (40, 0.9, [8, 11, 11, 4]),
    (200, 0.7, [15, 20, 20, 8]),
];

fn compare(case: Case, config: &str) -> Counts {
    let counts = case.compare(LAYER, config, mixed);
    assert!(counts.resets > 500, "{counts:?}");
    counts
}

#[test]
fn any_number_of_streams_agrees_on_full_disks_and_on_empty_ones() {
    for (bands, spare, streams) in STREAMS {
        let capacity = ((bands * CASE.band_blocks) as f64 * (1.0 - spare)) as u64;
        assert_eq!(
            Lifetimes::new(STRATEGIES[0], bands, CASE.band_blocks, capacity).streams(),
            streams,
            "{bands}, {spare}"
        );
        for prefill in [1.0, 0.0].into_iter().take(cases(1, 2)) {
            let case = Case { bands, prefill, ..CASE };
            let of = |together: u32| compare(case, &format!("spare_fraction = {spare}\ncompact_bands = {together}"));
            let moved = [1, 2].map(|together| of(together).moved);
            assert!(spare > 0.5 || moved[0] > 1_000, "{case:?}: {moved:?}");
        }
    }
}

/// Blocks of longer bands are drawn, and bands are looked at anew. The first hazards count for more on smaller ones.
#[test]
fn lifetimes_agree_for_every_length_of_bands() {
    for band_blocks in [4, 6, 9, 32, 33, 70, 100] {
        for (spare, fewest) in [(0.15, 10_000), (0.4, 1_000)] {
            let case = Case { band_blocks, ..CASE };
            let counts = case.compare(LAYER, &format!("spare_fraction = {spare}"), eighty_twenty);
            assert!(counts.moved > fewest, "{counts:?}");
        }
    }
}

/// Of that many blocks one of two is followed.
#[test]
fn lifetimes_agree_where_not_every_block_is_followed() {
    let case = Case { bands: 340, band_blocks: 400, ..CASE };
    let counts = case.compare(LAYER, "spare_fraction = 0.03", |range| mixed(range / 10));
    assert!(counts.moved > 1_000, "{counts:?}");
}

#[test]
fn every_sample_of_every_field_of_inferred_lifetimes_agrees() {
    let base: toml::Table = "spare_bands = 2\ncompact_bands = 3\nspare_fraction = 0.3".parse().unwrap();
    let fields = layers::find(LAYER).unwrap().fields.iter().filter(|field| field.key != "idle_bands");
    for field in fields {
        for sample in field.samples {
            let mut config = base.clone();
            let value: toml::Table = format!("value = {sample}").parse().unwrap();
            config.insert(field.key.to_owned(), value["value"].clone());
            CASE.compare(LAYER, &config.to_string(), mixed);
        }
    }
    let of_few = compare(CASE, "spare_fraction = 0.3\nstep_blocks = 7");
    assert_eq!(of_few, compare(CASE, "spare_fraction = 0.3"), "a step is as long as it likes");
}

/// Where every block is followed miniatures are as large as the log itself, and each is one with its strategy.
#[test]
fn strategies_that_miniatures_find_agree_and_are_in_use() {
    let mut at_the_end = Vec::new();
    for (bands, prefill) in [(12, 0.0), (12, 1.0), (40, 1.0), (150, 1.0)] {
        let case = Case { bands, prefill, band_blocks: 128, ..CASE };
        let moved = |sample: u32| case.compare(LAYER, &format!("sample = {sample}"), eighty_twenty).moved;
        let [alone, chosen, _] = [0, 1, 4].map(moved);
        assert!(alone > 1_000, "{case:?}: {alone}");
        let model = *case.model(LAYER, "sample = 1", eighty_twenty).miniatures.unwrap();
        let of_each: Vec<u64> = model.logs.iter().map(|log| log.counts.moved).collect();
        println!("{case:?}: {alone} alone, {chosen} chosen, {of_each:?}");
        assert!(bands > 128 || of_each[0] == alone, "{case:?}");
        assert!(chosen * 10 < alone * 11, "{case:?}: {chosen}, {alone}");
        at_the_end.push(model.chosen);
    }
    assert!(at_the_end.iter().any(|&chosen| chosen != 1), "{at_the_end:?}");
}

#[test]
fn inferred_lifetimes_agree_on_a_real_trace() {
    let Some((case, dense)) = real_trace("the counts of inferred lifetimes on a real trace") else { return };
    for config in ["", "spare_bands = 3\ncompact_bands = 4"] {
        let counts = case.compare(LAYER, config, |_| dense.clone());
        assert!(counts.moved > 10_000, "{counts:?}");
    }
}
