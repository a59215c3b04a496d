//! The layers of the family: each is a score and a list of fields. What they do is told where the family is.

use super::LogStructured;
use super::config::{Config, FIELDS, FIELDS_OF_AGES, FIELDS_OF_DRAWS, FIELDS_OF_TUNING, FIELDS_OF_WEIGHTS};
use super::score::{Draw, Score};
use crate::layers::{Family, LayerInfo};
use crate::recording::Recording;

const SOURCE: &str = "Jones et al., ACM TOS 12(1), 2016, §§3–5";

pub(in crate::layers) const GREEDY: LayerInfo = LayerInfo {
    name: "log-greedy",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands with the fewest live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS,
    make: &|space, config| Ok(Box::new(LogStructured::new(&GREEDY, |_| Score::Greedy, space, config)?)),
};

pub(in crate::layers) const FIFO: LayerInfo = LayerInfo {
    name: "log-fifo",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands closed longest ago are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS,
    make: &|space, config| Ok(Box::new(LogStructured::new(&FIFO, |_| Score::Fifo, space, config)?)),
};

pub(in crate::layers) const COST_BENEFIT: LayerInfo = LayerInfo {
    name: "log-cost-benefit",
    family: Some(Family::Banded),
    source: "the same, after Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
    summary: "Everything is appended; bands with old and few live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS_OF_AGES,
    make: &|space, config| {
        let score = |config: &Config| Score::CostBenefit(config.age);
        Ok(Box::new(LogStructured::new(&COST_BENEFIT, score, space, config)?))
    },
};

pub(in crate::layers) const CHOICES: LayerInfo = LayerInfo {
    name: "log-choices",
    family: Some(Family::Banded),
    source: "the same, after Van Houdt, SIGMETRICS 2013, and Li, Lee and Lui, SIGMETRICS 2013",
    summary: "Everything is appended; the bands with the fewest live blocks of some drawn at random are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS_OF_DRAWS,
    make: &|space, config| {
        let score = |config: &Config| Score::Choices(Draw::new(config.choices, config.seed));
        Ok(Box::new(LogStructured::new(&CHOICES, score, space, config)?))
    },
};

pub(in crate::layers) const COLD_WEIGHT: LayerInfo = LayerInfo {
    name: "cold-weight",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; bands with dead and, by a weight, cold blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS_OF_WEIGHTS,
    make: &|space, config| Ok(Box::new(LogStructured::new(&COLD_WEIGHT, Score::cold_weight, space, config)?)),
};

pub(in crate::layers) const SEPBIT: LayerInfo = LayerInfo {
    name: "sepbit",
    family: Some(Family::Banded),
    source: "the same, after Wang et al., FAST 2022",
    summary: "Everything is appended; blocks are apart by how long others lived, and old bands with many dead ones compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS,
    make: &|space, config| Ok(Box::new(LogStructured::new(&SEPBIT, |_| Score::Closed, space, config)?)),
};

pub(in crate::layers) const TUNED: LayerInfo = LayerInfo {
    name: "tuned-weight",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "As cold-weight, with the weight that moves least on small disks which follow a sample of the blocks.",
    recording: Recording::Zoned,
    buffered: false,
    fields: FIELDS_OF_TUNING,
    make: &|space, config| Ok(Box::new(LogStructured::tuned(&TUNED, space, config)?)),
};
