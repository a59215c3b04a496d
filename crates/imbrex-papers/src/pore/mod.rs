//! PORE: an SSD cache that writes home to a part of a shingled disk at a time. MSST 2017, after its reproduction report.

mod claims;
mod studies;
mod sweeps;
mod variants;

use imbrex_runs::case::Fit;

use super::paper::Paper;

/// The persistent buffer of the disk, in percent of the workload's address range.
const FILL: f64 = 0.25;

/// The volumes of MSR Cambridge with more writes than reads; the report names none.
const WORKLOADS: &[&str] = &[
    "hm_0", "mds_0", "prn_0", "proj_0", "prxy_0", "rsrch_0", "src1_2", "src2_0", "src2_2", "stg_0", "ts_0", "usr_0",
    "wdev_0", "web_0",
];

/// The report's evaluation (§6), and what its §4 says of sizes.
///
/// The report prints hardly a number of its set-up. Its simulator has no copies of reads in the flash, writes flash
/// where it lies and prices its pages and erases alone; so do these runs unless they say otherwise. The drive is shrunk
/// until the workload just fits it, so that bands of all lengths take part, as they do where data fills the disk. Its
/// persistent buffer is 1/400 of the range, near the drive's own share and the report's example (20 GB of 5 TB); the
/// cache is four times as long and a period as long as the buffer, which is what the report calls best.
pub const PAPER: Paper = Paper {
    name: "pore",
    title: "Larger, Cheaper, but Faster: SSD-SMR Hybrid Storage (PORE, MSST 2017), after its reproduction report",
    drive: "st8000as0002",
    fit: Fit::Workload,
    disk_buffer: Some(FILL),
    buffer: "1%",
    prefill: 1.0,
    readings: Some(READINGS),
    workloads: WORKLOADS,
    locality: None,
    variants: variants::VARIANTS,
    studies: studies::STUDIES,
    turnover: None,
    mix: None,
    growth: None,
    sweeps: sweeps::SWEEPS,
    claims: claims::CLAIMS,
};

/// What the report leaves open, and what it moves.
const READINGS: &str = "Readings: the volumes with more writes than reads, for the report names none; the drive as \
    large as the volume; its persistent buffer 0.25 % of the range, limited by its blocks and not by the map of its \
    extents; a cache of 1 %, a period as long as the disk's buffer, units of 20 MiB, 16 static sets; reads take no \
    copies and flash is written where it lies, without collection, unless a name says by default. A reclaim is a time \
    that a write waits until the cache has given up blocks, and the mean migration time how long these take; the time \
    of a band's rewrite is that of the disk behind.";
