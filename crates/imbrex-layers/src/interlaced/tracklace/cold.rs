//! Which top block is exchanged for a hot one: the blocks, one after the other, of a track drawn at random among those
//! that were written least (TrackLace §5.1).

mod count_buckets;

use super::frames::Frames;
use crate::interlaced::in_place_tracks::Places;
use count_buckets::CountBuckets;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::random::Random;
use imbrex_core::tracks::{Side, Track};

/// The top tracks of a frame.
struct OfFrame {
    /// The first of them, counted through all groups.
    first: u64,
    by_writes: CountBuckets,
    /// Writes that were counted since the counts were last halved.
    since_halved: u64,
    /// The track whose blocks are taken, and how many of them have been looked at.
    taken: Option<(u32, u32)>,
}

/// The top tracks.
pub(super) struct Cold {
    frames: Vec<OfFrame>,
    /// Writes of a frame after which its counts are halved; 0 for never.
    halve_after: u64,
    random: Random,
}

/// The number of a top track through all groups.
fn number(track: Track, places: &Places) -> u64 {
    u64::from(track.group) * u64::from(places.order.tracks().top_tracks) + u64::from(track.index)
}

/// The blocks of a top track that are allocated.
fn allocated(top: u64, places: &Places) -> Extent<Lba> {
    let tracks = places.order.tracks();
    let (group, index) = (top / u64::from(tracks.top_tracks), top % u64::from(tracks.top_tracks));
    let track = Track { group: group as u32, side: Side::Top, index: index as u32 };
    let first = places.order.first_of(track);
    Extent::new(Lba(first), places.capacity.saturating_sub(first).min(u64::from(tracks.top_blocks)) as u32)
}

impl Cold {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let frames = self.frames.iter().map(|frame| frame.by_writes.memory()).sum();
        Memory::growing::<OfFrame>(self.frames.len() as u64) + frames
    }

    /// The cold blocks of every frame, without a write. What is not allocated is set aside for good.
    pub fn new(frames: &Frames, places: &Places, halve_after: u64, seed: u64) -> Self {
        let tracks = places.order.tracks();
        let mut counts = vec![0; frames.logs.len()];
        for group in 0..tracks.groups {
            for index in 0..tracks.top_tracks {
                counts[frames.frame_of(Track { group, side: Side::Top, index }) as usize] += 1;
            }
        }
        let mut first = 0;
        let of_frame = |count: u32| {
            let mut by_writes = CountBuckets::new(count);
            let is_empty = |track: &u32| allocated(first + u64::from(*track), places).is_empty();
            (0..count).filter(is_empty).for_each(|track| by_writes.set_aside(track));
            let of_frame = OfFrame { first, by_writes, since_halved: 0, taken: None };
            first += u64::from(count);
            of_frame
        };
        Self { frames: counts.into_iter().map(of_frame).collect(), halve_after, random: Random::new(seed) }
    }

    /// Blocks of a top track were written at their homes.
    #[inline]
    pub fn written(&mut self, frame: u32, track: Track, places: &Places) {
        let of_frame = &mut self.frames[frame as usize];
        of_frame.by_writes.bump((number(track, places) - of_frame.first) as u32);
        of_frame.since_halved += 1;
        if of_frame.since_halved == self.halve_after {
            of_frame.since_halved = 0;
            of_frame.by_writes.halve();
        }
    }

    /// A block of a top track is at home again, and may be exchanged with another.
    pub fn returned(&mut self, frame: u32, track: Track, places: &Places) {
        let of_frame = &mut self.frames[frame as usize];
        let track = (number(track, places) - of_frame.first) as u32;
        if of_frame.by_writes.is_aside(track) {
            of_frame.by_writes.put_back(track);
        }
    }

    /// At most `most` neighbours on a top track of `frame` that are free to be exchanged.
    pub fn choose(
        &mut self,
        frame: u32,
        most: u32,
        places: &Places,
        is_free: impl Fn(Lba) -> bool,
    ) -> Option<Extent<Lba>> {
        let Self { frames, random, .. } = self;
        let OfFrame { first, by_writes, taken, .. } = &mut frames[frame as usize];
        loop {
            let (track, looked) = match *taken {
                Some(taken) => taken,
                None => {
                    let lowest = by_writes.lowest();
                    if lowest.is_empty() {
                        return None;
                    }
                    (lowest[random.below(lowest.len() as u64) as usize], 0)
                }
            };
            let blocks = allocated(*first + u64::from(track), places);
            let passed = blocks.skip(looked).iter().take_while(|lba| !is_free(*lba)).count() as u32;
            let rest = blocks.skip(looked + passed).first(most);
            let found = rest.first(rest.iter().take_while(|lba| is_free(*lba)).count() as u32);
            if !found.is_empty() {
                *taken = Some((track, looked + passed + found.blocks));
                return Some(found);
            }
            *taken = None;
            by_writes.set_aside(track);
        }
    }

    /// Verifies the buckets.
    pub fn check(&self) -> Result<(), Violation> {
        self.frames.iter().try_for_each(|of_frame| of_frame.by_writes.check())
    }
}
