//! What a cache over a drive-managed disk makes of uniform writes, over a size, beside a closed form.
//!
//! Blocks that leave the cache for anywhere reach every band in each fill of the disk's persistent buffer: for each of
//! them (range ÷ buffer) blocks are rewritten. If they leave for an open region only during a period, (open region ÷ the
//! shorter of period and buffer) are. Of writes that are uniform, each part of the range has its share of what is dirty
//! in the cache; so the open region, which has a period's blocks, is (period ÷ cache) of the range.

use std::num::NonZeroU64;

use anyhow::{Result, bail};
use imbrex::buffer_size::BufferSize;
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{ReplayOptions, WarmUp};
use imbrex::trace::Workload;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::workload::Known;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::{Sheet, bytes, count, milliseconds, number};
use serde::Serialize;

use super::claim::{Data, Replayed};

/// The version of [`Point`].
const SCHEMA: &str = "imbrex.sweep/1";
/// Blocks are of this length.
const BLOCK: u64 = 4096;
const MIB: f64 = 1_048_576.0;
/// How often the cache is filled before anything is counted, and while it is.
const TURNS: f64 = 2.0;
/// A persistent buffer of fewer blocks tells nothing.
const LEAST_BLOCKS: u64 = 2;

/// Layers side by side, over a size.
pub struct Sweep {
    /// The name in file names.
    pub name: &'static str,
    /// What is compared.
    pub title: &'static str,
    /// What differs between the points.
    pub axis: Axis,
    /// How much of it each point has.
    pub values: &'static [f64],
    /// What they share.
    pub shared: Sizes,
    /// The layers.
    pub curves: &'static [Curve],
}

/// A layer of a sweep.
#[derive(Copy, Clone)]
pub struct Curve {
    /// How results call it.
    pub name: &'static str,
    /// The layer.
    pub layer: &'static str,
    /// Whether it writes home to an open region only.
    pub has_regions: bool,
}

/// What differs between the points of a sweep.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Axis {
    /// The length of a period, in fills of the disk's buffer.
    Period,
    /// The length of a region unit, in MiB.
    Region,
    /// The size of the cache, in fills of the disk's buffer.
    Cache,
    /// The range that is written, in 10^9 bytes.
    Range,
}

/// The sizes of a point.
#[derive(Copy, Clone)]
pub struct Sizes {
    /// Bytes over which writes are spread.
    pub range_bytes: u64,
    /// Blocks of the disk's persistent buffer.
    pub disk_buffer: u64,
    /// The cache, in fills of that.
    pub cache: f64,
    /// A period, in fills of that.
    pub period: f64,
    /// A region unit, in MiB.
    pub region: f64,
    /// The size of the drive.
    pub fit: Fit,
}

/// One layer at one value.
#[derive(Serialize)]
pub struct Point {
    schema: &'static str,
    pub sweep: &'static str,
    pub curve: &'static str,
    axis: &'static str,
    pub value: f64,
    pub synthetic: bool,
    requests: u64,
    range_bytes: u64,
    disk_buffer_blocks: u64,
    cache_blocks: u64,
    period_blocks: u64,
    region_blocks: u64,
    evicted_blocks: u64,
    rmw: u64,
    /// Blocks rewritten in place for each that the cache wrote home; none if nothing was.
    pub rewritten: Option<f64>,
    pub closed_form: f64,
    mean_latency_ms: f64,
}

impl Axis {
    /// What stands at the axis.
    pub fn name(self) -> &'static str {
        match self {
            Self::Period => "period, fills of the disk's buffer",
            Self::Region => "region unit, MiB",
            Self::Cache => "cache, fills of the disk's buffer",
            Self::Range => "range, GB",
        }
    }
}

impl Sweep {
    /// The name of its files, without their extension.
    pub fn file(&self) -> String {
        format!("sweep-{}", self.name)
    }

    fn sizes(&self, value: f64) -> Sizes {
        let mut sizes = self.shared;
        match self.axis {
            Axis::Period => sizes.period = value,
            Axis::Region => sizes.region = value,
            Axis::Cache => sizes.cache = value,
            Axis::Range => sizes.range_bytes = (value * 1e9) as u64,
        }
        sizes
    }
}

impl Sizes {
    /// Fills of the disk's buffer that are written.
    fn fills(&self) -> f64 {
        2.0 * TURNS * self.cache
    }

    /// Sizes for at most `requests` requests: the disk's buffer is shorter, and with it cache and period.
    fn within(mut self, requests: Option<NonZeroU64>) -> Self {
        if let Some(requests) = requests {
            let most = (requests.get() as f64 / self.fills()) as u64;
            self.disk_buffer = self.disk_buffer.min(most).max(LEAST_BLOCKS);
        }
        self
    }

    fn blocks(&self, fills: f64) -> u64 {
        ((fills * self.disk_buffer as f64).round() as u64).max(1)
    }

    fn region_blocks(&self) -> u64 {
        ((self.region * MIB) as u64 / BLOCK).max(1)
    }

    /// Blocks rewritten for each that leaves.
    fn closed_form(&self, has_regions: bool) -> f64 {
        let range = (self.range_bytes / BLOCK) as f64;
        if !has_regions {
            return range / self.disk_buffer as f64;
        }
        let open = range * (self.period / self.cache).min(1.0);
        open / (self.period.min(1.0) * self.disk_buffer as f64)
    }

    fn settings(&self, curve: &Curve) -> Vec<String> {
        let (layer, disk) = (curve.layer, self.disk_buffer);
        let mut settings = vec![disk_config(layer, disk)];
        if curve.has_regions {
            settings.push(format!("{layer}.period_blocks={}", self.blocks(self.period)));
            settings.push(format!("{layer}.region_blocks={}", self.region_blocks()));
        }
        settings
    }
}

/// The setting that gives the disk behind a cache a persistent buffer of `blocks` blocks, of which the map of its
/// extents is not the limit.
pub fn disk_config(layer: &str, blocks: u64) -> String {
    format!("{layer}.disk_config={{cache_blocks={blocks},map_entries={}}}", 2 * blocks + 8)
}

/// All points, those of one sweep after those of the other.
pub fn points(
    sweeps: &'static [Sweep],
    drive: &str,
    requests: Option<NonZeroU64>,
    seed: u64,
    jobs: usize,
) -> Result<Vec<Point>> {
    let of = |sweep: &'static Sweep| {
        let at = move |&value: &f64| sweep.curves.iter().map(move |curve| (sweep, curve, value));
        sweep.values.iter().flat_map(at)
    };
    let runs: Vec<_> = sweeps.iter().flat_map(of).collect();
    let writes = |sizes: &Sizes| sizes.blocks(sizes.fills());
    let all = runs.iter().map(|(sweep, _, value)| writes(&sweep.sizes(*value).within(requests))).sum();
    let progress = Progress::new("sweeping", all);
    let drive = named_drive(drive)?;
    parallel::each(jobs, &runs, |&(sweep, curve, value)| {
        let sizes = sweep.sizes(value).within(requests);
        let case = Case { layer: layers::find(curve.layer)?, drive: drive.clone(), fit: sizes.fit };
        let known = uniform(&sizes, seed)?;
        let warm_up = Some(WarmUp::Requests(writes(&sizes) / 2));
        let options = ReplayOptions { queue_depth: Some(1), warm_up, ..ReplayOptions::default() };
        let settings = sizes.settings(curve);
        let settings: Vec<_> = settings.iter().map(String::as_str).collect();
        let chosen = Chosen::new(BufferSize::Blocks(sizes.blocks(sizes.cache)), options, &settings)?;
        let row = chosen.replay(&known, &case, &progress, &mut ())?;
        Ok(Point::of(sweep, curve, value, &sizes, &row))
    })
}

/// Single blocks written anywhere in the range.
fn uniform(sizes: &Sizes, seed: u64) -> Result<Known> {
    let mut workload = Workload::named("uniform")?;
    let Workload::Synthetic(spec) = &mut workload else { bail!("uniform is no synthetic workload") };
    spec.range_bytes = sizes.range_bytes / BLOCK * BLOCK;
    spec.requests = sizes.blocks(sizes.fills());
    workload.set_seed(seed);
    Known::survey(workload, None, None, &Progress::of_pieces("reading", 1))
}

impl Point {
    fn of(sweep: &Sweep, curve: &Curve, value: f64, sizes: &Sizes, row: &Row) -> Self {
        let outcome = &row.outcome;
        let home = outcome.devices.last().map(|disk| &disk.outcome);
        let (rewritten, taken) =
            home.map_or((0, 0), |home| (home.media_write_blocks.get(Why::Destage), home.host_write_blocks));
        Self {
            schema: SCHEMA,
            sweep: sweep.name,
            curve: curve.name,
            axis: sweep.axis.name(),
            value,
            synthetic: row.synthetic,
            requests: outcome.requests,
            range_bytes: row.range_bytes,
            disk_buffer_blocks: sizes.disk_buffer,
            cache_blocks: row.buffer_blocks,
            period_blocks: sizes.blocks(sizes.period),
            region_blocks: sizes.region_blocks(),
            evicted_blocks: outcome.evicted_blocks,
            rmw: outcome.rmw,
            rewritten: (rewritten > 0).then(|| rewritten as f64 / taken.max(1) as f64),
            closed_form: sizes.closed_form(curve.has_regions),
            mean_latency_ms: outcome.latency_ms.all.mean,
        }
    }
}

/// The points of a sweep as a table.
pub fn table(sweep: &Sweep, points: &[Point]) -> Sheet {
    let cells = |point: &Point| {
        [
            format!("{}", point.value),
            point.curve.to_owned(),
            bytes(point.disk_buffer_blocks * BLOCK),
            bytes(point.cache_blocks * BLOCK),
            count(point.rmw),
            point.rewritten.map_or("-".to_owned(), number),
            number(point.closed_form),
            milliseconds(point.mean_latency_ms),
        ]
    };
    let axis = format!(">{}", sweep.axis.name());
    let headings = [&*axis, "layer", ">disk's buffer", ">cache", ">RMW", ">rewritten", ">closed form", ">mean latency"];
    Sheet::new(headings, points.iter().filter(|point| point.sweep == sweep.name).map(cells))
}

/// Writes the data of all sweeps.
pub fn write(points: &[Point], folder: &NewFolder) -> Result<()> {
    folder.write("sweeps.csv", &csv(points)?)
}

/// What the points of a sweep are made from.
pub fn replayed(points: &[Point], sweep: &str) -> Replayed {
    let of: Vec<_> = points.iter().filter(|point| point.sweep == sweep).collect();
    let synthetic = of.iter().filter(|point| point.synthetic).count();
    let requests = of.iter().map(|point| point.requests).sum();
    Replayed { data: Data::of(synthetic, of.len()), requests }
}
