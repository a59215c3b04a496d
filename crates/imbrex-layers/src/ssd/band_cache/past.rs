//! Which writes go past the cache.

use imbrex_core::block::{Extent, Lba};
use imbrex_core::space::HomeCosts;

/// Blocks that are written one behind the other before what follows is a stream.
const STREAM: u32 = 1024;

/// How far what is written follows what was written before.
pub(super) struct Past {
    costs: HomeCosts,
    /// Blocks that were written one behind the other.
    stream: u32,
    /// The block behind them.
    end: Lba,
}

impl Past {
    /// Nothing was written.
    pub fn new(costs: HomeCosts) -> Self {
        Self { costs, stream: 0, end: Lba(u64::MAX) }
    }

    /// What was written before is forgotten.
    pub fn clear(&mut self) {
        (self.stream, self.end) = (0, Lba(u64::MAX));
    }

    /// The host writes `at`, or the rest of what it was writing.
    #[inline]
    pub fn written(&mut self, at: Extent<Lba>) {
        if at.end() == self.end {
            return;
        }
        let before = if at.start == self.end { self.stream } else { 0 };
        (self.stream, self.end) = (before.saturating_add(at.blocks), at.end());
    }

    /// Whether a run that is not cached goes past: as part of a stream, or since a disk comes to it before flash has
    /// programmed it.
    #[inline]
    pub fn takes(&self, run: u32) -> bool {
        !self.costs.rewrites && (run > self.costs.seek_pages || self.stream > STREAM)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SLOW;
    use super::*;

    fn written(costs: HomeCosts, runs: &[(u64, u32)]) -> Past {
        let mut past = Past::new(costs);
        runs.iter().for_each(|&(start, blocks)| past.written(Extent::new(Lba(start), blocks)));
        past
    }

    #[test]
    fn what_goes_on_for_long_is_a_stream() {
        let is_stream = |runs: &[(u64, u32)]| written(SLOW, runs).takes(1);
        assert!(!is_stream(&[(0, 512), (512, 512)]) && is_stream(&[(0, 512), (512, 513)]));
        assert!(!is_stream(&[(0, 1000), (1001, 1000)]), "with a gap");
        assert!(!is_stream(&[(0, 1024), (1000, 24), (1010, 14)]), "the rest of a write is not written twice");
        assert!(is_stream(&[(0, 2000)]));
    }

    #[test]
    fn runs_go_past_that_take_flash_longer_than_a_disk() {
        let takes = |costs: HomeCosts, run| written(costs, &[(0, run)]).takes(run);
        assert!(takes(SLOW, 12) && !takes(SLOW, 11));
        let fast = HomeCosts::default();
        assert!(takes(fast, 501) && !takes(fast, 500));
    }

    #[test]
    fn nothing_goes_past_where_each_write_home_rewrites_a_zone() {
        assert!(!written(HomeCosts { rewrites: true, ..SLOW }, &[(0, 5000)]).takes(5000));
    }
}
