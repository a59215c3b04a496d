//! The bands of a drive-managed disk: runs of equal bands, shorter towards the inner edge.

use serde::{Deserialize, Serialize};

use crate::block::{Extent, Pba, unit_and_offset};
use crate::plan::Unit;

/// Neighbouring bands of the same length.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandRun {
    /// How many.
    pub bands: u32,
    /// Blocks of each.
    pub band_blocks: u32,
}

/// Where a run begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Run {
    band: u32,
    block: u64,
    band_blocks: u32,
}

/// Bands that follow each other without gaps, the units of a device from `first` on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bands {
    first: Unit,
    start: u64,
    runs: Vec<Run>,
    count: u32,
    end: u64,
}

impl Bands {
    /// The bands of `runs`; the first is unit `first` and begins at block `start`. Runs without bands or blocks are
    /// left out.
    #[must_use]
    #[inline]
    pub fn new(first: Unit, start: u64, runs: &[BandRun]) -> Self {
        let mut bands = Self { first, start, runs: Vec::new(), count: 0, end: start };
        for run in runs.iter().filter(|run| run.bands > 0 && run.band_blocks > 0) {
            bands.runs.push(Run { band: bands.count, block: bands.end, band_blocks: run.band_blocks });
            bands.count += run.bands;
            bands.end += u64::from(run.bands) * u64::from(run.band_blocks);
        }
        bands
    }

    /// How many bands there are.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The block of the device at which the first band begins.
    #[must_use]
    #[inline]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The block of the device after the last band.
    #[must_use]
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The unit of the band numbered `index` from the first.
    #[must_use]
    #[inline]
    pub fn unit(&self, index: u32) -> Unit {
        Unit { device: self.first.device, index: self.first.index + index }
    }

    /// The number of the band, from the first, that `unit` is.
    #[must_use]
    #[inline]
    pub fn index(&self, unit: Unit) -> Option<u32> {
        let index = unit.index.checked_sub(self.first.index)?;
        (unit.device == self.first.device && index < self.count).then_some(index)
    }

    /// All blocks of the band numbered `index` from the first.
    ///
    /// # Panics
    /// When there is no such band.
    #[inline]
    #[must_use]
    pub fn extent(&self, index: u32) -> Extent<Pba> {
        assert!(index < self.count, "band {index} of {}", self.count);
        let run = self.runs[self.runs.partition_point(|run| run.band <= index) - 1];
        let block = run.block + u64::from(index - run.band) * u64::from(run.band_blocks);
        Extent::new(Pba::new(self.first.device, block), run.band_blocks)
    }

    /// The band, from the first, and the offset in it of a block.
    #[inline]
    #[must_use]
    pub fn locate(&self, block: Pba) -> Option<(u32, u32)> {
        let at = block.block();
        if block.device() != self.first.device || !(self.start..self.end).contains(&at) {
            return None;
        }
        let run = self.runs[self.runs.partition_point(|run| run.block <= at) - 1];
        let (band, offset) = unit_and_offset(at - run.block, run.band_blocks);
        Some((run.band + band, offset))
    }

    /// The first of the longest bands, if there is one.
    #[must_use]
    #[inline]
    pub fn longest(&self) -> Option<u32> {
        let longest = self.runs.iter().map(|run| run.band_blocks).max()?;
        self.runs.iter().find(|run| run.band_blocks == longest).map(|run| run.band)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(runs: &[(u32, u32)]) -> Vec<BandRun> {
        runs.iter().map(|&(bands, band_blocks)| BandRun { bands, band_blocks }).collect()
    }

    #[test]
    fn every_block_is_found_in_its_band() {
        let bands = Bands::new(Unit::disk(1), 50, &runs(&[(2, 10), (0, 9), (3, 7), (1, 12)]));
        assert_eq!((bands.count(), bands.start(), bands.end()), (6, 50, 50 + 20 + 21 + 12));
        let mut next = 50;
        for index in 0..bands.count() {
            let extent = bands.extent(index);
            assert_eq!(extent.start, Pba::disk(next));
            for (offset, block) in (0..).zip(extent.iter()) {
                assert_eq!(bands.locate(block), Some((index, offset)));
            }
            assert_eq!(bands.index(bands.unit(index)), Some(index));
            next += u64::from(extent.blocks);
        }
        assert_eq!(bands.locate(Pba::disk(49)), None);
        assert_eq!(bands.locate(Pba::disk(next)), None);
        assert_eq!(bands.locate(Pba::ram(60)), None);
        assert_eq!(bands.index(Unit::disk(0)), None);
        assert_eq!(bands.index(Unit::disk(7)), None);
        assert_eq!(bands.longest(), Some(5));
        assert_eq!(Bands::new(Unit::disk(1), 5, &[]).longest(), None);
    }
}
