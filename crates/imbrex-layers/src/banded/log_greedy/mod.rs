//! `log-greedy`: a log that compacts the bands with the fewest live blocks, the paper's baseline Empty.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{LogConfig, LogStructured, SOURCE, Score};
use crate::{Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "log-greedy",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands with the fewest live blocks are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: LogConfig::FIELDS,
    make: &|space, table| LogStructured::plain(&INFO, Score::Greedy, space, table),
};
