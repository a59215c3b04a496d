//! How long the model of a drive-managed drive takes to clean a band, beside a line that was fitted to a measurement of
//! the drive: 435.8 ms, and 0.728 ms more for each dirty block.

use super::writes::Writes;
use super::{Comparison, Numbers, ValidateError, Verdict};
use crate::replay::{ReplayError, ReplayOptions, Simulation, disk, space};
use imbrex_core::block::Pba;
use imbrex_core::drive::DrivePreset;
use imbrex_core::random::Random;
use imbrex_layers as layers;

const DRIVE: &str = "st8000as0002";
/// What was measured, in ms.
const BAND_MS: f64 = 435.8;
const BLOCK_MS: f64 = 0.728;
/// Few and many dirty blocks, between which time is taken to grow evenly.
const DIRTY: [u32; 2] = [10, 400];
/// Bytes of the smaller drive that stands for the large one: it has the same bands, tracks and rates.
const SMALLER: u64 = 64 << 30;
/// Where the bands are that are cleaned, as a part of the capacity.
const PLACES: [(&str, f64); 3] = [("outer", 0.01), ("middle", 0.5), ("inner", 0.985)];
/// Among how many bands the writes take turns, so that the dirty blocks of one lie as far apart in the cache.
const AMONG: [(&str, u32); 2] = [("of one band", 1), ("of 32 bands in turn", 32)];
/// The transfers that make up a rewrite, with the scratch band and without.
const TRANSFERS: [(&str, bool); 2] = [("three", true), ("two", false)];

/// Shows the time that the `skylight` layer takes to clean a band in idle time, beside that of the drive.
///
/// # Errors
/// When the preset is broken, or the layer or the disk refuses.
pub fn band_rewrite() -> Result<Vec<Comparison>, ValidateError> {
    let mut rows = Vec::new();
    for (place, part) in PLACES {
        for (transfers, scratch) in TRANSFERS {
            let (band_ms, _) = line(part, 1, scratch)?;
            rows.push(row(&format!("rewrite of a band, {place}, {transfers} transfers"), BAND_MS, band_ms));
        }
        for (written, among) in AMONG {
            let (_, block_ms) = line(part, among, true)?;
            rows.push(row(&format!("each dirty block {written}, {place}"), BLOCK_MS, block_ms));
        }
    }
    Ok(rows)
}

/// What a band takes without a dirty block, and what each of these takes.
fn line(part: f64, among: u32, scratch: bool) -> Result<(f64, f64), ValidateError> {
    let [few, many] = DIRTY.map(|dirty| clean_ms(part, dirty, among, scratch));
    let (few, many) = (few.map_err(error)?, many.map_err(error)?);
    let block_ms = (many - few) / f64::from(DIRTY[1] - DIRTY[0]);
    Ok((few - block_ms * f64::from(DIRTY[0]), block_ms))
}

fn error(source: ReplayError) -> ValidateError {
    ValidateError::Replay { disk: DRIVE.into(), run: "rewrite of a band".into(), source: Box::new(source) }
}

/// Shown without a verdict: it is not known which bands were measured, nor how their dirty blocks lay in the cache.
fn row(check: &str, expected: f64, measured: f64) -> Comparison {
    let verdict = Verdict::Skipped("for information: how it was measured is not known".to_owned());
    Comparison { verdict, ..Comparison::close(DRIVE, check, Numbers { expected, measured }, 0.0, "ms") }
}

/// How long it takes to clean a band at `part` of the capacity, of which `dirty` blocks were written one by one, in
/// turn with those of as many bands behind it as make up `among`.
fn clean_ms(part: f64, dirty: u32, among: u32, scratch: bool) -> Result<f64, ReplayError> {
    let drive = DrivePreset::named(DRIVE).and_then(|drive| drive.with_capacity(SMALLER))?;
    let layer = layers::find("skylight")?;
    let options = ReplayOptions::default();
    let device = disk(&drive, layer.recording)?;
    let space = space(&device, 0, &options)?;
    let config = toml::Table::from_iter([("scratch".to_owned(), scratch.into())]);
    let simulation = Simulation::new(layer.name, &|| layer.build(&space, &config), device, &options)?;
    let capacity = simulation.capacity();
    let band = space.bands.and_then(|bands| {
        let (band, _) = bands.locate(Pba::disk(bands.start() + (part * capacity as f64) as u64))?;
        // The scratch band, the first, has no logical blocks.
        let unused = if scratch { u64::from(bands.extent(0).blocks) } else { 0 };
        let first = bands.extent(band).start.block() - bands.start() - unused;
        Some((first, u64::from(bands.extent(band).blocks)))
    });
    let (first, blocks) = band.unwrap_or((0, 1));
    let mut random = Random::new(1);
    // A write every 20 ms, and long after the last of them one more, so that there is idle time.
    let count = u64::from(dirty * among);
    let block = |i: u64| first + i % u64::from(among) * blocks + random.below(blocks);
    let mut writes: Vec<_> = (0..count).zip((0..count).map(block)).map(|(i, block)| (i * 20_000_000, block)).collect();
    writes.push((count * 20_000_000 + 600_000_000_000, 0));
    let outcome = simulation.run(&mut Writes::new(writes.into_iter()), &mut ())?;
    Ok(outcome.idle_cleaning.total_ns as f64 / 1e6 / outcome.rmw.max(1) as f64)
}
