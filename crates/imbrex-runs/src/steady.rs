//! `--steady`: a workload is repeated until what a layer writes stands still, and the last window alone is measured.
//!
//! As is usual for flash, five rounds in a row are a window, and the window is steady if what is measured of its rounds
//! varies by no more than 20 % of its average, and the straight line that fits it best rises or falls by no more than 10 %
//! of it (SNIA, Solid State Storage Performance Test Specification, version 2.0.2: steady state, measurement window; 25
//! rounds at most).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use imbrex::layers::LayerInfo;
use imbrex::plan::Why;
use imbrex::recording::Recording;
use imbrex::replay::{Observer, WarmUp, WindowOutcome};
use imbrex_terminal::progress::Progress;
use schemars::JsonSchema;
use serde::Serialize;

/// Rounds of a window.
pub const WINDOW: u32 = 5;
/// How far the rounds of a steady window may be apart, as a part of their average,
const MOST_RANGE: f64 = 0.2;
/// and by how much the straight line through them may rise or fall.
const MOST_SLOPE: f64 = 0.1;
/// Rounds in which a layer has to become steady, where nothing else is chosen.
pub const ROUNDS: NonZeroU32 = NonZeroU32::new(25).unwrap();
/// The most passes of a round. What has so much more room than a pass writes that this does not fill it is measured in
/// shorter rounds.
pub const MOST_PASSES: u64 = 8;

/// How a layer became steady
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Steady {
    /// Whether it did; if not, the figures are those of the last window all the same
    pub is_steady: bool,
    /// What had to stand still
    pub measure: Measure,
    /// Rounds until then, those of the window included
    pub rounds: u32,
    /// How often the workload was replayed in a round, or how many times its requests a synthetic one had
    pub round_passes: u64,
    /// Requests until then
    pub requests: u64,
    /// Blocks that the host had written by then
    pub host_write_blocks: u64,
    /// Simulated time until then, in seconds
    pub simulated_seconds: f64,
    /// What was measured of each round of the window
    pub values: Vec<f64>,
    /// How far these are apart, as a part of their average
    pub range: f64,
    /// By how much the straight line through them rises or falls, as a part of their average
    pub slope: f64,
}

/// What has to stand still
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Blocks written to the media for each that the host wrote
    WriteAmplification,
    /// Zones rewritten for each block that the host wrote
    Rewrites,
}

impl Steady {
    /// The first requests, which are left out of the figures.
    #[must_use]
    pub fn warm_up(&self) -> WarmUp {
        WarmUp::Requests(self.requests / u64::from(self.rounds) * u64::from(self.rounds - WINDOW))
    }

    /// Requests of a pass.
    pub(crate) fn requests_of_pass(&self) -> u64 {
        self.requests / self.passes().max(1)
    }

    pub(crate) fn passes(&self) -> u64 {
        u64::from(self.rounds) * self.round_passes
    }
}

/// What was counted in a pass or a round, or in several.
#[derive(Copy, Clone, Default)]
struct Sums {
    host_blocks: u64,
    media_blocks: u64,
    rewrites: u64,
    cleaned_blocks: u64,
}

impl Sums {
    fn of(pass: &WindowOutcome) -> Self {
        let written = &pass.media_write_blocks;
        Self {
            host_blocks: pass.host_write_blocks,
            media_blocks: written.total(),
            rewrites: pass.rmw,
            cleaned_blocks: Why::ALL.iter().filter(|why| why.is_cleaning()).map(|why| written.get(*why)).sum(),
        }
    }

    fn add(&mut self, other: Self) {
        self.host_blocks += other.host_blocks;
        self.media_blocks += other.media_blocks;
        self.rewrites += other.rewrites;
        self.cleaned_blocks += other.cleaned_blocks;
    }

    fn measured(&self, measure: Measure) -> f64 {
        let blocks = match measure {
            Measure::WriteAmplification => self.media_blocks,
            Measure::Rewrites => self.rewrites,
        };
        if self.host_blocks == 0 { 0.0 } else { blocks as f64 / self.host_blocks as f64 }
    }
}

/// Counts rounds, and ends them when they are steady.
pub(crate) struct Rounds<'a> {
    /// Whether the layer rewrites zones, and that is what counts.
    rewrites: bool,
    most: u32,
    /// Blocks that a layer takes before it has to clean.
    room: u64,
    round_passes: u64,
    passes: u64,
    round: Sums,
    /// Rounds that are over.
    rounds: Vec<Sums>,
    end_s: f64,
    is_over: &'a AtomicBool,
    /// Who is shown how far it is, and how much all of it comes to; what of that has been shown.
    pub shown: Option<(&'a Progress, u64)>,
    done: u64,
}

impl<'a> Rounds<'a> {
    pub fn new(layer: &LayerInfo, most: u32, room: u64, is_over: &'a AtomicBool) -> Self {
        Self {
            rewrites: layer.buffered && layer.recording != Recording::Cached,
            most,
            room,
            round_passes: 1,
            passes: 0,
            round: Sums::default(),
            rounds: Vec::new(),
            end_s: 0.0,
            is_over,
            shown: None,
            done: 0,
        }
    }

    /// A pass is over.
    fn pass(&mut self, pass: Sums) {
        if self.passes == 0 {
            self.round_passes = self.room.div_ceil(pass.host_blocks.max(1)).clamp(1, MOST_PASSES);
        }
        self.passes += 1;
        self.round.add(pass);
        if self.passes.is_multiple_of(self.round_passes) {
            self.rounds.push(std::mem::take(&mut self.round));
            let is_last = self.rounds.len() >= self.most as usize;
            if is_last || self.is_steady() || self.is_hopeless() {
                self.is_over.store(true, Ordering::Relaxed);
            }
        }
    }

    /// The rounds of the last window, and what came before it.
    fn window(&self) -> (&[Sums], Sums) {
        let (earlier, window) = self.rounds.split_at(self.rounds.len().saturating_sub(WINDOW as usize));
        let mut before = Sums::default();
        earlier.iter().for_each(|round| before.add(*round));
        (window, before)
    }

    /// Whether the last window stands still, and begins when the layer has cleaned or has had its room filled once.
    fn is_steady(&self) -> bool {
        let (window, before) = self.window();
        let has_begun = before.cleaned_blocks > 0 || before.rewrites > 0 || before.host_blocks >= self.room;
        let (_, values) = self.values();
        let Spread { range, slope } = Spread::of(&values);
        window.len() == WINDOW as usize && has_begun && range <= MOST_RANGE && slope <= MOST_SLOPE
    }

    /// Whether the layer has cleaned nothing, and no window can begin with its room filled.
    fn is_hopeless(&self) -> bool {
        let (window, mut all) = self.window();
        window.iter().for_each(|round| all.add(*round));
        let most = all.host_blocks / self.rounds.len().max(1) as u64 * u64::from(self.most - WINDOW);
        window.len() == WINDOW as usize && all.cleaned_blocks == 0 && all.rewrites == 0 && most < self.room
    }

    /// What is measured of the last window.
    fn values(&self) -> (Measure, Vec<f64>) {
        let (window, _) = self.window();
        let measure = match self.rewrites && window.iter().all(|round| round.rewrites > 0) {
            true => Measure::Rewrites,
            false => Measure::WriteAmplification,
        };
        (measure, window.iter().map(|round| round.measured(measure)).collect())
    }

    /// What was found about a workload of so many requests.
    pub fn found(&self, requests: u64) -> Steady {
        let (measure, values) = self.values();
        let Spread { range, slope } = Spread::of(&values);
        let (window, mut all) = self.window();
        window.iter().for_each(|round| all.add(*round));
        let rounds = self.rounds.len() as u32;
        Steady {
            is_steady: self.is_steady(),
            measure,
            rounds,
            round_passes: self.round_passes,
            requests: requests * u64::from(rounds) * self.round_passes,
            host_write_blocks: all.host_blocks,
            simulated_seconds: self.end_s,
            values,
            range,
            slope,
        }
    }

    /// Shows how far it is, as a part of all passes that there may be.
    fn show(&mut self) {
        if let Some((progress, all)) = self.shown {
            let most = u64::from(self.most) * self.round_passes;
            let done = (u128::from(all) * u128::from(self.passes) / u128::from(most.max(1))) as u64;
            progress.add(done.saturating_sub(self.done));
            self.done = self.done.max(done);
        }
    }

    pub fn show_all(&mut self) {
        if let Some((progress, all)) = self.shown {
            progress.add(all.saturating_sub(self.done));
            self.done = self.done.max(all);
        }
    }
}

impl Observer for Rounds<'_> {
    fn row(&mut self, row: &WindowOutcome) {
        if !self.is_over.load(Ordering::Relaxed) {
            self.end_s = row.end_s;
            self.pass(Sums::of(row));
            self.show();
        }
    }
}

/// How far values are apart, and by how much the straight line rises or falls that fits them best (least squares), from
/// the first to the last of them: both as parts of their average.
struct Spread {
    range: f64,
    slope: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let average = values.iter().sum::<f64>() / count;
        if values.is_empty() || average <= 0.0 {
            return Self { range: 0.0, slope: 0.0 };
        }
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let middle = (count - 1.0) / 2.0;
        let places = || (0..values.len()).map(|at| at as f64 - middle);
        let squares: f64 = places().map(|place| place * place).sum();
        let slope =
            places().zip(values).map(|(place, value)| place * value).sum::<f64>() / squares.max(f64::MIN_POSITIVE);
        Self { range: (most - least) / average, slope: (slope * (count - 1.0)).abs() / average }
    }
}

#[cfg(test)]
mod tests;
