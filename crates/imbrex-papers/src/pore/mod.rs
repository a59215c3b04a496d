//! PORE: an SSD cache that writes home to a part of a shingled disk at a time. MSST 2017, after its reproduction report.

mod claims;
mod search;
mod studies;
mod sweeps;
mod variants;

use imbrex_runs::case::Fit;

use super::paper::{Paper, Requests};

/// The cache before bare bands, in percent of the workload's address range.
const CACHE: f64 = 0.1;
const BUFFER: &str = "0.1%";

/// The persistent buffer of a drive-managed disk, in the same percent.
const FILL: f64 = 0.25;

/// The volumes of MSR Cambridge with more writes than reads; the report names none.
const WORKLOADS: &[&str] = &[
    "hm_0", "mds_0", "prn_0", "proj_0", "prxy_0", "rsrch_0", "src1_2", "src2_0", "src2_2", "stg_0", "ts_0", "usr_0",
    "wdev_0", "web_0",
];

/// The report's evaluation (§6), and what its §4 says of sizes.
///
/// The report prints hardly a number of its set-up. Its simulator has no buffer on the disk: every band of the region
/// that leaves is rewritten. It has no copies of reads in the flash, writes flash where it lies and prices its pages and
/// erases alone. So do these runs unless they say otherwise. The sizes are searched for, openly.
///
/// Beside that there is the mechanism of the report's §4, before a drive-managed disk that is full of data. Its
/// persistent buffer is 1/400 of the range, near the drive's own share and the report's example (20 GB of 5 TB); the
/// cache is four times as long and a period as long as the buffer, which is what the report calls best.
pub const PAPER: Paper = Paper {
    name: "pore",
    title: "Larger, Cheaper, but Faster: SSD-SMR Hybrid Storage (PORE, MSST 2017), after its reproduction report",
    drive: "st8000as0002",
    fit: Fit::Workload,
    disk_buffer: Some(FILL),
    buffer: BUFFER,
    prefill: 1.0,
    readings: Some(READINGS),
    workloads: WORKLOADS,
    requests: Some(&Requests { each: 1_000_000, but: &[("prxy_0", 4_000_000)] }),
    locality: None,
    variants: variants::VARIANTS,
    studies: studies::STUDIES,
    search: Some(&search::SEARCH),
    turnover: None,
    mix: None,
    growth: None,
    sweeps: sweeps::SWEEPS,
    claims: claims::CLAIMS,
};

/// What the report leaves open, and what it moves.
const READINGS: &str = "Readings: the volumes with more writes than reads, for the report names none, of each a \
    million requests, of prxy_0, which fills a cache later, four; the drive as large as the volume. A plain name: zones of 20 MiB, each rewritten whole, once \
    for each time that the cache writes to it; a cache of 0.1 % of the range; 128 static sets, each of whole zones; all of the \
    open region leaves, a period as long as a set, or 1/48 of the cache if it is called longer. Managed: a drive-managed disk with \
    a persistent buffer of 0.25 % of the range, limited by its blocks and not by the map of its extents; a cache of 1 \
    %, 16 static sets, a period as long as the disk's buffer. Reads take no copies and flash is written where it lies, \
    without collection, unless a name says by default. A reclaim is a time that a write waits until the cache has \
    given up blocks, and the mean migration time how long these take.";
