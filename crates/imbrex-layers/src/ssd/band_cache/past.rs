//! Which writes go past the cache.

use imbrex_core::block::{Extent, Lba};

/// Blocks that are written one behind the other before what follows is a stream.
const STREAM: u32 = 1024;
/// The shortest run that goes past a cache that is pressed.
const LONG: u32 = 32;

/// How far what is written follows what was written before.
pub(super) struct Past {
    /// Blocks that were written one behind the other.
    stream: u32,
    /// The block behind them.
    end: Lba,
}

impl Past {
    /// Nothing was written.
    pub fn new() -> Self {
        Self { stream: 0, end: Lba(u64::MAX) }
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

    /// Whether a run that is not cached goes past: as part of a stream, or since it is long.
    #[inline]
    pub fn takes(&self, run: u32, is_pressed: bool) -> bool {
        self.stream > STREAM || (is_pressed && run >= LONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(runs: &[(u64, u32)]) -> Past {
        let mut past = Past::new();
        runs.iter().for_each(|&(start, blocks)| past.written(Extent::new(Lba(start), blocks)));
        past
    }

    #[test]
    fn what_goes_on_for_long_is_a_stream() {
        let is_stream = |runs: &[(u64, u32)]| written(runs).takes(1, false);
        assert!(!is_stream(&[(0, 512), (512, 512)]) && is_stream(&[(0, 512), (512, 513)]));
        assert!(!is_stream(&[(0, 1000), (1001, 1000)]), "with a gap");
        assert!(!is_stream(&[(0, 1024), (1000, 24), (1010, 14)]), "the rest of a write is not written twice");
        assert!(is_stream(&[(0, 2000)]));
    }

    #[test]
    fn long_runs_go_past_a_cache_that_is_pressed() {
        let past = written(&[(0, 100)]);
        assert!(past.takes(32, true) && !past.takes(31, true));
        assert!(!past.takes(1000, false), "there is room");
    }
}
