//! Space that is asked for while a workload runs, under several bounds: how long it takes, and by how much each request
//! takes longer than in the run in which nothing is asked for.

use std::num::NonZeroU64;
use std::ops::Range;

use anyhow::{Result, anyhow};
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::replay::{Extension, Observer, ReplayOptions, ServedRequest, TraceMoment, Window, WindowOutcome};
use imbrex::trace::Workload;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::workload::Known;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::{Sheet, bytes, count, milliseconds, number, seconds};
use serde::Serialize;

use super::claim::{Data, Replayed};
use super::measure::Grown;
use super::paper::{Asked, Growth, Paper};

/// The versions of [`Sums`] and [`Dot`].
const SCHEMA: &str = "imbrex.growth/1";
const DOTS_SCHEMA: &str = "imbrex.growth-request/1";
/// The bound that is none: everybody is held up.
const BLOCKING_MS: &str = "0.0";
/// Dots of a picture, about: each shows the slowest of a number of requests that follow each other.
const DOTS: usize = 6000;
/// What is shown before a conversion and after the longest, in seconds.
const AROUND_S: f64 = 60.0;
/// Bytes of a transfer that says how fast a drive is.
const LONG_BYTES: u64 = 1 << 30;
const SECTOR_BYTES: u64 = 512;

/// A run, summed up.
#[derive(Serialize)]
pub struct Sums {
    schema: &'static str,
    run: &'static str,
    workload: &'static str,
    synthetic: bool,
    requests: u64,
    gained_bytes: u64,
    converted_zones: u64,
    begun_s: f64,
    /// Until all was there; 0 where nothing was asked for.
    seconds: f64,
    /// What of it the disk worked for the conversion.
    step_seconds: f64,
    /// What reading and writing the bytes that move takes at the drive's rate.
    media_seconds: f64,
    longest_step_ms: f64,
    longest_wait_ms: f64,
    /// Requests that were there meanwhile, and by how much they took longer.
    requests_meanwhile: u64,
    mean_increase_ms: f64,
    longest_increase_ms: f64,
    /// The longest of those that arrived later.
    longest_increase_after_ms: f64,
    rmw: u64,
}

/// A request as a picture shows it.
#[derive(Serialize)]
pub struct Dot {
    schema: &'static str,
    run: &'static str,
    pub arrival_s: f64,
    pub latency_ms: f64,
    /// By how much longer it took than without.
    increase_ms: f64,
    /// Zones that were still to be converted, shortly before.
    pub zones_left: u32,
}

/// One run.
pub struct Run {
    pub name: &'static str,
    pub sums: Sums,
    pub dots: Vec<Dot>,
}

/// What is seen of a run.
#[derive(Default)]
struct Watch {
    requests: Vec<ServedRequest>,
    /// When a row ended, and the zones that were left to convert then.
    left: Vec<(f64, u32)>,
}

impl Observer for Watch {
    fn request(&mut self, request: &ServedRequest) {
        self.requests.push(*request);
    }

    fn row(&mut self, row: &WindowOutcome) {
        self.left.push((row.end_s, row.zones_left));
    }
}

impl Watch {
    fn left_at(&self, at_s: f64) -> u32 {
        let rows = self.left.partition_point(|(end_s, _)| *end_s <= at_s);
        rows.checked_sub(1).map_or(0, |row| self.left[row].1)
    }
}

/// All runs, in the order of the paper's.
pub fn runs(
    paper: &Paper,
    growth: &'static Growth,
    workload: Workload,
    requests: Option<NonZeroU64>,
    jobs: usize,
) -> Result<Vec<Run>> {
    let most = NonZeroU64::new(growth.requests).map_or(requests, |own| Some(requests.map_or(own, |n| n.min(own))));
    let known = Known::survey(workload, most, None, &Progress::of_pieces("reading", 1))?;
    let progress = Progress::new("growing", known.range.requests * growth.runs.len() as u64);
    let drive = named_drive(paper.drive)?;
    let asked: Vec<&'static Asked> = growth.runs.iter().collect();
    let watched = parallel::each(jobs, &asked, |&asked| {
        let mut watch = Watch::default();
        let case = case(growth, asked, &drive)?;
        let chosen = chosen(paper, growth, asked, known.range.requests)?;
        let row = chosen.replay(&known, &case, &progress, &mut watch)?;
        watch.requests.sort_unstable_by_key(|request| request.number);
        Ok((asked, row, watch))
    })?;
    let shown_s = shown_s(&watched);
    let rate = bytes_per_second(&drive)?;
    let mut runs = Vec::new();
    let mut without = None;
    for (asked, row, watch) in &watched {
        if asked.bound_ms.is_none() {
            without = Some(watch);
        }
        let without = without.unwrap_or(watch);
        let sums = Sums::of(asked.name, growth.workload, row, rate, &increases(watch, without));
        runs.push(Run { name: asked.name, sums, dots: dots(asked.name, watch, without, &shown_s) });
    }
    Ok(runs)
}

/// The time that pictures show, in seconds. A run that holds everybody up does not say how long.
fn shown_s(watched: &[(&Asked, Row, Watch)]) -> Range<f64> {
    let paced = watched.iter().filter(|(asked, ..)| asked.bound_ms != Some(BLOCKING_MS));
    let grown = paced.filter_map(|(_, row, _)| row.outcome.growth);
    let begun_s = grown.clone().map(|growth| growth.begun_s).fold(f64::INFINITY, f64::min);
    let end_s = grown.map(|growth| growth.begun_s + growth.seconds).fold(0.0, f64::max);
    begun_s - AROUND_S..end_s + AROUND_S
}

/// The disk of a run.
fn case(growth: &Growth, asked: &Asked, drive: &DrivePreset) -> Result<Case> {
    let layer = layers::find(growth.layer)?;
    Ok(match asked.disk {
        None => Case { layer, drive: drive.clone(), fit: Fit::Workload },
        Some(bytes) => Case { layer, drive: drive.with_capacity(bytes)?, fit: Fit::Given },
    })
}

/// The run of a bound, or the one without.
fn chosen(paper: &Paper, growth: &Growth, asked: &Asked, requests: u64) -> Result<Chosen> {
    let at = TraceMoment::Requests((requests as f64 * growth.after) as u64);
    let options = ReplayOptions {
        prefill: paper.prefill,
        extend: asked.bound_ms.iter().map(|_| Extension { bytes: growth.bytes, at }).collect(),
        each_request: true,
        window: Some(Window::Ns(1_000_000_000)),
        ..ReplayOptions::default()
    };
    let setting = asked.bound_ms.map(|bound| format!("{}.bound_ms={bound}", growth.layer));
    let buffer = paper.buffer.parse().map_err(|e| anyhow!("{e}"))?;
    Chosen::new(buffer, options, &setting.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What the drive gives in a long transfer from its beginning.
fn bytes_per_second(drive: &DrivePreset) -> Result<f64> {
    let mut mechanics = drive.mechanics()?;
    let begin_ns = mechanics.access(0, 0, 1, false);
    let ns = mechanics.access(begin_ns, 1, LONG_BYTES / SECTOR_BYTES, false) - begin_ns;
    Ok(LONG_BYTES as f64 * 1e9 / ns as f64)
}

/// By how much a request took longer than without.
struct Increase {
    arrival_s: f64,
    done_s: f64,
    ms: f64,
}

fn increases(watch: &Watch, without: &Watch) -> Vec<Increase> {
    let increase = |(one, other): (&ServedRequest, &ServedRequest)| Increase {
        arrival_s: one.arrival_ns as f64 / 1e9,
        done_s: (one.arrival_ns + one.latency_ns) as f64 / 1e9,
        ms: increase_ms(one, other),
    };
    watch.requests.iter().zip(&without.requests).map(increase).collect()
}

fn increase_ms(one: &ServedRequest, other: &ServedRequest) -> f64 {
    (one.latency_ns as f64 - other.latency_ns as f64) / 1e6
}

/// The slowest of each group of requests, of those that arrive in the time shown.
fn dots(run: &'static str, watch: &Watch, without: &Watch, shown_s: &Range<f64>) -> Vec<Dot> {
    let arrival_s = |request: &ServedRequest| request.arrival_ns as f64 / 1e9;
    let pairs = watch.requests.iter().zip(&without.requests);
    let shown: Vec<_> = pairs.filter(|(one, _)| shown_s.contains(&arrival_s(one))).collect();
    let slowest = |group: &[(&ServedRequest, &ServedRequest)]| {
        let (one, other) = *group.iter().max_by_key(|(one, _)| one.latency_ns)?;
        let arrival_s = arrival_s(one);
        Some(Dot {
            schema: DOTS_SCHEMA,
            run,
            arrival_s,
            latency_ms: one.latency_ns as f64 / 1e6,
            increase_ms: increase_ms(one, other),
            zones_left: watch.left_at(arrival_s),
        })
    };
    shown.chunks(shown.len().div_ceil(DOTS).max(1)).filter_map(slowest).collect()
}

impl Sums {
    fn of(run: &'static str, workload: &'static str, row: &Row, rate: f64, increases: &[Increase]) -> Self {
        let outcome = &row.outcome;
        let growth = outcome.growth.unwrap_or_default();
        let end_s = growth.begun_s + growth.seconds;
        // Who came before it was asked for and was still waiting then may have waited longer for it.
        let meanwhile: Vec<_> = increases
            .iter()
            .filter(|request| request.done_s > growth.begun_s && request.arrival_s < end_s)
            .map(|request| request.ms)
            .collect();
        let after = increases.iter().filter(|request| request.arrival_s >= end_s).map(|request| request.ms);
        let block_bytes = u64::from(row.block_bytes);
        let zone_bytes = u64::from(row.zone_blocks.unwrap_or(0)) * block_bytes;
        Self {
            schema: SCHEMA,
            run,
            workload,
            synthetic: row.synthetic,
            requests: outcome.requests,
            gained_bytes: growth.gained_blocks * block_bytes,
            converted_zones: growth.converted_zones,
            begun_s: growth.begun_s,
            seconds: growth.seconds,
            step_seconds: growth.step_seconds,
            media_seconds: 2.0 * (growth.converted_zones * zone_bytes) as f64 / rate,
            longest_step_ms: growth.longest_step_ms,
            longest_wait_ms: growth.longest_delay_ms,
            requests_meanwhile: meanwhile.len() as u64,
            mean_increase_ms: meanwhile.iter().fold(0.0, |sum, ms| sum + ms) / meanwhile.len().max(1) as f64,
            longest_increase_ms: meanwhile.iter().copied().reduce(f64::max).unwrap_or(0.0),
            longest_increase_after_ms: after.reduce(f64::max).unwrap_or(0.0),
            rmw: outcome.rmw,
        }
    }
}

/// A number of a run, if anything was converted.
pub fn value(runs: &[Run], name: &str, of: Grown) -> Option<f64> {
    let sums = &runs.iter().find(|run| run.name == name).filter(|run| run.sums.converted_zones > 0)?.sums;
    // Where nobody came meanwhile, nobody was held up.
    let increase = (sums.requests_meanwhile > 0).then_some(sums.longest_increase_ms);
    match of {
        Grown::Seconds => Some(sums.seconds),
        Grown::OverMedia => Some(sums.seconds / sums.media_seconds),
        Grown::Increase => increase,
    }
}

/// What stands behind it.
pub fn note(runs: &[Run], name: &str) -> String {
    let Some(Run { sums, .. }) = runs.iter().find(|run| run.name == name) else { return String::new() };
    format!(
        "{} zones, {} s of work, of which reading and writing at the drive's rate {} s; {} requests came meanwhile and \
         took {} ms longer on average",
        sums.converted_zones,
        number(sums.step_seconds),
        number(sums.media_seconds),
        count(sums.requests_meanwhile),
        number(sums.mean_increase_ms),
    )
}

/// The runs as a table.
pub fn table(runs: &[Run]) -> Sheet {
    let cells = |run: &Run| {
        let sums = &run.sums;
        [
            run.name.to_owned(),
            bytes(sums.gained_bytes),
            count(sums.converted_zones),
            seconds(sums.seconds),
            seconds(sums.step_seconds),
            seconds(sums.media_seconds),
            milliseconds(sums.longest_step_ms),
            count(sums.requests_meanwhile),
            milliseconds(sums.mean_increase_ms),
            milliseconds(sums.longest_increase_ms),
        ]
    };
    let headings = [
        "bound",
        ">gained",
        ">zones",
        ">until it was there",
        ">work",
        ">at the drive's rate",
        ">longest step",
        ">requests",
        ">longer on average",
        ">at most",
    ];
    Sheet::new(headings, runs.iter().map(cells))
}

/// Writes the sums and the figure's data.
pub fn write(growth: &Growth, runs: &[Run], folder: &NewFolder) -> Result<()> {
    folder.write("growth.csv", &csv(&runs.iter().map(|run| &run.sums).collect::<Vec<_>>())?)?;
    let dots: Vec<_> = runs.iter().flat_map(|run| &run.dots).collect();
    folder.write(&format!("{}.csv", growth.file()), &csv(&dots)?)
}

/// What the runs are made from.
pub fn replayed(runs: &[Run]) -> Replayed {
    let Some(first) = runs.first() else { return Replayed::NOTHING };
    Replayed { data: Data::of(usize::from(first.sums.synthetic), 1), requests: first.sums.requests }
}
