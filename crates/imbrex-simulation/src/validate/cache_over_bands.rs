//! A flash cache over a drive-managed disk against the closed form of the PORE report (§4): how much is rewritten for
//! each block that leaves the cache.
//!
//! Blocks that leave for anywhere on the disk reach every band in each fill of the disk's own cache, so that all of the
//! disk is rewritten for it: S_disk / S_wb. If for L_p blocks at a time they leave for an open region only, S_or /
//! min(L_p, S_wb) is. The first is replayed through the stack with `lru-cache`, the second with `pore`, and as what a
//! cache with regions would write. Both forms take every band to be reached, which makes them up to 1 % larger than
//! what happens.
//!
//! `pore` opens units until they have dirty blocks for a period. The disk is cut into three, and the cache holds four
//! periods' blocks, all dirty: the unit that has most of them has more than a period's, and is opened alone. It then
//! has fewer than the others, so that the three take turns.

use super::drive_managed::skylight;
use super::watch::{Totals, Watch};
use super::writes::{BLOCK, Writes};
use super::{Comparison, Numbers, ValidateError};
use crate::replay::{Configured, Device, NoTime, ReplayError, ReplayOptions, Simulation, Window};
use imbrex_core::bands::BandRun;
use imbrex_core::block::Pba;
use imbrex_core::media::Conventional;
use imbrex_core::random::Random;
use imbrex_layers as layers;

/// How far a ratio may be from its closed form, in percent of it.
const PERCENT: f64 = 2.0;
/// Blocks of the disk's own cache, S_wb.
const DISK_CACHE: u32 = 20_000;
const BAND_BLOCKS: u32 = 2000;
/// Bands of the disk without regions.
const BANDS: u32 = 100;
/// Frames of the flash cache.
const FRAMES: u32 = 2000;
/// Periods and the blocks of an open region, both in fills of the disk's cache; the regions take turns.
const PERIODS: [(f64, f64); 3] = [(0.5, 5.0), (1.0, 10.0), (2.0, 20.0)];
const REGIONS: u64 = 3;
/// Frames of the cache for each block of a period.
const FRAMES_IN_PERIODS: u64 = 4;

/// Replays random writes on `lru-cache` and on `pore` over `skylight`, and random writes to regions on `skylight`, and
/// compares how much is rewritten for each block that leaves the flash with the closed form.
///
/// # Errors
/// When a layer or the disk refuses.
pub fn cache_over_bands() -> Result<Vec<Comparison>, ValidateError> {
    let error = |disk: &str, run: &str, source| ValidateError::Replay {
        disk: disk.to_owned(),
        run: run.to_owned(),
        source: Box::new(source),
    };
    let run = "without regions";
    let measured = without_regions(DISK_CACHE).map_err(|source| error("lru-cache", run, source))?;
    let expected = f64::from(BANDS * BAND_BLOCKS) / f64::from(DISK_CACHE);
    let mut rows = vec![row("lru-cache on skylight", run.to_owned(), expected, measured)];
    for (period, region) in PERIODS {
        let run = format!("{period} fills for each region of {region}");
        let expected = region / period.min(1.0);
        let measured = with_regions(period, region).map_err(|source| error("skylight", &run, source))?;
        rows.push(row("skylight", run.clone(), expected, measured));
        let measured = with_pore(period, region).map_err(|source| error("pore", &run, source))?;
        rows.push(row("pore on skylight", run, expected, measured));
    }
    Ok(rows)
}

fn row(disk: &str, run: String, expected: f64, measured: f64) -> Comparison {
    Comparison::within_percent(
        disk,
        &format!("rewritten for each block, {run}"),
        Numbers { expected, measured },
        PERCENT,
        "blocks",
    )
}

/// The drive-managed disk.
fn disk(cache: u32, bands: u32, options: &ReplayOptions) -> Result<Simulation, ReplayError> {
    skylight(cache, 2 * cache, false, BandRun { bands, band_blocks: BAND_BLOCKS }, options)
}

/// Flash of which the cache is all, rewritten in place, and the disk behind it. The disk's cache is `cache` long.
fn without_regions(cache: u32) -> Result<f64, ReplayError> {
    let simulation = stack("lru-cache", &toml::Table::new(), FRAMES, cache, BANDS, 2)?;
    let (mut random, capacity) = (Random::new(1), simulation.capacity());
    let half = u64::from(BANDS) / 2;
    let mut watch = Watch::new(5 * half, 45 * half);
    let writes = 24 * u64::from(cache + BANDS);
    simulation.run(&mut Writes::new((0..writes).map(move |_| (0, random.below(capacity)))), &mut watch)?;
    Ok(rewritten(&watch))
}

/// A cache of `frames` blocks on flash that is rewritten in place, before the disk with a cache of `cache` blocks and
/// with `bands` bands. It is looked at every `window` writes.
fn stack(
    layer: &str,
    config: &toml::Table,
    frames: u32,
    cache: u32,
    bands: u32,
    window: u64,
) -> Result<Simulation, ReplayError> {
    let options = ReplayOptions { idle: false, ..ReplayOptions::default() };
    let flash = Device::new(Box::new(Conventional::new(Pba::DISK, frames.into())), Box::new(NoTime), BLOCK);
    let conventional =
        Configured { layer: layers::find("conventional")?, config: &toml::Table::new(), buffer_blocks: 0 };
    let flash = conventional.simulation(flash, &options)?;
    let stack = Device::stack(vec![flash, disk(cache, bands, &options)?]);
    let options = ReplayOptions { window: Some(Window::Requests(window)), ..options };
    Configured { layer: layers::find(layer)?, config, buffer_blocks: frames }.simulation(stack, &options)
}

/// Blocks rewritten in place for each that left the cache of a stack.
fn rewritten(watch: &Watch) -> f64 {
    let of = |total: fn(&Totals) -> u64| (total(&watch.last) - total(&watch.first)) as f64;
    // The media take what the host writes, on flash, and what leaves the cache.
    of(|totals| totals.in_place) / (of(|totals| totals.taken) - of(|totals| totals.writes))
}

/// Random writes on `pore`. Counted over whole turns of its units, when the first are over.
fn with_pore(period: f64, region: f64) -> Result<f64, ReplayError> {
    let [period, region] = [period, region].map(|fills| (fills * f64::from(DISK_CACHE)) as u64);
    let frames = (FRAMES_IN_PERIODS * period) as u32;
    let fields = [("region_blocks", region), ("period_blocks", period)];
    let config =
        fields.map(|(key, blocks)| (key.to_owned(), toml::Value::Integer(blocks as i64))).into_iter().collect();
    let bands = (REGIONS * region).div_ceil(BAND_BLOCKS.into());
    let simulation = stack("pore", &config, frames, DISK_CACHE, bands as u32, 2)?;
    let mut random = Random::new(1);
    let mut watch = Watch::new(2 * bands, 6 * bands);
    // Some writes hit.
    let writes = u64::from(frames) + 11 * REGIONS * period;
    let blocks = (0..writes).map(move |_| (0, random.below(REGIONS * region)));
    simulation.run(&mut Writes::new(blocks), &mut watch)?;
    Ok(rewritten(&watch))
}

/// Writes to regions that take turns. Counted over whole turns, when the first are over.
fn with_regions(period: f64, region: f64) -> Result<f64, ReplayError> {
    let [period, region] = [period, region].map(|fills| (fills * f64::from(DISK_CACHE)) as u64);
    let turn = REGIONS * period;
    let options = ReplayOptions { idle: false, window: Some(Window::Requests(turn)), ..ReplayOptions::default() };
    let bands = (REGIONS * region).div_ceil(BAND_BLOCKS.into()) as u32;
    let simulation = disk(DISK_CACHE, bands, &options)?;
    let mut random = Random::new(1);
    let block = move |i: u64| i / period % REGIONS * region + random.below(region);
    let rewrites = u64::from(bands);
    let mut watch = Watch::new(2 * rewrites, 6 * rewrites);
    simulation.run(&mut Writes::new((0..8 * turn).map(block).map(|block| (0, block))), &mut watch)?;
    Ok((watch.last.in_place - watch.first.in_place) as f64 / (watch.last.writes - watch.first.writes) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Verdict;

    #[test]
    fn another_cache_fails() {
        let expected = f64::from(BANDS * BAND_BLOCKS) / f64::from(DISK_CACHE);
        let row = row("", String::new(), expected, without_regions(DISK_CACHE * 21 / 20).unwrap());
        assert_eq!(row.verdict, Verdict::Fail, "{row:?}");
    }

    #[test]
    fn a_longer_period_fails() {
        let (period, region) = PERIODS[0];
        let row = row("", String::new(), region / period, with_pore(1.1 * period, region).unwrap());
        assert_eq!(row.verdict, Verdict::Fail, "{row:?}");
    }
}
