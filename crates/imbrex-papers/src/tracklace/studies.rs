//! What is shown side by side.

use super::variants::{CONVENTIONAL, DEFAULTS, OUR, SEAGATE};
use crate::metric::Metric;
use crate::paper::{Figure, Study};

/// The volumes of Fig. 6.
const TWO: &[&str] = &["prn_1", "src2_2"];
const ONE: &[&str] = &["src2_2"];

/// The name of the study of frames.
pub const FRAMES: &str = "frames";

pub const STUDIES: &[Study] = &[
    Study {
        name: "traces",
        title: "A disk of which 99 % is allocated (section 6.3.1)",
        workloads: &[],
        variants: &[SEAGATE, OUR, CONVENTIONAL],
        figures: &[
            figure("4", "latency", Metric::Latency, "31 % less on prn_1, less on all but proj_2, where it is 3 % more"),
            figure("4", "amplification", Metric::WriteAmplification, "45 % less on prn_1"),
            figure("", "writes", Metric::WriteLatency, ""),
            figure(
                "",
                "hits",
                Metric::UpdateHits,
                "4.8 % of bottom writes on proj_2, 4.9 % on src2_2, 81.1 % on prn_1",
            ),
        ],
    },
    Study {
        name: "utilisations",
        title: "How much of the disk is allocated (section 6.3.2)",
        workloads: ONE,
        variants: UTILISATIONS,
        figures: &[
            figure("5", "latency", Metric::Latency, "seagate's is 2.43 times as long at 60 % as at 40 %"),
            figure("5", "amplification", Metric::WriteAmplification, "1 up to 40 %; seagate's 1.8 at 60 %"),
        ],
    },
    Study {
        name: "elements",
        title: "One mechanism after the other, 99 % allocated (section 6.4)",
        workloads: TWO,
        variants: &[SEAGATE, "z-a", "+bf", "+ab", "+sw", "+vf", OUR],
        figures: ELEMENTS,
    },
    Study {
        name: "large",
        title: "The same on 5 TB, 80 % allocated, at the trace's own addresses (section 6.4)",
        workloads: TWO,
        variants: &["5 TB, sg", "5 TB, z-a", "5 TB, +bf", "5 TB, +ab", "5 TB, +sw", "5 TB, +vf", "5 TB, our"],
        figures: ELEMENTS,
    },
    Study {
        name: "stretched",
        title: "The same with addresses stretched over the 5 TB (section 6.4)",
        workloads: TWO,
        variants: &[
            "stretched, sg",
            "stretched, z-a",
            "stretched, +bf",
            "stretched, +ab",
            "stretched, +sw",
            "stretched, +vf",
            "stretched, our",
        ],
        figures: ELEMENTS,
    },
    Study {
        name: "outstanding",
        title: "One mechanism after the other, 99 % allocated, one request outstanding (not in the paper)",
        workloads: TWO,
        variants: &[
            "seagate, outstanding",
            "z-a, outstanding",
            "+bf, outstanding",
            "+ab, outstanding",
            "+sw, outstanding",
            "+vf, outstanding",
            "our, outstanding",
        ],
        figures: ELEMENTS,
    },
    Study {
        name: FRAMES,
        title: "Width of a virtual frame, 95 % allocated (section 6.5.1)",
        workloads: ONE,
        variants: &[
            "2K tracks",
            "4K tracks",
            "8K tracks",
            "16K tracks",
            "32K tracks",
            "64K tracks",
            "128K tracks",
            "no frames",
        ],
        figures: &[
            figure("7", "latency", Metric::Latency, "the least at 32K"),
            figure("7", "seeks", Metric::SeekDistance, "grows with the width; the same at 128K as without frames"),
            figure("7", "amplification", Metric::WriteAmplification, "falls as the width grows"),
            figure("", "distance", Metric::RelocationDistance, "less than the width"),
        ],
    },
    Study {
        name: "phases",
        title: "More phases, so that every frame has top tracks that are not allocated (not in the paper)",
        workloads: &[],
        variants: &[SEAGATE, OUR, DEFAULTS],
        figures: ELEMENTS,
    },
    Study {
        name: "readings",
        title: "What a full map and a hit of the buffer lead to (not in the paper)",
        workloads: TWO,
        variants: &[OUR, "swaps replaced", "swaps for gain", "appended hits"],
        figures: ELEMENTS,
    },
];

const UTILISATIONS: &[&str] = &[
    "seagate, 20 %",
    "our, 20 %",
    "seagate, 40 %",
    "our, 40 %",
    "seagate, 60 %",
    "our, 60 %",
    "seagate, 80 %",
    "our, 80 %",
    "seagate, 90 %",
    "our, 90 %",
    "seagate, 95 %",
    "our, 95 %",
    "seagate, 98 %",
    "our, 98 %",
    SEAGATE,
    OUR,
    "seagate, 99.99 %",
    "our, 99.99 %",
];

const ELEMENTS: &[Figure] = &[
    figure("6", "latency", Metric::Latency, ""),
    figure("6", "amplification", Metric::WriteAmplification, ""),
    figure("", "hits", Metric::UpdateHits, ""),
    figure("", "seeks", Metric::SeekDistance, ""),
    figure("", "distance", Metric::RelocationDistance, ""),
];

/// One metric over that of the study's first variant; of hits, which are ratios, and of distances, which not every
/// variant has, themselves.
const fn figure(number: &'static str, name: &'static str, metric: Metric, says: &'static str) -> Figure {
    let metrics: &[Metric] = match metric {
        Metric::Latency => &[Metric::Latency],
        Metric::WriteLatency => &[Metric::WriteLatency],
        Metric::WriteAmplification => &[Metric::WriteAmplification],
        Metric::SeekDistance => &[Metric::SeekDistance],
        Metric::RelocationDistance => &[Metric::RelocationDistance],
        _ => &[Metric::UpdateHits],
    };
    let is_relative = !matches!(metric, Metric::UpdateHits | Metric::RelocationDistance);
    Figure { number, name, metrics, is_relative, says }
}
