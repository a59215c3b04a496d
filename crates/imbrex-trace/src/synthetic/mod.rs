//! The generator of synthetic workloads.
//!
//! One specification and one seed give the same requests on every machine. Per request, the numbers are drawn in this
//! order, which is part of that promise: the gap to its predecessor, the stream, the access, the size, the place. A
//! sequential run draws access, size and place once, before its length; a sweep whose requests are sorted draws access
//! and size of as many as are sorted together at the first of them.

pub(super) mod arrivals;
pub(super) mod random;
mod shape;
mod spec;
mod streams;
mod sweep;
#[cfg(test)]
mod tests;
mod zipf;

use arrivals::Arrivals;
use random::{Random, Weighted};
pub use spec::{ArrivalSpec, BurstSpec, Pattern, SizeShare, StreamSpec, SyntheticSpec};
use streams::Stream;

use super::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};

/// Generates the requests of a [`SyntheticSpec`].
pub struct Generator {
    info: TraceInfo,
    random: Random,
    requests: u64,
    requests_left: u64,
    arrivals: Arrivals,
    streams: Weighted<Stream>,
}

impl Generator {
    /// A generator at its first request.
    pub fn new(spec: &SyntheticSpec) -> Result<Self, TraceError> {
        spec.check()?;
        Ok(Self {
            info: TraceInfo {
                name: spec.name.clone(),
                format: TraceFormat::Synthetic,
                compression: Compression::None,
                synthetic: true,
            },
            random: Random::new(spec.seed),
            requests: spec.requests,
            requests_left: spec.requests,
            arrivals: Arrivals::new(&spec.arrivals()),
            streams: Weighted::new(spec.streams.iter().map(|s| (spec.weight_of(s), Stream::new(spec, s)))),
        })
    }

    #[inline]
    fn next(&mut self) -> TraceRequest {
        let random = &mut self.random;
        let arrival_ns = self.arrivals.next(random);
        let (access, offset_bytes, bytes) = self.streams.pick(random).next(random);
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

    fn share_done(&self) -> Option<f64> {
        Some(1.0 - self.requests_left as f64 / self.requests.max(1) as f64)
    }
}
