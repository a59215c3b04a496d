//! What is shown side by side.

use super::variants::{BY_DEFAULT, BY_REGION, LRU, NO_BANDS, PORE, SIMULATED, STATIC_SETS, TIMED, TOGETHER};
use crate::metric::Metric;
use crate::paper::{Figure, Study};

/// Volumes that are short enough to be run in many ways.
const FEW: &[&str] = &["rsrch_0", "src2_0", "stg_0"];
/// And some more.
const SOME: &[&str] = &["hm_0", "rsrch_0", "src1_2", "src2_0", "stg_0", "usr_0"];

pub const STUDIES: &[Study] = &[
    Study {
        name: "caches",
        title: "As in the report's simulator, one request outstanding (section 6)",
        workloads: &[],
        variants: SIMULATED,
        figures: RESPONSES,
    },
    Study {
        name: "least",
        title: "Many blocks leaving together, and that before a disk without shingles: the least there can be (not in \
                the report)",
        workloads: &[],
        variants: &[STATIC_SETS, PORE, TOGETHER, NO_BANDS],
        figures: LEAST,
    },
    Study {
        name: "trace-time",
        title: "The same with requests when the trace says (not in the report)",
        workloads: SOME,
        variants: TIMED,
        figures: OTHERWISE,
    },
    Study {
        name: "by-default",
        title: "As the layers are by default: reads take copies, and flash is collected (not in the report)",
        workloads: SOME,
        variants: BY_DEFAULT,
        figures: OTHERWISE,
    },
    Study {
        name: "policies",
        title: "Replacement policies with PORE and without (not in the report)",
        workloads: FEW,
        variants: &[
            LRU,
            PORE,
            "CLOCK",
            "pore, CLOCK",
            "LIRS",
            "pore, LIRS",
            "ARC",
            "pore, ARC",
            "S3-FIFO",
            "pore, S3-FIFO",
            "SIEVE",
            "pore, SIEVE",
        ],
        figures: PARTS,
    },
    Study {
        name: "selections",
        title: "How open regions are selected (not in the report)",
        workloads: FEW,
        variants: &[PORE, "mean popularity", "cold blocks", "most dirty"],
        figures: PARTS,
    },
    Study {
        name: "readings",
        title: "Readings of what the report leaves open, each alone (not in the report)",
        workloads: FEW,
        variants: &[
            PORE,
            BY_REGION,
            "periods of written",
            "reads allocate",
            "reads do not count",
            "64 at a time",
            "flash collected",
            "collected, 28 % spare",
        ],
        figures: PARTS,
    },
    Study {
        name: "periods",
        title: "Length of a period; pore has a fill of the disk's buffer, a quarter of the cache (section 4.2.3)",
        workloads: FEW,
        variants: &[PORE, "1/8 fill", "1/4 fill", "1/2 fill", "2 fills", "4 fills", "8 fills"],
        figures: PARTS,
    },
    Study {
        name: "regions",
        title: "Length of a region unit; pore has 20 MiB (section 4.2.2)",
        workloads: FEW,
        variants: &[PORE, "2 MiB", "10 MiB", "30 MiB", "50 MiB", "100 MiB"],
        figures: PARTS,
    },
    Study {
        name: "sizes",
        title: "Size of the cache; pore and static-sets have 1 % of the range (not in the report)",
        workloads: FEW,
        variants: &[
            STATIC_SETS,
            PORE,
            "static-sets, 0.5 %",
            "pore, 0.5 %",
            "static-sets, 2 %",
            "pore, 2 %",
            "static-sets, 4 %",
            "pore, 4 %",
        ],
        figures: PARTS,
    },
];

const RESPONSES: &[Figure] = &[
    Figure {
        number: "4",
        says: "50.56 % less on average, 79.30 % at most, never more",
        ..shown("mean", &[Metric::Latency])
    },
    shown("p99", &[Metric::P99]),
    shown("p999", &[Metric::P999]),
    Figure { number: "5", says: "15.02 % less on average, 18.60 % at most", ..shown("longest", &[Metric::Longest]) },
    Figure {
        number: "6",
        says: "15.47 % less on average, 18.62 % at most",
        ..shown("migration", &[Metric::Migration])
    },
    shown("reclaims", &[Metric::Reclaims]),
    shown("rewrites", &[Metric::Rmw]),
    shown("band-time", &[Metric::BandTime]),
    shown("evicted", &[Metric::Evicted]),
    Figure { is_relative: false, ..shown("hits", &[Metric::Hits]) },
];

const LEAST: &[Figure] = &[
    shown("mean", &[Metric::Latency]),
    shown("reads", &[Metric::ReadLatency]),
    shown("writes", &[Metric::WriteLatency]),
];

const OTHERWISE: &[Figure] = &[
    shown("mean", &[Metric::Latency]),
    shown("longest", &[Metric::Longest]),
    shown("rewrites", &[Metric::Rmw]),
    Figure { is_relative: false, ..shown("hits", &[Metric::Hits]) },
    Figure { is_relative: false, ..shown("flash", &[Metric::FlashBusy]) },
];

const PARTS: &[Figure] = &[
    shown("mean", &[Metric::Latency]),
    shown("rewrites", &[Metric::Rmw]),
    Figure { is_relative: false, ..shown("hits", &[Metric::Hits]) },
];

/// One metric over that of the baseline.
const fn shown(name: &'static str, metrics: &'static [Metric]) -> Figure {
    Figure { number: "", name, metrics, is_relative: true, says: "" }
}
