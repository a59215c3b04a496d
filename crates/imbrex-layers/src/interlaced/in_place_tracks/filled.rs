//! Which stretches of top tracks hold something, where what was never written is not saved.
//!
//! A stretch is filled as soon as one of its blocks is written: the others become zeros, as which they were read.
//! Where blocks never move it is short, so that filling one is one short write, and long enough that the records of a
//! whole disk are few. Where tracks move it is a track, which is moved whole.
//! The record is a number: under the number of a group of 64 stretches, one bit for each of them.

use crate::parts::sparse_bitmap::SparseBitmap;
use imbrex_core::layer::Corrupt;
use imbrex_core::plan::{Plan, Record};
use imbrex_core::tracks::{Side, Track, Tracks};

/// Stretches of a group.
const GROUP: u64 = 64;

/// A stretch of a top track.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub track: Track,
    /// Its first block on the track.
    pub offset: u32,
    pub blocks: u32,
}

/// The stretches that hold something, none at first.
pub(crate) struct Filled {
    tracks: Tracks,
    /// Blocks of a stretch; the last one of a track may be shorter.
    length: u32,
    of_track: u32,
    filled: SparseBitmap,
}

impl Filled {
    /// On these tracks, in stretches of `length` blocks.
    pub fn new(tracks: Tracks, length: u32) -> Self {
        let of_track = tracks.top_blocks.div_ceil(length);
        let all = u64::from(tracks.groups) * u64::from(tracks.top_tracks) * u64::from(of_track);
        Self { tracks, length, of_track, filled: SparseBitmap::new(all.next_multiple_of(GROUP)) }
    }

    fn count(&self) -> u64 {
        u64::from(self.tracks.groups) * u64::from(self.tracks.top_tracks) * u64::from(self.of_track)
    }

    /// How many groups there are.
    pub fn groups(&self) -> u64 {
        self.count().div_ceil(GROUP)
    }

    fn number(&self, track: Track, offset: u32) -> u64 {
        let track = u64::from(track.group) * u64::from(self.tracks.top_tracks) + u64::from(track.index);
        track * u64::from(self.of_track) + u64::from(offset / self.length)
    }

    fn stretch(&self, number: u64) -> Stretch {
        let (track, place) = (number / u64::from(self.of_track), (number % u64::from(self.of_track)) as u32);
        let tops = u64::from(self.tracks.top_tracks);
        let track = Track { group: (track / tops) as u32, side: Side::Top, index: (track % tops) as u32 };
        let offset = place * self.length;
        Stretch { track, offset, blocks: self.length.min(self.tracks.top_blocks - offset) }
    }

    /// How many blocks from `offset` of a top track on are all in stretches that hold something, or all in others,
    /// `most` at most; and whether they do.
    pub fn run(&self, track: Track, offset: u32, most: u32) -> (u32, bool) {
        let first = self.number(track, offset);
        let end = self.number(track, offset + most - 1) + 1;
        let holds = self.filled.contains(first);
        let next = (first + 1..end).find(|number| self.filled.contains(*number) != holds);
        let blocks = next.map_or(most, |next| self.stretch(next).offset - offset);
        (blocks, holds)
    }

    /// The stretches of a range of a top track that hold nothing.
    pub fn missing(&self, track: Track, offset: u32, blocks: u32) -> Vec<Stretch> {
        let numbers = self.number(track, offset)..=self.number(track, offset + blocks - 1);
        numbers.filter(|number| !self.filled.contains(*number)).map(|number| self.stretch(number)).collect()
    }

    /// The stretch holds something from now on.
    pub fn fill(&mut self, stretch: Stretch) {
        let number = self.number(stretch.track, stretch.offset);
        self.filled.insert(number);
    }

    /// The records of the groups that some stretches of one track are in, which follow each other.
    pub fn records(&self, stretches: &[Stretch]) -> impl Iterator<Item = Record> {
        let group = |stretch: &Stretch| self.number(stretch.track, stretch.offset) / GROUP;
        let groups = stretches.first().map(group).zip(stretches.last().map(group));
        groups.into_iter().flat_map(|(first, last)| first..=last).map(|group| self.record(group))
    }

    fn record(&self, group: u64) -> Record {
        let value =
            (0..GROUP).filter(|bit| self.filled.contains(group * GROUP + bit)).fold(0, |bits, bit| bits | 1 << bit);
        Record::Note { key: group as u32, value }
    }

    /// Applies a record.
    ///
    /// # Errors
    /// [`Corrupt`] when there is no such group.
    pub fn apply(&mut self, key: u32, value: u64) -> Result<(), Corrupt> {
        let first = u64::from(key) * GROUP;
        let bits = self.count().saturating_sub(first);
        if bits == 0 || (bits < GROUP && value >> bits != 0) {
            return Err(Corrupt(format!("there are no stretches {value:#x} in group {key}")));
        }
        for bit in (0..GROUP).filter(|bit| value >> bit & 1 == 1) {
            self.filled.insert(first + bit);
        }
        Ok(())
    }

    /// Restates `most` groups from one on. The next one, if that is not all.
    pub fn checkpoint(&self, from: u64, most: usize, plan: &mut Plan) -> Option<u64> {
        let mut next = from;
        for _ in 0..most {
            let group = self.filled.next(next * GROUP, self.count())? / GROUP;
            plan.record(self.record(group));
            next = group + 1;
        }
        (next < self.groups()).then_some(next)
    }

    /// All that hold something.
    pub fn all(&self) -> impl Iterator<Item = Stretch> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let number = self.filled.next(from, self.count())?;
            from = number + 1;
            Some(self.stretch(number))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::tracks::Overlap;

    const TRACKS: Tracks = Tracks {
        conventional_tracks: 0,
        groups: 2,
        bottom_tracks: 8,
        top_tracks: 8,
        bottom_blocks: 25,
        top_blocks: 20,
        skew_blocks: 0,
        overlap: Overlap::Angle,
    };

    fn top(group: u32, index: u32) -> Track {
        Track { group, side: Side::Top, index }
    }

    #[test]
    fn a_stretch_holds_something_from_its_first_write_on() {
        let mut filled = Filled::new(TRACKS, 8);
        let missing = filled.missing(top(1, 3), 7, 10);
        assert_eq!(missing.iter().map(|it| (it.offset, it.blocks)).collect::<Vec<_>>(), [(0, 8), (8, 8), (16, 4)]);
        filled.fill(missing[1]);
        assert_eq!((filled.run(top(1, 3), 2, 18), filled.run(top(1, 3), 9, 11)), ((6, false), (7, true)));
        assert_eq!((filled.run(top(1, 3), 16, 4), filled.run(top(0, 3), 0, 20)), ((4, false), (20, false)));
        assert_eq!(filled.missing(top(1, 3), 7, 10), [missing[0], missing[2]]);
    }

    #[test]
    fn records_say_all_of_a_group_and_are_in_checkpoints() {
        let mut filled = Filled::new(TRACKS, 1);
        let missing: Vec<Stretch> = [0, 3, 15].map(|track| filled.missing(top(track / 8, track % 8), 0, 20)).concat();
        missing.iter().for_each(|stretch| filled.fill(*stretch));
        let (mut plan, mut next) = (Plan::new(), Some(0));
        while let Some(from) = next {
            next = filled.checkpoint(from, 1, &mut plan);
        }
        let mut again = Filled::new(TRACKS, 1);
        for op in plan.ops() {
            let imbrex_core::plan::Op::Record { record: Record::Note { key, value }, .. } = *op else { panic!() };
            again.apply(key, value).unwrap();
        }
        assert_eq!((plan.ops().len(), filled.groups()), (3, 5), "of 320 stretches those in groups 0, 1 and 4");
        assert!(again.all().eq(filled.all()) && filled.all().count() == 60);
        assert!(again.apply(5, 1).is_err() && Filled::new(TRACKS, 8).apply(0, 1 << 48).is_err(), "there are 48");
    }
}
