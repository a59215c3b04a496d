//! `log-cost-benefit`: a log that compacts the bands with the most (1 − u)·age / (1 + u), where u is the share of live
//! blocks and age the blocks that the host has written since it wrote the youngest of them.
//!
//! It is the cleaning of the log-structured file system (Rosenblum and Ousterhout, ACM TOCS 10(1), 1992), which Jones et
//! al. name as a comparison. What age means is the field `age`.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{Age, HeatConfig, LogConfig, LogStructured, Score};
use crate::{Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "log-cost-benefit",
    family: Some(Family::Banded),
    source: "the same, after Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
    summary: "Everything is appended; bands with old and few live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: AgeConfig::FIELDS,
    make: &|space, table| {
        let AgeConfig { age, log } = INFO.read(table)?;
        log.check(INFO.name)?;
        let score = Score::CostBenefit(age);
        Ok(Box::new(LogStructured::new(INFO.name, score, space, log, HeatConfig::default())?))
    },
};

/// The fields of logs in which bands have ages.
#[derive(Clone, Debug, Configuration)]
struct AgeConfig {
    /// "block", "mean", "live" or "band": whether each block keeps its age when it is moved, whether the youngest or
    /// the mean one counts, and whether dead ones do
    #[field(default = "block", samples = ["block", "mean", "live", "band"])]
    pub age: Age,
    #[field(flatten)]
    pub log: LogConfig,
}
