//! Figures of a volume, as they are published or chosen.

use serde::{Deserialize, Serialize};

/// What may be known of a volume; the names are those that `imbrex trace stat` prints.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Requests that read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<u64>,
    /// Requests that write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Share of requests that write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_ratio: Option<f64>,
    /// Bytes written, in GiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_gib: Option<f64>,
    /// Share of written blocks that were written before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_ratio: Option<f64>,
    /// Distinct written bytes, in the same unit as `written_gib`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub footprint_gib: Option<f64>,
    /// Share of the distinct written blocks that are written more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_lba_share: Option<f64>,
    /// Share of block writes that go to blocks written more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_write_share: Option<f64>,
    /// Address range in zones of 256 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_zones: Option<u64>,
    /// Address range in 10⁹ bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_gb: Option<f64>,
    /// Mean length of a write in sectors of 512 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_len_sectors: Option<f64>,
    /// Mean length of a read in sectors of 512 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_len_sectors: Option<f64>,
    /// Requests cut into blocks of 4 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_4k: Option<u64>,
    /// Distinct start offsets of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_offsets: Option<u64>,
    /// Miss ratios over start offsets with a cache of 10 % of the distinct ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_10pct: Option<MissRatios>,
    /// Time from the first request to the last, in hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_hours: Option<f64>,
}

/// Miss ratios of three replacement policies.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissRatios {
    /// Least recently used.
    pub lru: f64,
    /// Adaptive replacement cache.
    pub arc: f64,
    /// SIEVE.
    pub sieve: f64,
}
