//! ZoneAlloy: a disk that turns from conventional to shingled while it is used. HotStorage 2019.

mod claims;
mod growth;
mod studies;
mod variants;

use imbrex_runs::case::Fit;

use super::paper::{Paper, Requests};

/// The volumes of §4; `prxy_1`, which is the paper's too, has no profile.
const WORKLOADS: &[&str] = &[
    "hm_0", "prn_0", "prn_1", "proj_0", "proj_1", "proj_2", "prxy_0", "rsrch_0", "src1_0", "src1_1", "src1_2",
    "src2_2", "stg_0", "ts_0", "usr_0", "usr_1", "usr_2", "web_0",
];

/// The evaluation of §4 and §5. Of 1239 realms 1235 are sequential where 99.9 % of the disk are used, and the H-Buffer
/// is 0.02 % of their zones.
pub const PAPER: Paper = Paper {
    name: "zonealloy",
    title: "ZoneAlloy: Elastic Data and Space Management for Hybrid SMR Drives (HotStorage 2019)",
    drive: "zonealloy",
    fit: Fit::Own,
    disk_buffer: None,
    buffer: "199MB",
    prefill: 1.0,
    readings: Some(READINGS),
    workloads: WORKLOADS,
    locality: None,
    // What these two write fits the buffer for long.
    requests: Some(&Requests { each: 1_000_000, but: &[("prxy_0", 8_000_000), ("src1_1", 8_000_000)] }),
    search: None,
    variants: variants::VARIANTS,
    studies: studies::STUDIES,
    turnover: None,
    mix: None,
    growth: Some(&growth::GROWTH),
    sweeps: &[],
    claims: claims::CLAIMS,
};

/// What the paper leaves open, and what it moves.
const READINGS: &str = "Readings: of each volume a million requests, of prxy_0 and src1_1, which fill the \
    buffer later, eight; 1 TB when all of the disk is shingled; 99.9 % used means that 4 of its 1239 realms \
    are conventional, the outermost, and hold the first 8 zones of the space; a buffer of 0.02 % of the sequential \
    zones beside them; all zones full at first; requests when the trace says; a candidate for Zone-Swap takes 10 % of \
    the buffer or more. For the conversion the disk is as large as the volume while all of it is conventional. prxy_1 \
    has no profile and is left out.";
