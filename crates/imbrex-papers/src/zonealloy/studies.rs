//! What is shown side by side.

use super::variants::{FIFO, LOOP_BACK, LRU, NEAREST, VETO, ZONE_ALLOY};
use crate::metric::Metric;
use crate::paper::{Figure, Study};

/// The volume on which the paper saves most, and the one on which it loses.
const MOST: &[&str] = &["proj_0"];
const READ: &[&str] = &["proj_1"];

pub const STUDIES: &[Study] = &[
    Study {
        name: "schemes",
        title: "Buffers in front of sequential zones, and Zone-Swap, 99.9 % of the disk used (section 4)",
        workloads: &[],
        variants: &[LRU, FIFO, LOOP_BACK, ZONE_ALLOY],
        figures: &[
            Figure {
                number: "6",
                says: "fifo is 1.4 (rsrch_0) to 45 (proj_0) times as fast as improved-lru, loop-back up to 4.4 % \
                       faster than that (prn_1), zone-alloy up to 29 % (proj_0); it is slower on proj_1 alone",
                ..shown("latency", Metric::Latency)
            },
            Figure { says: "7 % fewer with loop-back on prn_1; 507 instead of 2989 with swaps on proj_0", ..REWRITES },
            Figure { says: "55 on proj_0", ..SWAPS },
        ],
    },
    Study {
        name: "shares",
        title: "How many conventional zones are left; 8 where none are named (not in the paper)",
        workloads: MOST,
        variants: SHARES,
        figures: &[shown("latency", Metric::Latency), REWRITES, SWAPS],
    },
    Study {
        name: "thresholds",
        title: "Which share of the buffer makes a zone a candidate; 10 % where none is named (not in the paper)",
        workloads: MOST,
        variants: &[LOOP_BACK, "above 2 %", "above 5 %", ZONE_ALLOY, "above 20 %", "above 40 %"],
        figures: &[shown("latency", Metric::Latency), REWRITES, SWAPS],
    },
    Study {
        name: "readings",
        title: "Zones that stay listed for longer (not in the paper)",
        workloads: &["proj_0", "prn_1", "src1_0"],
        variants: &[LOOP_BACK, ZONE_ALLOY, "partners stay", "candidates stay"],
        figures: &[REWRITES, SWAPS],
    },
    Study {
        name: "reads",
        title: "Zone-Swap on a volume that is mostly read (not in the paper)",
        workloads: READ,
        variants: &[LOOP_BACK, ZONE_ALLOY, VETO, NEAREST, "both"],
        figures: &[
            shown("latency", Metric::Latency),
            shown("read-latency", Metric::ReadLatency),
            shown("seeks", Metric::SeekDistance),
            REWRITES,
            SWAPS,
        ],
    },
];

const SHARES: &[&str] = &[
    "loop-back, 2 zones",
    "zone-alloy, 2 zones",
    "loop-back, 4 zones",
    "zone-alloy, 4 zones",
    LOOP_BACK,
    ZONE_ALLOY,
    "loop-back, 12 zones",
    "zone-alloy, 12 zones",
    "loop-back, 24 zones",
    "zone-alloy, 24 zones",
    "loop-back, 50 zones",
    "zone-alloy, 50 zones",
    "loop-back, 124 zones",
    "zone-alloy, 124 zones",
    "loop-back, 248 zones",
    "zone-alloy, 248 zones",
];

const REWRITES: Figure = shown("rewrites", Metric::Rmw);
const SWAPS: Figure = Figure { is_relative: false, ..shown("swaps", Metric::Swaps) };

/// One metric over that of the baseline.
const fn shown(name: &'static str, metric: Metric) -> Figure {
    let metrics: &[Metric] = match metric {
        Metric::Latency => &[Metric::Latency],
        Metric::ReadLatency => &[Metric::ReadLatency],
        Metric::SeekDistance => &[Metric::SeekDistance],
        Metric::Rmw => &[Metric::Rmw],
        _ => &[Metric::Swaps],
    };
    Figure { number: "", name, metrics, is_relative: true, says: "" }
}
