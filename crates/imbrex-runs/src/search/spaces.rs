//! Settings that are tried of the papers' layers: fields that change what is measured, with values on both sides of the
//! default. What would change the disk or the comparison is left out: the spare fraction, RAM that a power cut empties,
//! how long a cleaning step is.

use super::Space;

/// A layer, and what is tried of it.
pub struct Other {
    /// The layer.
    pub layer: &'static str,
    /// Its settings.
    pub space: Space,
}

const COMPACT: (&str, &[&str]) = ("compact_bands", &["1", "4", "8"]);
const SPARE: (&str, &[&str]) = ("spare_bands", &["2", "4"]);
const EQUAL: (&str, &[&str]) = ("equal", &["oldest", "lowest"]);
const OPEN: (&str, &[&str]) = ("open_bands", &["2", "3"]);
const HOT_FROM: (&str, &[&str]) = ("hot_from", &["2"]);
const COOLING: (&str, &[&str]) = ("cooling", &["halve"]);
const WEIGHT: (&str, &[&str]) = ("cold_weight", &["0.0", "0.1", "0.5", "0.7", "0.9"]);

/// The logs of the papers.
pub const LOGS: &[Other] = &[
    Other { layer: "log-greedy", space: &[COMPACT, SPARE, EQUAL] },
    Other { layer: "log-fifo", space: &[COMPACT, SPARE] },
    Other { layer: "log-choices", space: &[("choices", &["2", "5", "20", "40"]), COMPACT, SPARE] },
    Other { layer: "log-cost-benefit", space: &[COMPACT, SPARE] },
    Other { layer: "cold-weight", space: &[OPEN, WEIGHT, COMPACT, SPARE, HOT_FROM, COOLING] },
    Other { layer: "tuned-weight", space: &[OPEN, COMPACT, SPARE, HOT_FROM, COOLING] },
    Other { layer: "sepbit", space: &[COMPACT, SPARE] },
];

const CLEAN_FOR: (&str, &[&str]) = ("clean_for", &["request"]);
const AT_POINTER: (&str, &[&str]) = ("at_pointer", &["buffered"]);
const READS: (&str, &[&str]) = ("reads_count", &["true"]);
const IDLE: (&str, &[&str]) = ("idle_free", &["0.02", "0.1", "0.3"]);
const REQUEUE: (&str, &[&str]) = ("requeue_blocks", &["64", "512"]);
const SLOTS: (&str, &[&str]) = ("zone_slots", &["64", "1024", "4096"]);
const CHUNK: (&str, &[&str]) = ("chunk_blocks", &["1", "4", "64"]);
const HOT_START: (&str, &[&str]) = ("hot_start", &["0.1", "0.5"]);
const PERIOD: (&str, &[&str]) = ("period", &["1000"]);
const DENSITY: (&str, &[&str]) = ("density", &["none"]);
const VICTIMS: (&str, &[&str]) = ("victims", &["fifo"]);
const UNTIL: (&str, &[&str]) = ("until", &["high"]);
const LOW: (&str, &[&str]) = ("reclaim_low", &["10"]);

const FIFO_LOG: Other = Other { layer: "fifo-log", space: &[CLEAN_FOR, AT_POINTER] };
const LOOP_BACK: Other = Other { layer: "loop-back", space: &[CLEAN_FOR, AT_POINTER, REQUEUE, READS] };
const BLOCK_LRU: Other = Other { layer: "block-lru", space: &[CLEAN_FOR, AT_POINTER, READS] };
const HASHED_ZONES: Other = Other { layer: "hashed-zones", space: &[AT_POINTER, SLOTS] };
const AMPHISBAENA: Other = Other { layer: "amphisbaena", space: &[CHUNK, HOT_START, PERIOD, DENSITY, VICTIMS] };
const DM_ZONED: Other = Other { layer: "dm-zoned", space: &[UNTIL, LOW] };

/// Buffers before zones, where only the order of requests matters.
pub const BUFFERS: &[Other] = &[FIFO_LOG, LOOP_BACK, BLOCK_LRU, HASHED_ZONES, AMPHISBAENA];

/// The same and `dm-zoned`, whose buffer are whole conventional zones.
pub const LARGE_BUFFERS: &[Other] = &[FIFO_LOG, LOOP_BACK, BLOCK_LRU, HASHED_ZONES, AMPHISBAENA, DM_ZONED];

const ALLOCATE: (&str, &[&str]) = ("allocate", &["lowest"]);

/// Buffers before zones at the times of a trace, whose idle time some use.
pub const TIMED_BUFFERS: &[Other] = &[
    Other { layer: "fifo-log", space: &[IDLE, AT_POINTER] },
    Other { layer: "loop-back", space: &[IDLE, AT_POINTER, REQUEUE] },
    Other { layer: "block-lru", space: &[IDLE, AT_POINTER, ALLOCATE] },
    Other { layer: "hashed-zones", space: &[IDLE, AT_POINTER, SLOTS] },
    Other { layer: "amphisbaena", space: &[CHUNK, IDLE, HOT_START, DENSITY] },
    Other { layer: "dm-zoned", space: &[UNTIL, LOW, ("idle_seconds", &["1"])] },
];

const UPDATES: (&str, &[&str]) = ("updates", &["many"]);
const UPDATE_BLOCKS: (&str, &[&str]) = ("update_blocks", &["16", "64"]);

/// The layers for interlaced tracks of the papers.
pub const INTERLACED: &[Other] = &[
    Other { layer: "seagate", space: &[UPDATES, UPDATE_BLOCKS] },
    Other { layer: "seagate-two-phase", space: &[UPDATES, UPDATE_BLOCKS] },
    Other { layer: "track-flipping", space: &[("flip_after", &["2", "6", "12"]), UPDATES, UPDATE_BLOCKS] },
    Other {
        layer: "track-caching",
        space: &[("reserved", &["16", "32", "128"]), ("cache_after", &["1", "4"]), UPDATES, UPDATE_BLOCKS],
    },
    Other {
        layer: "track-mapping",
        space: &[("zone_tracks", &["32", "256", "1024"]), ("interval", &["8", "128"]), UPDATES, UPDATE_BLOCKS],
    },
];

const REGION: (&str, &[&str]) = ("region_blocks", &["1280", "2560", "10240"]);
const REPLACEMENT: (&str, &[&str]) = ("replacement", &["clock", "lirs", "arc", "s3-fifo", "sieve"]);

/// Caches on flash before a disk of bands.
pub const CACHES: &[Other] = &[
    Other { layer: "lru-cache", space: &[REPLACEMENT, ("evict_blocks", &["64", "512"]), READS_NOT] },
    Other {
        layer: "pore",
        space: &[
            REGION,
            ("period_blocks", &["500", "2000", "8000"]),
            ("select", &["mean-popularity", "cold-blocks", "most-dirty"]),
            ("evict", &["region"]),
            ("replacement", &["lirs", "arc"]),
        ],
    },
    Other { layer: "sac", space: &[REGION, ("recent", &["0.4"]), ("rest_periods", &["1", "4"]), READS_NOT] },
    Other { layer: "static-sets", space: &[("sets", &["1", "4", "64"]), ("band_blocks", &["5120", "10240"])] },
];

const READS_NOT: (&str, &[&str]) = ("reads_count", &["false"]);

const READ_ALLOCATE: (&str, &[&str]) = ("read_allocate", &["false"]);

/// The same caches at the times of a trace, where a copy of what is read costs time.
pub const TIMED_CACHES: &[Other] = &[
    Other {
        layer: "lru-cache",
        space: &[READ_ALLOCATE, REPLACEMENT, ("evict_blocks", &["64", "512", "4096"]), READS_NOT],
    },
    Other {
        layer: "pore",
        space: &[
            READ_ALLOCATE,
            REGION,
            ("period_blocks", &["500", "2000", "8000"]),
            ("select", &["mean-popularity", "most-dirty"]),
            ("evict", &["region"]),
        ],
    },
    Other {
        layer: "sac",
        space: &[READ_ALLOCATE, REGION, ("recent", &["0.4"]), ("rest_periods", &["1", "4"]), READS_NOT],
    },
    Other {
        layer: "static-sets",
        space: &[READ_ALLOCATE, ("sets", &["1", "4", "64"]), ("band_blocks", &["5120", "10240"])],
    },
];

/// All of these.
pub const ALL: [&[Other]; 7] = [LOGS, BUFFERS, LARGE_BUFFERS, TIMED_BUFFERS, INTERLACED, CACHES, TIMED_CACHES];

/// What is tried of a layer at the times of a trace; nothing of one that has no settings worth trying.
#[must_use]
pub fn timed(layer: &str) -> Space {
    let all = [LOGS, TIMED_BUFFERS, INTERLACED, TIMED_CACHES].into_iter().flatten();
    all.filter(|other| other.layer == layer).map(|other| other.space).next().unwrap_or_default()
}
