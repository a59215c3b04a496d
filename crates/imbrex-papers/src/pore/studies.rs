//! What is shown side by side.

use super::search;
use super::variants::{
    ACROSS, BY_DEFAULT, BY_REGION, LONG, LRU, MANAGED, MANAGED_SETS, MERGED, MOST, NO_BANDS, PORE, SAC, STATIC_SETS,
    TIMED, TOGETHER,
};
use crate::metric::Metric;
use crate::paper::{Figure, Study};

/// Volumes that are short enough to be run in many ways.
const FEW: &[&str] = &["rsrch_0", "src2_0", "stg_0"];
/// Two of them, and one whose writes come in long runs.
const UNLIKE: &[&str] = &["rsrch_0", "src2_2", "stg_0"];
/// And some more.
const SOME: &[&str] = &["hm_0", "rsrch_0", "src1_2", "src2_0", "stg_0", "usr_0"];

pub const STUDIES: &[Study] = &[
    Study {
        name: "bare",
        title: "Bare bands, as in the report's simulator, one request outstanding (section 6)",
        workloads: &[],
        variants: &[STATIC_SETS, PORE, LONG],
        figures: RESPONSES,
    },
    Study {
        name: "others",
        title: "Other caches there (not in the report)",
        workloads: &[],
        variants: &[STATIC_SETS, PORE, SAC, MOST],
        figures: PARTS,
    },
    Study {
        name: search::STUDY,
        title: "Sizes of cache, set and period; see below",
        workloads: UNLIKE,
        variants: search::NAMES,
        figures: &[],
    },
    Study {
        name: "rewrites",
        title: "Whether reclaims that follow each other share a band's rewrite (merged), and sets whose bands lie across \
                those of the disk (not in the report)",
        workloads: SOME,
        variants: &[STATIC_SETS, MERGED[0], ACROSS, PORE, MERGED[1]],
        figures: PARTS,
    },
    Study {
        name: "managed",
        title: "Before a drive-managed disk, with sizes as the report's section 4 speaks of them; no bands: before a \
                disk without shingles, the least there can be (not in the report)",
        workloads: &[],
        variants: &[MANAGED_SETS, MANAGED, BY_REGION, LRU, TOGETHER, NO_BANDS],
        figures: MANAGED_PARTS,
    },
    Study {
        name: "trace-time",
        title: "The same with requests when the trace says (not in the report)",
        workloads: FEW,
        variants: TIMED,
        figures: OTHERWISE,
    },
    Study {
        name: "by-default",
        title: "As the layers are by default: reads take copies, and flash is collected (not in the report)",
        workloads: FEW,
        variants: BY_DEFAULT,
        figures: OTHERWISE,
    },
    Study {
        name: "policies",
        title: "Replacement policies with PORE and without (not in the report)",
        workloads: FEW,
        variants: &[
            LRU,
            MANAGED,
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
        variants: &[MANAGED, "mean popularity", "cold blocks", "most dirty"],
        figures: PARTS,
    },
    Study {
        name: "readings",
        title: "Readings of what the report leaves open, each alone (not in the report)",
        workloads: FEW,
        variants: &[
            MANAGED,
            BY_REGION,
            "periods of written",
            "reads allocate",
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
        variants: &[MANAGED, "1/8 fill", "1/4 fill", "1/2 fill", "2 fills", "4 fills", "8 fills"],
        figures: PARTS,
    },
    Study {
        name: "regions",
        title: "Length of a region unit; pore has 20 MiB (section 4.2.2)",
        workloads: FEW,
        variants: &[MANAGED, "2 MiB", "10 MiB", "30 MiB", "50 MiB", "100 MiB"],
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
    Figure { is_relative: false, ..shown("hits", &[Metric::Hits]) },
];

const MANAGED_PARTS: &[Figure] = &[
    shown("mean", &[Metric::Latency]),
    shown("p999", &[Metric::P999]),
    shown("longest", &[Metric::Longest]),
    shown("migration", &[Metric::Migration]),
    shown("reclaims", &[Metric::Reclaims]),
    shown("rewrites", &[Metric::Rmw]),
    Figure { is_relative: false, ..shown("hits", &[Metric::Hits]) },
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
    shown("longest", &[Metric::Longest]),
    shown("rewrites", &[Metric::Rmw]),
    Figure { is_relative: false, ..shown("hits", &[Metric::Hits]) },
];

/// One metric over that of the baseline.
const fn shown(name: &'static str, metrics: &'static [Metric]) -> Figure {
    Figure { number: "", name, metrics, is_relative: true, says: "" }
}
