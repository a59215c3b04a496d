//! The runs: every weight, and Empty, on the same aged disks.

use std::num::NonZeroU64;
use std::ops::ControlFlow;

use anyhow::{Result, anyhow};
use imbrex::contents::BandContent;
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BandsLook, BufferSize, Observer, ReplayOptions, WarmUp, Window, WindowOutcome};
use imbrex::trace::Workload;
use imbrex::trace::derived::held::Held;
use imbrex::trace::derived::prepopulated::{Prepopulated, Prepopulation};
use imbrex_runs::case::{Case, Fit};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::workload::{Known, Watched};
use imbrex_terminal::progress::Progress;

use super::ColdWeightArguments;
use super::beyond::{self, BEYOND};
use super::claims::looks_at;
use super::paper::{COLD_WEIGHT, EMPTY, SMALL, Table, WEIGHTS};
use super::results::{Cell, Counted, End, Results};

/// The paper's set-up, and every interpretation of its text that moves a count, though most of these are defaults.
pub const READINGS: [(&str, &str); 8] = [
    ("spare_fraction", "0.15"),
    ("spare_bands", "0"),
    ("compact_bands", "2"),
    ("buffer_bands", "2"),
    ("buffer_volatile", "false"),
    ("buffered_heat", "true"),
    ("buffer_tie", "cold"),
    ("sequence", "heat"),
];
/// Of `cold-weight` alone, and for Empty what is the same with a weight of 0.
const TIE: &str = "equal=fewest";
const TIE_OF_EMPTY: &str = "equal=lowest";

/// With further seeds, a run is stopped at so many times the blocks that Empty moves, unless a claim looks at more: a
/// weight that is so bad is not the best one.
const STOP_AGAIN_AT: f64 = 1.5;

/// Requests between two looks at how many blocks were moved.
const LOOK_EVERY: u64 = 1 << 12;

/// A workload behind some of its writes.
struct Aged {
    workload: usize,
    level: u32,
    /// Requests that come before it.
    before: u64,
    known: Known,
}

/// Which runs there are, and how far they go.
pub struct Extent<'a> {
    pub arguments: &'a ColdWeightArguments,
    pub requests: Option<NonZeroU64>,
    /// Whether all that the paper shows is run, and not only what its claims look at.
    pub is_first: bool,
    /// Runs at a time.
    pub jobs: usize,
}

/// One run: a place among the aged workloads, and one among the variants, of which the first is Empty.
#[derive(Copy, Clone)]
struct Run {
    at: usize,
    variant: usize,
    /// Whether bands are twice as long.
    is_wide: bool,
    /// Moved blocks at which it is stopped.
    stop_at: u64,
}

/// Replays all of it: Empty first, since it decides when the others are stopped.
pub fn all(workloads: &[(usize, Workload)], seed: u64, extent: &Extent<'_>) -> Result<Results> {
    let arguments = extent.arguments;
    let drives = [arguments.drive(1)?, arguments.drive(2)?];
    let aged = aged(workloads, extent.requests, &arguments.levels(), drives[0].block_bytes, seed, extent.jobs)?;
    let small = WEIGHTS.iter().filter(|weight| **weight <= SMALL).count();
    let beyond = if arguments.beyond && extent.is_first { BEYOND.len() } else { 0 };
    let variants = |is_wide| if is_wide { 1..=small } else { 1..=WEIGHTS.len() + beyond };
    let runs = [false, true].map(|is_wide| 1 + variants(is_wide).count() as u64).iter().sum::<u64>();
    let progress = Progress::new("replaying", runs * aged.iter().map(|aged| aged.known.range.requests).sum::<u64>());
    let replay = |run: &Run| aged[run.at].replay(*run, &drives[usize::from(run.is_wide)], &progress);
    let empties =
        (0..aged.len()).flat_map(|at| [false, true].map(|is_wide| Run { at, variant: 0, is_wide, stop_at: u64::MAX }));
    let empties: Vec<_> = empties.collect();
    let mut cells = parallel::each(extent.jobs, &empties, replay)?;
    let others = empties.iter().zip(&cells).flat_map(|(run, empty)| {
        variants(run.is_wide).map(|variant| Run { variant, stop_at: stop_at(empty, variant, extent), ..*run })
    });
    let others: Vec<_> = others.collect();
    cells.extend(parallel::each(extent.jobs, &others, replay)?);
    Ok(Results::new(cells))
}

/// When a variant is stopped.
fn stop_at(empty: &Cell, variant: usize, extent: &Extent<'_>) -> u64 {
    let is_small = variant.checked_sub(1).and_then(|at| WEIGHTS.get(at)).is_some_and(|weight| *weight <= SMALL);
    let moved = empty.moved(Counted::All);
    if is_small || moved == 0 {
        return u64::MAX;
    }
    let is_shown = extent.is_first || looks_at(empty.aged(), variant);
    let table = Table::of(empty.level).filter(|_| variant <= WEIGHTS.len());
    let in_paper = table.map_or(0.0, |table| table.times(empty.workload, variant));
    let times = if is_shown { extent.arguments.stop_at(in_paper) } else { STOP_AGAIN_AT };
    (moved as f64 * times) as u64
}

/// Each workload at each level. Reads are left out: no count depends on them.
fn aged(
    workloads: &[(usize, Workload)],
    requests: Option<NonZeroU64>,
    levels: &[u32],
    block_bytes: u32,
    seed: u64,
    jobs: usize,
) -> Result<Vec<Aged>> {
    let reading = Progress::of_pieces("reading", workloads.len());
    let writes = parallel::each(jobs, workloads, |(_, workload)| {
        let writes = Held::writes(workload.clone(), &mut Watched::new(workload, requests, &reading)?)?;
        Ok(Workload::Held(Box::new(writes)))
    })?;
    drop(reading);
    let cases: Vec<_> = (0..writes.len()).flat_map(|at| levels.iter().map(move |&level| (at, level))).collect();
    let ageing = Progress::of_pieces("ageing", cases.len() * (1 + Known::passes(Some(block_bytes))));
    parallel::each(jobs, &cases, |&(at, level)| {
        let mut source = Watched::new(&writes[at], None, &ageing)?;
        let before = Prepopulation::of(&mut source, f64::from(level) / 100.0, seed)?;
        let requests = before.requests();
        let aged = Workload::Prepopulated(Box::new(Prepopulated::new(writes[at].clone(), before)));
        let known = Known::survey(aged, None, Some(block_bytes), &ageing)?;
        Ok(Aged { workload: workloads[at].0, level, before: requests, known })
    })
}

impl Aged {
    fn replay(&self, run: Run, drive: &DrivePreset, progress: &Progress) -> Result<Cell> {
        let Run { variant, is_wide, stop_at, .. } = run;
        let layer = match beyond::of(variant) {
            Some(beyond) => beyond.layer,
            None if variant == 0 => EMPTY,
            None => COLD_WEIGHT,
        };
        let case = Case { layer: layers::find(layer)?, drive: drive.clone(), fit: Fit::Workload };
        let chosen = self.chosen(layer, variant)?;
        let mut watch = Watch { moved_before: 0, moved: 0, stop_at, stopped_after: None, bands: Vec::new() };
        let replayed = chosen.replay(&self.known, &case, progress, &mut watch);
        let Watch { moved_before, moved, stopped_after, bands, .. } = watch;
        let end = if let Some(requests) = stopped_after {
            progress.add(self.known.range.requests.saturating_sub(requests));
            None
        } else {
            let mut row = replayed?;
            // How fast this machine is does not belong to the paper.
            row.outcome = row.outcome.timed(0.0);
            let sums = row.outcome.bands.ok_or_else(|| anyhow!("{layer} did not say what its bands hold"))?;
            Some(End { row, sums, bands })
        };
        let moved = end.as_ref().map_or(moved, |end| end.row.outcome.media_write_blocks.get(Why::Migrate));
        Ok(Cell { workload: self.workload, level: self.level, variant, is_wide, moved, moved_before, end })
    }

    fn chosen(&self, layer: &str, variant: usize) -> Result<Chosen> {
        let mut settings: Vec<_> = READINGS.iter().map(|(field, value)| format!("{layer}.{field}={value}")).collect();
        if let Some(beyond) = beyond::of(variant) {
            settings.extend(beyond.fields.iter().map(|(field, value)| format!("{layer}.{field}={value}")));
        } else if let Some(weight) = variant.checked_sub(1).map(|at| WEIGHTS[at]) {
            settings.push(format!("{layer}.cold_weight={}", f64::from(weight) / 100.0));
            settings.push(format!("{layer}.{TIE}"));
        } else {
            settings.push(format!("{layer}.{TIE_OF_EMPTY}"));
        }
        let options = ReplayOptions {
            prefill: 0.0,
            flush: true,
            untimed: true,
            warm_up: (self.before > 0).then_some(WarmUp::Requests(self.before)),
            window: Some(Window::Requests(LOOK_EVERY)),
            bands: Some(Vec::new()),
            ..ReplayOptions::default()
        };
        Chosen::new(BufferSize::Blocks(0), options, &settings.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// What is seen of a run beside its outcome.
struct Watch {
    moved_before: u64,
    moved: u64,
    /// Moved blocks at which it is stopped.
    stop_at: u64,
    /// The requests after which it was.
    stopped_after: Option<u64>,
    bands: Vec<BandContent>,
}

impl Observer for Watch {
    fn progress(&mut self, requests: u64) -> ControlFlow<()> {
        if self.moved_before + self.moved < self.stop_at {
            return ControlFlow::Continue(());
        }
        self.stopped_after = Some(requests);
        ControlFlow::Break(())
    }

    fn row(&mut self, row: &WindowOutcome) {
        let moved = if row.warm_up { &mut self.moved_before } else { &mut self.moved };
        *moved += row.media_write_blocks.get(Why::Migrate);
    }

    fn bands(&mut self, look: &BandsLook) {
        self.bands = look.contents.bands().to_vec();
    }
}
