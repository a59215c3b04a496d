//! Places on an interlaced disk, one by one, and what lies over what.

use std::collections::{BTreeMap, BTreeSet};

use imbrex::tracks::{Overlap, Tracks};

/// A track: group and number on the surface; bottom tracks have even numbers.
pub type Track = (u32, u32);

/// A block of a track.
pub type Place = (Track, u32);

pub struct Disk {
    pub tracks: Tracks,
    /// The home of each logical block.
    pub homes: Vec<Place>,
    /// Whose block lies on a top track.
    pub holds: BTreeMap<Place, u64>,
    /// Blocks of which nothing is needed, wherever they lie.
    pub nothing: BTreeSet<u64>,
    /// Top tracks in the order in which they are filled, and how many of them are needed in part at least.
    pub tops: Vec<Track>,
    pub used_tops: usize,
}

pub fn is_bottom(track: Track) -> bool {
    track.1.is_multiple_of(2)
}

impl Disk {
    pub fn new(tracks: Tracks, phases: u32, zig_zag: bool, utilisation: f64) -> Self {
        let of_all_groups = |numbers: &[u32], outwards: bool| {
            let mut all: Vec<Track> =
                (0..tracks.groups).flat_map(|group| numbers.iter().map(move |&number| (group, number))).collect();
            if outwards {
                all.reverse();
            }
            all
        };
        let bottoms: Vec<u32> = (0..tracks.bottom_tracks).map(|i| 2 * i).collect();
        let mut left: Vec<u32> = (0..tracks.top_tracks).map(|i| 2 * i + 1).collect();
        let mut tops = Vec::new();
        for phase in 2..=phases {
            let mut now = left.clone();
            if phase < phases {
                now = left.iter().copied().step_by(2).collect();
                left.retain(|number| !now.contains(number));
            }
            tops.extend(of_all_groups(&now, zig_zag && phase % 2 == 0));
        }
        let mut homes = Vec::new();
        for track in of_all_groups(&bottoms, false).into_iter().chain(tops.iter().copied()) {
            let blocks = if is_bottom(track) { tracks.bottom_blocks } else { tracks.top_blocks };
            homes.extend((0..blocks).map(|block| (track, block)));
        }
        homes.truncate((homes.len() as f64 * utilisation) as usize);
        let on_tops = (0..).zip(&homes).filter(|(_, place)| !is_bottom(place.0));
        let holds: BTreeMap<Place, u64> = on_tops.map(|(lba, place)| (*place, lba)).collect();
        let bottom_blocks = u64::from(tracks.groups * tracks.bottom_tracks * tracks.bottom_blocks);
        let used_tops = (homes.len() as u64).saturating_sub(bottom_blocks).div_ceil(u64::from(tracks.top_blocks));
        Self { tracks, homes, holds, nothing: BTreeSet::new(), tops, used_tops: used_tops as usize }
    }

    /// All blocks of the tracks.
    pub fn blocks(&self) -> u64 {
        let of_group =
            self.tracks.bottom_tracks * self.tracks.bottom_blocks + self.tracks.top_tracks * self.tracks.top_blocks;
        u64::from(self.tracks.groups * of_group)
    }

    pub fn home(&self, lba: u64) -> Place {
        self.homes[lba as usize]
    }

    /// The number of a track through all groups.
    pub fn number(&self, track: Track) -> u32 {
        track.0 * (self.tracks.bottom_tracks + self.tracks.top_tracks) + track.1
    }

    /// Where a block begins on the circumference, and how long it is there.
    fn arc(&self, ((_, number), block): Place) -> (u64, u64) {
        let (bottoms, tops) = (u64::from(self.tracks.bottom_blocks), u64::from(self.tracks.top_blocks));
        let width = if number.is_multiple_of(2) { tops } else { bottoms };
        let begin = u64::from(number / 2) * u64::from(self.tracks.skew_blocks) * bottoms;
        ((begin + u64::from(block) * width) % (bottoms * tops), width)
    }

    fn lies_over(&self, top: Place, bottom: Place) -> bool {
        let turn = u64::from(self.tracks.bottom_blocks) * u64::from(self.tracks.top_blocks);
        let ((a, long), (b, wide)) = (self.arc(top), self.arc(bottom));
        let after = |from: u64, to: u64| (to + turn - from) % turn;
        match self.tracks.overlap {
            Overlap::Angle => after(a, b) < long || after(b, a) < wide,
            Overlap::Block => after(a, b) < long,
            Overlap::Track => true,
        }
    }

    /// Needed blocks that a write of blocks of a bottom track destroys, without some.
    pub fn destroyed(&self, track: Track, blocks: std::ops::Range<u32>, except: &[Place]) -> u64 {
        let (group, number) = track;
        let beside = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
        let tops = beside.flat_map(|n| (0..self.tracks.top_blocks).map(move |block| ((group, n), block)));
        let is_lost = |top: &Place| blocks.clone().any(|block| self.lies_over(*top, (track, block)));
        let is_needed = |top: &Place| self.holds.get(top).is_some_and(|lba| !self.nothing.contains(lba));
        tops.filter(|top| is_needed(top) && !except.contains(top)).filter(is_lost).count() as u64
    }
}
