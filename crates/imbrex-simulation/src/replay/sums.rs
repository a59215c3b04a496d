//! What bands, tracks or zones hold together.

use serde::Serialize;

use imbrex_core::contents::{BandContent, BandState, TrackContent, ZoneContent};
use imbrex_core::tracks::Side;

/// What all tracks of an interlaced disk hold together.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TrackSums {
    /// Bottom tracks.
    pub bottom: SideSums,
    /// Top tracks.
    pub top: SideSums,
}

/// What the tracks of a kind hold together, in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SideSums {
    /// Tracks that there are.
    pub tracks: u64,
    /// Logical blocks that are at home there.
    pub home_blocks: u64,
    /// Homes of which the content is needed no more.
    pub stale_blocks: u64,
    /// Logical blocks that are buffered there.
    pub buffered_blocks: u64,
    /// Logical blocks that were exchanged with others and lie there now.
    pub swapped_blocks: u64,
    /// Blocks that are not allocated, and empty.
    pub free_blocks: u64,
}

/// What all bands hold together, in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BandSums {
    /// Bands that there are.
    pub bands: u64,
    /// Bands on which nothing is written.
    pub empty: u64,
    /// Bands with at least one hot, one cold and one free block; none is known where no heat is kept.
    pub mixed: Option<u64>,
    /// Never written since their band was last reset.
    pub unwritten_blocks: u64,
    /// Written, and no logical block lies there.
    pub dead_blocks: u64,
    /// Logical blocks that lie there.
    pub live_blocks: u64,
    /// How many of these were overwritten since they were last moved. `None` where no heat is kept.
    pub hot_blocks: Option<u64>,
}

impl BandSums {
    /// The sums over some bands.
    #[must_use]
    pub fn of(bands: &[BandContent]) -> Self {
        let sum = |part: fn(&BandContent) -> u32| bands.iter().map(|band| u64::from(part(band))).sum();
        Self {
            bands: bands.len() as u64,
            empty: bands.iter().filter(|band| band.state == BandState::Empty).count() as u64,
            mixed: bands.iter().map(|band| band.is_mixed().map(u64::from)).sum(),
            unwritten_blocks: sum(|band| band.unwritten),
            dead_blocks: sum(|band| band.dead),
            live_blocks: sum(|band| band.live),
            hot_blocks: bands.iter().map(|band| band.hot.map(u64::from)).sum(),
        }
    }
}

/// Where the blocks of all zones lie together.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ZoneSums {
    /// Zones that there are.
    pub zones: u64,
    /// Blocks whose newest content lies in a buffer.
    pub buffered_blocks: u64,
    /// Blocks that lie at home, padding included.
    pub home_blocks: u64,
    /// Blocks that were never written.
    pub unwritten_blocks: u64,
}

impl ZoneSums {
    /// The sums over some zones.
    #[must_use]
    pub fn of(zones: &[ZoneContent]) -> Self {
        let sum = |part: fn(&ZoneContent) -> u32| zones.iter().map(|zone| u64::from(part(zone))).sum();
        Self {
            zones: zones.len() as u64,
            buffered_blocks: sum(|zone| zone.buffered),
            home_blocks: sum(|zone| zone.home),
            unwritten_blocks: sum(ZoneContent::unwritten),
        }
    }
}

impl TrackSums {
    /// The sums over some tracks.
    #[must_use]
    pub fn of(tracks: &[TrackContent]) -> Self {
        let of = |side| SideSums::of(tracks.iter().filter(|track| track.side == side));
        Self { bottom: of(Side::Bottom), top: of(Side::Top) }
    }
}

impl SideSums {
    fn of<'a>(tracks: impl Iterator<Item = &'a TrackContent> + Clone) -> Self {
        let sum = |part: fn(&TrackContent) -> u32| tracks.clone().map(|track| u64::from(part(track))).sum();
        Self {
            tracks: tracks.clone().count() as u64,
            home_blocks: sum(|track| track.home),
            stale_blocks: sum(|track| track.stale),
            buffered_blocks: sum(|track| track.buffered),
            swapped_blocks: sum(|track| track.swapped),
            free_blocks: sum(TrackContent::free),
        }
    }
}
