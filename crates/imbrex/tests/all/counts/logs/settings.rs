//! What a log-structured layer is told, as its model reads it.

use super::lifetimes::{STRATEGIES, Strategy};

#[derive(Clone)]
pub struct Settings {
    pub layer: &'static str,
    /// The reading of `age`.
    pub age: String,
    /// Which of two bands that count alike is taken.
    pub equal: String,
    /// What a dead block and a cold live one count for, of the same unit; a hot one counts for nothing.
    pub weights: [i64; 2],
    pub spare: usize,
    /// Bands compacted at once.
    pub together: usize,
    pub choices: u64,
    pub seed: u64,
    pub buffer_bands: usize,
    /// Whether the write buffer is lost with the power, so that older copies of what is in it are needed.
    pub volatile: bool,
    pub buffered_heat: bool,
    pub hot_at_tie: bool,
    /// Whether compaction writes the hottest blocks first.
    pub hottest_first: bool,
    /// Streams of blocks by their heat.
    pub open_bands: u64,
    /// Overwrites that make a block hot.
    pub hot_from: u64,
    /// Whether compaction leaves half of the heat.
    pub halve: bool,
    /// The share of blocks that are known to be hot.
    pub oracle: f64,
    /// One of so many neighbours is written to miniatures.
    pub sample: usize,
    /// How `log-lifetimes` divides blocks into streams, and how far it looks ahead.
    pub strategy: Strategy,
}

impl Settings {
    pub fn new(layer: &'static str, config: &toml::Table) -> Self {
        let number =
            |key: &str, default| config.get(key).map_or(default, |value| value.as_integer().expect("a number") as u64);
        let word = |key: &str, default: &str| {
            config.get(key).map_or(default, |value| value.as_str().expect("a word")).to_owned()
        };
        let is = |key: &str| config.get(key).is_none_or(|value| value.as_bool().expect("yes or no"));
        // Of thousandths Eq. (3), times the denominator that all scores share, is a whole number.
        let thousandths = |key: &str, default: f64| {
            let weight = config.get(key).map_or(default, |value| value.as_float().expect("a weight"));
            (weight * 1000.0).round() as i64
        };
        let [cold, hot] = [thousandths("cold_weight", 0.3), thousandths("hot_weight", 0.0)];
        Self {
            layer,
            age: word("age", "block"),
            equal: word("equal", "fewest"),
            weights: [1000 - hot, cold - hot],
            spare: number("spare_bands", 1) as usize,
            together: number("compact_bands", if layer == "log-lifetimes" { 1 } else { 2 }) as usize,
            choices: number("choices", 10),
            seed: number("seed", 1),
            buffer_bands: number("buffer_bands", 0) as usize,
            volatile: is("buffer_volatile"),
            buffered_heat: is("buffered_heat"),
            hot_at_tie: word("buffer_tie", "cold") == "hot",
            hottest_first: word("sequence", "place") == "heat",
            open_bands: number("open_bands", 1),
            hot_from: number("hot_from", 1),
            halve: word("cooling", "reset") == "halve",
            oracle: config.get("oracle").map_or(0.0, |value| value.as_float().expect("a share")),
            sample: number("sample", 64) as usize,
            strategy: STRATEGIES[usize::from(number("sample", 64) > 0)],
        }
    }

    pub fn has_miniatures(&self) -> bool {
        self.layer == "tuned-weight" || self.layer == "log-lifetimes" && self.sample > 0
    }
}
