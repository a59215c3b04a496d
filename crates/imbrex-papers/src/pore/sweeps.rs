//! Equation 2 and the motivation, on uniform writes.

use imbrex_runs::case::Fit;

use super::variants::{PORE, STATIC_SETS};
use crate::sweep::{Axis, Curve, Sizes, Sweep};

pub const PERIODS: &str = "period";
pub const RANGES: &str = "range";
/// The curve without regions.
pub const PLAIN: &str = "lru-cache";

/// Sizes of a small disk, on which a sweep takes seconds: 64 GiB, 1/1024 of which is the disk's buffer. The cache is
/// large, so that the longest period is half of it.
const SMALL: Sizes =
    Sizes { range_bytes: 64 << 30, disk_buffer: 16_384, cache: 16.0, period: 1.0, region: 20.0, fit: Fit::Workload };

/// The whole drive. Of single blocks its persistent buffer takes as many as its map has entries. Units are as long as
/// the shortest band within a terabyte, about.
const WHOLE: Sizes =
    Sizes { range_bytes: 0, disk_buffer: 250_000, cache: 4.0, period: 1.0, region: 40.0, fit: Fit::Own };

const REGIONS: Curve = Curve { name: PORE, layer: PORE, has_regions: true };
const LRU: Curve = Curve { name: PLAIN, layer: PLAIN, has_regions: false };
const SETS: Curve = Curve { name: STATIC_SETS, layer: STATIC_SETS, has_regions: false };

pub const SWEEPS: &[Sweep] = &[
    Sweep {
        name: PERIODS,
        title: "Equation 2: blocks rewritten for each written home, by the length of a period, uniform writes over 64 GiB",
        axis: Axis::Period,
        values: &[0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
        shared: SMALL,
        curves: &[REGIONS, LRU],
    },
    Sweep {
        name: "region",
        title: "Blocks rewritten by the length of a region unit, uniform writes over 64 GiB",
        axis: Axis::Region,
        values: &[2.0, 10.0, 20.0, 30.0, 50.0, 100.0],
        shared: SMALL,
        curves: &[REGIONS, LRU],
    },
    Sweep {
        name: "cache",
        title: "Blocks rewritten by the size of the cache, uniform writes over 64 GiB",
        axis: Axis::Cache,
        values: &[2.0, 4.0, 8.0, 16.0, 32.0],
        shared: SMALL,
        curves: &[REGIONS, LRU, SETS],
    },
    Sweep {
        name: RANGES,
        title: "Blocks rewritten by the range of uniform writes on the whole drive (the motivation, section 2)",
        axis: Axis::Range,
        values: &[56.0, 128.0, 256.0, 512.0, 1000.0],
        shared: WHOLE,
        curves: &[REGIONS, LRU, SETS],
    },
];
