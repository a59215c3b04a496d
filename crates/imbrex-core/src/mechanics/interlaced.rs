//! Interlaced tracks: where on the platters a sector of a bottom or a top track lies.

use super::GeometryError;
use super::reciprocal::{MAX_DIVIDEND, Reciprocal};
use super::spindle::Angle;
use super::surface::{Location, MAX_CYLINDERS, MAX_SECTORS_PER_TRACK, check_heads};
use crate::tracks::{Side, Tracks};

/// All surfaces of a drive with interlaced tracks. Conventional tracks come first, on the first surface, two cylinders
/// wide; then each group lies on one surface, a track a cylinder, and the next group under the next head.
#[derive(Clone, Debug)]
pub(super) struct InterlacedSurface {
    sectors: u64,
    cylinders: u32,
    conventional_sectors: u64,
    group: Reciprocal,
    first_cylinder: u32,
    group_cylinders: u32,
    heads: Reciprocal,
    pair: Reciprocal,
    bottom_track: Reciprocal,
    bottom: TrackArcs,
    top: TrackArcs,
    /// How much later a pair of tracks begins than the one before it.
    skew: Angle,
}

/// The sectors of a kind of track.
#[derive(Copy, Clone, Debug)]
struct TrackArcs {
    sectors: u32,
    sector_angle: Angle,
}

impl TrackArcs {
    fn new(sectors: u32) -> Self {
        Self { sectors, sector_angle: u64::MAX / u64::from(sectors) }
    }
}

impl InterlacedSurface {
    /// The surfaces of `heads` heads with these tracks, which have been checked; a block is `block_sectors` sectors.
    pub(super) fn new(tracks: &Tracks, heads: u32, block_sectors: u32) -> Result<Self, GeometryError> {
        check_heads(heads)?;
        let per_track = u64::from(tracks.bottom_blocks) * u64::from(block_sectors);
        let remedy = "give at most 32768 sectors per track";
        let fits = per_track <= u64::from(MAX_SECTORS_PER_TRACK);
        GeometryError::check("media.bottom_blocks", fits, tracks.bottom_blocks, remedy)?;
        let arcs = |side| TrackArcs::new(tracks.track_blocks(side) * block_sectors);
        let (bottom, top) = (arcs(Side::Bottom), arcs(Side::Top));
        let sectors = tracks.blocks() * u64::from(block_sectors);
        let remedy = "describe a smaller drive: up to 2 PB are modelled";
        GeometryError::check("media.groups", sectors < MAX_DIVIDEND, tracks.groups, remedy)?;
        // Groups do not touch: a track's width is left free between them.
        let group_cylinders = tracks.bottom_tracks + tracks.top_tracks + 1;
        let first_cylinder = u64::from(tracks.conventional_tracks) * 2;
        let cylinders = first_cylinder + u64::from(tracks.groups.div_ceil(heads)) * u64::from(group_cylinders);
        let remedy = "describe a smaller drive, or one with more heads: up to 16 million cylinders are modelled";
        GeometryError::check("media.bottom_tracks", cylinders < u64::from(MAX_CYLINDERS), cylinders, remedy)?;
        Ok(Self {
            sectors,
            cylinders: cylinders as u32,
            conventional_sectors: tracks.conventional_blocks() * u64::from(block_sectors),
            group: Reciprocal::new(tracks.group_blocks() * u64::from(block_sectors)),
            first_cylinder: first_cylinder as u32,
            group_cylinders,
            heads: Reciprocal::new(heads.into()),
            pair: Reciprocal::new(u64::from(bottom.sectors) + u64::from(top.sectors)),
            bottom_track: Reciprocal::new(bottom.sectors.into()),
            bottom,
            top,
            skew: u64::from(tracks.skew_blocks * block_sectors) * top.sector_angle,
        })
    }

    pub(super) const fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(super) const fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Where sector `sector`, which is below [`InterlacedSurface::sectors`], lies.
    #[inline]
    pub(super) fn locate(&self, sector: u64) -> Location {
        let Some(rest) = sector.checked_sub(self.conventional_sectors) else { return self.conventional(sector) };
        let (group, rest) = self.group.divide(rest);
        let (pair, offset) = self.pair.divide(rest);
        let (place, head) = self.heads.divide(group);
        let (offset, head) = (offset as u32, head as u32);
        let cylinder = self.first_cylinder + place as u32 * self.group_cylinders + 2 * pair as u32;
        let begin = pair.wrapping_mul(self.skew);
        match offset.checked_sub(self.bottom.sectors) {
            None => location(cylinder, head, offset, begin, self.bottom),
            Some(offset) => location(cylinder + 1, head, offset, begin, self.top),
        }
    }

    fn conventional(&self, sector: u64) -> Location {
        let (track, offset) = self.bottom_track.divide(sector);
        location(2 * track as u32, 0, offset as u32, track.wrapping_mul(self.skew), self.bottom)
    }
}

#[inline]
fn location(cylinder: u32, head: u32, sector: u32, begin: Angle, arcs: TrackArcs) -> Location {
    Location {
        cylinder,
        head,
        sector,
        sectors_per_track: arcs.sectors,
        angle: begin.wrapping_add(u64::from(sector) * arcs.sector_angle),
        sector_angle: arcs.sector_angle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracks::Overlap;

    /// One conventional track, and three groups of 3 bottom tracks of 100 sectors and 2 top tracks of 80, on two
    /// surfaces.
    fn surface() -> InterlacedSurface {
        let tracks = Tracks {
            conventional_tracks: 1,
            groups: 3,
            bottom_tracks: 3,
            top_tracks: 2,
            bottom_blocks: 100,
            top_blocks: 80,
            skew_blocks: 20,
            overlap: Overlap::Angle,
        };
        InterlacedSurface::new(&tracks, 2, 1).unwrap()
    }

    #[test]
    fn tracks_lie_side_by_side() {
        let s = surface();
        let place = |sector| {
            let l = s.locate(sector);
            (l.cylinder, l.head, l.sector, l.sectors_per_track)
        };
        assert_eq!((s.sectors(), s.cylinders()), (100 + 3 * 460, 2 + 2 * 6));
        assert_eq!(place(99), (0, 0, 99, 100));
        assert_eq!(place(100), (2, 0, 0, 100));
        assert_eq!(place(200), (3, 0, 0, 80));
        assert_eq!(place(280), (4, 0, 0, 100));
        assert_eq!(place(559), (6, 0, 99, 100));
        assert_eq!(place(560), (2, 1, 0, 100), "the second group lies under the second head");
        assert_eq!(place(1020), (8, 0, 0, 100), "the third beside the first, with a guard track between");
    }

    #[test]
    fn a_pair_of_tracks_begins_together_and_a_quarter_turn_after_the_one_before() {
        let s = surface();
        let quarter = |sector| (s.locate(sector).angle as f64 / 4_611_686_018_427_387_904.0 * 1e6).round() / 1e6;
        assert_eq!([100, 200, 280, 380, 460].map(quarter), [0.0, 0.0, 1.0, 1.0, 2.0]);
        assert_eq!(quarter(100 + 25), 1.0);
        assert_eq!(quarter(200 + 20), 1.0, "a quarter of a top track is 20 sectors");
    }
}
