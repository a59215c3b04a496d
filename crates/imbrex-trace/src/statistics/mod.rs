//! Statistics of a trace: what papers tell about the workloads they use, and what decides how a layer fares on them.
//!
//! One pass over the requests makes a [`Collection`]; from it [`TraceStatistics`] are computed for any sizes of cache
//! and buffer. `docs/trace-stat.md` defines every number. Blocks are of 4 KiB, and one touched by a single byte counts.
//! A trim counts as a request and in the duration, and nowhere else.
//!
//! Memory does not depend on the address range but on what is touched: 4 bytes for each request, 20 to 40 for each
//! distinct start offset, 1 for each distinct block that is read and some 22 for each that is written where blocks lie
//! in runs; a block far from all others takes 60 if it is read and 150 if it is written. Windows and jumps take less
//! than 2 MiB, whatever the trace. The parts state their own.

pub mod caches;
mod footprint;
pub mod jumps;
mod offsets;
mod recency;
mod requests;
#[cfg(test)]
mod tests;
pub mod updates;
pub mod windows;

use std::convert::Infallible;
use std::hint::black_box;

use serde::Serialize;

use super::{BATCH, Irregularities, TraceError, TraceRequest, TraceSource};
use caches::{MissRatios, Sequence};
use footprint::Footprint;
use imbrex_core::block::Access;
use imbrex_core::buffer_size::BufferSize;
use jumps::{JumpShares, Jumps};
use offsets::Offsets;
use requests::{BLOCK_BYTES, RequestSums, Sums};
use updates::{UpdatePeriods, Updates};
use windows::{WindowMeans, Windows};

/// Bytes of a zone, the unit of address ranges in the papers.
const ZONE_BYTES: u64 = 256 << 20;
/// Requests whose blocks are looked up before the first of them is taken in.
const AHEAD: usize = 64;
const SECTOR_BYTES: f64 = 512.0;
const GIB: f64 = (1u64 << 30) as f64;
const GB: f64 = 1e9;

/// What a trace is like. Ratios are from 0 to 1, and 0 where there is nothing to divide by.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceStatistics {
    /// Requests of every kind.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Writes by reads and writes.
    pub write_ratio: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// GiB read.
    pub read_gib: f64,
    /// GiB written.
    pub written_gib: f64,
    /// Blocks read and written, each counted as often as a request touches it.
    pub blocks_4k: u64,
    /// The part of them that was written.
    pub written_blocks_4k: u64,
    /// The mean length of a read in sectors of 512 bytes.
    pub read_len_sectors: f64,
    /// The mean length of a write in sectors of 512 bytes.
    pub write_len_sectors: f64,
    /// The part of reads and writes that begin and end at a block's border.
    pub aligned_ratio: f64,
    /// From the first arrival to the last.
    pub duration_seconds: f64,
    /// Requests by duration.
    pub requests_per_second: f64,
    /// What was mended in the trace.
    pub irregularities: Irregularities,
    /// The address range: the end of the highest byte read or written.
    pub range_bytes: u64,
    /// The address range in GB.
    pub range_gb: f64,
    /// The address range in zones of 256 MiB, rounded up.
    pub range_zones: u64,
    /// From the lowest byte read or written to the end of the highest.
    pub span_bytes: u64,
    /// Distinct blocks read or written.
    pub footprint_blocks: u64,
    /// Distinct blocks read.
    pub footprint_read_blocks: u64,
    /// Distinct blocks written.
    pub footprint_written_blocks: u64,
    /// Distinct blocks written, in GB.
    pub footprint_gb: f64,
    /// The part of block writes whose block was written before.
    pub update_ratio: f64,
    /// The part of distinct written blocks that was written more than once.
    pub hot_lba_share: f64,
    /// The part of block writes whose block is written more than once in the whole trace.
    pub hot_write_share: f64,
    /// Where writes land within windows of 1024 distinct blocks.
    pub window_1024: WindowMeans,
    /// Where writes land within windows of 4096 distinct blocks.
    pub window_4096: WindowMeans,
    /// How far requests lie from one another.
    pub jumps: JumpShares,
    /// Distinct offsets at which reads and writes start.
    pub unique_offsets: u64,
    /// Miss ratios of caches over start offsets, by size.
    #[serde(flatten, serialize_with = "caches::by_name")]
    pub miss: Vec<MissRatios>,
    /// How long blocks wait for their next write, counted in other blocks written.
    pub update_period: UpdatePeriods,
}

/// What is asked of a trace.
#[derive(Clone, PartialEq, Debug)]
pub struct StatisticsOptions {
    /// Sizes of caches, in percent of the distinct start offsets.
    pub caches: Vec<f64>,
    /// The buffer that update periods are set against. A percentage is of the address range.
    pub buffer: BufferSize,
}

impl Default for StatisticsOptions {
    fn default() -> Self {
        Self { caches: vec![10.0], buffer: BufferSize::Percent(1.0) }
    }
}

/// What one pass over a trace leaves to compute statistics from.
pub struct Collection {
    sums: RequestSums,
    irregularities: Irregularities,
    footprint: [u64; 3],
    updates: Updates,
    windows: (WindowMeans, WindowMeans),
    jumps: JumpShares,
    offsets: Sequence,
}

impl Collection {
    /// Reads `source` to its end.
    ///
    /// # Errors
    /// When the trace cannot be read, or has more requests or blocks than can be numbered.
    pub fn of(source: &mut dyn TraceSource) -> Result<Self, TraceError> {
        let mut gathered = Gathered::default();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            source.fill(&mut batch, BATCH)?;
            if batch.is_empty() {
                break;
            }
            gathered.add(&batch).map_err(|TooMany { what, most }| {
                let file = source.info().name.clone();
                TraceError::TooMany { file, what, most }
            })?;
        }
        Ok(gathered.collection(source.irregularities()))
    }

    /// How many requests the caches of `options` are simulated on.
    #[must_use]
    pub fn cache_requests(&self, options: &StatisticsOptions) -> u64 {
        self.offsets.numbers.len() as u64 * options.caches.len() as u64 * MissRatios::POLICIES
    }

    /// The statistics. `watch` is told now and then on how many more requests caches were simulated, and can stop that.
    ///
    /// # Errors
    /// Only the errors of `watch`.
    pub fn statistics<E>(
        &self,
        options: &StatisticsOptions,
        watch: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<TraceStatistics, E> {
        let ratios = options.caches.iter().map(|&percent| MissRatios::of(&self.offsets, percent, watch));
        let miss = ratios.collect::<Result<_, _>>()?;
        let RequestSums { requests, reads, writes, aligned, span, duration_ns } = &self.sums;
        let [footprint_blocks, footprint_read_blocks, footprint_written_blocks] = self.footprint;
        let written = self.updates.counts();
        let (lowest, range_bytes) = span.unwrap_or_default();
        let duration_seconds = *duration_ns as f64 / 1e9;
        Ok(TraceStatistics {
            requests: *requests,
            reads: reads.requests,
            writes: writes.requests,
            trims: requests - reads.requests - writes.requests,
            write_ratio: ratio(writes.requests, reads.requests + writes.requests),
            read_bytes: reads.bytes,
            written_bytes: writes.bytes,
            read_gib: reads.bytes as f64 / GIB,
            written_gib: writes.bytes as f64 / GIB,
            blocks_4k: reads.blocks + writes.blocks,
            written_blocks_4k: writes.blocks,
            read_len_sectors: reads.mean_sectors(),
            write_len_sectors: writes.mean_sectors(),
            aligned_ratio: ratio(*aligned, reads.requests + writes.requests),
            duration_seconds,
            requests_per_second: if *duration_ns == 0 { 0.0 } else { *requests as f64 / duration_seconds },
            irregularities: self.irregularities,
            range_bytes,
            range_gb: range_bytes as f64 / GB,
            range_zones: range_bytes.div_ceil(ZONE_BYTES),
            span_bytes: range_bytes - lowest,
            footprint_blocks,
            footprint_read_blocks,
            footprint_written_blocks,
            footprint_gb: footprint_written_blocks as f64 * f64::from(BLOCK_BYTES) / GB,
            update_ratio: ratio(written.writes - footprint_written_blocks, written.writes),
            hot_lba_share: ratio(written.hot_blocks, footprint_written_blocks),
            hot_write_share: ratio(written.hot_writes, written.writes),
            window_1024: self.windows.0,
            window_4096: self.windows.1,
            jumps: self.jumps,
            unique_offsets: self.offsets.distinct.into(),
            miss,
            update_period: self.updates.periods(options.buffer.blocks(range_bytes, BLOCK_BYTES)),
        })
    }
}

impl TraceStatistics {
    /// Reads `source` to its end and computes the statistics.
    ///
    /// # Errors
    /// The errors of [`Collection::of`].
    pub fn of(source: &mut dyn TraceSource, options: &StatisticsOptions) -> Result<Self, TraceError> {
        let collection = Collection::of(source)?;
        let Ok(statistics) = collection.statistics::<Infallible>(options, &mut |_| Ok(()));
        Ok(statistics)
    }
}

/// What is kept during the pass.
#[derive(Default)]
struct Gathered {
    sums: RequestSums,
    footprint: Footprint,
    updates: Updates,
    window_1024: Windows<1024>,
    window_4096: Windows<4096>,
    jumps: Jumps,
    offsets: Offsets,
}

/// There are more of something than can be numbered.
struct TooMany {
    what: &'static str,
    most: u64,
}

impl Gathered {
    fn add(&mut self, batch: &[TraceRequest]) -> Result<(), TooMany> {
        if !self.offsets.has_room(batch.len()) {
            return Err(TooMany { what: "requests", most: Sequence::MOST.into() });
        }
        batch.iter().for_each(|request| self.sums.add(request));
        // Apart from the blocks, so that the table's cache misses overlap.
        for request in batch.iter().filter(|request| request.access != Access::Trim) {
            self.offsets.add(request.offset_bytes);
            self.jumps.add(request);
        }
        for ahead in batch.chunks(AHEAD) {
            black_box(self.touch(ahead));
            ahead.iter().try_for_each(|request| self.add_blocks(request))?;
        }
        Ok(())
    }

    /// Loads what the requests' first blocks need, for its effect on the cache: one request after the other would wait
    /// for several cache misses, each for the one before it.
    fn touch(&self, ahead: &[TraceRequest]) -> u64 {
        let first = |request: &TraceRequest| request.blocks(BLOCK_BYTES).start;
        self.updates.touch(&self.footprint.numbers(ahead.iter().map(first)))
    }

    #[inline]
    fn add_blocks(&mut self, request: &TraceRequest) -> Result<(), TooMany> {
        let at = request.blocks(BLOCK_BYTES);
        if !self.footprint.has_room(at) || !self.updates.has_room(at.blocks) {
            return Err(TooMany { what: "distinct blocks", most: Updates::MOST.into() });
        }
        match request.access {
            Access::Read => self.footprint.read(at),
            Access::Write => {
                self.footprint.write(at, |number| self.updates.write(number));
                self.window_1024.write(at);
                self.window_4096.write(at);
            }
            Access::Trim => {}
        }
        Ok(())
    }

    fn collection(self, irregularities: Irregularities) -> Collection {
        let Footprint { touched, read, written, .. } = self.footprint;
        Collection {
            sums: self.sums,
            irregularities,
            footprint: [touched, read, written],
            updates: self.updates,
            windows: (self.window_1024.means(), self.window_4096.means()),
            jumps: self.jumps.shares(),
            offsets: self.offsets.sequence(),
        }
    }
}

impl Sums {
    fn mean_sectors(&self) -> f64 {
        ratio(self.bytes, self.requests) / SECTOR_BYTES
    }
}

/// `part` by `whole`, 0 without a whole.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
