//! What the paper says. Where it names no number, the tolerance is a choice: half of the workloads for "most", five
//! points or ten percent for "not sensitive".

use super::studies::{CHUNKS, LAMBDAS};
use super::variants::AMPHISBAENA;
use crate::claim::{Bound, Claim};
use crate::measure::{Measure, Scope};
use crate::metric::Metric;

const LOOP_BACK: &str = "loop-back";

pub const CLAIMS: &[Claim] = &[
    Claim {
        id: "U1",
        says: "on one workload 83.7 % of the updated blocks have short update periods",
        value: 83.7,
        tolerance: 5.0,
        bound: Bound::About,
        unit: "%",
        measure: Measure::Periods { is_long: false },
    },
    Claim {
        id: "U2",
        says: "on another more than 85 % have long ones",
        value: 85.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "%",
        measure: Measure::Periods { is_long: true },
    },
    Claim {
        id: "A1",
        says: "mean latency is 29.9 % lower on average",
        value: 29.9,
        tolerance: 10.0,
        bound: Bound::Gain,
        unit: "%",
        measure: Measure::MeanReduction(Metric::Latency),
    },
    Claim {
        id: "A2a",
        says: "on src2_2 it is 82.4 % lower than loop-back's",
        value: 82.4,
        tolerance: 10.0,
        bound: Bound::Gain,
        unit: "%",
        measure: Measure::Reduction { metric: Metric::Latency, workload: "src2_2", against: LOOP_BACK },
    },
    Claim {
        id: "A2b",
        says: "on src2_0 it is 4.8 % lower than loop-back's",
        value: 4.8,
        tolerance: 10.0,
        bound: Bound::Gain,
        unit: "%",
        measure: Measure::Reduction { metric: Metric::Latency, workload: "src2_0", against: LOOP_BACK },
    },
    Claim {
        id: "A2c",
        says: "of these reductions that on src2_2 is the largest",
        value: 1.0,
        tolerance: 0.0,
        bound: Bound::AtMost,
        unit: "th place",
        measure: Measure::Rank { metric: Metric::Latency, workload: "src2_2", against: LOOP_BACK },
    },
    Claim {
        id: "A2d",
        says: "and that on src2_0 the smallest",
        value: 8.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "th place",
        measure: Measure::Rank { metric: Metric::Latency, workload: "src2_0", against: LOOP_BACK },
    },
    Claim {
        id: "A3",
        says: "RMWs are 37 % fewer on average",
        value: 37.0,
        tolerance: 10.0,
        bound: Bound::Gain,
        unit: "%",
        measure: Measure::MeanReduction(Metric::Rmw),
    },
    best("A4a", "write hits are the most on every trace", Metric::Hits, Scope::All, 8.0),
    Claim {
        id: "A4b",
        says: "on src2_2 they are at least 5.8 % above the second best's",
        value: 5.8,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "points",
        measure: Measure::Lead { metric: Metric::Hits, workload: "src2_2" },
    },
    best_other("A4c", "loop-back comes second on most traces", LOOP_BACK, Scope::All, MOST),
    best_other("A4d", "hashed-zones comes second on src2_2", "hashed-zones", Scope::One("src2_2"), 1.0),
    best("A5a", "write amplification is the lowest on every trace", Metric::WriteAmplification, Scope::All, 8.0),
    Claim {
        id: "A5b",
        says: "write amplification is 98.5 % lower on average",
        value: 98.5,
        tolerance: 10.0,
        bound: Bound::Gain,
        unit: "%",
        measure: Measure::MeanReduction(Metric::WriteAmplification),
    },
    best("A6a", "padding is the least on every trace", Metric::Padding, Scope::All, 8.0),
    saving("A6b", "on src2_2 by up to 552 GB", Metric::Padding, "src2_2", 552.0),
    saving("A6c", "on prxy_0 by up to 191 GB", Metric::Padding, "prxy_0", 191.0),
    best("A6d", "padding that counts again with each rewrite is the least", Metric::PaddingAgain, Scope::All, 8.0),
    saving("A6e", "on src2_2 by up to 552 GB, counted so", Metric::PaddingAgain, "src2_2", 552.0),
    saving("A6f", "on prxy_0 by up to 191 GB, counted so", Metric::PaddingAgain, "prxy_0", 191.0),
    best("A7", "victims are the largest but on ts_0 and src2_0", Metric::VictimSize, EXCEPT_SMALL_VICTIMS, 6.0),
    best("A8a", "RMWs are the fewest on every trace", Metric::Rmw, Scope::All, 8.0),
    best("A8b", "so are all write-backs", Metric::WriteBacks, Scope::All, 8.0),
    rises("C1a", "with the chunk latency grows on most traces but src2_2", Metric::Latency, MOST_OF_SEVEN),
    peaks("C1b", "on src2_2 latency is the lowest at 256 KiB", Metric::Latency, "256 KiB"),
    on_workloads(
        "C2",
        "write hits are not sensitive to the chunk's size",
        8.0,
        Measure::Steady { metric: Metric::Hits, study: CHUNKS, within: 5.0, on: Scope::All },
    ),
    on_workloads(
        "C3",
        "most write hits are in the hot buffer",
        8.0,
        Measure::Larger { metric: Metric::HotHits, than: Metric::ColdHits, on: Scope::All },
    ),
    rises("C4", "write amplification grows but on src2_2", Metric::WriteAmplification, 7.0),
    rises("C5a", "RMWs grow but on src2_2", Metric::Rmw, 7.0),
    falls("C5b", "and fall on src2_2", Metric::Rmw, Scope::One("src2_2"), 1.0),
    rises("C6", "padding grows but on src2_2", Metric::Padding, 7.0),
    falls("C7a", "victims shrink on most traces", Metric::VictimSize, Scope::All, MOST),
    peaks("C7b", "on src2_2 they are the largest at 128 KiB", Metric::VictimSize, "128 KiB"),
    on_workloads(
        "C8a",
        "more chunks go to the hot buffer than back on most traces",
        MOST,
        Measure::Larger { metric: Metric::ToHot, than: Metric::ToCold, on: Scope::All },
    ),
    on_workloads(
        "C8b",
        "the fewest are reallocated on web_0 and src2_2",
        2.0,
        Measure::Smallest { metric: Metric::Reallocated, among: &["web_0", "src2_2"] },
    ),
    on_workloads(
        "L1",
        "write hits are not sensitive to λ on most traces",
        MOST,
        Measure::Steady { metric: Metric::Hits, study: LAMBDAS, within: 5.0, on: Scope::All },
    ),
    on_workloads(
        "L2",
        "nor is latency",
        MOST,
        Measure::Steady { metric: Metric::Latency, study: LAMBDAS, within: 10.0, on: Scope::All },
    ),
    on_workloads(
        "L3",
        "latency is the best at λ = 0.1 on most",
        MOST,
        Measure::Peaks { metric: Metric::Latency, study: LAMBDAS, at: AMPHISBAENA, on: Scope::All },
    ),
];

/// More than half of the workloads.
const MOST: f64 = 5.0;
/// More than half of those but src2_2.
const MOST_OF_SEVEN: f64 = 4.0;

const EXCEPT_SMALL_VICTIMS: Scope = Scope::Except(&["ts_0", "src2_0"]);

const fn best(id: &'static str, says: &'static str, metric: Metric, on: Scope, value: f64) -> Claim {
    on_workloads(id, says, value, Measure::Best { metric, on })
}

const fn best_other(id: &'static str, says: &'static str, other: &'static str, on: Scope, value: f64) -> Claim {
    on_workloads(id, says, value, Measure::BestOther { other, metric: Metric::Hits, on })
}

/// `gb` GB less padding, give or take a quarter.
const fn saving(id: &'static str, says: &'static str, metric: Metric, workload: &'static str, gb: f64) -> Claim {
    let measure = Measure::Saving { metric, workload };
    Claim { id, says, value: gb, tolerance: gb / 4.0, bound: Bound::Gain, unit: "GB", measure }
}

/// Something holds on that many workloads.
const fn on_workloads(id: &'static str, says: &'static str, value: f64, measure: Measure) -> Claim {
    Claim { id, says, value, tolerance: 0.0, bound: Bound::AtLeast, unit: "workloads", measure }
}

/// With the size of a chunk, on all workloads but src2_2.
const fn rises(id: &'static str, says: &'static str, metric: Metric, value: f64) -> Claim {
    on_workloads(id, says, value, Measure::Rises { metric, study: CHUNKS, on: Scope::Except(&["src2_2"]) })
}

const fn falls(id: &'static str, says: &'static str, metric: Metric, on: Scope, value: f64) -> Claim {
    on_workloads(id, says, value, Measure::Falls { metric, study: CHUNKS, on })
}

/// A claim about src2_2, with chunks of that size.
const fn peaks(id: &'static str, says: &'static str, metric: Metric, at: &'static str) -> Claim {
    on_workloads(id, says, 1.0, Measure::Peaks { metric, study: CHUNKS, at, on: Scope::One("src2_2") })
}
