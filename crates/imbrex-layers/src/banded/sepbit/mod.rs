//! `sepbit`: a log that compacts the bands with the most (1 − u)/u · √age, where u is the share of live blocks and age
//! how many blocks the host has written since the band was closed, and that keeps blocks apart by how long others lived
//! (`log_structured/lives`).
//!
//! Source: Wang et al., "Separating Data via Block Invalidation Time Inference for Write Amplification Reduction in
//! Log-Structured Storage" (FAST 2022). It cleans when a share of all blocks is dead; here, as all logs do, when no band
//! takes more.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{LogConfig, LogStructured, Score};
use crate::{Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "sepbit",
    family: Some(Family::Banded),
    source: "the same, after Wang et al., FAST 2022",
    summary: "Everything is appended; blocks are apart by how long others lived, and old bands with many dead ones compacted.",
    recording: Recording::Zoned,
    buffered: false,
    fields: LogConfig::FIELDS,
    make: &|space, table| LogStructured::plain(&INFO, Score::Closed, space, table),
};
