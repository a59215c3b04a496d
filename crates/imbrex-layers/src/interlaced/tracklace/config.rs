//! The fields of `tracklace` and the order of tracks that they ask for.

use crate::ConfigError;
use crate::interlaced::in_place_tracks::TracksConfig;
use crate::parts::track_order::{Direction, Phase};
use imbrex_core::config::Configuration;
use imbrex_core::tracks::Side;

/// More phases than any disk has a use for.
const MOST_PHASES: u32 = 20;

/// Percent of the blocks that `least_entries` are at most.
const MOST_AT_LEAST: f64 = 25.0;

/// Which way the phases of the order go.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ways {
    ZigZag,
    Inwards,
}

/// What becomes of a buffered block that is written again.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rewrites {
    Place,
    Append,
    Room,
}

/// What is done when the map has no room for another swap.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WhenFull {
    End,
    Replace,
    Gain,
}

/// What lets all requests in again, and keeps them from being held off.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Opens {
    Hit,
    Gain,
}

/// What is needed of a disk on which nothing was written yet.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Valid {
    Allocated,
    Written,
}

#[derive(Clone, Debug, Configuration)]
pub(super) struct TracklaceConfig {
    #[field(flatten)]
    pub tracks: TracksConfig,
    /// phases of the order of tracks: bottom tracks, then half of the top tracks that are left, and again
    #[field(default = 8, samples = [3, 2, 4], paper = 6)]
    pub phases: u32,
    /// which way phases go: every second one outwards, or all inwards (inwards)
    #[field(default = "zig-zag", samples = ["inwards", "zig-zag"])]
    pub direction: Ways,
    /// percent of the disk's blocks that may be buffered and swapped: entries of the map, and size of the Top-Buffer;
    /// 0: neither
    #[field(default = 2.0, samples = [10.0, 25.0, 60.0, 0.0])]
    pub buffer_percent: f64,
    /// blocks that may be buffered and swapped at least, where buffer_percent is not 0 and that is no more than a quarter
    /// of the disk's blocks
    #[field(default = 2_097_152, samples = [0, 100], paper = 0)]
    pub least_entries: u64,
    /// a buffered block that is written again is updated in its place, or appended again (append), or the latter while
    /// half of the log is empty (room)
    #[field(default = "room", samples = ["append", "place", "room"], paper = "place")]
    pub hits: Rewrites,
    /// at least one of this many requests is buffered while that does not pay; a power of two, 1: all
    #[field(default = 1, samples = [1, 2, 4], paper = 128)]
    pub slowest: u32,
    /// what lets in all requests: one write of a buffered block (hit), or half as many as blocks were let in lately, with
    /// which buffering writes less than updates in place (gain)
    #[field(default = "hit", samples = ["gain", "hit"])]
    pub opens: Opens,
    /// part of each log that idle time keeps empty; 0: idle time is not used
    #[field(default = 0.25, samples = [0.5, 0.0], paper = 0.0)]
    pub idle_free: f64,
    /// whether hot bottom blocks are exchanged with cold top blocks when the disk is nearly full
    #[field(default = true, samples = [true, false])]
    pub swap: bool,
    /// when the map has no room for a swap: none is made (end), the pair written longest ago is exchanged back
    /// (replace), or only for blocks that were written more (gain)
    #[field(default = "gain", samples = ["replace", "end", "gain"], paper = "end")]
    pub when_full: WhenFull,
    /// on a full disk, the part of the updates so far that is watched before it is decided which blocks are swapped, at
    /// most buffer_percent of the disk; 1: that much
    #[field(default = 0.25, samples = [0.5, 0.0, 1.0], paper = 1.0)]
    pub watched: f64,
    /// tracks of a virtual frame, within which blocks are moved; 0: no frames
    #[field(default = 0, samples = [0, 3, 7], paper = 32_000)]
    pub frame_tracks: u64,
    /// writes of top tracks in a frame after which the counts that say what is cold are halved; 0: never
    #[field(default = 0, samples = [5, 0, 70])]
    pub halve_after: u64,
    /// of the draws of cold tracks
    #[field(default = 1, samples = [1, 7])]
    pub seed: u64,
    /// whether blocks that were trimmed are saved no more; costs a record of the map for each 64 blocks
    #[field(default = true, samples = [true, false], paper = false)]
    pub trim: bool,
    /// what is to be saved of a new disk: all that is allocated, or what was written (written)
    #[field(default = "allocated", samples = ["written", "allocated"], paper = "allocated")]
    pub valid: Valid,
}

impl TracklaceConfig {
    /// Looks at every value that the type does not.
    pub fn check(&self, layer: &'static str) -> Result<(), ConfigError> {
        let wrong = |reason: String| Err(ConfigError::Field { layer, reason });
        if !(2..=MOST_PHASES).contains(&self.phases) {
            return wrong(format!("phases is {}; choose from 2 to {MOST_PHASES}", self.phases));
        }
        if !(0.0..=100.0).contains(&self.buffer_percent) {
            return wrong(format!("buffer_percent is {}; choose from 0 to 100", self.buffer_percent));
        }
        if !(0.0..=1.0).contains(&self.watched) {
            return wrong(format!("watched is {}; choose from 0 to 1", self.watched));
        }
        if !(0.0..=1.0).contains(&self.idle_free) {
            return wrong(format!("idle_free is {}; choose from 0 to 1", self.idle_free));
        }
        if !self.slowest.is_power_of_two() {
            return wrong(format!("slowest is {}; choose a power of two", self.slowest));
        }
        if self.valid == Valid::Written && !self.trim {
            return wrong(
                "valid = \"written\" keeps track of what was written as trim does; set trim to true".to_owned(),
            );
        }
        Ok(())
    }

    /// Percent of so many blocks that may be buffered and swapped.
    pub fn budget_percent(&self, blocks: u64) -> f64 {
        if self.buffer_percent == 0.0 {
            return 0.0;
        }
        let least = self.least_entries as f64 * 100.0 / blocks as f64;
        self.buffer_percent.max(least.min(MOST_AT_LEAST))
    }

    /// All bottom tracks; then, phase by phase, every second one of the top tracks that are left; then the rest.
    pub fn order(&self) -> Vec<Phase> {
        let bottoms = Phase { side: Side::Bottom, first: 0, step: 1, direction: Direction::Inwards };
        let mut phases = vec![bottoms];
        for phase in 2..=self.phases {
            let is_last = phase == self.phases;
            let step = 1 << (if is_last { phase - 2 } else { phase - 1 });
            let first = (1 << (phase - 2)) - 1;
            let outwards = self.direction == Ways::ZigZag && phase % 2 == 0;
            let direction = if outwards { Direction::Outwards } else { Direction::Inwards };
            phases.push(Phase { side: Side::Top, first, step, direction });
        }
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::track_order::TrackOrder;
    use imbrex_core::tracks::{Overlap, Tracks};

    fn order(phases: u32, bottom_tracks: u32) -> TrackOrder {
        let tracks = Tracks {
            conventional_tracks: 0,
            groups: 1,
            bottom_tracks,
            top_tracks: bottom_tracks,
            bottom_blocks: 500,
            top_blocks: 400,
            skew_blocks: 0,
            overlap: Overlap::Angle,
        };
        TrackOrder::new(tracks, &TracklaceConfig { phases, ..TracklaceConfig::default() }.order())
    }

    /// TrackLace §3.1 and §4.1.3: where phases end, and which way they go.
    #[test]
    fn phases_take_half_of_the_top_tracks_that_are_left() {
        let three = order(3, 12);
        let at = |lba| (three.locate(lba).0.side, three.locate(lba).0.index);
        assert_eq!((at(0), at(5999)), ((Side::Bottom, 0), (Side::Bottom, 11)));
        assert_eq!((at(6000), at(8399)), ((Side::Top, 10), (Side::Top, 0)), "even tracks, outwards");
        assert_eq!((at(8400), at(10_799)), ((Side::Top, 1), (Side::Top, 11)));
        let six = order(6, 64);
        let blocks = 64 * 900;
        let tops: Vec<u32> = (0..64).map(|i| six.locate(32_000 + i * 400).0.index).collect();
        assert_eq!(tops[..2], [62, 60]);
        assert_eq!(tops[32..34], [1, 5]);
        assert_eq!(tops[48..50], [59, 51]);
        assert_eq!(tops[56..60], [7, 23, 39, 55]);
        assert_eq!(tops[60..], [63, 47, 31, 15]);
        let ends = [80, 112, 128, 136, 140, 144].map(|part| part * blocks / 144);
        let percent = ends.map(|end| (end * 10_000 + blocks / 2) / blocks);
        assert_eq!(
            percent,
            [5556, 7778, 8889, 9444, 9722, 10_000],
            "where the six phases end, in hundredths of a percent"
        );
        let second = |end: u64| six.locate(end - 1).0.index;
        assert_eq!((second(ends[1]), second(ends[2]), second(ends[3])), (0, 61, 3));
    }
}
