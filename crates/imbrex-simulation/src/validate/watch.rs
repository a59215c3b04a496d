//! What is counted between the rewrites of two bands.

use crate::replay::{self, Observer};
use imbrex_core::plan::Why;

/// What has been counted by the end of a window.
#[derive(Copy, Clone, Default)]
pub(super) struct Totals {
    pub writes: u64,
    /// Blocks that the media took from what is above them: of a stack, from the host and from the cache.
    pub taken: u64,
    pub rmw: u64,
    pub in_place: u64,
    pub scratch: u64,
}

/// Notes the totals when a number of bands have been rewritten, and again later.
#[derive(Default)]
pub(super) struct Watch {
    from: u64,
    to: u64,
    now: Totals,
    pub first: Totals,
    pub last: Totals,
}

impl Watch {
    /// From the rewrite of the `from`-th band to that of the `to`-th.
    pub(super) fn new(from: u64, to: u64) -> Self {
        Self { from, to, ..Self::default() }
    }
}

impl Observer for Watch {
    fn row(&mut self, row: &replay::WindowOutcome) {
        self.now.writes += row.requests;
        self.now.taken += row.media_write_blocks.get(Why::Host);
        self.now.rmw += row.rmw;
        self.now.in_place += row.media_write_blocks.get(Why::Destage);
        self.now.scratch += row.media_write_blocks.get(Why::Migrate);
        if self.now.rmw <= self.from {
            self.first = self.now;
        }
        if self.now.rmw <= self.to {
            self.last = self.now;
        }
    }
}
