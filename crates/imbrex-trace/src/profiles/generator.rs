//! The generator of a profile's requests.
//!
//! Per request the numbers are drawn in this order, which is part of the promise that a seed gives the same requests
//! everywhere: the gap to its predecessor, the access, the zone, then for the first of a run of new extents the length of
//! the next run, for an old one which it is.

use super::allocator::{Area, Kind, areas};
use super::growth::{Growth, Touch};
use super::pool::{CompactExtent, Pool};
use super::streams::{Course, Streams};
use super::volume::BLOCK_BYTES;
use super::{Model, Profile, Volume};
use crate::synthetic::arrivals::Arrivals;
use crate::synthetic::random::Random;
use crate::synthetic::{ArrivalSpec, BurstSpec};
use crate::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};
use imbrex_core::block::Access;

/// Near extents lie within this share of the distinct offsets, so that a cache of a tenth of them holds all near ones.
const NEAR_SHARE: f64 = 0.08;

const BURSTS: BurstSpec = BurstSpec { burst_ms: 3_000.0, pause_ms: 9_000.0 };

/// Generates the requests of a [`Profile`]. It keeps 8 bytes for each distinct extent that may be touched again, at most
/// as much for each of the runs touched last, and some 250 bytes for each zone of the range.
pub struct ProfileSource {
    info: TraceInfo,
    volume: Volume,
    model: Model,
    random: Random,
    left: u64,
    arrivals: Arrivals,
    streams: Streams,
    /// Where written extents lie, and the others.
    areas: [Area; 2],
    hot: Pool,
    read: Pool,
    new_writes: Growth,
    new_reads: Growth,
    /// What the present run of new writes consists of.
    writing: Kind,
    /// New extents written.
    written: u64,
    /// The zone that the last new read came to.
    reading: u32,
}

impl ProfileSource {
    /// A generator at its first request.
    pub fn new(profile: &Profile) -> Result<Self, TraceError> {
        let volume = Volume::of(profile)?;
        let model = profile.model;
        let mut random = Random::new(profile.seed);
        let near = NEAR_SHARE * volume.unique_offsets();
        let new_reads = volume.new_read_share;
        let reads_of_written = (1.0 - volume.write_ratio) * (1.0 - new_reads) * model.reads_of_written;
        let of_written = volume.write_ratio + reads_of_written;
        let growth = |part: f64, new: f64| {
            let requests = volume.requests as f64 * part;
            Growth::new(requests, requests * new, model.growth, model.run_extents)
        };
        let areas = areas(&volume, &model, &mut random);
        let [written, others] = &areas;
        let read_extents = volume.requests as f64 * (1.0 - volume.write_ratio) * new_reads;
        Ok(Self {
            info: TraceInfo {
                name: profile.name.clone(),
                format: TraceFormat::Synthetic,
                compression: Compression::None,
                synthetic: true,
            },
            left: volume.requests,
            arrivals: Arrivals::new(&ArrivalSpec { mean_rate: volume.rate, bursts: Some(BURSTS) }),
            hot: Pool::new(near * of_written, written.ranks(), &model),
            read: Pool::new(near * (1.0 - of_written), others.ranks(), &model),
            streams: Streams::new(volume.write_ratio, near * (1.0 - of_written), read_extents / others.zones(), &model),
            areas,
            new_writes: growth(volume.write_ratio, volume.new_write_share),
            new_reads: growth(1.0 - volume.write_ratio, new_reads),
            writing: Kind::Hot,
            written: 0,
            reading: 0,
            volume,
            model,
            random,
        })
    }

    #[inline]
    fn next(&mut self) -> TraceRequest {
        let arrival_ns = self.arrivals.next(&mut self.random);
        let course = self.streams.next(&self.areas, [&self.hot, &self.read], &mut self.random);
        let extent = if course.access == Access::Write { self.write(&course) } else { self.read(&course) };
        let offset_bytes = u64::from(extent.block) * BLOCK_BYTES;
        let bytes = u32::from(extent.blocks) * BLOCK_BYTES as u32;
        TraceRequest { arrival_ns, offset_bytes, bytes, access: course.access }
    }

    #[inline]
    fn write(&mut self, course: &Course) -> CompactExtent {
        match self.new_writes.next(&mut self.random) {
            Touch::Old if !self.hot.is_empty() => {
                return self.hot.touch(self.hot.zone_like(course.old), &self.model, &mut self.random);
            }
            Touch::New { first: false } => {}
            _ => self.writing = self.kind(),
        }
        let random = &mut self.random;
        let lengths = if self.writing == Kind::Hot { &mut self.volume.hot } else { &mut self.volume.once };
        let (zone, extent) = self.areas[0].allocate(course.zone, self.writing, lengths.next(), random);
        self.written += 1;
        if self.writing == Kind::Hot {
            self.hot.add(zone, extent, &self.model, random);
        }
        extent
    }

    /// What the next run of new writes consists of. A volume begins with something to write again.
    fn kind(&self) -> Kind {
        let hot = self.hot.len() as f64 <= self.volume.hot_share * self.written as f64;
        if hot { Kind::Hot } else { Kind::Once }
    }

    #[inline]
    fn read(&mut self, course: &Course) -> CompactExtent {
        let random = &mut self.random;
        let new = self.new_reads.next(random) != Touch::Old;
        let pool = if course.written { &mut self.hot } else { &mut self.read };
        if !new && !pool.is_empty() {
            return pool.touch(pool.zone_like(course.old), &self.model, random);
        }
        // What is read only is new in the zone that it came to last if others are read now.
        let zone = if course.written { self.reading } else { course.zone };
        let (zone, extent) = self.areas[1].allocate(zone, Kind::Hot, self.volume.read.next(), random);
        self.reading = zone;
        self.read.add(zone, extent, &self.model, random);
        extent
    }
}

impl TraceSource for ProfileSource {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        debug_assert!(limit > 0);
        batch.clear();
        let count = self.left.min(limit as u64);
        self.left -= count;
        batch.extend((0..count).map(|_| self.next()));
        Ok(())
    }
}
