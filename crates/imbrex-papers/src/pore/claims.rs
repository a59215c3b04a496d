//! What the report says, and what we hold the layer to. The report's averages get a tolerance of ten points, its largest
//! savings five; where it names no number, what is "flat" may differ by a tenth.

use super::WORKLOADS;
use super::sweeps::{PERIODS, RANGES};
use super::variants::{BY_REGION, LRU, NO_BANDS, PORE, STATIC_SETS, TOGETHER};
use crate::claim::{Bound, Claim};
use crate::measure::{Measure, Taken};
use crate::metric::Metric;

/// Every workload.
const ALL: f64 = WORKLOADS.len() as f64;

pub const CLAIMS: &[Claim] = &[
    saved("R1a", "mean response is 50.56 % shorter on average", 50.56, 10.0, Metric::Latency, PORE),
    saved("R1a.region", "the same, a region leaving as a whole", 50.56, 10.0, Metric::Latency, BY_REGION),
    saved("R1a.together", "the same, 1024 blocks leaving together", 50.56, 10.0, Metric::Latency, TOGETHER),
    saved("R1a.bound", "what it would be without any rewriting", 50.56, 10.0, Metric::Latency, NO_BANDS),
    most("R1b", "by 79.30 % at most", 79.30, Metric::Latency, PORE),
    most("R1b.region", "the same, a region leaving as a whole", 79.30, Metric::Latency, BY_REGION),
    never_worse("R1c", "it is never longer", PORE),
    never_worse("R1c.region", "the same, a region leaving as a whole", BY_REGION),
    never_worse("R1c.together", "the same, 1024 blocks leaving together", TOGETHER),
    saved("R2a", "the longest response is 15.02 % shorter on average", 15.02, 10.0, Metric::Longest, PORE),
    saved("R2a.region", "the same, a region leaving as a whole", 15.02, 10.0, Metric::Longest, BY_REGION),
    most("R2b", "by 18.60 % at most", 18.60, Metric::Longest, PORE),
    saved("R2.p999", "if the tail is the 99.9th percentile", 15.02, 10.0, Metric::P999, PORE),
    saved("R2.p99", "if it is the 99th", 15.02, 10.0, Metric::P99, PORE),
    saved("R3a", "mean migration is 15.47 % shorter on average", 15.47, 10.0, Metric::Migration, PORE),
    saved("R3a.region", "the same, a region leaving as a whole", 15.47, 10.0, Metric::Migration, BY_REGION),
    saved("R3a.band", "if it is the rewrite of a band", 15.47, 10.0, Metric::BandTime, PORE),
    most("R3b", "by 18.62 % at most", 18.62, Metric::Migration, PORE),
    Claim {
        id: "B1",
        says: "(ours) band rewrites on uniform writes are a third of LRU's at most, over 56 GB to 1 TB",
        value: 3.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "times",
        measure: Measure::Rewritten { sweep: RANGES, curve: LRU, over: PORE },
    },
    Claim {
        id: "B2",
        says: "a period is best as long as the disk's buffer",
        value: 1.0,
        tolerance: 0.1,
        bound: Bound::AtMost,
        unit: "times the least",
        measure: Measure::AtLeast { sweep: PERIODS, curve: PORE, at: 1.0 },
    },
    Claim {
        id: "B3",
        says: "with shorter periods as much is rewritten",
        value: 1.0,
        tolerance: 0.1,
        bound: Bound::AtMost,
        unit: "times the least",
        measure: Measure::Level { sweep: PERIODS, curve: PORE, up_to: 1.0 },
    },
    Claim {
        id: "B4",
        says: "(ours) the hit ratio is at most 3 points below LRU's",
        value: 3.0,
        tolerance: 0.0,
        bound: Bound::AtMost,
        unit: "points",
        measure: Measure::MostLost { metric: Metric::Hits, variant: PORE, against: LRU },
    },
    Claim {
        id: "B4.region",
        says: "the same, a region leaving as a whole",
        value: 3.0,
        tolerance: 0.0,
        bound: Bound::AtMost,
        unit: "points",
        measure: Measure::MostLost { metric: Metric::Hits, variant: BY_REGION, against: LRU },
    },
    Claim {
        id: "B5",
        says: "(ours) fewer bands are rewritten than by static sets",
        value: ALL,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "workloads",
        measure: against(Metric::Rmw, PORE, Taken::Count),
    },
];

const fn against(metric: Metric, variant: &'static str, taken: Taken) -> Measure {
    Measure::Against { metric, variant, against: STATIC_SETS, taken }
}

const fn saved(
    id: &'static str,
    says: &'static str,
    value: f64,
    tolerance: f64,
    metric: Metric,
    variant: &'static str,
) -> Claim {
    let measure = against(metric, variant, Taken::Mean);
    Claim { id, says, value, tolerance, bound: Bound::Gain, unit: "%", measure }
}

const fn most(id: &'static str, says: &'static str, value: f64, metric: Metric, variant: &'static str) -> Claim {
    let measure = against(metric, variant, Taken::Most);
    Claim { id, says, value, tolerance: 5.0, bound: Bound::Gain, unit: "%", measure }
}

const fn never_worse(id: &'static str, says: &'static str, variant: &'static str) -> Claim {
    let measure = against(Metric::Latency, variant, Taken::Count);
    Claim { id, says, value: ALL, tolerance: 0.0, bound: Bound::AtLeast, unit: "workloads", measure }
}
