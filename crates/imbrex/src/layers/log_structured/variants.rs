//! The layers of the family: each is a score and a list of fields. What they do is told where the family is.

use super::LogStructured;
use super::config::{AgeConfig, Config, DrawConfig, HeatConfig, TuneConfig, WeightConfig};
use super::score::{Draw, Score};
use super::tune::Tuner;
use crate::layer::TranslationLayer;
use crate::layers::config::{Configuration, read};
use crate::layers::{ConfigError, Family, LayerInfo};
use crate::recording::Recording;
use crate::space::Space;

const SOURCE: &str = "Jones et al., ACM TOS 12(1), 2016, §§3–5";

pub(in crate::layers) const GREEDY: LayerInfo = LayerInfo {
    name: "log-greedy",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands with the fewest live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: Config::FIELDS,
    make: &|space, table| plain(&GREEDY, Score::Greedy, space, table),
};

pub(in crate::layers) const FIFO: LayerInfo = LayerInfo {
    name: "log-fifo",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands closed longest ago are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: Config::FIELDS,
    make: &|space, table| plain(&FIFO, Score::Fifo, space, table),
};

pub(in crate::layers) const COST_BENEFIT: LayerInfo = LayerInfo {
    name: "log-cost-benefit",
    family: Some(Family::Banded),
    source: "the same, after Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
    summary: "Everything is appended; bands with old and few live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: AgeConfig::FIELDS,
    make: &|space, table| {
        let AgeConfig { age, log } = read(&COST_BENEFIT, table)?;
        log.check(COST_BENEFIT.name)?;
        let score = Score::CostBenefit(age);
        Ok(Box::new(LogStructured::new(COST_BENEFIT.name, score, space, log, HeatConfig::default())?))
    },
};

pub(in crate::layers) const CHOICES: LayerInfo = LayerInfo {
    name: "log-choices",
    family: Some(Family::Banded),
    source: "the same, after Van Houdt, SIGMETRICS 2013, and Li, Lee and Lui, SIGMETRICS 2013",
    summary: "Everything is appended; the bands with the fewest live blocks of some drawn at random are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: DrawConfig::FIELDS,
    make: &|space, table| {
        let config: DrawConfig = read(&CHOICES, table)?;
        config.check(CHOICES.name)?;
        let score = Score::Choices(Draw::new(config.choices, config.seed));
        Ok(Box::new(LogStructured::new(CHOICES.name, score, space, config.log, HeatConfig::default())?))
    },
};

pub(in crate::layers) const COLD_WEIGHT: LayerInfo = LayerInfo {
    name: "cold-weight",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; bands with dead and, by a weight, cold blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: WeightConfig::FIELDS,
    make: &|space, table| {
        let config: WeightConfig = read(&COLD_WEIGHT, table)?;
        config.check(COLD_WEIGHT.name)?;
        let score = Score::ColdWeight(config.weights(), config.heat.equal);
        Ok(Box::new(LogStructured::new(COLD_WEIGHT.name, score, space, config.log, config.heat)?))
    },
};

pub(in crate::layers) const SEPBIT: LayerInfo = LayerInfo {
    name: "sepbit",
    family: Some(Family::Banded),
    source: "the same, after Wang et al., FAST 2022",
    summary: "Everything is appended; blocks are apart by how long others lived, and old bands with many dead ones compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: Config::FIELDS,
    make: &|space, table| plain(&SEPBIT, Score::Closed, space, table),
};

pub(in crate::layers) const TUNED: LayerInfo = LayerInfo {
    name: "tuned-weight",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "As cold-weight, with the weight that moves least on small disks which follow a sample of the blocks.",
    recording: Recording::Zoned,
    buffered: false,
    fields: TuneConfig::FIELDS,
    make: &|space, table| {
        let config: TuneConfig = read(&TUNED, table)?;
        config.check(TUNED.name)?;
        let score = Score::ColdWeight(WeightConfig::default().weights(), config.heat.equal);
        let mut log = LogStructured::new(TUNED.name, score, space, config.log, config.heat)?;
        log.tuner = Some(Tuner::new(config.sample, &log));
        Ok(Box::new(log))
    },
};

/// A log that can be set to nothing but what all can.
fn plain(
    info: &LayerInfo,
    score: Score,
    space: &Space,
    table: &toml::Table,
) -> Result<Box<dyn TranslationLayer>, ConfigError> {
    let config: Config = read(info, table)?;
    config.check(info.name)?;
    Ok(Box::new(LogStructured::new(info.name, score, space, config, HeatConfig::default())?))
}
