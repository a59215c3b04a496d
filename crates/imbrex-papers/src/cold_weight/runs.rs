//! The runs: every weight, and Empty, on the same aged disks.

use std::num::NonZeroU64;

use anyhow::{Result, anyhow};
use imbrex::contents::BandContent;
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BandsLook, BufferSize, Observer, ReplayOptions, WarmUp, Window, WindowOutcome};
use imbrex::trace::Workload;
use imbrex::trace::derived::prepopulated::{Prepopulated, Prepopulation};
use imbrex::trace::derived::writes::Writes;
use imbrex_runs::case::{Case, Fit};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::workload::{Known, Watched};
use imbrex_terminal::progress::Progress;

use super::ColdWeightArguments;
use super::beyond::{self, BEYOND};
use super::paper::WEIGHTS;
use super::results::{Cell, Results};

/// The layers: Empty, and the paper's own.
const EMPTY: &str = "log-greedy";
const COLD_WEIGHT: &str = "cold-weight";

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
/// Of `cold-weight` alone.
const TIE: &str = "equal=fewest";

/// A workload behind some of its writes.
struct Aged {
    workload: usize,
    level: u32,
    /// Requests that come before it.
    before: u64,
    known: Known,
}

/// One run: a place among the aged workloads, and a place among the variants, of which the first is Empty.
type Run = (usize, usize);

/// Replays all of it, and what goes beyond the paper if that is asked for.
pub fn all(
    workloads: &[(usize, Workload)],
    requests: Option<NonZeroU64>,
    arguments: &ColdWeightArguments,
    seed: u64,
    jobs: usize,
) -> Result<Results> {
    let drive = &arguments.drive()?;
    let aged = aged(workloads, requests, &arguments.levels(), drive.block_bytes, seed, jobs)?;
    let variants = 1 + WEIGHTS.len() + if arguments.beyond { BEYOND.len() } else { 0 };
    let runs: Vec<Run> = (0..aged.len()).flat_map(|at| (0..variants).map(move |variant| (at, variant))).collect();
    let requests = runs.iter().map(|&(at, _)| aged[at].known.range.requests).sum();
    let progress = Progress::new("replaying", requests);
    let cells = parallel::each(jobs, &runs, |&(at, variant)| aged[at].replay(variant, drive, &progress))?;
    Ok(Results::new(cells))
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
        let writes = Writes::of(workload.clone(), &mut Watched::new(workload, requests, &reading)?)?;
        Ok(Workload::Writes(Box::new(writes)))
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
    fn replay(&self, variant: usize, drive: &DrivePreset, progress: &Progress) -> Result<Cell> {
        let layer = match beyond::of(variant) {
            Some(beyond) => beyond.layer,
            None if variant == 0 => EMPTY,
            None => COLD_WEIGHT,
        };
        let case = Case { layer: layers::find(layer)?, drive: drive.clone(), fit: Fit::Workload };
        let chosen = self.chosen(layer, variant)?;
        let mut watch = Watch::default();
        let mut row = chosen.replay(&self.known, &case, progress, &mut watch)?;
        // How fast this machine is does not belong to the paper.
        row.outcome = row.outcome.timed(0.0);
        let moved = row.outcome.media_write_blocks.get(Why::Migrate);
        let sums = row.outcome.bands.ok_or_else(|| anyhow!("{layer} did not say what its bands hold"))?;
        let (workload, level) = (self.workload, self.level);
        Ok(Cell { workload, level, variant, row, moved, moved_before: watch.moved_before, sums, bands: watch.bands })
    }

    fn chosen(&self, layer: &str, variant: usize) -> Result<Chosen> {
        let mut settings: Vec<_> = READINGS.iter().map(|(field, value)| format!("{layer}.{field}={value}")).collect();
        if let Some(beyond) = beyond::of(variant) {
            settings.extend(beyond.fields.iter().map(|(field, value)| format!("{layer}.{field}={value}")));
        } else if let Some(weight) = variant.checked_sub(1).map(|at| WEIGHTS[at]) {
            settings.push(format!("{layer}.cold_weight={}", f64::from(weight) / 100.0));
            settings.push(format!("{layer}.{TIE}"));
        }
        let options = ReplayOptions {
            prefill: 0.0,
            flush: true,
            untimed: true,
            warm_up: (self.before > 0).then_some(WarmUp::Requests(self.before)),
            // One row for what comes before, one for the rest.
            window: Some(Window::Requests(self.known.range.requests)),
            bands: Some(Vec::new()),
            ..ReplayOptions::default()
        };
        Chosen::new(BufferSize::Blocks(0), options, &settings.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// What is seen of a run beside its outcome.
#[derive(Default)]
struct Watch {
    moved_before: u64,
    bands: Vec<BandContent>,
}

impl Observer for Watch {
    fn row(&mut self, row: &WindowOutcome) {
        if row.warm_up {
            self.moved_before += row.media_write_blocks.get(Why::Migrate);
        }
    }

    fn bands(&mut self, look: &BandsLook) {
        self.bands = look.contents.bands().to_vec();
    }
}
