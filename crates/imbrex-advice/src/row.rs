//! A run as it is written. `docs/json.md` describes every field; the version changes with them.

use imbrex_runs::row::Row;
use serde::Serialize;

use crate::bound::Bound;
use crate::trial::Point;

/// The version of [`AdviceRow`].
const VERSION: &str = "imbrex.advice/1";

/// What a run was made for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Is {
    /// It is what is recommended.
    Recommended,
    /// It is the best of another kind of disk.
    RunnerUp,
    /// It is the best of its kind of disk.
    BestOfKind,
    /// It is another layer with its best settings.
    Layer,
    /// It is the best of its kind with more or less of what a buyer may vary.
    Varied,
    /// Its requests arrive faster than they do.
    Faster,
}

/// A layer on a kind of disk under one workload.
#[derive(Clone, Debug, Serialize)]
pub struct AdviceRow {
    schema: &'static str,
    /// The workload, and whether no disk ever saw it.
    pub trace: String,
    /// The same.
    pub synthetic: bool,
    seed: Option<u64>,
    /// What the run was made for.
    pub is: Is,
    /// How many times as fast as in the workload requests arrive.
    speed: u64,
    /// The kind of disk, and the drive that stands for it.
    pub kind: &'static str,
    /// Whether one can buy such a disk.
    is_sold: bool,
    drive: String,
    drive_bytes: u64,
    /// Bytes that the host sees.
    capacity_bytes: u64,
    /// The layer.
    pub layer: &'static str,
    config: toml::Table,
    /// Bytes of the buffer or the flash; 0 if there is none.
    pub buffer_bytes: u64,
    /// Bytes of memory that the layer's maps take in the host.
    pub memory_bytes: u64,
    map_memory: Option<u64>,
    /// What the hardware costs for each byte that it offers, over that of a conventional disk.
    pub cost: f64,
    /// The mean latency over that on a conventional disk, as a geometric mean over all workloads.
    pub times_conventional: f64,
    /// Whether all that is demanded is kept on all workloads.
    pub is_enough: bool,
    /// Whether requests are served as fast as they arrive.
    pub keeps_up: bool,
    mean_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    longest_ms: f64,
    /// Requests that took longer than the 30 s after which Linux gives a disk up.
    pub requests_over_limit: u64,
    /// Blocks written to the media for each that the host wrote.
    write_amplification: f64,
    /// Zones, bands or bottom tracks that were rewritten.
    rmw: u64,
    /// What is known of what every layer rewrites; only of what is recommended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// The command that repeats the run; of one whose requests arrive faster there is none.
    pub command: Option<String>,
}

impl AdviceRow {
    /// The rows of a point, one for each workload.
    pub fn of(point: &Point<'_>, is: Is, asked: &[(&'static str, String)]) -> Vec<Self> {
        point.rows.iter().map(|row| Self::new(point, row, is, asked)).collect()
    }

    fn new(point: &Point<'_>, row: &Row, is: Is, asked: &[(&'static str, String)]) -> Self {
        let (kind, block) = (point.trial.disk.kind, u64::from(row.block_bytes));
        let latency = &row.outcome.latency_ms.all;
        let speed = point.trial.speed.get();
        Self {
            schema: VERSION,
            trace: row.trace.clone(),
            synthetic: row.synthetic,
            seed: row.seed,
            is,
            speed,
            kind: kind.name,
            is_sold: kind.is_sold,
            drive: row.drive.clone(),
            drive_bytes: row.drive_blocks * block,
            capacity_bytes: row.capacity_blocks * block,
            layer: row.layer,
            config: row.config.clone(),
            buffer_bytes: row.buffer_blocks * block,
            memory_bytes: point.memory_bytes,
            map_memory: point.trial.map_memory,
            cost: point.cost,
            times_conventional: point.times,
            is_enough: point.is_enough(),
            keeps_up: row.behind().is_none(),
            mean_ms: latency.mean,
            p99_ms: latency.p99,
            p999_ms: latency.p999,
            longest_ms: latency.max,
            requests_over_limit: row.outcome.requests_over_limit,
            write_amplification: row.outcome.write_amplification,
            rmw: row.outcome.rmw,
            bound: None,
            command: (speed == 1).then(|| point.trial.command(row, asked)),
        }
    }
}
