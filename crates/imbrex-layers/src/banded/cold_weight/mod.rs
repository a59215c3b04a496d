//! `cold-weight`: a log that compacts the bands with the most F + w·C (Eq. 3 of Jones et al.), where F is the share of
//! dead blocks, C that of live ones that are cold and w their weight.
//!
//! The paper's two weights are reduced to this one: only (cold_weight − hot_weight) / (1 − hot_weight) matters.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{HeatConfig, LogConfig, LogStructured, SOURCE, Score, Weights, wrong};
use crate::{ConfigError, Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "cold-weight",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; bands with dead and, by a weight, cold blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: WeightConfig::FIELDS,
    make: &|space, table| {
        let config: WeightConfig = INFO.read(table)?;
        config.check(INFO.name)?;
        let score = Score::ColdWeight(config.weights(), config.heat.equal);
        Ok(Box::new(LogStructured::new(INFO.name, score, space, config.log, config.heat)?))
    },
};

/// The fields of logs in which cold blocks have a weight.
#[derive(Clone, Debug, Configuration)]
pub(super) struct WeightConfig {
    /// what a cold live block of a band counts for, of a dead one
    #[field(default = 0.3, samples = [0.3, 0.0, 0.7, 1.0])]
    cold_weight: f64,
    /// what a hot one counts for, below 1; only (cold_weight - hot_weight) / (1 - hot_weight) matters
    #[field(default = 0.0, samples = [0.0, 0.2])]
    hot_weight: f64,
    #[field(flatten)]
    pub heat: HeatConfig,
    #[field(flatten)]
    pub log: LogConfig,
}

impl WeightConfig {
    pub fn check(&self, layer: &'static str) -> Result<(), ConfigError> {
        self.log.check(layer)?;
        let (cold, hot) = (self.cold_weight, self.hot_weight);
        if !(0.0..=1.0).contains(&cold) || !(0.0..1.0).contains(&hot) {
            let reason = format!("cold_weight is {cold}, hot_weight {hot}; choose from 0 to 1, the latter below 1");
            return wrong(layer, reason);
        }
        self.heat.check(layer)
    }

    pub fn weights(&self) -> Weights {
        Weights::of(self.cold_weight, self.hot_weight)
    }
}
