//! The generator of a profile's requests.
//!
//! Per request the numbers are drawn in this order, which is part of the promise that a seed gives the same requests
//! everywhere: the gap to its predecessor, the access, then for the first of a run of new extents the length of the
//! next run, for an old one which it is.

use super::growth::{Growth, Touch};
use super::places::{Kind, Places};
use super::pool::{Place, Pool};
use super::volume::BLOCK_BYTES;
use super::{Model, Profile, Volume};
use crate::block::Access;
use crate::trace::synthetic::arrivals::Arrivals;
use crate::trace::synthetic::random::Random;
use crate::trace::synthetic::{ArrivalSpec, BurstSpec};
use crate::trace::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};

/// Near extents lie within this share of the distinct offsets, so that a cache of a tenth of them holds all near ones.
const NEAR_SHARE: f64 = 0.08;

const BURSTS: BurstSpec = BurstSpec { burst_ms: 3_000.0, pause_ms: 9_000.0 };

/// Generates the requests of a [`Profile`]. It keeps 8 bytes for each distinct extent that may be touched again.
pub struct ProfileSource {
    info: TraceInfo,
    volume: Volume,
    model: Model,
    random: Random,
    left: u64,
    arrivals: Arrivals,
    places: Places,
    hot: Pool,
    read: Pool,
    new_writes: Growth,
    new_reads: Growth,
    /// What the present run of new writes consists of.
    writing: Kind,
    /// New extents written.
    written: u64,
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
        Ok(Self {
            info: TraceInfo {
                name: profile.name.clone(),
                format: TraceFormat::Synthetic,
                compression: Compression::None,
                synthetic: true,
            },
            left: volume.requests,
            arrivals: Arrivals::new(&ArrivalSpec { mean_rate: volume.rate, bursts: Some(BURSTS) }),
            places: Places::new(&volume, &model, &mut random),
            hot: Pool::new((near * of_written) as usize),
            read: Pool::new((near * (1.0 - of_written)) as usize),
            new_writes: growth(volume.write_ratio, volume.new_write_share),
            new_reads: growth(1.0 - volume.write_ratio, new_reads),
            writing: Kind::Hot,
            written: 0,
            volume,
            model,
            random,
        })
    }

    #[inline]
    fn next(&mut self) -> TraceRequest {
        let arrival_ns = self.arrivals.next(&mut self.random);
        let write = self.random.chance(self.volume.write_ratio);
        let (access, place) = if write { (Access::Write, self.write()) } else { (Access::Read, self.read()) };
        let offset_bytes = u64::from(place.block) * BLOCK_BYTES;
        TraceRequest { arrival_ns, offset_bytes, bytes: u32::from(place.blocks) * BLOCK_BYTES as u32, access }
    }

    #[inline]
    fn write(&mut self) -> Place {
        let random = &mut self.random;
        match self.new_writes.next(random) {
            Touch::Old if !self.hot.is_empty() => return self.hot.touch_any(&self.model, random),
            Touch::New { first: false } => {}
            _ => self.writing = self.kind(),
        }
        let lengths = if self.writing == Kind::Hot { &mut self.volume.hot } else { &mut self.volume.once };
        let place = self.places.place(self.writing, lengths.next());
        self.written += 1;
        if self.writing == Kind::Hot {
            self.hot.add(place);
        }
        place
    }

    /// What the next run of new writes consists of. A volume begins with something to write again.
    fn kind(&self) -> Kind {
        let hot = self.hot.len() as f64 <= self.volume.hot_share * self.written as f64;
        if hot { Kind::Hot } else { Kind::Once }
    }

    #[inline]
    fn read(&mut self) -> Place {
        let random = &mut self.random;
        if self.new_reads.next(random) == Touch::Old {
            let pool = if random.chance(self.model.reads_of_written) { &mut self.hot } else { &mut self.read };
            if !pool.is_empty() {
                return pool.touch_any(&self.model, random);
            }
        }
        let place = self.places.place(Kind::Read, self.volume.read.next());
        self.read.add(place);
        place
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
