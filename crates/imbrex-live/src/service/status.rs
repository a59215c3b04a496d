//! How a volume that is served stands, in numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use imbrex::layer::Condition;
use serde::{Deserialize, Serialize};

use super::Service;
use crate::engine::{Cleaning, Engine, Kind, Traffic};

/// The version of [`Status`].
pub const SCHEMA: &str = "imbrex.status/1";

/// How a volume that is served stands. Numbers count from the start of the server unless they say otherwise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The version of this structure.
    pub schema: String,
    /// The layer that serves the host.
    pub layer: String,
    /// Bytes that clients see.
    pub capacity_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Whether clients may only read.
    pub read_only: bool,
    /// Why the volume cannot be used any more, if it cannot.
    pub dead: Option<String>,
    /// How long it has been served.
    pub uptime_seconds: f64,
    /// Memory that the server has in use, where the kernel says.
    pub resident_bytes: Option<u64>,
    /// Bytes and operations.
    pub traffic: Traffic,
    /// Bytes written to the drives for each that clients wrote; nothing before they wrote any.
    pub write_amplification: Option<f64>,
    /// What layers count, by name; events that never happened are left out.
    pub events: BTreeMap<String, u64>,
    /// Blocks that plans moved, by reason; reasons that never came up are left out.
    pub moved_blocks: BTreeMap<String, u64>,
    /// The runners: the one that serves the host first, then those of its devices.
    pub runners: Vec<Runner>,
    /// Background cleaning.
    pub cleaning: CleaningStatus,
    /// How long requests took, by kind.
    pub latency: BTreeMap<String, Latency>,
    /// Journal entries made durable.
    pub commits: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Journal entries that recovery read.
    pub entries_read: u64,
    /// Images that recovery wrote again.
    pub images_replayed: u64,
    /// Lives of the layer that a failed operation has ended.
    pub lives_ended: u64,
    /// Units that can only be read, over all stores.
    pub units_read_only: u64,
    /// Units that are lost, over all stores.
    pub units_lost: u64,
}

/// How a runner stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Runner {
    /// Blocks of the journal that recovery would read.
    pub journal_used: u64,
    /// Blocks of the journal.
    pub journal_blocks: u64,
    /// Blocks that are taken of the space that the layer fills and cleans, if it has any.
    pub used_blocks: Option<u64>,
    /// Blocks of that space.
    pub space_blocks: Option<u64>,
    /// Writes that wait for room or for their turn.
    pub blocked_writes: u64,
}

/// Background cleaning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CleaningStatus {
    /// `when-idle`, `paused` or `now`.
    pub state: String,
    /// How much of the time it may take, in per cent.
    pub throttle: u8,
    /// Steps that have ended, those for blocked writes included.
    pub steps: u64,
    /// How long one took on average, in milliseconds.
    pub mean_ms: f64,
    /// The longest one, in milliseconds.
    pub longest_ms: f64,
    /// How long one may take, in milliseconds, if that was said.
    pub limit_ms: Option<f64>,
    /// Those that took longer.
    pub over_limit: u64,
    /// The most blocks that the next one may move so that it does not, if a layer's steps have a size.
    pub bound_blocks: Option<u32>,
}

/// How long requests of a kind took.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Latency {
    /// All of them.
    pub all: Times,
    /// Those during which a step of cleaning was under way.
    pub beside_cleaning: Times,
}

/// Times, in milliseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// One in a hundred is longer.
    pub p99_ms: f64,
    /// One in a thousand is longer.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

impl Times {
    fn of(histogram: &Histogram<u64>) -> Self {
        let ms = |nanoseconds: f64| nanoseconds / 1e6;
        let quantile = |quantile| ms(histogram.value_at_quantile(quantile) as f64);
        Self {
            count: histogram.len(),
            mean_ms: ms(histogram.mean()),
            p50_ms: quantile(0.5),
            p99_ms: quantile(0.99),
            p999_ms: quantile(0.999),
            max_ms: ms(histogram.max() as f64),
        }
    }
}

/// How a state of cleaning is called.
fn name(cleaning: Cleaning) -> &'static str {
    match cleaning {
        Cleaning::WhenIdle => "when-idle",
        Cleaning::Paused => "paused",
        Cleaning::Now => "now",
    }
}

impl Service {
    /// How the volume stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let engine = self.engine();
        let (progress, counts) = engine.progress();
        let traffic = engine.traffic();
        let mut status = Status {
            schema: SCHEMA.to_owned(),
            layer: self.layer.clone(),
            capacity_bytes: self.bytes(),
            block_bytes: engine.block_bytes(),
            read_only: self.read_only(),
            dead: engine.dead(),
            uptime_seconds: self.since.elapsed().as_secs_f64(),
            resident_bytes: resident_bytes(),
            traffic,
            write_amplification: (traffic.host_written > 0)
                .then(|| traffic.media_written as f64 / traffic.host_written as f64),
            events: BTreeMap::new(),
            moved_blocks: BTreeMap::new(),
            runners: Vec::new(),
            cleaning: cleaning(engine),
            latency: Kind::ALL.into_iter().map(|kind| latency(engine, kind)).collect(),
            commits: counts.commits,
            checkpoints: counts.checkpoints,
            entries_read: counts.entries_read,
            images_replayed: counts.replayed,
            lives_ended: counts.rebuilds,
            units_read_only: units(engine, Condition::ReadOnly),
            units_lost: units(engine, Condition::Offline),
        };
        for runner in &progress {
            add(&mut status.events, runner.tally.events().map(|(event, times)| (event.name(), times)));
            add(&mut status.moved_blocks, runner.tally.moved().map(|(why, blocks)| (why.name(), blocks)));
            status.runners.push(Runner {
                journal_used: runner.journal_used,
                journal_blocks: runner.journal_blocks,
                used_blocks: runner.occupancy.map(|occupancy| occupancy.used),
                space_blocks: runner.occupancy.map(|occupancy| occupancy.blocks),
                blocked_writes: runner.blocked,
            });
        }
        status
    }
}

/// Memory of this program that is not swapped out: the second number of its `statm`, in pages.
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn add(sums: &mut BTreeMap<String, u64>, counts: impl Iterator<Item = (&'static str, u64)>) {
    for (name, count) in counts.filter(|(_, count)| *count > 0) {
        *sums.entry(name.to_owned()).or_default() += count;
    }
}

fn cleaning(engine: &Engine) -> CleaningStatus {
    let times = engine.step_times();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    CleaningStatus {
        state: name(engine.cleaning()).to_owned(),
        throttle: engine.throttle(),
        steps: times.steps,
        mean_ms: if times.steps > 0 { ms(times.total) / times.steps as f64 } else { 0.0 },
        longest_ms: ms(times.longest),
        limit_ms: engine.step_limit().map(ms),
        over_limit: times.over_limit,
        bound_blocks: engine.step_bound(),
    }
}

fn latency(engine: &Engine, kind: Kind) -> (String, Latency) {
    let (all, beside) = engine.latencies(kind);
    (kind.name().to_owned(), Latency { all: Times::of(&all), beside_cleaning: Times::of(&beside) })
}

/// Units in a condition, over all stores.
fn units(engine: &Engine, condition: Condition) -> u64 {
    let of = |media: Box<dyn imbrex::media::Media>| media.report().iter().filter(|u| u.condition == condition).count();
    engine.members().iter().map(|member| of(member.media()) as u64).sum()
}
