//! The tracks of an interlaced disk: where they lie, and which blocks of top tracks lie over blocks of a bottom track.
//!
//! Blocks are numbered as the tracks lie on the surface, from the outside inwards: a few conventional tracks, and then
//! groups, each a bottom track, a top track, the next bottom track and so on. Top track *j* of a group covers the
//! boundary of its bottom tracks *j* and *j + 1*, so bottom track *i* lies under top tracks *i − 1* and *i*. Groups do
//! not touch each other: the first bottom track of a group has one neighbour, and so has the last if it has no top
//! track after it.
//!
//! A bottom track and the top track after it begin at the same angle; each such pair begins `skew_blocks` top blocks
//! later than the pair before. So a bottom block lies under the same arc of both its neighbours, but not under the same
//! block numbers.

use serde::{Deserialize, Serialize};

/// The geometry of an interlaced disk, all of it. A checked one has at least one group of at least one bottom track.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tracks {
    /// Tracks at the outer edge, each as long as a bottom track, that nothing lies over.
    #[serde(default)]
    pub conventional_tracks: u32,
    /// How many groups.
    pub groups: u32,
    /// Bottom tracks of a group.
    pub bottom_tracks: u32,
    /// Top tracks of a group: as many as bottom tracks, or one less.
    pub top_tracks: u32,
    /// Blocks of a bottom track.
    pub bottom_blocks: u32,
    /// Blocks of a top track, at most those of a bottom track.
    pub top_blocks: u32,
    /// By how many top blocks a bottom track and its top track begin later than those before them.
    #[serde(default)]
    pub skew_blocks: u32,
    /// What a write to a bottom track destroys.
    #[serde(default)]
    pub overlap: Overlap,
}

/// What a write to a bottom track destroys on each of the top tracks over it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// Every block of which a byte lies over the arc that is written.
    #[default]
    Angle,
    /// One block for each block written: the one that lies over its beginning.
    Block,
    /// The whole track.
    Track,
}

/// Which of the two kinds a track is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Side {
    /// Wide and dense; a write to it destroys what lies over it.
    Bottom,
    /// Narrow; written without harm.
    Top,
}

/// A track of a group.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Track {
    /// The group.
    pub group: u32,
    /// Which kind.
    pub side: Side,
    /// Its number among those of its kind in the group.
    pub index: u32,
}

impl Tracks {
    /// Blocks of a track of that kind.
    #[inline]
    #[must_use]
    pub const fn track_blocks(&self, side: Side) -> u32 {
        match side {
            Side::Bottom => self.bottom_blocks,
            Side::Top => self.top_blocks,
        }
    }

    /// Tracks of that kind in a group.
    #[must_use]
    #[inline]
    pub const fn tracks_of(&self, side: Side) -> u32 {
        match side {
            Side::Bottom => self.bottom_tracks,
            Side::Top => self.top_tracks,
        }
    }

    /// Blocks of the conventional tracks, which come first.
    #[inline]
    #[must_use]
    pub const fn conventional_blocks(&self) -> u64 {
        self.conventional_tracks as u64 * self.bottom_blocks as u64
    }

    /// Blocks of a bottom track and a top track.
    #[inline]
    #[must_use]
    pub const fn pair_blocks(&self) -> u64 {
        self.bottom_blocks as u64 + self.top_blocks as u64
    }

    /// Blocks of a group.
    #[inline]
    #[must_use]
    pub const fn group_blocks(&self) -> u64 {
        self.bottom_tracks as u64 * self.bottom_blocks as u64 + self.top_tracks as u64 * self.top_blocks as u64
    }

    /// Blocks of all groups.
    #[must_use]
    #[inline]
    pub const fn interlaced_blocks(&self) -> u64 {
        self.groups as u64 * self.group_blocks()
    }

    /// Blocks of the disk.
    #[must_use]
    #[inline]
    pub const fn blocks(&self) -> u64 {
        self.conventional_blocks() + self.interlaced_blocks()
    }

    /// The first block of a track.
    #[inline]
    #[must_use]
    pub const fn first_block(&self, track: Track) -> u64 {
        let pair = self.conventional_blocks()
            + track.group as u64 * self.group_blocks()
            + track.index as u64 * self.pair_blocks();
        match track.side {
            Side::Bottom => pair,
            Side::Top => pair + self.bottom_blocks as u64,
        }
    }

    /// The track of a block and its offset there; none of a conventional one.
    #[must_use]
    #[inline]
    pub const fn locate(&self, block: u64) -> Option<(Track, u32)> {
        let Some(block) = block.checked_sub(self.conventional_blocks()) else { return None };
        let (group, rest) = (block / self.group_blocks(), block % self.group_blocks());
        let (index, offset) = ((rest / self.pair_blocks()) as u32, (rest % self.pair_blocks()) as u32);
        let group = group as u32;
        Some(match offset.checked_sub(self.bottom_blocks) {
            None => (Track { group, side: Side::Bottom, index }, offset),
            Some(offset) => (Track { group, side: Side::Top, index }, offset),
        })
    }

    /// Calls `each` with every run of blocks of top tracks that a write of `blocks` blocks from `offset` on of bottom
    /// track `bottom` destroys: track, offset and length, from the outside inwards. A run that passes the beginning of
    /// its track comes in two.
    #[inline]
    pub fn over(&self, bottom: Track, offset: u32, blocks: u32, mut each: impl FnMut(Track, u32, u32)) {
        let (first, length) = self.projected(offset, blocks);
        let top = |index| Track { group: bottom.group, side: Side::Top, index };
        if bottom.index > 0 {
            // This pair begins later than the one before: the same arc has higher numbers there.
            let (at, t) = (first + self.skew_blocks, self.top_blocks);
            let at = if at >= t { at - t } else { at };
            let before_end = length.min(t - at);
            each(top(bottom.index - 1), at, before_end);
            if before_end < length {
                each(top(bottom.index - 1), 0, length - before_end);
            }
        }
        if bottom.index < self.top_tracks {
            each(top(bottom.index), first, length);
        }
    }

    /// The blocks of a top track that begins at the same angle over `blocks` blocks of a bottom track.
    #[inline]
    fn projected(&self, offset: u32, blocks: u32) -> (u32, u32) {
        let (b, t) = (self.bottom_blocks, self.top_blocks);
        // Tracks have at most 2^15 sectors, so products fit.
        let (first, end) = match self.overlap {
            Overlap::Angle => (offset * t / b, ((offset + blocks) * t).div_ceil(b)),
            Overlap::Block => (offset * t / b, (offset + blocks - 1) * t / b + 1),
            Overlap::Track => (0, t),
        };
        (first, end - first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The group of the paper's figures: 12 bottom tracks of 500 blocks, 12 top tracks of 400.
    const PAPER: Tracks = Tracks {
        conventional_tracks: 0,
        groups: 1,
        bottom_tracks: 12,
        top_tracks: 12,
        bottom_blocks: 500,
        top_blocks: 400,
        skew_blocks: 0,
        overlap: Overlap::Angle,
    };

    fn over(tracks: &Tracks, index: u32, offset: u32, blocks: u32) -> Vec<(u32, u32, u32)> {
        let mut all = Vec::new();
        let bottom = Track { group: 0, side: Side::Bottom, index };
        tracks.over(bottom, offset, blocks, |top, at, blocks| all.push((top.index, at, blocks)));
        all
    }

    #[test]
    fn arcs_project_outwards() {
        assert_eq!(PAPER.blocks(), 10_800);
        assert_eq!(over(&PAPER, 5, 100, 5), [(4, 80, 4), (5, 80, 4)]);
        assert_eq!(over(&PAPER, 5, 101, 1), [(4, 80, 2), (5, 80, 2)]);
        assert_eq!(over(&PAPER, 0, 100, 5), [(0, 80, 4)], "the first bottom track has one neighbour");
        let eleven = Tracks { top_tracks: 11, ..PAPER };
        assert_eq!(over(&eleven, 11, 100, 5), [(10, 80, 4)], "and so has the last without a top track after it");
    }

    #[test]
    fn readings_differ_in_what_is_destroyed() {
        let block = Tracks { overlap: Overlap::Block, ..PAPER };
        assert_eq!(over(&block, 5, 101, 1), [(4, 80, 1), (5, 80, 1)]);
        let track = Tracks { overlap: Overlap::Track, ..PAPER };
        assert_eq!(over(&track, 5, 101, 1), [(4, 0, 400), (5, 0, 400)]);
    }

    #[test]
    fn skewed_pairs_shift_the_numbers_on_the_track_before() {
        let skewed = Tracks { skew_blocks: 40, ..PAPER };
        assert_eq!(over(&skewed, 5, 100, 5), [(4, 120, 4), (5, 80, 4)]);
        assert_eq!(over(&skewed, 5, 440, 20), [(4, 392, 8), (4, 0, 8), (5, 352, 16)]);
    }

    /// Mean blocks written by an update of `blocks` blocks at every offset, in tenths.
    #[test]
    fn rounding_weighs_on_small_writes() {
        let tenths = |blocks: u32| {
            let offsets = 0..=500 - blocks;
            let count = offsets.clone().count() as u32;
            let rewritten: u32 =
                offsets.map(|at| over(&PAPER, 5, at, blocks).iter().map(|run| run.2).sum::<u32>()).sum();
            let amplification = 1.0 + f64::from(rewritten) / f64::from(count * blocks);
            (amplification * 10.0).round() as u32
        };
        assert_eq!([1, 2, 4, 8, 16].map(tenths), [42, 34, 30, 28, 27]);
    }

    fn any_tracks() -> impl Strategy<Value = Tracks> {
        let sizes = (1u32..4, 1u32..6, any::<bool>(), 1u32..40, 1u32..40, 0u32..40);
        sizes.prop_map(|(groups, bottom_tracks, less, a, b, skew)| Tracks {
            conventional_tracks: groups - 1,
            groups,
            bottom_tracks,
            top_tracks: bottom_tracks - u32::from(less && bottom_tracks > 1),
            bottom_blocks: a.max(b),
            top_blocks: a.min(b),
            skew_blocks: skew % a.min(b),
            overlap: Overlap::Angle,
        })
    }

    proptest! {
        #[test]
        fn blocks_and_tracks_agree(tracks in any_tracks(), place in 0.0..1.0f64) {
            let block = (tracks.blocks() as f64 * place) as u64;
            match tracks.locate(block) {
                None => prop_assert!(block < tracks.conventional_blocks()),
                Some((track, offset)) => {
                    prop_assert_eq!(tracks.first_block(track) + u64::from(offset), block);
                    prop_assert!(offset < tracks.track_blocks(track.side));
                    prop_assert!(track.index < tracks.tracks_of(track.side) && track.group < tracks.groups);
                }
            }
        }

        /// A top block is destroyed if and only if its arc and that of a written block overlap on neighbouring tracks.
        #[test]
        fn what_is_destroyed_lies_over_what_is_written(tracks in any_tracks(), a in 0.0..1.0f64, b in 0.0..1.0f64) {
            let (bottoms, tops) = (u64::from(tracks.bottom_blocks), u64::from(tracks.top_blocks));
            let offset = (f64::from(tracks.bottom_blocks) * a) as u32;
            let blocks = 1 + (f64::from(tracks.bottom_blocks - offset - 1) * b) as u32;
            // A turn is bottoms · tops long; all arcs begin at whole numbers of that.
            let turn = bottoms * tops;
            let meets = |(from, length): (u64, u64), (start, sweep): (u64, u64)| {
                (start + turn - from) % turn < length || (from + turn - start) % turn < sweep
            };
            for index in 0..tracks.bottom_tracks {
                let begin = |pair: u32| u64::from(pair) * u64::from(tracks.skew_blocks) * bottoms % turn;
                let arc = ((begin(index) + u64::from(offset) * tops) % turn, u64::from(blocks) * tops);
                let mut expected = Vec::new();
                for top in (0..tracks.top_tracks).filter(|top| *top == index || *top + 1 == index) {
                    for block in 0..tracks.top_blocks {
                        if meets(arc, ((begin(top) + u64::from(block) * bottoms) % turn, bottoms)) {
                            expected.push((top, block));
                        }
                    }
                }
                let runs = over(&tracks, index, offset, blocks);
                let mut found: Vec<_> = runs.iter().flat_map(|&(top, at, n)| (at..at + n).map(move |i| (top, i))).collect();
                found.sort_unstable();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
