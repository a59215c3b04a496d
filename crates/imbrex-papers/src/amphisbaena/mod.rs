//! Amphisbaena: a buffer of conventional zones in front of shingled ones. Applied Sciences 2024, 14, 630.

mod claims;
mod studies;
mod variants;

use imbrex_runs::case::Fit;

use super::paper::{LocalityFigures, Paper, Turnover};

/// Its evaluation, sections 6.2 to 6.4, and studies that the paper leaves out: what each mechanism is worth, what the
/// interpretations of its text change, and how often the buffer may turn over.
///
/// The zones are empty at first: on full ones nothing could be appended and nothing be filled, and the paper shows
/// both. One request is outstanding at a time: what the mechanism makes of waiting requests would otherwise depend on
/// how fast the disk is.
pub const PAPER: Paper = Paper {
    name: "amphisbaena",
    title: "Amphisbaena: A Novel Persistent Buffer Management Strategy (Applied Sciences 2024, 14, 630)",
    drive: "exos-x18z",
    fit: Fit::Own,
    disk_buffer: None,
    buffer: "1%",
    prefill: 0.0,
    readings: None,
    workloads: &["hm_0", "prn_0", "prxy_0", "ts_0", "web_0", "src2_2", "src2_0", "usr_0"],
    locality: Some(LocalityFigures { periods: "2", ranges: "3" }),
    requests: None,
    search: None,
    variants: variants::VARIANTS,
    studies: studies::STUDIES,
    turnover: Some(&TURNOVER),
    mix: None,
    growth: None,
    sweeps: &[],
    claims: claims::CLAIMS,
};

/// Victims by their chunks alone, which is where the mechanism does best.
const TURNOVER: Turnover = Turnover {
    title: "RMW of amphisbaena, victims by chunks alone, over those of fifo-log, by turnovers of the buffer",
    layer: "amphisbaena",
    settings: &["amphisbaena.density=none"],
    against: "fifo-log",
    workloads: &["hm_0", "ts_0", "web_0", "src2_2", "src2_0", "usr_0"],
    written_for_each: &[4, 8, 16, 32, 64, 128],
    further: &["rsrch_1", "hm_1", "cloudphysics"],
};
