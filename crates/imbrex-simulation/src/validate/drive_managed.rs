//! The drive-managed disk against closed forms: uniformly random writes of single blocks over a full disk.
//!
//! A cache in front of N bands of B blocks is cleaned from its tail, all cached blocks of a band at a time. A band that
//! has just been cleaned gets its next block after N writes, and that block reaches the tail after W more; so a band is
//! rewritten once in N + W writes of which one in N was its own. Where blocks, or writes as entries, come back when the
//! tail has passed them, W is the C that there are. Where an extent comes back when its last block leaves, C of them
//! live when a band is cleaned. Bands are cleaned (N + W)/N writes apart, so that g(W) + g(W − (N + W)/N) + … is C,
//! where g(x) = 1 + (B − 1)(1 − exp(−x/(N·B))) is what a band has x ≥ 0 writes after its first.

use super::cleaning_forms::root;
use super::watch::{Totals, Watch};
use super::writes::{BLOCK, Writes};
use super::{Comparison, Numbers, ValidateError};
use crate::replay::{Configured, Device, NoTime, Outcome, ReplayError, ReplayOptions, Simulation, Window};
use imbrex_core::bands::BandRun;
use imbrex_core::block::Pba;
use imbrex_core::media::Banded;
use imbrex_core::random::Random;
use imbrex_layers as layers;

/// How far a count may be from its closed form, in percent of it.
const PERCENT: f64 = 2.0;
/// Slots for each extent, so that those of blocks that have left never run out.
const SLOTS: f64 = 4.0;

/// A cache and the bands behind it.
#[derive(Copy, Clone)]
struct Point {
    cache: u32,
    bands: u32,
    band_blocks: u32,
    of: Of,
}

/// What is counted in the cache.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Of {
    Blocks,
    Writes,
    Extents,
}

const POINTS: [Point; 6] = [
    Point { cache: 20_000, bands: 200, band_blocks: 500, of: Of::Blocks },
    Point { cache: 20_000, bands: 2000, band_blocks: 500, of: Of::Writes },
    Point { cache: 20_000, bands: 20_000, band_blocks: 100, of: Of::Blocks },
    Point { cache: 50_000, bands: 20, band_blocks: 5000, of: Of::Writes },
    Point { cache: 20_000, bands: 2000, band_blocks: 500, of: Of::Extents },
    Point { cache: 50_000, bands: 20, band_blocks: 5000, of: Of::Extents },
];

/// Replays random writes on the `skylight` layer and compares rewrites, write amplification and the blocks that a
/// rewrite gathers with their closed forms.
///
/// # Errors
/// When the layer or the disk refuses.
pub fn drive_managed() -> Result<Vec<Comparison>, ValidateError> {
    let mut rows = Vec::new();
    for point in POINTS {
        let counts = point.counts(point.cache).map_err(|source| point.error(source))?;
        rows.extend(point.rows(&counts));
    }
    Ok(rows)
}

/// What is counted, for each write of the host and for each rewrite.
struct Counts {
    rmw: f64,
    in_place: f64,
    with_scratch: f64,
    gathered: f64,
}

impl Point {
    fn name(&self) -> String {
        let Self { cache, bands, band_blocks, of } = self;
        let of = match of {
            Of::Blocks => "blocks",
            Of::Writes => "writes",
            Of::Extents => "extents",
        };
        format!("{cache} {of} before {bands} bands of {band_blocks}")
    }

    fn error(&self, source: ReplayError) -> ValidateError {
        ValidateError::Replay { disk: "skylight".into(), run: self.name(), source: Box::new(source) }
    }

    fn rows(&self, counts: &Counts) -> Vec<Comparison> {
        let [n, b] = [self.bands, self.band_blocks].map(f64::from);
        let wait = self.wait();
        let rmw = 1.0 / (1.0 + wait / n);
        let gathered = self.gathered(wait);
        let row = |check: &str, expected: f64, measured: f64, unit| {
            Comparison::within_percent(
                "skylight",
                &format!("{check}, {}", self.name()),
                Numbers { expected, measured },
                PERCENT,
                unit,
            )
        };
        vec![
            row("rewrites per write", rmw, counts.rmw, "bands"),
            row("in place per write", b * rmw, counts.in_place, "blocks"),
            row("scratch too", 2.0 * b * rmw, counts.with_scratch, "blocks"),
            row("gathered per rewrite", gathered, counts.gathered, "blocks"),
        ]
    }

    /// What the cache has of a band `writes` writes after its first block.
    fn gathered(&self, writes: f64) -> f64 {
        let [n, b] = [self.bands, self.band_blocks].map(f64::from);
        1.0 + (b - 1.0) * (1.0 - (-writes / (n * b)).exp())
    }

    /// Writes from a band's first cached block to its rewrite.
    fn wait(&self) -> f64 {
        let [c, n] = [self.cache, self.bands].map(f64::from);
        if self.of != Of::Extents {
            return c;
        }
        let live = |wait: f64| -> f64 {
            let ages = (0..self.bands).map(|band| wait - f64::from(band) * (n + wait) / n);
            ages.take_while(|age| *age >= 0.0).map(|age| self.gathered(age)).sum()
        };
        root(c, SLOTS * c, |wait| live(wait) - c)
    }

    /// Counts from one rewrite to another, many turns of the log later. Bands that were all filled at once are cleaned
    /// in bursts, one in each turn: from the middle of one burst to that of another, time tells how long a turn is,
    /// while in a fixed time the counts would jump with each burst. The cache is `cache` long.
    fn counts(&self, cache: u32) -> Result<Counts, ReplayError> {
        let half = u64::from(self.bands) / 2;
        let mut watch = Watch::new(5 * half, 45 * half);
        let outcome = self.replay(cache, &mut watch)?;
        let of = |count: fn(&Totals) -> u64| (count(&watch.last) - count(&watch.first)) as f64;
        let (writes, in_place, scratch) = (of(|t| t.writes), of(|t| t.in_place), of(|t| t.scratch));
        Ok(Counts {
            rmw: of(|t| t.rmw) / writes,
            in_place: in_place / writes,
            with_scratch: (in_place + scratch) / writes,
            gathered: outcome.evicted_blocks as f64 / outcome.rmw as f64,
        })
    }

    fn replay(&self, cache: u32, watch: &mut Watch) -> Result<Outcome, ReplayError> {
        // What runs out first is the shorter one.
        let (slots, entries) = match self.of {
            Of::Blocks => (cache, 2 * cache),
            Of::Writes => (2 * cache, cache),
            Of::Extents => (SLOTS as u32 * cache, cache),
        };
        let window = Some(Window::Requests(1 + u64::from(self.bands) / 50));
        let options = ReplayOptions { idle: false, window, ..ReplayOptions::default() };
        let bands = BandRun { bands: self.bands, band_blocks: self.band_blocks };
        let simulation = skylight(slots, entries, self.of == Of::Writes, bands, &options)?;
        let (mut random, capacity) = (Random::new(1), simulation.capacity());
        let writes = 24 * (self.wait() as u64 + u64::from(self.bands));
        simulation.run(&mut Writes::new((0..writes).map(move |_| (0, random.below(capacity)))), watch)
    }
}

/// The layer on bands behind a cache of `slots` slots and `entries` entries, which are writes or extents, with one band
/// more as the scratch band.
pub(super) fn skylight(
    slots: u32,
    entries: u32,
    are_writes: bool,
    run: BandRun,
    options: &ReplayOptions,
) -> Result<Simulation, ReplayError> {
    let runs = [BandRun { bands: run.bands + 1, ..run }];
    let disk = Device::new(Box::new(Banded::new(Pba::DISK, slots, &runs)), Box::new(NoTime), BLOCK);
    let mut config = toml::Table::from_iter([("map_entries".to_owned(), i64::from(entries).into())]);
    if are_writes {
        config.insert("entries".to_owned(), "writes".into());
    }
    Configured { layer: layers::find("skylight")?, config: &config, buffer_blocks: 0 }.simulation(disk, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn another_cache_fails() {
        for point in [POINTS[0], POINTS[4]] {
            let rows = point.rows(&point.counts(point.cache * 21 / 20).unwrap());
            let failed = rows.iter().filter(|row| row.verdict == Verdict::Fail).count();
            assert_eq!(failed, 4, "{rows:?}");
        }
    }
}
