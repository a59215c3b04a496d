//! Two workloads, one after the other, written by variants of a layer: how each fares over time.

use std::num::NonZeroU64;

use anyhow::Result;
use imbrex::replay::{Observer, ReplayOptions, Window, WindowOutcome};
use imbrex::trace::derived::held::Held;
use imbrex::trace::{TraceError, TraceInfo, TraceRequest, TraceSource, Workload};
use imbrex_runs::case::Case;
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::workload::{Known, Watched};
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::{Sheet, number, percent};
use serde::Serialize;

use super::claim::{Data, Replayed};
use super::measure::Part;
use super::paper::{Mix, Variant};

/// The version of [`Point`].
const SCHEMA: &str = "imbrex.mix/1";
/// The name of its files, without their extension.
pub const FILE: &str = "mix";
/// Windows of each half at least, however few requests there are.
const WINDOWS: u64 = 30;

/// What happened to a number of requests.
#[derive(Clone, Serialize)]
pub struct Point {
    schema: &'static str,
    pub variant: &'static str,
    pub half: usize,
    pub workload: &'static str,
    pub synthetic: bool,
    /// Requests that came before.
    pub from_request: u64,
    pub requests: u64,
    pub host_write_blocks: u64,
    pub seconds: f64,
    pub megabytes_per_second: f64,
    /// Written blocks that were buffered already.
    pub hit_ratio: f64,
    /// Of the blocks that were not and might have been let in, those that were; none if there are none.
    pub enter_ratio: Option<f64>,
    admitted_blocks: u64,
    direct_blocks: u64,
    block_bytes: u32,
}

/// One workload's first writes, and then another's.
struct Followed<'a> {
    halves: [Watched<'a>; 2],
    /// Writes that are left of each.
    left: [u64; 2],
    /// When the first half ended.
    end_ns: u64,
    at: usize,
}

impl TraceSource for Followed<'_> {
    fn info(&self) -> &TraceInfo {
        self.halves[0].info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        loop {
            batch.clear();
            if self.left[self.at] > 0 {
                self.halves[self.at].fill(batch, limit)?;
            }
            let is_over = batch.is_empty();
            batch.retain(|request| request.access == imbrex::block::Access::Write);
            batch.truncate(usize::try_from(self.left[self.at]).unwrap_or(usize::MAX));
            self.left[self.at] -= batch.len() as u64;
            if self.at == 1 {
                batch.iter_mut().for_each(|request| request.arrival_ns += self.end_ns);
            } else if let Some(last) = batch.last() {
                self.end_ns = last.arrival_ns;
            }
            match (is_over, self.at) {
                (true, 0) => self.at = 1,
                (true, _) => return Ok(()),
                (false, _) if !batch.is_empty() => return Ok(()),
                _ => {}
            }
        }
    }
}

/// Keeps the windows of a run.
#[derive(Default)]
struct Rows(Vec<WindowOutcome>);

impl Observer for Rows {
    fn row(&mut self, row: &WindowOutcome) {
        self.0.push(row.clone());
    }
}

/// The windows of every variant on the two workloads.
pub fn points(
    mix: &Mix,
    workloads: &[Workload],
    requests: Option<NonZeroU64>,
    configured: impl Fn(&Variant, u64) -> Result<(Chosen, Case)> + Sync,
    jobs: usize,
) -> Result<Vec<Point>> {
    let writes = requests.map_or(mix.writes, |requests| requests.get().min(mix.writes));
    let (known, first) = followed(workloads, writes)?;
    let window = (writes / WINDOWS).max(1);
    let progress = Progress::new("mixing", known.range.requests * mix.variants.len() as u64);
    let of_variants = parallel::each(jobs, mix.variants, |variant| {
        let (mut chosen, case) = configured(variant, known.range.range_bytes)?;
        let window = Some(Window::Requests(window));
        chosen.options = ReplayOptions { window, queue_depth: Some(1), ..chosen.options };
        let mut rows = Rows::default();
        let row = chosen.replay(&known, &case, &progress, &mut rows)?;
        let mut from_request = 0;
        let points = rows.0.iter().map(|window| {
            let half = usize::from(from_request >= first);
            let point = Point::of(variant.name, half, mix.halves[half], from_request, window, row.block_bytes);
            from_request += window.requests;
            Point { synthetic: matches!(workloads[half], Workload::Profile(_)), ..point }
        });
        Ok(points.collect::<Vec<_>>())
    })?;
    Ok(of_variants.into_iter().flatten().collect())
}

/// The first writes of both, and how many of them are the first's.
fn followed(workloads: &[Workload], writes: u64) -> Result<(Known, u64)> {
    let reading = Progress::of_pieces("reading", workloads.len() + 1);
    let watched = |at: usize| Watched::new(&workloads[at], None, &reading);
    let mut source = Followed { halves: [watched(0)?, watched(1)?], left: [writes; 2], end_ns: 0, at: 0 };
    let all = Held::writes(workloads[0].clone(), &mut source)?;
    let first = writes - source.left[0];
    let known = Known::survey(Workload::Held(Box::new(all)), None, None, &reading)?;
    Ok((known, first))
}

impl Point {
    fn of(
        variant: &'static str,
        half: usize,
        workload: &'static str,
        from_request: u64,
        row: &WindowOutcome,
        block_bytes: u32,
    ) -> Self {
        let mut point = Self {
            schema: SCHEMA,
            variant,
            half,
            workload,
            synthetic: false,
            from_request,
            requests: row.requests,
            host_write_blocks: row.host_write_blocks,
            seconds: row.end_s - row.start_s,
            megabytes_per_second: 0.0,
            hit_ratio: 0.0,
            enter_ratio: None,
            admitted_blocks: row.admitted_blocks,
            direct_blocks: row.direct_blocks,
            block_bytes,
        };
        point.hit_ratio = row.write_hit_blocks as f64 / row.host_write_blocks.max(1) as f64;
        point.work_out();
        point
    }

    fn work_out(&mut self) {
        let bytes = (self.host_write_blocks * u64::from(self.block_bytes)) as f64;
        self.megabytes_per_second = if self.seconds > 0.0 { bytes / 1e6 / self.seconds } else { 0.0 };
        let asked = self.admitted_blocks + self.direct_blocks;
        self.enter_ratio = (asked > 0).then(|| self.admitted_blocks as f64 / asked as f64);
    }

    /// This window and another one together.
    fn joined(mut self, other: &Self) -> Self {
        let hits = |point: &Self| point.hit_ratio * point.host_write_blocks as f64;
        let both = hits(&self) + hits(other);
        self.requests += other.requests;
        self.host_write_blocks += other.host_write_blocks;
        self.seconds += other.seconds;
        self.admitted_blocks += other.admitted_blocks;
        self.direct_blocks += other.direct_blocks;
        self.hit_ratio = both / self.host_write_blocks.max(1) as f64;
        self.work_out();
        self
    }
}

/// What a variant did in a part of the mix, its windows together.
pub fn of(points: &[Point], variant: &str, part: Part) -> Option<Point> {
    let is_of = |point: &&Point| match part {
        Part::Whole => point.variant == variant,
        Part::Half(half) => (point.variant, point.half) == (variant, half),
    };
    points.iter().filter(is_of).cloned().reduce(|all, point| all.joined(&point))
}

/// Each variant in both halves and in all.
pub fn table(mix: &Mix, points: &[Point]) -> Sheet {
    let cells = |variant: &Variant| {
        let [first, second, all] =
            [Part::Half(0), Part::Half(1), Part::Whole].map(|part| of(points, variant.name, part));
        let speed = |point: &Option<Point>| point.as_ref().map_or("-".to_owned(), |p| number(p.megabytes_per_second));
        let hits = |point: &Option<Point>| point.as_ref().map_or("-".to_owned(), |p| percent(p.hit_ratio));
        let enter = |point: &Option<Point>| point.as_ref().and_then(|p| p.enter_ratio).map_or("-".to_owned(), percent);
        let speeds = [speed(&first), speed(&second), speed(&all)];
        let ratios = [hits(&first), hits(&second), enter(&first), enter(&second)];
        std::iter::once(variant.name.to_owned()).chain(speeds).chain(ratios).collect::<Vec<_>>()
    };
    let [first, second] = mix.halves;
    let mut headings = vec!["variant".to_owned()];
    headings.extend([first, second, "both"].map(|half| format!(">MB/s, {half}")));
    headings.extend(["hits", "let in"].iter().flat_map(|what| [first, second].map(|half| format!(">{what}, {half}"))));
    Sheet::new(headings, mix.variants.iter().map(cells))
}

/// Writes the data.
pub fn write(points: &[Point], folder: &NewFolder) -> Result<()> {
    folder.write(&format!("{FILE}.csv"), &csv(points)?)
}

/// What the points are made from.
pub fn replayed(points: &[Point]) -> Replayed {
    let Some(first) = points.first() else { return Replayed::NOTHING };
    let own: Vec<_> = points.iter().filter(|point| point.variant == first.variant).collect();
    let synthetic = own.iter().filter(|point| point.synthetic).count();
    let requests = own.iter().map(|point| point.requests).sum();
    Replayed { data: Data::of(synthetic, own.len()), requests }
}
