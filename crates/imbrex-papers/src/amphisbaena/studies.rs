//! What is shown side by side.

use super::variants::AMPHISBAENA;
use crate::metric::Metric;
use crate::paper::{Figure, Study};

pub const STUDIES: &[Study] = &[
    Study {
        name: "strategies",
        title: "Four strategies, one request outstanding (section 6.2)",
        workloads: &[],
        variants: &[AMPHISBAENA, "fifo-log", "loop-back", "hashed-zones"],
        figures: STRATEGIES,
    },
    Study {
        name: "trace-time",
        title: "The same with requests when the trace says",
        workloads: &[],
        variants: &["amphisbaena, timed", "fifo-log, timed", "loop-back, timed", "hashed-zones, timed"],
        figures: TRACE_TIME,
    },
    Study {
        name: "checkpoints",
        title: "What stops a collection, with requests when the trace says (not in the paper)",
        workloads: &["hm_0", "prxy_0", "usr_0"],
        variants: &["amphisbaena, timed", "for the rest", "after 64 chunks", "no checkpoints"],
        figures: TRACE_TIME,
    },
    Study {
        name: CHUNKS,
        title: "Size of a chunk; amphisbaena has 64 KiB (section 6.3)",
        workloads: &[],
        variants: &[AMPHISBAENA, "128 KiB", "256 KiB", "512 KiB", "1 MiB"],
        figures: CHUNK_SIZES,
    },
    Study {
        name: LAMBDAS,
        title: "Size of the filter list; amphisbaena has λ = 0.1 (section 6.4)",
        workloads: &[],
        variants: &[AMPHISBAENA, "λ 0.3", "λ 0.5"],
        figures: FILTER_LISTS,
    },
    Study {
        name: "ablations",
        title: "Amphisbaena without one of its mechanisms (not in the paper)",
        workloads: &[],
        variants: &[AMPHISBAENA, "no phase 2", "fixed split", "FIFO victims"],
        figures: ABLATIONS,
    },
    Study {
        name: "causes",
        title: "What rewrites come from: one mechanism after the other left out (not in the paper)",
        workloads: &[],
        variants: &["fifo-log", AMPHISBAENA, "no density", "fixed split", "and 4 KiB chunks"],
        figures: CAUSES,
    },
    Study {
        name: "readings",
        title: "Readings of what the paper leaves open, each alone (not in the paper)",
        workloads: &["hm_0", "web_0", "usr_0"],
        variants: READINGS,
        figures: OF_READINGS,
    },
];

const READINGS: &[&str] = &[
    AMPHISBAENA,
    "fifo-log",
    "size in blocks",
    "hot below the mean",
    "cold hits keep roles",
    "cold known stay cold",
    "demoted leave last",
    "demoted on hits too",
    "demoted on hits only",
    "all remembered",
    "hot share nearest",
    "borrowed rounded up",
    "returned if any is unused",
    "returned always",
    "used by hits",
    "returned lowest first",
    "SUP fewer after returns",
    "density as printed",
    "no density",
    "bypass at pointers",
];

pub const CHUNKS: &str = "chunks";
pub const LAMBDAS: &str = "lambdas";

const STRATEGIES: &[Figure] = &[
    Figure {
        number: "12",
        name: "latency",
        metrics: &[Metric::Latency],
        is_relative: true,
        says: "29.9 % less on average; against loop-back from 82.4 % less (src2_2) to 4.8 % less (src2_0)",
    },
    Figure {
        number: "13",
        name: "hits",
        metrics: &[Metric::HotHits, Metric::ColdHits],
        is_relative: false,
        says: "the most on all eight; on src2_2 at least 5.8 % above hashed-zones, which comes second there",
    },
    Figure {
        number: "14",
        name: "amplification",
        metrics: &[Metric::WriteAmplification],
        is_relative: true,
        says: "the least on all eight, 98.5 % less on average",
    },
    Figure {
        number: "15",
        name: "rewrites",
        metrics: &[Metric::Rmw, Metric::RmwFree],
        is_relative: false,
        says: "RMW 37 % less on average; the fewest RMW and the fewest write-backs in all",
    },
    Figure {
        number: "16",
        name: "padding",
        metrics: &[Metric::Padding],
        is_relative: true,
        says: "the least, by up to 552 GB on src2_2 and 191 GB on prxy_0",
    },
    Figure {
        number: "16",
        name: "padding-again",
        metrics: &[Metric::PaddingAgain],
        is_relative: true,
        says: "the same: more than the volumes hold, so it may count padding again with each rewrite",
    },
    Figure {
        number: "17",
        name: "victim",
        metrics: &[Metric::VictimSize],
        is_relative: false,
        says: "the largest but on ts_0 and src2_0",
    },
];

const CHUNK_SIZES: &[Figure] = &[
    Figure {
        number: "18",
        name: "latency",
        metrics: &[Metric::Latency],
        is_relative: true,
        says: "grows with the chunk but on src2_2, where it falls at first and rises from 256 KiB on",
    },
    Figure {
        number: "19",
        name: "hits",
        metrics: &[Metric::HotHits, Metric::ColdHits],
        is_relative: false,
        says: "not sensitive to the size, and mainly in the hot buffer",
    },
    Figure {
        number: "20",
        name: "amplification",
        metrics: &[Metric::WriteAmplification],
        is_relative: true,
        says: "grows but on src2_2",
    },
    Figure {
        number: "21",
        name: "rewrites",
        metrics: &[Metric::Rmw, Metric::RmwFree],
        is_relative: true,
        says: "RMW grow but on src2_2, where they fall",
    },
    Figure {
        number: "22",
        name: "padding",
        metrics: &[Metric::Padding],
        is_relative: true,
        says: "grows but on src2_2",
    },
    Figure {
        number: "23",
        name: "victim",
        metrics: &[Metric::VictimSize],
        is_relative: true,
        says: "shrinks on most; on src2_2 the largest at 128 KiB",
    },
    Figure {
        number: "24",
        name: "reallocated",
        metrics: &[Metric::ToHot, Metric::ToCold],
        is_relative: false,
        says: "more goes to the hot buffer than back on most; little moves on web_0 and src2_2",
    },
    Figure { number: "", name: "chunk-use", metrics: &[Metric::ChunkUse], is_relative: false, says: "" },
];

const FILTER_LISTS: &[Figure] = &[
    Figure {
        number: "25",
        name: "latency",
        metrics: &[Metric::Latency],
        is_relative: true,
        says: "not sensitive on most, and the best at 0.1",
    },
    Figure {
        number: "25",
        name: "hits",
        metrics: &[Metric::HotHits, Metric::ColdHits],
        is_relative: false,
        says: "not sensitive on most, and the best at 0.1",
    },
];

const ABLATIONS: &[Figure] = &[
    Figure { number: "", name: "latency", metrics: &[Metric::Latency], is_relative: true, says: "" },
    Figure { number: "", name: "hits", metrics: &[Metric::HotHits, Metric::ColdHits], is_relative: false, says: "" },
    Figure { number: "", name: "amplification", metrics: &[Metric::WriteAmplification], is_relative: true, says: "" },
    Figure { number: "", name: "rewrites", metrics: &[Metric::Rmw, Metric::RmwFree], is_relative: false, says: "" },
    Figure { number: "", name: "padding", metrics: &[Metric::Padding], is_relative: true, says: "" },
    Figure { number: "", name: "victim", metrics: &[Metric::VictimSize], is_relative: true, says: "" },
    Figure { number: "", name: "chunk-use", metrics: &[Metric::ChunkUse], is_relative: false, says: "" },
    Figure { number: "", name: "starving", metrics: &[Metric::Starving], is_relative: false, says: "" },
];

const CAUSES: &[Figure] = &[
    Figure { number: "", name: "rewrites", metrics: &[Metric::Rmw], is_relative: true, says: "" },
    Figure { number: "", name: "latency", metrics: &[Metric::Latency], is_relative: true, says: "" },
    Figure { number: "", name: "victim", metrics: &[Metric::VictimSize], is_relative: false, says: "" },
    Figure { number: "", name: "chunk-use", metrics: &[Metric::ChunkUse], is_relative: false, says: "" },
    Figure { number: "", name: "starving", metrics: &[Metric::Starving], is_relative: false, says: "" },
];

const TRACE_TIME: &[Figure] = &[
    Figure { number: "", name: "rewrites", metrics: &[Metric::Rmw], is_relative: true, says: "" },
    Figure { number: "", name: "latency", metrics: &[Metric::Latency], is_relative: true, says: "" },
    Figure { number: "", name: "stopped", metrics: &[Metric::Stopped], is_relative: false, says: "" },
];

const OF_READINGS: &[Figure] = &[
    Figure { number: "", name: "rewrites", metrics: &[Metric::Rmw], is_relative: true, says: "" },
    Figure { number: "", name: "hits", metrics: &[Metric::Hits], is_relative: false, says: "" },
    Figure { number: "", name: "returned", metrics: &[Metric::ToCold], is_relative: false, says: "" },
];
