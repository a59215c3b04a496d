//! Bands of a drive-managed disk in numbers: what is possible, and the same disk in another size.

use crate::bands::BandRun;
use crate::mechanics::GeometryError;

/// The most bands of a drive: their numbers fit those of units.
const MAX_BANDS: u64 = 1 << 31;

/// How many blocks the cache and the bands have.
pub(super) fn blocks(cache_blocks: u32, bands: &[BandRun]) -> u64 {
    let banded = bands.iter().map(|run| u64::from(run.bands) * u64::from(run.band_blocks));
    banded.fold(u64::from(cache_blocks), u64::saturating_add)
}

/// Checks that the numbers go together.
pub(super) fn check(cache_blocks: u32, bands: &[BandRun]) -> Result<(), GeometryError> {
    GeometryError::check("media.cache_blocks", cache_blocks >= 1, cache_blocks, "give at least one")?;
    let count: u64 = bands.iter().map(|run| u64::from(run.bands)).sum();
    let remedy = "give between 1 and 2^31 bands, each of at least one block";
    GeometryError::check("media.bands", (1..=MAX_BANDS).contains(&count), format!("{count} bands"), remedy)?;
    let empty = bands.iter().any(|run| run.bands == 0 || run.band_blocks == 0);
    GeometryError::check("media.bands", !empty, "an empty run", remedy)
}

/// A disk of `new` blocks, in which the cache and each run of bands keep their share; what is left over is a shorter
/// band at the end. None if a run or the cache would vanish.
pub(super) fn with_blocks(cache_blocks: u32, bands: &[BandRun], new: u64) -> Option<(u32, Vec<BandRun>)> {
    let old = blocks(cache_blocks, bands).max(1);
    let share = |of: u64| u64::try_from(u128::from(of) * u128::from(new) / u128::from(old)).ok();
    let cache_blocks = u32::try_from(share(u64::from(cache_blocks))?).ok().filter(|blocks| *blocks > 0)?;
    let mut rest = new - u64::from(cache_blocks);
    let mut scaled = Vec::with_capacity(bands.len() + 1);
    for run in bands {
        let count = u32::try_from(share(u64::from(run.bands))?).ok()?;
        scaled.extend((count > 0).then_some(BandRun { bands: count, ..*run }));
        rest = rest.checked_sub(u64::from(count) * u64::from(run.band_blocks))?;
    }
    // Rounding down leaves less than a band of each run.
    let last = scaled.last_mut()?;
    last.bands = last.bands.checked_add(u32::try_from(rest / u64::from(last.band_blocks)).ok()?)?;
    let left = (rest % u64::from(last.band_blocks)) as u32;
    scaled.extend((left > 0).then_some(BandRun { bands: 1, band_blocks: left }));
    Some((cache_blocks, scaled))
}
