//! The generator of synthetic workloads.
//!
//! One specification and one seed give the same requests on every machine. Per request, the numbers are drawn in this
//! order, which is part of that promise: the gap to its predecessor, the stream, the access, the size, the place. A
//! sequential run draws access, size and place once, before its length.

mod place;
mod random;
mod spec;
#[cfg(test)]
mod tests;
mod zipf;

use place::{Range, Sampler};
use random::{Random, Weighted};
pub use spec::{ArrivalSpec, BurstSpec, Pattern, SizeShare, StreamSpec, SyntheticSpec};

use super::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};
use crate::block::Access;

/// Generates the requests of a [`SyntheticSpec`].
pub struct Generator {
    info: TraceInfo,
    random: Random,
    requests_left: u64,
    arrivals: Arrivals,
    shape: Shape,
    streams: Weighted<Stream>,
}

impl Generator {
    /// A generator at its first request.
    pub fn new(spec: &SyntheticSpec) -> Result<Self, TraceError> {
        spec.check()?;
        let range = Range::new(spec);
        Ok(Self {
            info: TraceInfo { name: spec.name.clone(), format: TraceFormat::Synthetic, compression: Compression::None },
            random: Random::new(spec.seed),
            requests_left: spec.requests,
            arrivals: Arrivals::new(&spec.arrivals),
            shape: Shape {
                range,
                write_ratio: spec.write_ratio,
                sizes: Weighted::new(spec.sizes.iter().map(|size| (size.weight, size.kib << 10))),
            },
            streams: Weighted::new(spec.streams.iter().map(|s| (s.weight, Stream::new(&s.pattern, &range)))),
        })
    }

    #[inline]
    fn next(&mut self) -> TraceRequest {
        let random = &mut self.random;
        let arrival_ns = self.arrivals.next(random);
        let stream = self.streams.draw(random);
        let (access, offset_bytes, bytes) = self.streams.item(stream).next(&mut self.shape, random);
        TraceRequest { arrival_ns, offset_bytes, bytes, access }
    }
}

impl TraceSource for Generator {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        debug_assert!(limit > 0);
        batch.clear();
        let count = self.requests_left.min(limit as u64);
        self.requests_left -= count;
        batch.extend((0..count).map(|_| self.next()));
        Ok(())
    }
}

/// What the requests of all streams share.
struct Shape {
    range: Range,
    write_ratio: f64,
    sizes: Weighted<u32>,
}

impl Shape {
    #[inline]
    fn draw(&mut self, random: &mut Random) -> (Access, u32) {
        let access = if random.chance(self.write_ratio) { Access::Write } else { Access::Read };
        let size = self.sizes.draw(random);
        (access, *self.sizes.item(size))
    }
}

/// A stream and its state.
enum Stream {
    Scattered(Sampler),
    Runs { mean_requests: f64, left: u64, access: Access, bytes: u32, next_offset: u64 },
}

impl Stream {
    fn new(pattern: &Pattern, range: &Range) -> Self {
        match (Sampler::new(pattern, range), pattern) {
            (None, &Pattern::Sequential { run_requests: mean_requests }) => {
                Self::Runs { mean_requests, left: 0, access: Access::Read, bytes: 0, next_offset: 0 }
            }
            (sampler, _) => Self::Scattered(sampler.unwrap_or(Sampler::Uniform)),
        }
    }

    #[inline]
    fn next(&mut self, shape: &mut Shape, random: &mut Random) -> (Access, u64, u32) {
        match self {
            Self::Scattered(sampler) => {
                let (access, bytes) = shape.draw(random);
                let grain = sampler.draw(&shape.range, random);
                (access, shape.range.offset(grain, bytes), bytes)
            }
            Self::Runs { mean_requests, left, access, bytes, next_offset } => {
                if *left == 0 || !shape.range.holds(*next_offset + u64::from(*bytes)) {
                    (*access, *bytes) = shape.draw(random);
                    *next_offset = shape.range.offset(shape.range.anywhere(random), *bytes);
                    *left = random.geometric(*mean_requests);
                }
                let offset = *next_offset;
                *left -= 1;
                *next_offset += u64::from(*bytes);
                (*access, offset, *bytes)
            }
        }
    }
}

/// The clock of arrivals; the first request arrives at 0.
struct Arrivals {
    now_ns: Option<u64>,
    /// Mean gap within a burst.
    gap_ns: f64,
    bursts: Option<Bursts>,
}

struct Bursts {
    burst_ns: f64,
    pause_ns: f64,
    left_ns: f64,
}

impl Arrivals {
    fn new(spec: &ArrivalSpec) -> Self {
        let bursts = spec.bursts.map(|bursts| Bursts {
            burst_ns: bursts.burst_ms * 1e6,
            pause_ns: bursts.pause_ms * 1e6,
            left_ns: 0.0,
        });
        let active = bursts.as_ref().map_or(1.0, |b| b.burst_ns / (b.burst_ns + b.pause_ns));
        Self { now_ns: None, gap_ns: 1e9 / spec.mean_rate * active, bursts }
    }

    /// When the next request arrives. Time that does not fit stands still, after 584 years.
    #[inline]
    fn next(&mut self, random: &mut Random) -> u64 {
        let now_ns = match self.now_ns {
            None => {
                if let Some(bursts) = &mut self.bursts {
                    bursts.left_ns = random.exponential(bursts.burst_ns);
                }
                0
            }
            Some(now_ns) => {
                let mut gap_ns = random.exponential(self.gap_ns);
                if let Some(bursts) = &mut self.bursts {
                    gap_ns += bursts.pauses_within(gap_ns, random);
                }
                now_ns.saturating_add((gap_ns + 0.5) as u64)
            }
        };
        self.now_ns = Some(now_ns);
        now_ns
    }
}

impl Bursts {
    /// How long nothing arrives while `active_ns` of bursts go by.
    #[inline]
    fn pauses_within(&mut self, mut active_ns: f64, random: &mut Random) -> f64 {
        let mut paused_ns = 0.0;
        while active_ns > self.left_ns {
            active_ns -= self.left_ns;
            paused_ns += random.exponential(self.pause_ns);
            self.left_ns = random.exponential(self.burst_ns);
        }
        self.left_ns -= active_ns;
        paused_ns
    }
}
