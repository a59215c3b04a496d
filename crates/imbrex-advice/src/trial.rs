//! A layer on a disk with some settings, and what comes of it.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::ptr;

use anyhow::{Error, Result};
use imbrex::layers::LayerInfo;
use imbrex::replay::{BufferSize, Observer, ReplayError, ReplayOptions, Window, WindowOutcome};
use imbrex_runs::case::{Case, Fit};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::command::Command;
use imbrex_runs::row::Row;
use imbrex_runs::workload::Known;
use imbrex_terminal::progress::Progress;

use crate::demand::Demand;
use crate::kinds::{Disk, Kind, Room};
use crate::prices::{Goods, Prices};

/// A layer on a disk, with everything that may be varied. The disk is as large as the workload needs, and full.
#[derive(Clone)]
pub struct Trial<'a> {
    /// The disk.
    pub disk: &'a Disk,
    /// The layer.
    pub layer: &'static LayerInfo,
    /// Fields that are set, written as `FIELD=VALUE`.
    pub settings: Vec<String>,
    /// The field that a buyer varies, in the same way, where that is a field.
    pub size: Option<String>,
    /// The buffer of a layer that has one.
    pub buffer: BufferSize,
    /// Bytes of its map that may be in memory, if not all.
    pub map_memory: Option<u64>,
    /// How many times as fast requests arrive as in the workload.
    pub speed: NonZeroU64,
    /// How long it took to replay, or one that it was made from, in seconds; 0 before any has been.
    pub replay_seconds: f64,
}

/// What came of a trial.
pub struct Point<'a> {
    /// What was tried.
    pub trial: Trial<'a>,
    /// A row for each workload.
    pub rows: Vec<Row>,
    /// The mean latency over that on a conventional disk, as a geometric mean over the workloads; or how many times as
    /// long everything took, if the conventional disk does not keep up.
    pub times: f64,
    /// How many times as long as they may the worst latencies take; infinite if the layer does not keep up where the
    /// conventional disk does.
    pub excess: f64,
    /// What the hardware costs for each byte that it offers, over that of a conventional disk; infinite while nobody
    /// has asked for the price.
    pub cost: f64,
    /// Bytes of the host's memory that the layer's maps take at most.
    pub memory_bytes: u64,
}

/// What every trial is held against and paid with.
pub struct Measure<'a> {
    /// The workloads.
    pub known: &'a [Known],
    /// What a disk has to do.
    pub demand: Demand,
    /// What it costs.
    pub prices: Prices,
}

/// The rows of a conventional disk, one for each workload.
pub type Baseline = [Row];

impl<'a> Trial<'a> {
    /// The layer with its defaults.
    pub fn new(disk: &'a Disk, layer: &'static LayerInfo, buffer: BufferSize) -> Self {
        let (size, map_memory, speed) = (None, None, NonZeroU64::MIN);
        Self { disk, layer, settings: Vec::new(), size, buffer, map_memory, speed, replay_seconds: 0.0 }
    }

    /// The same with other settings.
    pub fn with(&self, settings: &[String]) -> Self {
        Self { settings: settings.to_vec(), ..self.clone() }
    }

    /// The same with as much of what a buyer may vary as `other` has.
    pub fn sized_as(&self, other: &Self) -> Self {
        let Self { size, buffer, map_memory, .. } = other.clone();
        Self { size, buffer, map_memory, ..self.clone() }
    }

    /// Whether it is of the same disk and has as much of what a buyer may vary.
    pub fn is_sized_as(&self, other: &Self) -> bool {
        let size = |trial: &Self| (trial.size.clone(), trial.buffer, trial.map_memory);
        ptr::eq(self.disk, other.disk) && size(self) == size(other)
    }

    /// Replays all workloads. `baseline` is what a conventional disk does with them, of which far slower ones are left.
    ///
    /// # Errors
    /// When a workload cannot be read, the layer fails, or the work was to stop.
    pub fn run(&self, known: &[Known], baseline: Option<&Baseline>, progress: &Progress) -> Result<Ran> {
        let (chosen, case) = self.chosen()?;
        let (mut rows, mut memory_bytes) = (Vec::new(), 0);
        for (at, own) in known.iter().enumerate() {
            let own = own.hastened(self.speed);
            let mut patience = Patience::with(baseline.and_then(|rows| rows.get(at)));
            match chosen.replay_weighed(&own, &case, progress, &mut patience) {
                Ok((row, bytes)) => {
                    memory_bytes = memory_bytes.max(bytes);
                    rows.push(row);
                }
                Err(e) => {
                    // As far as a bar is concerned it is done.
                    progress.add(known[at..].iter().map(|known| known.range.requests).sum());
                    return failed(e);
                }
            }
        }
        Ok(Ran::Done { rows, memory_bytes })
    }

    /// Fields that are set of it, beside those that its kind of disk always sets.
    pub fn fields(&self) -> impl Iterator<Item = &String> {
        self.size.iter().chain(&self.settings)
    }

    /// Its fields as `--set` takes them, those among them that its kind of disk always sets.
    fn set(&self) -> impl Iterator<Item = String> {
        let own = self.disk.kind.set.iter().copied();
        let own = own.chain(self.fields().map(String::as_str));
        own.map(|setting| format!("{}.{setting}", self.layer.name))
    }

    fn chosen(&self) -> Result<(Chosen, Case)> {
        let window = Some(Window::Requests(WINDOW));
        let options = ReplayOptions { map_memory: self.map_memory, window, ..ReplayOptions::default() };
        let set: Vec<_> = self.set().collect();
        let set: Vec<_> = set.iter().map(String::as_str).collect();
        Ok((Chosen::new(self.buffer, options, &set)?, self.case()))
    }

    /// The layer on its disk, which becomes as large as the workload.
    pub fn case(&self) -> Case {
        Case { layer: self.layer, drive: self.disk.drive.clone(), fit: Fit::Workload }
    }

    /// The command that repeats the run of a workload; `asked` are the options that say which requests it has.
    pub fn command(&self, row: &Row, asked: &[(&'static str, String)]) -> String {
        let words =
            ["replay", &row.trace, "--layer", self.layer.name, "--drive", &self.disk.named, "--capacity", "fit"];
        let mut command = Command::of(words.map(str::to_owned));
        for (option, value) in asked {
            command = command.with(option, value);
        }
        if self.layer.buffered {
            command = command.with("--buffer", &self.buffer.to_string());
        }
        if let Some(bytes) = self.map_memory {
            command = command.with("--map-memory", &format!("{bytes}B"));
        }
        command.and(self.set().flat_map(|set| ["--set".to_owned(), set])).shown()
    }
}

/// What became of a trial.
pub enum Ran {
    /// A row for each workload.
    Done {
        /// Them.
        rows: Vec<Row>,
        /// Memory that the layer's maps take at most.
        memory_bytes: u64,
    },
    /// The layer cannot be made like that, and why.
    Refused(String),
    /// It takes so much longer than its workload that nobody waits for the end.
    Late,
}

fn failed(error: Error) -> Result<Ran> {
    use ReplayError::{Config, Drive, Option, Stopped};
    match error.downcast_ref() {
        Some(Config(_) | Drive(_) | Option { option: "map_memory", .. }) => Ok(Ran::Refused(error.to_string())),
        Some(Stopped { .. }) => Ok(Ran::Late),
        _ => Err(error),
    }
}

/// Stops a replay that takes far longer than a conventional disk does.
struct Patience {
    /// Nothing for the conventional disk itself.
    most: Option<Most>,
    is_over: bool,
}

/// What is too long.
struct Most {
    /// For the workload.
    seconds: f64,
    /// For a request on average, in milliseconds.
    request_ms: f64,
}

/// How many times as long as a conventional disk takes one waits for others, and how long in any case for a workload.
const PATIENCE: f64 = 3.0;
const PATIENCE_SECONDS: f64 = 60.0;
/// The latency, an hour, that shows at once that a disk will not keep up: each request may move all that it holds.
const PATIENCE_MS: f64 = 3.6e6;
/// Requests between two looks at the time. A log that is nearly full may move all that it holds for each of them.
const WINDOW: u64 = 64;

impl Patience {
    fn with(baseline: Option<&Row>) -> Self {
        let most = baseline.map(|Row { outcome, .. }| Most {
            seconds: PATIENCE * outcome.simulated_seconds + PATIENCE_SECONDS,
            request_ms: PATIENCE_MS.max(PATIENCE * outcome.latency_ms.all.max),
        });
        Self { most, is_over: false }
    }
}

impl Observer for Patience {
    fn row(&mut self, row: &WindowOutcome) {
        let is_over =
            |most: &Most| row.end_s > most.seconds || row.mean_read_ms.max(row.mean_write_ms) > most.request_ms;
        self.is_over |= self.most.as_ref().is_some_and(is_over);
    }

    fn progress(&mut self, _requests: u64) -> ControlFlow<()> {
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<'a> Point<'a> {
    /// What a trial came to, held against a conventional disk; nothing if it did not come to its end.
    pub fn of(trial: Trial<'a>, ran: Ran, baseline: &Baseline, measure: &Measure<'_>) -> Option<Self> {
        let Ran::Done { rows, memory_bytes } = ran else { return None };
        let replay_seconds = rows.iter().map(|row| row.outcome.replay_seconds).sum();
        let trial = Trial { replay_seconds, ..trial };
        let pairs = || rows.iter().zip(baseline);
        let logarithms: f64 = pairs().map(|(row, base)| times(row, base).ln()).sum();
        let excess = pairs().map(|(row, base)| match row.behind().is_some() && base.behind().is_none() {
            true => f64::INFINITY,
            false => measure.demand.excess(&row.outcome.latency_ms.all, &base.outcome.latency_ms.all),
        });
        let excess = excess.fold(1.0, f64::max);
        let times = (logarithms / rows.len() as f64).exp();
        let memory_bytes = if trial.disk.kind.takes_memory { memory_of(&rows, memory_bytes) } else { 0 };
        Some(Self { times, excess, cost: f64::INFINITY, memory_bytes, trial, rows })
    }

    /// Asks for the price, which takes maps as large as those of a large drive.
    ///
    /// # Errors
    /// When the layer cannot be made on one.
    pub fn price(&mut self, measure: &Measure<'_>) -> Result<()> {
        let (chosen, case) = self.trial.chosen()?;
        let mut costs = 0.0;
        for (row, known) in self.rows.iter().zip(measure.known) {
            let blocks = chosen.blocks_for_each(known, &case)?;
            costs += cost(row, self.trial.disk.kind, (blocks, self.memory_bytes), &measure.prices);
        }
        self.cost = costs / self.rows.len() as f64;
        Ok(())
    }

    /// What is to be small among disks of a kind: how long requests take, longer if that is not what is demanded.
    pub fn score(&self) -> f64 {
        self.times * self.excess.min(LATE)
    }

    /// Whether it does what is demanded.
    pub fn is_enough(&self) -> bool {
        self.excess <= 1.0
    }

    /// Whether it has less of what a buyer may vary than `other` on the same disk, and so costs less.
    pub fn is_less_than(&self, other: &Self) -> bool {
        let is_varied = !matches!(self.trial.disk.kind.room, Room::Fixed) || self.trial.map_memory.is_some();
        is_varied && self.is_same_disk(other) && self.cost < other.cost
    }

    /// Whether it is of the same disk.
    pub fn is_same_disk(&self, other: &Self) -> bool {
        ptr::eq(self.trial.disk, other.trial.disk)
    }

    /// Whether some workload comes faster than it is served, and a conventional disk serves it.
    pub fn is_late(&self) -> bool {
        self.excess.is_infinite()
    }
}

/// What stands for infinity where layers that do not keep up are held against each other.
const LATE: f64 = 1e6;

/// How many times as long a workload takes as on a conventional disk: its requests on average, or all of it if one of
/// the two does not keep up, since its latencies grow with the workload then.
fn times(row: &Row, base: &Row) -> f64 {
    let is_late = row.behind().is_some() || base.behind().is_some();
    let ratio = match is_late {
        true => row.outcome.simulated_seconds / base.outcome.simulated_seconds,
        false => row.outcome.latency_ms.all.mean / base.outcome.latency_ms.all.mean,
    };
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

/// The memory that maps take, of which some may be on the drive.
fn memory_of(rows: &[Row], most: u64) -> u64 {
    let maps = rows.iter().filter_map(|row| row.outcome.map.as_ref());
    let saved = maps.map(|map| map.map_bytes.saturating_sub(map.memory_bytes)).min();
    most.saturating_sub(saved.unwrap_or(0))
}

/// What the hardware of a run costs for each byte that it offers, over that of a conventional disk. `blocks` is what the
/// disk takes for a block that it offers.
fn cost(row: &Row, kind: &Kind, (blocks, memory_bytes): (f64, u64), prices: &Prices) -> f64 {
    let [capacity, buffer] =
        [row.capacity_blocks, row.buffer_blocks].map(|blocks| blocks as f64 * f64::from(row.block_bytes));
    // A buffer on the disk is a part of it that holds less.
    let of_buffer = kind.buffer.map_or(0.0, |goods| match goods {
        Goods::Flash => prices.of(goods),
        _ => prices.of(goods) - prices.of(kind.disk),
    });
    let beside = buffer * of_buffer + memory_bytes as f64 * prices.of(Goods::Memory);
    (blocks * prices.of(kind.disk) + beside / capacity) / prices.of(Goods::Conventional)
}
