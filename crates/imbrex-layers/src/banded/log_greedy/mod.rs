//! `log-greedy`: a log that compacts the bands with the fewest live blocks, the paper's baseline Empty.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{Equal, Fewest, HeatConfig, LogConfig, LogStructured, SOURCE, Score, Weights};
use crate::{Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "log-greedy",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands with the fewest live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: GreedyConfig::FIELDS,
    make: &|space, table| {
        let GreedyConfig { equal, log } = INFO.read(table)?;
        log.check(INFO.name)?;
        // With an order among equals, an index by live blocks is of no use.
        let of = |equal| Score::ColdWeight(Weights::of(0.0, 0.0), equal);
        let score = match equal {
            Fewest::First => Score::Greedy,
            Fewest::Oldest => of(Equal::Oldest),
            Fewest::Lowest => of(Equal::Fewest),
        };
        Ok(Box::new(LogStructured::new(INFO.name, score, space, log, HeatConfig::default())?))
    },
};

/// The fields of the log that compacts the bands with the fewest live blocks.
#[derive(Clone, Debug, Configuration)]
struct GreedyConfig {
    /// "first" to come to that number, "oldest" or "lowest" number: which of two bands with equally few live blocks is
    /// taken
    #[field(default = "first", samples = ["first", "oldest", "lowest"])]
    equal: Fewest,
    #[field(flatten)]
    log: LogConfig,
}
