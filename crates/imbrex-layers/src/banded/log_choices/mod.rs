//! `log-choices`: a log that compacts the band with the fewest live blocks of `choices` that it draws at random.
//!
//! It is the d-choices cleaning of Van Houdt ("A Mean Field Model for a Class of Garbage Collection Algorithms in
//! Flash-based Solid State Drives", SIGMETRICS 2013, d-Choices GC) and of Li, Lee and Lui ("Stochastic Modeling of
//! Large-Scale Solid-State Storage Systems", SIGMETRICS 2013, the randomized greedy algorithm). One choice is random
//! cleaning; with many it comes close to greedy, at the cost of looking at each.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{Draw, HeatConfig, LogConfig, LogStructured, Score, wrong};
use crate::{ConfigError, Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "log-choices",
    family: Some(Family::Banded),
    source: "the same, after Van Houdt, SIGMETRICS 2013, and Li, Lee and Lui, SIGMETRICS 2013",
    summary: "Everything is appended; the bands with the fewest live blocks of some drawn at random are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: DrawConfig::FIELDS,
    make: &|space, table| {
        let config: DrawConfig = INFO.read(table)?;
        config.check(INFO.name)?;
        let score = Score::Choices(Draw::new(config.choices, config.seed));
        Ok(Box::new(LogStructured::new(INFO.name, score, space, config.log, HeatConfig::default())?))
    },
};

/// More choices than this are as good as greedy and only take time.
const MOST_CHOICES: u32 = 1000;

/// The fields of logs whose victims are drawn.
#[derive(Clone, Debug, Configuration)]
struct DrawConfig {
    /// bands drawn for each victim, of which the one with the fewest live blocks is compacted
    #[field(default = 10, samples = [10, 1, 2])]
    pub choices: u32,
    /// which stream of random numbers the draws are made with
    #[field(default = 1, samples = [1, 2])]
    pub seed: u64,
    #[field(flatten)]
    pub log: LogConfig,
}

impl DrawConfig {
    pub fn check(&self, layer: &'static str) -> Result<(), ConfigError> {
        self.log.check(layer)?;
        if !(1..=MOST_CHOICES).contains(&self.choices) {
            let reason = format!("choices is {}; draw at least 1 band and at most {MOST_CHOICES}", self.choices);
            return wrong(layer, reason);
        }
        Ok(())
    }
}
