//! Interlaced tracks in a preset: what their numbers may be, and the same disk in another size.

use crate::mechanics::GeometryError;
use crate::tracks::Tracks;

/// The most tracks of a kind, and the most blocks of a track: products of them fit 64 bits.
const MAX_TRACKS: u64 = 1 << 24;
const MAX_TRACK_BLOCKS: u32 = 1 << 15;

/// Checks that the numbers go together.
pub(super) fn check(tracks: &Tracks) -> Result<(), GeometryError> {
    let Tracks { conventional_tracks, groups, bottom_tracks, top_tracks, bottom_blocks, top_blocks, .. } = *tracks;
    let remedy = "give at least one and 16 million in all";
    let in_all = u64::from(groups) * u64::from(bottom_tracks) + u64::from(conventional_tracks);
    GeometryError::check("media.groups", groups >= 1, groups, remedy)?;
    GeometryError::check("media.bottom_tracks", bottom_tracks >= 1 && in_all <= MAX_TRACKS, bottom_tracks, remedy)?;
    let remedy = "give as many top tracks as bottom tracks, or one less, and at least one";
    let beside = top_tracks >= 1 && (top_tracks == bottom_tracks || top_tracks + 1 == bottom_tracks);
    GeometryError::check("media.top_tracks", beside, top_tracks, remedy)?;
    let remedy = "give between 1 and 32768";
    GeometryError::check(
        "media.bottom_blocks",
        (1..=MAX_TRACK_BLOCKS).contains(&bottom_blocks),
        bottom_blocks,
        remedy,
    )?;
    let remedy = "give at least 1 and at most bottom_blocks";
    GeometryError::check("media.top_blocks", (1..=bottom_blocks).contains(&top_blocks), top_blocks, remedy)?;
    let remedy = "give less than a turn, that is, than top_blocks";
    GeometryError::check("media.skew_blocks", tracks.skew_blocks < top_blocks, tracks.skew_blocks, remedy)
}

/// At most `blocks` blocks of these tracks: with fewer groups or more, or, where there is but one, with a
/// shorter or longer one. Conventional tracks stay, since what needs them does not shrink with the disk. `None` when
/// nothing is left or there are too many.
pub(super) fn with_blocks(tracks: &Tracks, blocks: u64) -> Option<Tracks> {
    let rest = blocks.checked_sub(tracks.conventional_blocks())?;
    let groups = rest / tracks.group_blocks();
    if tracks.groups > 1 && groups >= 1 {
        return Some(Tracks { groups: u32::try_from(groups).ok()?, ..*tracks });
    }
    let open = tracks.bottom_tracks - tracks.top_tracks;
    let pairs = (rest + u64::from(open) * u64::from(tracks.top_blocks)) / tracks.pair_blocks();
    let bottom_tracks = u32::try_from(pairs).ok()?;
    let top_tracks = bottom_tracks.checked_sub(open).filter(|tops| *tops >= 1)?;
    Some(Tracks { groups: 1, bottom_tracks, top_tracks, ..*tracks })
}

/// These tracks with at least `blocks` conventional blocks. A bottom track is a conventional one while the top tracks
/// beside it stay empty, so pairs of tracks are given up for that: whole groups where there are several. `None` when
/// nothing is left.
pub(super) fn with_conventional(tracks: &Tracks, blocks: u64) -> Option<Tracks> {
    let Tracks { conventional_tracks: has, groups, bottom_tracks, top_tracks, bottom_blocks, .. } = *tracks;
    let needed = u32::try_from(blocks.div_ceil(bottom_blocks.into())).ok()?;
    let more = needed.saturating_sub(has);
    if groups > 1 {
        let given = more.div_ceil(bottom_tracks);
        let groups = groups.checked_sub(given).filter(|groups| *groups >= 1)?;
        return Some(Tracks { conventional_tracks: has + given * bottom_tracks, groups, ..*tracks });
    }
    let top_tracks = top_tracks.checked_sub(more).filter(|tops| *tops >= 1)?;
    Some(Tracks { conventional_tracks: has + more, bottom_tracks: bottom_tracks - more, top_tracks, ..*tracks })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::tracks::Overlap;

    #[test]
    fn pairs_are_given_up_for_conventional_blocks() {
        let tracks = Tracks {
            conventional_tracks: 2,
            groups: 1,
            bottom_tracks: 10,
            top_tracks: 9,
            bottom_blocks: 5,
            top_blocks: 4,
            skew_blocks: 0,
            overlap: Overlap::Angle,
        };
        assert_eq!(with_conventional(&tracks, 10), Some(tracks));
        let shape = |tracks: Tracks| {
            (tracks.conventional_tracks, tracks.groups, tracks.bottom_tracks, tracks.top_tracks, tracks.blocks())
        };
        // Three pairs of tracks are three conventional ones.
        assert_eq!(with_conventional(&tracks, 21).map(shape), Some((5, 1, 7, 6, 96 - 3 * 4)));
        assert_eq!(with_conventional(&tracks, 50).map(shape), Some((10, 1, 2, 1, 64)));
        assert_eq!(with_conventional(&tracks, 51), None);
        let groups = Tracks { groups: 3, ..tracks };
        assert_eq!(with_conventional(&groups, 11).map(shape), Some((12, 2, 10, 9, 60 + 2 * 86)));
        assert_eq!(with_conventional(&groups, 111), None);
    }
}
