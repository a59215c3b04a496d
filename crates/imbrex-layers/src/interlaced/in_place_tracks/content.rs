//! What tracks hold, counted on demand: first as if nothing had moved, then what has.

use super::Places;
use crate::parts::lost::LostBlocks;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::contents::{Contents, TrackContent};
use imbrex_core::tracks::{Side, Track, Tracks};

/// All tracks, from the outside inwards; those of a group alternate.
pub(crate) struct TrackContents {
    tracks: Tracks,
    all: Vec<TrackContent>,
}

impl TrackContents {
    /// Every allocated block is at home, and `hold`s something or not, by the kind of its track.
    pub fn allocated(places: &Places, hold: impl Fn(Side) -> bool) -> Self {
        let tracks = *places.order.tracks();
        let content = |number: u64| {
            let of_group = u64::from(tracks.bottom_tracks) + u64::from(tracks.top_tracks);
            let (group, place) = ((number / of_group) as u32, (number % of_group) as u32);
            let side = if place % 2 == 1 { Side::Top } else { Side::Bottom };
            let blocks = tracks.track_blocks(side);
            let first = places.order.first_of(Track { group, side, index: place / 2 });
            let allocated = places.capacity.saturating_sub(first).min(u64::from(blocks)) as u32;
            let (home, stale) = if hold(side) { (allocated, 0) } else { (0, allocated) };
            TrackContent { side, blocks, home, stale, buffered: 0, swapped: 0 }
        };
        let count = u64::from(tracks.groups) * (u64::from(tracks.bottom_tracks) + u64::from(tracks.top_tracks));
        Self { tracks, all: (0..count).map(content).collect() }
    }

    /// The track on which a block of the disk lies.
    pub fn at(&mut self, place: Pba) -> &mut TrackContent {
        let Some((track, _)) = self.tracks.locate(place.block()) else {
            unreachable!("layers use the tracks of groups")
        };
        let of_group = self.tracks.bottom_tracks + self.tracks.top_tracks;
        let number = track.group * of_group + 2 * track.index + u32::from(track.side == Side::Top);
        &mut self.all[number as usize]
    }

    /// A block that is at home at `place` holds something from now on, or nothing.
    pub fn set(&mut self, place: Pba, holds: bool) {
        let track = self.at(place);
        let (from, to) = if holds { (&mut track.stale, &mut track.home) } else { (&mut track.home, &mut track.stale) };
        (*from, *to) = (*from - 1, *to + 1);
    }

    /// Nothing is left of the lost blocks among the first `capacity`, of which `place` says where they are at home.
    pub fn lose(&mut self, lost: &LostBlocks, capacity: u64, place: impl Fn(Lba) -> Pba) {
        let mut from = 0;
        while !lost.is_empty() && from < capacity {
            let part = Extent::between(Lba(from), Lba(capacity.min(from + u64::from(u32::MAX))));
            lost.runs(part, |run, is_lost| {
                if is_lost {
                    run.iter().for_each(|lba| self.set(place(lba), false));
                }
            });
            from = part.end().0;
        }
    }

    /// What was found.
    pub fn found(self) -> Contents {
        Contents::Tracks(self.all)
    }
}
