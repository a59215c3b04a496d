//! What the paper says in §6, and what its introduction says of interlaced disks. Savings get a tolerance of ten points,
//! what is next to nothing one of two; an order is held to be kept if one number is below the other.

use super::studies::FRAMES;
use super::variants::{ADAPT, CONVENTIONAL, NO_ADAPT, OUR, SEAGATE, Z_ALLOC};
use crate::claim::{Bound, Claim};
use crate::measure::{Measure, Part, Scope, Taken};
use crate::metric::Metric;

use Metric::{Latency, WriteAmplification};

const PRN: &str = "prn_1";
const SRC: &str = "src2_2";

pub const CLAIMS: &[Claim] = &[
    saved("T1a", "prn_1: latency is 31 % below seagate's", 31.0, PRN, OUR, SEAGATE, Latency),
    saved("T1b", "prn_1: write amplification is 45 % below", 45.0, PRN, OUR, SEAGATE, WriteAmplification),
    Claim {
        id: "T2a",
        says: "latency is shorter on six of the seven",
        value: 6.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "workloads",
        measure: Measure::Against { metric: Latency, variant: OUR, against: SEAGATE, taken: Taken::Count },
    },
    saved("T2b", "proj_2: latency is 3 % above seagate's", -3.0, "proj_2", OUR, SEAGATE, Latency),
    hits("T2c", "proj_2: 4.8 % of the bottom writes hit", 0.048, "proj_2", OUR),
    Claim {
        id: "T2d",
        says: "and write amplification lower",
        value: 6.0,
        tolerance: 0.0,
        bound: Bound::AtLeast,
        unit: "workloads",
        measure: Measure::Against { metric: WriteAmplification, variant: OUR, against: SEAGATE, taken: Taken::Count },
    },
    is("T3a", "src2_2: nothing is amplified at 20 %", 1.0, 0.0, SRC, "our, 20 %", WriteAmplification),
    is("T3b", "nor at 40 %", 1.0, 0.0, SRC, "our, 40 %", WriteAmplification),
    is("T3c", "nor by seagate", 1.0, 0.0, SRC, "seagate, 40 %", WriteAmplification),
    near("T3d", "at 40 % latencies differ by less than 0.4 %", SRC, "our, 40 %", "seagate, 40 %", 0.004),
    times("T4a", "src2_2: seagate's latency is 2.43 times as long at 60 % as at 40 %", 2.43, Latency),
    times("T4b", "and its write amplification 1.8 times", 1.8, WriteAmplification),
    near("T4c", "ours is as at 40 %", SRC, "our, 60 %", "our, 40 %", 0.05),
    below("T4d", "80 %: latency has increased less than seagate's", SRC, "our, 80 %", "seagate, 80 %"),
    below("T4e", "90 %", SRC, "our, 90 %", "seagate, 90 %"),
    below("T4f", "95 %", SRC, "our, 95 %", "seagate, 95 %"),
    below("T4g", "98 %", SRC, "our, 98 %", "seagate, 98 %"),
    below("T4h", "99 %", SRC, OUR, SEAGATE),
    below("T4i", "80 %: and write amplification", SRC, "our, 80 %", "seagate, 80 %").by(WriteAmplification),
    below("T4j", "90 %", SRC, "our, 90 %", "seagate, 90 %").by(WriteAmplification),
    below("T4k", "95 %", SRC, "our, 95 %", "seagate, 95 %").by(WriteAmplification),
    below("T4l", "98 %", SRC, "our, 98 %", "seagate, 98 %").by(WriteAmplification),
    below("T4m", "99 %", SRC, OUR, SEAGATE).by(WriteAmplification),
    saved("T5a", "src2_2, 99.99 %: latency is 10.3 % below", 10.3, SRC, "our, 99.99 %", "seagate, 99.99 %", Latency),
    saved(
        "T5b",
        "and write amplification 2.1 % below",
        2.1,
        SRC,
        "our, 99.99 %",
        "seagate, 99.99 %",
        WriteAmplification,
    ),
    saved("T6a", "prn_1: z-a has a latency 2.1 % below sg's", 2.1, PRN, "z-a", SEAGATE, Latency),
    saved("T6b", "prn_1: +bf one 33.4 % below z-a's", 33.4, PRN, "+bf", "z-a", Latency),
    saved("T6c", "prn_1: and a write amplification 50.3 % below", 50.3, PRN, "+bf", "z-a", WriteAmplification),
    is("T6d", "prn_1: which is 1.003", 1.003, 0.05, PRN, "+bf", WriteAmplification),
    hits("T6e", "prn_1: 81.1 % of the bottom writes hit", 0.811, PRN, "+bf"),
    near("T6f", "prn_1: with +ab latency is nearly the same as with +bf", PRN, "+ab", "+bf", NEARLY),
    near("T6g", "with +sw", PRN, "+sw", "+bf", NEARLY),
    near("T6h", "with +vf", PRN, "+vf", "+bf", NEARLY),
    near("T6i", "with our", PRN, OUR, "+bf", NEARLY),
    above("T7a", "src2_2: +bf has a longer latency than z-a", SRC, "+bf", "z-a"),
    below("T7b", "src2_2: +ab a shorter one than z-a", SRC, "+ab", "z-a"),
    below("T7c", "src2_2: +sw a shorter one than +ab", SRC, "+sw", "+ab"),
    above("T7d", "src2_2: +vf a longer one than +sw", SRC, "+vf", "+sw"),
    above("T7e", "src2_2: +vf amplifies more than +sw", SRC, "+vf", "+sw").by(WriteAmplification),
    below("T7f", "src2_2: our has a shorter one than +sw", SRC, OUR, "+sw"),
    hits("T7g", "src2_2: 4.9 % of the bottom writes hit", 0.049, SRC, "+bf"),
    near("T7h", "src2_2: z-a does not change latency much", SRC, "z-a", SEAGATE, NEARLY),
    saved("T8a", "5 TB, src2_2: z-a is 20 % faster than sg", 20.0, SRC, "5 TB, z-a", "5 TB, sg", Latency),
    saved("T8b", "5 TB, prn_1: 12 %", 12.0, PRN, "5 TB, z-a", "5 TB, sg", Latency),
    saved("T8c", "5 TB, src2_2: our is 25 % faster than +sw", 25.0, SRC, "5 TB, our", "5 TB, +sw", Latency),
    saved("T8d", "5 TB, prn_1: 72 %", 72.0, PRN, "5 TB, our", "5 TB, +sw", Latency),
    below("T8e", "5 TB, prn_1: +bf amplifies less than z-a", PRN, "5 TB, +bf", "5 TB, z-a").by(WriteAmplification),
    above("T8f", "5 TB, prn_1: and has a longer latency", PRN, "5 TB, +bf", "5 TB, z-a"),
    below("T8g", "5 TB, prn_1: +ab amplifies less than z-a", PRN, "5 TB, +ab", "5 TB, z-a").by(WriteAmplification),
    above("T8h", "5 TB, prn_1: and has a longer latency", PRN, "5 TB, +ab", "5 TB, z-a"),
    below("T8i", "5 TB, prn_1: +sw amplifies less than z-a", PRN, "5 TB, +sw", "5 TB, z-a").by(WriteAmplification),
    above("T8j", "5 TB, prn_1: and has a longer latency", PRN, "5 TB, +sw", "5 TB, z-a"),
    below("T8k", "5 TB, src2_2: +bf amplifies less than z-a", SRC, "5 TB, +bf", "5 TB, z-a").by(WriteAmplification),
    above("T8l", "5 TB, src2_2: and has a longer latency", SRC, "5 TB, +bf", "5 TB, z-a"),
    below("T8m", "5 TB, src2_2: +ab amplifies less than z-a", SRC, "5 TB, +ab", "5 TB, z-a").by(WriteAmplification),
    above("T8n", "5 TB, src2_2: and has a longer latency", SRC, "5 TB, +ab", "5 TB, z-a"),
    below("T8o", "5 TB, src2_2: +sw amplifies less than z-a", SRC, "5 TB, +sw", "5 TB, z-a").by(WriteAmplification),
    above("T8p", "5 TB, src2_2: and has a longer latency", SRC, "5 TB, +sw", "5 TB, z-a"),
    below("T8q", "5 TB, prn_1: our has a shorter latency than z-a", PRN, "5 TB, our", "5 TB, z-a"),
    below("T8r", "5 TB, src2_2: and so it has there", SRC, "5 TB, our", "5 TB, z-a"),
    saved("T9a", "stretched, src2_2: 11 %", 11.0, SRC, "stretched, z-a", "stretched, sg", Latency),
    saved("T9b", "stretched, prn_1: 2 %", 2.0, PRN, "stretched, z-a", "stretched, sg", Latency),
    saved(
        "T9c",
        "stretched, src2_2: our is 16 % faster than +sw",
        16.0,
        SRC,
        "stretched, our",
        "stretched, +sw",
        Latency,
    ),
    saved("T9d", "stretched, prn_1: 9 %", 9.0, PRN, "stretched, our", "stretched, +sw", Latency),
    framed(
        "T10a",
        "seek distance grows with the frame",
        Measure::Rises { metric: Metric::SeekDistance, study: FRAMES, on: Scope::One(SRC) },
    ),
    framed(
        "T10b",
        "write amplification falls",
        Measure::Falls { metric: WriteAmplification, study: FRAMES, on: Scope::One(SRC) },
    ),
    framed(
        "T10c",
        "latency is shortest at 32K tracks",
        Measure::Peaks { metric: Latency, study: FRAMES, at: "32K tracks", on: Scope::One(SRC) },
    ),
    near("T10d", "at 128K it is as without frames", SRC, "128K tracks", "no frames", 0.001),
    near("T10e", "and so is write amplification", SRC, "128K tracks", "no frames", 0.001).by(WriteAmplification),
    faster("T11a", "buffer-adapt writes 2.54 MB/s, buffer-no-adapt 2.17", 1.172, NO_ADAPT, Part::Whole),
    faster("T11b", "and z-alloc 0.99", 2.56, Z_ALLOC, Part::Whole),
    faster("T11c", "while blocks do not come again it writes as z-alloc does", 1.0, Z_ALLOC, Part::Half(0)),
    Claim {
        bound: Bound::AtMost,
        measure: Measure::Speed { variant: NO_ADAPT, over: Z_ALLOC, part: Part::Half(0) },
        ..faster("T11f", "where buffer-no-adapt is slower than z-alloc", 1.0, Z_ALLOC, Part::Half(0))
    },
    faster("T11g", "where they come again it writes as buffer-no-adapt does", 1.0, NO_ADAPT, Part::Half(1)),
    Claim { bound: Bound::AtLeast, ..faster("T11h", "and far faster than z-alloc", 1.0, Z_ALLOC, Part::Half(1)) },
    Claim {
        id: "T11d",
        says: "and lets in a fifth",
        value: 0.2,
        tolerance: 0.1,
        bound: Bound::About,
        unit: "of the blocks",
        measure: Measure::LetIn { variant: ADAPT, part: Part::Half(0) },
    },
    Claim {
        id: "T11e",
        says: "and then nearly all",
        value: 1.0,
        tolerance: 0.1,
        bound: Bound::AtLeast,
        unit: "of the blocks",
        measure: Measure::LetIn { variant: ADAPT, part: Part::Half(1) },
    },
    intro("T12a", "an interlaced disk amplifies 2.6-fold at worst", 2.6, WriteAmplification),
    intro("T12b", "and is four times as slow", 4.0, Latency),
];

/// What nearly the same is: a tenth more or less.
const NEARLY: f64 = 0.1;

impl Claim {
    /// This claim for another metric.
    const fn by(mut self, metric: Metric) -> Self {
        if let Measure::Times { workload, variant, over, .. } = self.measure {
            self.measure = Measure::Times { metric, workload, variant, over };
        }
        self
    }
}

/// A variant saves `value` percent of what another one has.
const fn saved(
    id: &'static str,
    says: &'static str,
    value: f64,
    workload: &'static str,
    variant: &'static str,
    against: &'static str,
    metric: Metric,
) -> Claim {
    let tolerance = if value.abs() < 5.0 { 2.0 } else { 10.0 };
    let measure = Measure::Saved { metric, workload, variant, against };
    // To be slower by so much is no gain.
    let bound = if value > 0.0 { Bound::Gain } else { Bound::About };
    Claim { id, says, value, tolerance, bound, unit: "%", measure }
}

const fn is(
    id: &'static str,
    says: &'static str,
    value: f64,
    tolerance: f64,
    workload: &'static str,
    variant: &'static str,
    metric: Metric,
) -> Claim {
    let measure = Measure::Of { metric, workload, variant };
    Claim { id, says, value, tolerance, bound: Bound::AtMost, unit: "", measure }
}

/// What part of the bottom updates are of blocks that are buffered or swapped.
const fn hits(
    id: &'static str,
    says: &'static str,
    value: f64,
    workload: &'static str,
    variant: &'static str,
) -> Claim {
    let measure = Measure::Of { metric: Metric::UpdateHits, workload, variant };
    Claim { id, says, value, tolerance: 0.05, bound: Bound::About, unit: "of the blocks", measure }
}

/// The latencies of two variants are alike, but for that part.
const fn near(
    id: &'static str,
    says: &'static str,
    workload: &'static str,
    variant: &'static str,
    over: &'static str,
    tolerance: f64,
) -> Claim {
    let measure = Measure::Times { metric: Latency, workload, variant, over };
    Claim { id, says, value: 1.0, tolerance, bound: Bound::About, unit: "times", measure }
}

/// What seagate loses between 40 and 60 %.
const fn times(id: &'static str, says: &'static str, value: f64, metric: Metric) -> Claim {
    let (variant, over) = ("seagate, 60 %", "seagate, 40 %");
    let measure = Measure::Times { metric, workload: SRC, variant, over };
    Claim { id, says, value, tolerance: value / 10.0, bound: Bound::About, unit: "times", measure }
}

const fn above(
    id: &'static str,
    says: &'static str,
    workload: &'static str,
    variant: &'static str,
    over: &'static str,
) -> Claim {
    let measure = Measure::Times { metric: Latency, workload, variant, over };
    Claim { id, says, value: 1.0, tolerance: 0.0, bound: Bound::AtLeast, unit: "times", measure }
}

const fn below(
    id: &'static str,
    says: &'static str,
    workload: &'static str,
    variant: &'static str,
    over: &'static str,
) -> Claim {
    Claim { bound: Bound::AtMost, ..above(id, says, workload, variant, over) }
}

const fn framed(id: &'static str, says: &'static str, measure: Measure) -> Claim {
    Claim { id, says, value: 1.0, tolerance: 0.0, bound: Bound::AtLeast, unit: "workloads", measure }
}

/// How many times as fast buffer-adapt is as another.
const fn faster(id: &'static str, says: &'static str, value: f64, over: &'static str, part: Part) -> Claim {
    let measure = Measure::Speed { variant: ADAPT, over, part };
    let (tolerance, bound) = if value == 1.0 { (0.03, Bound::About) } else { (value / 10.0, Bound::Gain) };
    Claim { id, says, value, tolerance, bound, unit: "times", measure }
}

const fn intro(id: &'static str, says: &'static str, value: f64, metric: Metric) -> Claim {
    let measure = Measure::MostTimes { metric, variant: SEAGATE, over: CONVENTIONAL };
    Claim { id, says, value, tolerance: value / 5.0, bound: Bound::About, unit: "times", measure }
}
