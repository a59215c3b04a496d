//! `log-fifo`: a log that compacts the bands closed longest ago.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{LogConfig, LogStructured, SOURCE, Score};
use crate::{Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "log-fifo",
    family: Some(Family::Banded),
    source: SOURCE,
    summary: "Everything is appended; the bands closed longest ago are compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: LogConfig::FIELDS,
    make: &|space, table| LogStructured::plain(&INFO, Score::Fifo, space, table),
};
