//! Where writes land within windows: in how many zones, how evenly, how full their chunks get.
//!
//! A window is consecutive writes: it ends with the write that brings its distinct blocks to the number asked for, and
//! the next write begins another. Writes are not split between windows. Shares and fills are of distinct blocks, each
//! once, so that a block rewritten at once does not make its zone look busier.
//!
//! Memory does not depend on the trace: a table of the pages of 64 blocks that the open window touches, 17 bytes a place
//! and at most 2.3 places for each, and for a moment as much for their zones where a window ends. A window touches at
//! most as many pages as its blocks less one, and those of one write more.

#[cfg(test)]
pub mod tests;

use hashbrown::HashMap;
use serde::Serialize;

use super::footprint::{PAGE, mask, parts};
use super::requests::BLOCK_BYTES;
use super::{ZONE_BYTES, ratio};
use imbrex_core::block::{Extent, Lba};

/// Pages of a zone.
const ZONE_PAGES: u64 = ZONE_BYTES / BLOCK_BYTES as u64 / PAGE;
/// Blocks of a chunk of 64 KiB.
const CHUNK: u32 = (64 << 10) / BLOCK_BYTES;

/// The means over a trace's complete windows of one size. Without such a window there are none.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize)]
pub struct WindowMeans {
    /// Complete windows.
    pub windows: u64,
    /// The inverse of the sum of the squared shares that zones of 256 MiB have in a window's distinct blocks: as many
    /// zones as would have equal shares.
    pub effective_zones: Option<f64>,
    /// The share of the zone that has the most of them.
    pub top_zone_share: Option<f64>,
    /// Distinct blocks by chunks of 64 KiB that have one.
    pub blocks_per_chunk: Option<f64>,
    /// Block writes by distinct blocks.
    pub writes_per_block: Option<f64>,
}

/// Windows of at least `DISTINCT` distinct written blocks.
#[derive(Default)]
pub struct Windows<const DISTINCT: u64> {
    /// The pages of the open window; a bit for each block.
    pages: HashMap<u64, u64>,
    /// The open window's distinct blocks.
    distinct: u64,
    /// Its block writes.
    writes: u64,
    /// Windows that are complete.
    complete: u64,
    /// The sums of their figures in the order of [`WindowMeans`].
    sums: [f64; 4],
}

impl<const DISTINCT: u64> Windows<DISTINCT> {
    /// Takes in blocks that one request writes.
    #[inline]
    pub fn write(&mut self, at: Extent<Lba>) {
        for (page, blocks) in parts(at) {
            let mask = mask(&blocks);
            let written = self.pages.entry(page).or_default();
            self.distinct += u64::from((mask & !*written).count_ones());
            *written |= mask;
        }
        self.writes += u64::from(at.blocks);
        if self.distinct >= DISTINCT {
            self.complete();
        }
    }

    /// The means over the windows so far.
    pub fn means(&self) -> WindowMeans {
        let mean = |sum: f64| (self.complete > 0).then(|| sum / self.complete as f64);
        let [effective_zones, top_zone_share, blocks_per_chunk, writes_per_block] = self.sums.map(mean);
        WindowMeans { windows: self.complete, effective_zones, top_zone_share, blocks_per_chunk, writes_per_block }
    }

    /// Counts the open window and begins the next.
    fn complete(&mut self) {
        let figures = self.figures();
        for (sum, figure) in self.sums.iter_mut().zip(figures) {
            *sum += figure;
        }
        self.complete += 1;
        self.pages.clear();
        (self.distinct, self.writes) = (0, 0);
    }

    /// The open window's figures in the order of [`WindowMeans`]. Sums are of whole numbers, so that the order of the
    /// table does not matter.
    fn figures(&self) -> [f64; 4] {
        let (mut zones, mut chunks) = (HashMap::<u64, u64>::new(), 0);
        for (page, &written) in &self.pages {
            *zones.entry(page / ZONE_PAGES).or_default() += u64::from(written.count_ones());
            chunks += chunks_of(written);
        }
        let squares = zones.values().map(|blocks| blocks * blocks).sum();
        [
            ratio(self.distinct * self.distinct, squares),
            ratio(zones.into_values().max().unwrap_or(0), self.distinct),
            ratio(self.distinct, chunks),
            ratio(self.writes, self.distinct),
        ]
    }
}

/// Chunks of a page that have a block.
fn chunks_of(page: u64) -> u64 {
    let chunk = u64::MAX >> (PAGE - u64::from(CHUNK));
    (0..PAGE / u64::from(CHUNK)).filter(|at| page >> (at * u64::from(CHUNK)) & chunk != 0).count() as u64
}
