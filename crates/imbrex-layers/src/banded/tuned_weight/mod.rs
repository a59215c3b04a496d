//! `tuned-weight`: `cold-weight` whose weight is found by miniatures that follow a sample of the blocks, each with a
//! weight of its own (`log_structured/tune`).

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::cold_weight::WeightConfig;
use super::log_structured::{HeatConfig, LogConfig, LogStructured, SOURCE, Score, wrong};
use crate::{ConfigError, Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "tuned-weight",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "As cold-weight, with the weight that moves least in miniatures which follow a sample of the blocks.",
    recording: Recording::Zoned,
    buffered: false,
    fields: TuneConfig::FIELDS,
    make: &|space, table| {
        let config: TuneConfig = INFO.read(table)?;
        config.check(INFO.name)?;
        let score = Score::ColdWeight(WeightConfig::default().weights(), config.heat.equal);
        let log = LogStructured::new(INFO.name, score, space, config.log, config.heat)?;
        Ok(Box::new(log.tuned(config.sample)))
    },
};

/// The fields of logs in which miniatures find that weight.
#[derive(Clone, Debug, Configuration)]
struct TuneConfig {
    /// one of this many neighbours is written to the miniatures that find the weight; of fewer, where these would be too
    /// small, and of more, where they would have more than 2^18 blocks
    #[field(default = 64, samples = [64, 1, 3])]
    pub sample: u32,
    #[field(flatten)]
    pub heat: HeatConfig,
    #[field(flatten)]
    pub log: LogConfig,
}

impl TuneConfig {
    pub fn check(&self, layer: &'static str) -> Result<(), ConfigError> {
        self.log.check(layer)?;
        if self.sample == 0 {
            return wrong(layer, "sample must be at least 1".to_owned());
        }
        self.heat.check(layer)
    }
}
