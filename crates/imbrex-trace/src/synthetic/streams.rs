//! Where requests go, stream by stream.

use super::random::Random;
use super::shape::{Range, Scatter, Shape};
use super::spec::{Pattern, StreamSpec, SyntheticSpec};
use super::sweep::Sweep;
use super::zipf::Zipf;
use imbrex_core::block::Access;

/// A stream and its state.
pub(super) struct Stream {
    shape: Shape,
    places: Places,
}

/// Where the requests of a stream go.
enum Places {
    Uniform,
    HotCold { hot_grains: u64, hot_accesses: f64, scatter: Scatter },
    Zipf { ranks: Zipf, scatter: Scatter },
    Sequential(Run),
    Sweep(Sweep),
}

impl Stream {
    pub(super) fn new(spec: &SyntheticSpec, stream: &StreamSpec) -> Self {
        let shape = Shape::new(spec, stream);
        Self { places: Places::new(&stream.pattern, &shape.range), shape }
    }

    /// The access, first byte and length of the stream's next request.
    #[inline]
    pub(super) fn next(&mut self, random: &mut Random) -> (Access, u64, u32) {
        let shape = &mut self.shape;
        match &mut self.places {
            Places::Sequential(run) => return run.next(shape, random),
            Places::Sweep(sweep) => return sweep.next(shape, random),
            _ => {}
        }
        let (access, bytes) = shape.draw(random);
        let grain = self.places.draw(shape.range.grains, random);
        (access, shape.range.offset(grain, bytes), bytes)
    }
}

impl Places {
    fn new(pattern: &Pattern, range: &Range) -> Self {
        match *pattern {
            Pattern::Uniform => Self::Uniform,
            Pattern::HotCold { hot_space, hot_accesses, scatter_kib } => {
                let hot_grains = ((range.grains as f64 * hot_space) as u64).clamp(1, range.grains - 1);
                Self::HotCold { hot_grains, hot_accesses, scatter: Scatter::new(range, scatter_kib) }
            }
            Pattern::Zipf { theta, scatter_kib } => {
                Self::Zipf { ranks: Zipf::new(range.grains, theta), scatter: Scatter::new(range, scatter_kib) }
            }
            Pattern::Sequential { run_requests } => Self::Sequential(Run::new(run_requests)),
            Pattern::Sweep { scatter_kib, sorted_requests } => {
                Self::Sweep(Sweep::new(Scatter::new(range, scatter_kib), sorted_requests))
            }
        }
    }

    /// The grain that the next request begins with, where each is drawn by itself.
    #[inline]
    fn draw(&self, grains: u64, random: &mut Random) -> u64 {
        match self {
            Self::Uniform | Self::Sequential(_) | Self::Sweep(_) => random.below(grains),
            Self::HotCold { hot_grains, hot_accesses, scatter } => {
                let hot = random.chance(*hot_accesses);
                let rank =
                    if hot { random.below(*hot_grains) } else { *hot_grains + random.below(grains - *hot_grains) };
                scatter.place(rank)
            }
            Self::Zipf { ranks, scatter } => scatter.place(ranks.draw(random)),
        }
    }
}

/// A run of adjacent requests.
pub(super) struct Run {
    mean_requests: f64,
    requests_left: u64,
    access: Access,
    bytes: u32,
    next_offset: u64,
}

impl Run {
    /// At the end of a run.
    fn new(mean_requests: f64) -> Self {
        Self { mean_requests, requests_left: 0, access: Access::Read, bytes: 0, next_offset: 0 }
    }

    #[inline]
    fn next(&mut self, shape: &mut Shape, random: &mut Random) -> (Access, u64, u32) {
        if self.requests_left == 0 || self.next_offset + u64::from(self.bytes) > shape.range.bytes {
            (self.access, self.bytes) = shape.draw(random);
            self.next_offset = shape.range.offset(random.below(shape.range.grains), self.bytes);
            self.requests_left = random.geometric(self.mean_requests);
        }
        let offset = self.next_offset;
        self.requests_left -= 1;
        self.next_offset += u64::from(self.bytes);
        (self.access, offset, self.bytes)
    }
}
