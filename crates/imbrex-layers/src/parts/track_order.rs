//! The order in which the logical blocks of an interlaced disk fill its tracks.
//!
//! It is fixed and computed: phase by phase, in each phase through all groups, track by track, from the outside inwards
//! or the other way. An order is a list of phases, so a layer can make one up from its configuration.

use imbrex_core::tracks::{Side, Track, Tracks};

/// Which way a phase goes over its tracks. The blocks of a track always follow each other as they are numbered.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the outermost track of the outermost group.
    Inwards,
    /// From the innermost track of the innermost group.
    Outwards,
}

/// The tracks of one phase: of each group those of one kind whose number is `first`, `first + step`, and so on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// The kind of the tracks.
    pub side: Side,
    /// The first one's number in its group, below `step`.
    pub first: u32,
    /// From one to the next; a power of two.
    pub step: u32,
    /// Which way they are filled.
    pub direction: Direction,
}

/// A phase with its place in the order.
#[derive(Copy, Clone, Debug)]
struct Run {
    phase: Phase,
    /// Tracks of the phase in a group, and in all.
    per_group: u32,
    tracks: u32,
    track_blocks: u32,
    /// The first logical block and the one after the last.
    start: u64,
    end: u64,
}

impl Run {
    /// Which of the phase's tracks is filled as the `number`-th, from the outside, and the other way round.
    #[inline]
    const fn turned(&self, number: u32) -> u32 {
        match self.phase.direction {
            Direction::Inwards => number,
            Direction::Outwards => self.tracks - 1 - number,
        }
    }
}

/// An order of all tracks.
#[derive(Clone, Debug)]
pub struct TrackOrder {
    tracks: Tracks,
    runs: Vec<Run>,
    /// By the low bits of a track's number, as many as the phases of its kind look at: which phase has it.
    of_bottoms: Vec<u8>,
    of_tops: Vec<u8>,
}

/// Which of `runs` has a track of the kind, by the low bits of its number.
fn phases_of(side: Side, runs: &[Run]) -> Vec<u8> {
    let of_side = || (0_u8..).zip(runs).filter(|(_, run)| run.phase.side == side);
    let steps = of_side().map(|(_, run)| run.phase.step).max().unwrap_or(1);
    let phase_of = |low: u32| of_side().find(|(_, run)| low & (run.phase.step - 1) == run.phase.first);
    (0..steps).map(|low| phase_of(low).map_or(u8::MAX, |(at, _)| at)).collect()
}

impl TrackOrder {
    /// The tracks of `tracks` in these phases, which together have every track once.
    #[must_use]
    pub fn new(tracks: Tracks, phases: &[Phase]) -> Self {
        let mut runs: Vec<Run> = Vec::with_capacity(phases.len());
        for &phase in phases {
            debug_assert!(phase.step.is_power_of_two() && phase.first < phase.step);
            let per_group = tracks.tracks_of(phase.side).saturating_sub(phase.first).div_ceil(phase.step);
            let track_blocks = tracks.track_blocks(phase.side);
            let start = runs.last().map_or(0, |run| run.end);
            let of_phase = tracks.groups * per_group;
            let end = start + u64::from(of_phase) * u64::from(track_blocks);
            runs.push(Run { phase, per_group, tracks: of_phase, track_blocks, start, end });
        }
        debug_assert!(runs.last().is_some_and(|run| run.end == tracks.interlaced_blocks()));
        let [of_bottoms, of_tops] = [Side::Bottom, Side::Top].map(|side| phases_of(side, &runs));
        Self { tracks, runs, of_bottoms, of_tops }
    }

    /// The tracks.
    #[must_use]
    pub const fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    /// The track of logical block `lba`, which is on the disk, and its offset there.
    #[inline]
    #[must_use]
    pub fn locate(&self, lba: u64) -> (Track, u32) {
        let mut at = 0;
        while lba >= self.runs[at].end {
            at += 1;
        }
        let run = &self.runs[at];
        let Run { phase, per_group, track_blocks, start, .. } = *run;
        let rest = lba - start;
        let (number, offset) = ((rest / u64::from(track_blocks)) as u32, (rest % u64::from(track_blocks)) as u32);
        let number = run.turned(number);
        let (group, place) =
            if self.tracks.groups == 1 { (0, number) } else { (number / per_group, number % per_group) };
        (Track { group, side: phase.side, index: phase.first + place * phase.step }, offset)
    }

    /// The logical block at the beginning of a track.
    #[inline]
    #[must_use]
    pub fn first_of(&self, track: Track) -> u64 {
        let phases = if track.side == Side::Bottom { &self.of_bottoms } else { &self.of_tops };
        let run = &self.runs[usize::from(phases[track.index as usize & (phases.len() - 1)])];
        let place = (track.index - run.phase.first) >> run.phase.step.trailing_zeros();
        let number = run.turned(track.group * run.per_group + place);
        run.start + u64::from(number) * u64::from(run.track_blocks)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use imbrex_core::tracks::Overlap;

    const fn phase(side: Side, first: u32, step: u32) -> Phase {
        Phase { side, first, step, direction: Direction::Inwards }
    }

    /// Every second phase the other way.
    fn zig_zag(mut phases: Vec<Phase>) -> Vec<Phase> {
        phases.iter_mut().skip(1).step_by(2).for_each(|phase| phase.direction = Direction::Outwards);
        phases
    }

    fn tracks(groups: u32, bottom_tracks: u32, top_tracks: u32) -> Tracks {
        Tracks {
            conventional_tracks: 1,
            groups,
            bottom_tracks,
            top_tracks,
            bottom_blocks: 500,
            top_blocks: 400,
            skew_blocks: 0,
            overlap: Overlap::Angle,
        }
    }

    #[test]
    fn three_phases_end_where_the_paper_says() {
        let three = [phase(Side::Bottom, 0, 1), phase(Side::Top, 0, 2), phase(Side::Top, 1, 2)];
        let order = TrackOrder::new(tracks(1, 12, 12), &three);
        let at = |lba| {
            let (track, offset) = order.locate(lba);
            (track.side, track.index, offset)
        };
        assert_eq!((at(0), at(5999)), ((Side::Bottom, 0, 0), (Side::Bottom, 11, 499)));
        assert_eq!((at(6000), at(6400), at(8399)), ((Side::Top, 0, 0), (Side::Top, 2, 0), (Side::Top, 10, 399)));
        assert_eq!((at(8400), at(10_799)), ((Side::Top, 1, 0), (Side::Top, 11, 399)));
    }

    /// TrackLace §3: even phases run from the inside outwards.
    #[test]
    fn phases_that_turn_round_begin_where_the_last_one_ended() {
        let phases = zig_zag(vec![phase(Side::Bottom, 0, 1), phase(Side::Top, 0, 2), phase(Side::Top, 1, 2)]);
        let order = TrackOrder::new(tracks(2, 6, 6), &phases);
        let at = |lba| {
            let (track, offset) = order.locate(lba);
            (track.group, track.index, offset)
        };
        assert_eq!((at(0), at(5999)), ((0, 0, 0), (1, 5, 499)));
        assert_eq!((at(6000), at(6001), at(6400), at(8399)), ((1, 4, 0), (1, 4, 1), (1, 2, 0), (0, 0, 399)));
        assert_eq!((at(8400), at(10_799)), ((0, 1, 0), (1, 5, 399)));
    }

    #[test]
    fn every_block_has_one_place() {
        let three = [phase(Side::Bottom, 0, 1), phase(Side::Top, 0, 2), phase(Side::Top, 1, 2)];
        let two = [phase(Side::Bottom, 0, 1), phase(Side::Top, 0, 1)];
        let four = [phase(Side::Bottom, 0, 1), phase(Side::Top, 0, 2), phase(Side::Top, 1, 4), phase(Side::Top, 3, 4)];
        for phases in [three.to_vec(), two.to_vec(), four.to_vec(), zig_zag(three.to_vec()), zig_zag(four.to_vec())] {
            for tracks in [tracks(1, 12, 12), tracks(3, 5, 4), tracks(2, 1, 1)] {
                let order = TrackOrder::new(tracks, &phases);
                let mut places = BTreeSet::new();
                for lba in 0..tracks.interlaced_blocks() {
                    let (track, offset) = order.locate(lba);
                    assert_eq!(order.first_of(track) + u64::from(offset), lba);
                    places.insert(tracks.first_block(track) + u64::from(offset));
                }
                assert!(places.iter().copied().eq(tracks.conventional_blocks()..tracks.blocks()));
            }
        }
    }
}
