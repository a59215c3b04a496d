//! A layer's rewrites over another's, by how often the buffer turns over: both with buffers of several sizes.

use anyhow::Result;
use imbrex::block::Access;
use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::replay::ReplayOptions;
use imbrex::trace::TraceSource;
use imbrex_runs::case::{Case, Fit};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::row::{Row, called};
use imbrex_runs::workload::Known;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::{Sheet, count, number, percent};
use serde::Serialize;

use super::metric::Metric;
use super::paper::Turnover;

/// The version of [`Point`].
const SCHEMA: &str = "imbrex.turnover/1";
/// The name of its files, without their extension.
pub const FILE: &str = "turnover";
/// A smaller buffer has too few chunks to tell anything.
const LEAST_BLOCKS: u64 = 256;
/// Requests read at a time.
const BATCH: usize = 4096;

/// A workload with a buffer of one size.
#[derive(Serialize)]
pub struct Point {
    schema: &'static str,
    pub workload: &'static str,
    pub synthetic: bool,
    buffer_blocks: u64,
    /// How often the other layer's buffer was filled anew: the blocks that came into it for each block it has.
    pub turnovers: f64,
    rmw: u64,
    against_rmw: u64,
    /// One over the other; none of nothing.
    pub ratio: Option<f64>,
    starving: Option<f64>,
}

/// What is to be replayed for a point: a workload, the size of the buffer, and the layer and its settings.
type Run<'a> = (&'a (&'static str, Known), u64, (&'static str, &'static [&'static str]));

/// The points of a figure: all sizes of the first workload, then all of the second.
pub fn points(
    figure: &Turnover,
    workloads: &[(&'static str, Known)],
    drive: &DrivePreset,
    prefill: f64,
    jobs: usize,
) -> Result<Vec<Point>> {
    let reading = Progress::new("counting writes", workloads.iter().map(|(_, known)| known.range.requests).sum());
    let written = parallel::each(jobs, workloads, |(_, known)| written_blocks(known, drive.block_bytes, &reading))?;
    let mut runs: Vec<Run> = Vec::new();
    for (named, written) in workloads.iter().zip(written) {
        let sizes = figure.written_for_each.iter().map(|each| written / each).filter(|size| *size >= LEAST_BLOCKS);
        runs.extend(sizes.flat_map(|size| {
            [(named, size, (figure.layer, figure.settings)), (named, size, (figure.against, &[][..]))]
        }));
    }
    let requests = runs.iter().map(|((_, known), ..)| known.range.requests).sum();
    let progress = Progress::new("replaying", requests);
    let options = ReplayOptions { prefill, queue_depth: Some(1), ..ReplayOptions::default() };
    let rows = parallel::each(jobs, &runs, |&((_, known), size, (layer, settings))| -> Result<Row> {
        let chosen = Chosen::new(BufferSize::Blocks(size), options.clone(), settings)?;
        let case = Case { layer: layers::find(layer)?, drive: drive.clone(), fit: Fit::Own };
        chosen.replay(known, &case, &progress, &mut ())
    })?;
    let pairs = runs.chunks(2).zip(rows.chunks(2));
    Ok(pairs.filter_map(|(run, rows)| Some(Point::of(run.first()?.0.0, rows.first()?, rows.get(1)?))).collect())
}

/// Blocks that a workload writes, each as often as it does.
fn written_blocks(known: &Known, block_bytes: u32, progress: &Progress) -> Result<u64> {
    let (mut source, mut batch, mut written) = (known.open(progress)?, Vec::new(), 0);
    loop {
        source.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            return Ok(written);
        }
        let writes = batch.iter().filter(|request| request.access == Access::Write);
        written += writes.map(|request| u64::from(request.blocks(block_bytes).blocks)).sum::<u64>();
    }
}

impl Point {
    fn of(workload: &'static str, own: &Row, against: &Row) -> Self {
        let (rmw, against_rmw) = (own.outcome.rmw, against.outcome.rmw);
        let (outcome, buffer_blocks) = (&against.outcome, against.buffer_blocks);
        let came = outcome.host_write_blocks - outcome.write_hit_blocks - outcome.direct_blocks;
        Self {
            schema: SCHEMA,
            workload,
            synthetic: own.synthetic,
            buffer_blocks,
            turnovers: came as f64 / buffer_blocks as f64,
            rmw,
            against_rmw,
            ratio: (against_rmw > 0).then(|| rmw as f64 / against_rmw as f64),
            starving: Metric::Starving.of(own),
        }
    }
}

/// The points as a table.
pub fn table(points: &[Point]) -> Sheet {
    let cells = |point: &Point| {
        [
            called(point.workload, point.synthetic),
            count(point.buffer_blocks),
            number(point.turnovers),
            count(point.rmw),
            count(point.against_rmw),
            point.ratio.map_or("-".to_owned(), number),
            point.starving.map_or("-".to_owned(), percent),
        ]
    };
    let headings =
        ["workload", ">buffer, blocks", ">turnovers", ">RMW", ">RMW of the other", ">ratio", ">chunks that starve"];
    Sheet::new(headings, points.iter().map(cells))
}

/// Writes the data of the figure.
pub fn write(points: &[Point], folder: &NewFolder) -> Result<()> {
    folder.write(&format!("{FILE}.csv"), &csv(points)?)
}
