//! What the paper says (§4), and what we hold the layer to. The paper's savings get a tolerance that grows with them;
//! what it calls similar may differ by a hundredth.

use super::growth::{AT_60, AT_100, BEYOND_60, BEYOND_100, BLOCKING};
use super::variants::{FIFO, LOOP_BACK, LRU, VETO, ZONE_ALLOY};
use crate::claim::{Bound, Claim};
use crate::measure::{Grown, Measure, Taken};
use crate::metric::Metric;

pub const CLAIMS: &[Claim] = &[
    times("Z1a", "fifo is 1.4 times as fast as improved-lru on rsrch_0", 1.4, 0.4, "rsrch_0"),
    times("Z1b", "45 times on proj_0", 45.0, 10.0, "proj_0"),
    Claim {
        id: "Z1c",
        says: "fifo is faster on all",
        value: super::WORKLOADS.len() as f64,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "workloads",
        measure: Measure::Against { metric: Metric::Latency, variant: FIFO, against: LRU, taken: Taken::Count },
    },
    Claim {
        id: "Z2a",
        says: "loop-back is similar or better than fifo on all",
        value: 1.0,
        tolerance: 0.01,
        bound: Bound::AtMost,
        unit: "times",
        measure: Measure::MostTimes { metric: Metric::Latency, variant: LOOP_BACK, over: FIFO },
    },
    saved("Z2b", "best on prn_1: 4.4 % less latency", 4.4, 3.0, from_fifo(Metric::Latency)),
    saved("Z2c", "and 7 % fewer zone rewrites", 7.0, 4.0, from_fifo(Metric::Rmw)),
    saved("Z3a", "Zone-Swap takes up to 29 % off, on proj_0", 29.0, 10.0, by_swaps(Metric::Latency)),
    saved("Z3b", "zone rewrites 2989 -> 507; (ours) 70 % fewer", 83.0, 13.0, by_swaps(Metric::Rmw)),
    Claim {
        id: "Z3c",
        says: "with only 55 swaps",
        value: 55.0,
        tolerance: 0.0,
        bound: Bound::AtMost,
        unit: "pairs",
        measure: Measure::Of { metric: Metric::Swaps, workload: "proj_0", variant: ZONE_ALLOY },
    },
    Claim {
        id: "Z4a",
        says: "Zone-Swap is worse on proj_1",
        // What is equal because nothing was swapped is not worse.
        value: 1.01,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "times",
        measure: over(Metric::Latency, ZONE_ALLOY),
    },
    Claim {
        id: "Z4b",
        says: "and on no other",
        value: super::WORKLOADS.len() as f64 - 1.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "workloads",
        measure: Measure::Against {
            metric: Metric::Latency,
            variant: ZONE_ALLOY,
            against: LOOP_BACK,
            taken: Taken::NoWorse,
        },
    },
    Claim {
        id: "Z4c",
        says: "(ours) with read zones left alone it is no worse there",
        value: 1.0,
        tolerance: 0.01,
        bound: Bound::AtMost,
        unit: "times",
        measure: over(Metric::Latency, VETO),
    },
    grown("Z5a", "200 zones in 601 s at 60 ms", 601.0, "s", AT_60, Grown::Seconds),
    grown("Z5b", "the latency grows by no more", 60.0, "ms", AT_60, Grown::Increase),
    grown("Z5b.beyond", "where none of its blocks is moved", 60.0, "ms", BEYOND_60, Grown::Increase),
    grown("Z5c", "200 zones in 432 s at 100 ms", 432.0, "s", AT_100, Grown::Seconds),
    grown("Z5d", "the latency grows by no more", 100.0, "ms", AT_100, Grown::Increase),
    grown("Z5d.beyond", "where none of its blocks is moved", 100.0, "ms", BEYOND_100, Grown::Increase),
    Claim {
        tolerance: 0.1,
        bound: Bound::About,
        ..grown("Z6a", "blocking takes what the bytes take", 1.0, "times", BLOCKING, Grown::OverMedia)
    },
    Claim {
        bound: Bound::AtLeast,
        ..grown("Z6b", "and requests wait for over 6 min", 360_000.0, "ms", BLOCKING, Grown::Increase)
    },
];

const fn times(id: &'static str, says: &'static str, value: f64, tolerance: f64, workload: &'static str) -> Claim {
    let measure = Measure::Times { metric: Metric::Latency, workload, variant: LRU, over: FIFO };
    Claim { id, says, value, tolerance, bound: Bound::About, unit: "times", measure }
}

/// A saving, as it is measured, of `value` percent.
const fn saved(id: &'static str, says: &'static str, value: f64, tolerance: f64, measure: Measure) -> Claim {
    Claim { id, says, value, tolerance, bound: Bound::Gain, unit: "%", measure }
}

/// What the log that loops back saves over the plain one, on the volume where that is most.
const fn from_fifo(metric: Metric) -> Measure {
    Measure::Saved { metric, workload: "prn_1", variant: LOOP_BACK, against: FIFO }
}

/// What swapping zones saves, on the volume where that is most.
const fn by_swaps(metric: Metric) -> Measure {
    Measure::Saved { metric, workload: "proj_0", variant: ZONE_ALLOY, against: LOOP_BACK }
}

/// On the volume that is mostly read, over the log without swaps.
const fn over(metric: Metric, variant: &'static str) -> Measure {
    Measure::Times { metric, workload: "proj_1", variant, over: LOOP_BACK }
}

const fn grown(
    id: &'static str,
    says: &'static str,
    value: f64,
    unit: &'static str,
    run: &'static str,
    of: Grown,
) -> Claim {
    Claim { id, says, value, tolerance: 0.0, bound: Bound::AtMost, unit, measure: Measure::Grown { run, of } }
}
