//! The conversion of §5: 25 GiB more on a disk that is full and all conventional.

use crate::paper::{Asked, Growth};

pub const AT_60: &str = "60 ms";
pub const AT_100: &str = "100 ms";
pub const BLOCKING: &str = "blocking";
pub const BEYOND_60: &str = "60 ms, beyond";
pub const BEYOND_100: &str = "100 ms, beyond";

/// The paper says neither how much of the trace is replayed nor when the space is asked for.
pub const GROWTH: Growth = Growth {
    number: "7",
    title: "25 GiB more on a full disk, all of it conventional until then (section 5)",
    workload: "proj_1",
    requests: 60_000,
    after: 0.1,
    bytes: 25 << 30,
    layer: super::variants::ZONE_ALLOY,
    runs: &[
        asked("no conversion", None),
        asked(AT_60, Some("60.0")),
        asked(AT_100, Some("100.0")),
        asked(BLOCKING, Some("0.0")),
        beyond("no conversion, beyond", None),
        beyond(BEYOND_60, Some("60.0")),
        beyond(BEYOND_100, Some("100.0")),
    ],
};

const fn asked(name: &'static str, bound_ms: Option<&'static str>) -> Asked {
    Asked { name, bound_ms, disk: None }
}

/// On a disk of 1 TB while all of it is conventional: the zones that are converted lie beyond the volume.
const fn beyond(name: &'static str, bound_ms: Option<&'static str>) -> Asked {
    Asked { name, bound_ms, disk: Some(1_500_000_000_000) }
}
