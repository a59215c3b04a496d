//! A stream that goes to each place once before it begins again.

use std::cmp::Reverse;

use super::random::Random;
use super::shape::{Scatter, Shape};
use imbrex_core::block::Access;

/// Where a sweep has come to.
pub(super) struct Sweep {
    scatter: Scatter,
    /// Bytes of the range that it has gone over, in the order of the shuffle.
    done_bytes: u64,
    /// How many requests are put in order of address before they are made.
    sorted_requests: u32,
    /// Those of them that have not been made, the last one first.
    batch: Vec<(Access, u64, u32)>,
}

impl Sweep {
    pub(super) fn new(scatter: Scatter, sorted_requests: u32) -> Self {
        Self { scatter, done_bytes: 0, sorted_requests, batch: Vec::new() }
    }

    #[inline]
    pub(super) fn next(&mut self, shape: &mut Shape, random: &mut Random) -> (Access, u64, u32) {
        if let Some(request) = self.batch.pop() {
            return request;
        }
        let first = self.advance(shape, random);
        if self.sorted_requests == 1 {
            return first;
        }
        self.batch.push(first);
        for _ in 1..self.sorted_requests {
            let request = self.advance(shape, random);
            self.batch.push(request);
        }
        self.batch.sort_by_key(|(_, offset, _)| Reverse(*offset));
        self.batch.pop().unwrap_or(first)
    }

    /// The next request in the order of the shuffle. It ends where its piece does.
    fn advance(&mut self, shape: &mut Shape, random: &mut Random) -> (Access, u64, u32) {
        let (access, drawn) = shape.draw(random);
        let grain_bytes = shape.range.grain_bytes;
        let (grain, within) = (self.done_bytes / grain_bytes, self.done_bytes % grain_bytes);
        let left = self.scatter.together(grain) * grain_bytes - within;
        let bytes = u64::from(drawn).min(left) as u32;
        let offset = self.scatter.place(grain) * grain_bytes + within;
        self.done_bytes += u64::from(bytes);
        if self.done_bytes == shape.range.grains * grain_bytes {
            self.done_bytes = 0;
        }
        (access, offset, bytes)
    }
}
