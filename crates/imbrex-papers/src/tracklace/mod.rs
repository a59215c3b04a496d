//! TrackLace: blocks of interlaced tracks that move out of each other's way. IEEE Transactions on Computers, 2021.

mod claims;
mod studies;
mod variants;

use imbrex_runs::case::Fit;

use super::paper::{Mix, Paper};

/// The evaluation of §6. A disk is as large as the trace's range over the utilisation, as in §6.2, unless a variant has
/// one of its own.
pub const PAPER: Paper = Paper {
    name: "tracklace",
    title: "TrackLace: Data Management for Interlaced Magnetic Recording (IEEE Transactions on Computers, 2021)",
    drive: "imr-tracklace",
    fit: Fit::Workload,
    disk_buffer: None,
    buffer: "1%",
    prefill: 1.0,
    readings: Some(READINGS),
    workloads: &["prn_1", "proj_1", "proj_2", "src1_1", "src2_2", "usr_1", "usr_2"],
    locality: None,
    requests: None,
    search: None,
    variants: variants::VARIANTS,
    studies: studies::STUDIES,
    turnover: None,
    mix: Some(&MIX),
    growth: None,
    sweeps: &[],
    claims: claims::CLAIMS,
};

/// Section 6.5.2. The paper changes over at request 1500 K and does not say how much follows; here it is as much.
const MIX: Mix = Mix {
    title: "Writes that are soon over and then writes that come again, 80 % allocated, one request outstanding \
        (section 6.5.2, figure 8)",
    halves: ["src1_0", "prxy_0"],
    writes: 1_500_000,
    variants: variants::MIXED,
};

/// What the paper leaves open, and what it moves.
const READINGS: &str = "Readings: a disk of one group of tracks as large as the trace's range over the utilisation, all \
    of it up to there needed; requests when the trace says unless a name says otherwise; 4 KiB blocks, 500 on a bottom \
    track and 400 on a top one; a write destroys every block of which a byte lies over it; a buffered block is updated \
    in its place; swaps end when the map is full; the journal costs nothing. Hits are buffered and swapped blocks that \
    are written again, of all blocks of bottom updates; the paper counts requests.";
