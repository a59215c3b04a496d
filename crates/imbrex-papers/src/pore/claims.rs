//! What the report says, and what we hold the layer to. The report's averages get a tolerance of ten points, its largest
//! savings five; where it names no number, what is "flat" may differ by a tenth.
//!
//! Claims without a suffix are about bare bands. With `.long` a period is longer; `.managed` and `.region` are before a
//! drive-managed disk, block by block and region by region.

use super::WORKLOADS;
use super::sweeps::{PERIODS, PLAIN, RANGES};
use super::variants::{BY_REGION, LONG, LRU, MANAGED, MANAGED_SETS, PORE, STATIC_SETS};
use crate::claim::{Bound, Claim};
use crate::measure::{Measure, Taken};
use crate::metric::Metric::{self, Hits, Latency, Longest, Migration, P99, P999, Rmw};

/// Every workload.
const ALL: f64 = WORKLOADS.len() as f64;

/// The report's averages, in percent.
const MEAN: f64 = 50.56;
const TAIL: f64 = 15.02;
const MIGRATION: f64 = 15.47;

pub const CLAIMS: &[Claim] = &[
    saved("R1a", "mean response is 50.56 % shorter on average", MEAN, Latency, PORE),
    saved("R1a.long", "the same, with a longer period", MEAN, Latency, LONG),
    saved("R1a.managed", "the same, before a drive-managed disk", MEAN, Latency, MANAGED),
    saved("R1a.region", "the same, a region leaving as a whole", MEAN, Latency, BY_REGION),
    most("R1b", "by 79.30 % at most", 79.30, Latency, PORE),
    always("R1c", "it is shorter on every data set", Latency, PORE),
    always("R1c.long", "the same, with a longer period", Latency, LONG),
    always("R1c.managed", "the same, before a drive-managed disk", Latency, MANAGED),
    always("R1c.region", "the same, a region leaving as a whole", Latency, BY_REGION),
    saved("R2a", "the longest response is 15.02 % shorter on average", TAIL, Longest, PORE),
    saved("R2a.long", "the same, with a longer period", TAIL, Longest, LONG),
    saved("R2a.managed", "the same, before a drive-managed disk", TAIL, Longest, MANAGED),
    saved("R2a.region", "the same, a region leaving as a whole", TAIL, Longest, BY_REGION),
    most("R2b", "by 18.60 % at most", 18.60, Longest, PORE),
    always("R2c", "the longest response is shorter on every data set", Longest, PORE),
    always("R2c.long", "the same, with a longer period", Longest, LONG),
    always("R2c.managed", "the same, before a drive-managed disk", Longest, MANAGED),
    always("R2c.region", "the same, a region leaving as a whole", Longest, BY_REGION),
    saved("R2.p999", "if the tail is the 99.9th percentile", TAIL, P999, PORE),
    saved("R2.p99", "if it is the 99th", TAIL, P99, PORE),
    saved("R3a", "mean migration is 15.47 % shorter on average", MIGRATION, Migration, PORE),
    saved("R3a.long", "the same, with a longer period", MIGRATION, Migration, LONG),
    saved("R3a.managed", "the same, before a drive-managed disk", MIGRATION, Migration, MANAGED),
    saved("R3a.region", "the same, a region leaving as a whole", MIGRATION, Migration, BY_REGION),
    most("R3b", "by 18.62 % at most", 18.62, Migration, PORE),
    always("R3c", "mean migration is shorter on every data set", Migration, PORE),
    always("R3c.long", "the same, with a longer period", Migration, LONG),
    Claim {
        id: "B1",
        says: "(ours) band rewrites on uniform writes are a third of LRU's at most, over 56 GB to 1 TB",
        value: 3.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "times",
        measure: Measure::Rewritten { sweep: RANGES, curve: PLAIN, over: PORE },
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
    lost("B4", "(ours) the hit ratio is at most 3 points below LRU's, before a drive-managed disk", MANAGED),
    lost("B4.region", "the same, a region leaving as a whole", BY_REGION),
    always("B5", "(ours) fewer bands are rewritten than by static sets", Rmw, PORE),
    always("B5.managed", "the same, before a drive-managed disk", Rmw, MANAGED),
];

/// What a variant is held against, which is before the same disk.
const fn against(metric: Metric, variant: &'static str, taken: Taken) -> Measure {
    let is_managed = matches!(variant.as_bytes(), [.., b'm', b'a', b'n', b'a', b'g', b'e', b'd']);
    Measure::Against { metric, variant, against: if is_managed { MANAGED_SETS } else { STATIC_SETS }, taken }
}

const fn saved(id: &'static str, says: &'static str, value: f64, metric: Metric, variant: &'static str) -> Claim {
    let measure = against(metric, variant, Taken::Mean);
    Claim { id, says, value, tolerance: 10.0, bound: Bound::Gain, unit: "%", measure }
}

const fn most(id: &'static str, says: &'static str, value: f64, metric: Metric, variant: &'static str) -> Claim {
    let measure = against(metric, variant, Taken::Most);
    Claim { id, says, value, tolerance: 5.0, bound: Bound::Gain, unit: "%", measure }
}

const fn always(id: &'static str, says: &'static str, metric: Metric, variant: &'static str) -> Claim {
    let measure = against(metric, variant, Taken::Count);
    Claim { id, says, value: ALL, tolerance: 0.0, bound: Bound::AtLeast, unit: "workloads", measure }
}

const fn lost(id: &'static str, says: &'static str, variant: &'static str) -> Claim {
    let measure = Measure::MostLost { metric: Hits, variant, against: LRU };
    Claim { id, says, value: 3.0, tolerance: 0.0, bound: Bound::AtMost, unit: "points", measure }
}
