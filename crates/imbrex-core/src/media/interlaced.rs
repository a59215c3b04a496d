//! Interlaced tracks: narrow top tracks over the boundaries of wide bottom ones.
//!
//! Nothing is refused but what is off the disk. A write to a bottom track destroys what lies over it on the two top
//! tracks beside it; a write to a top track or a conventional one destroys nothing.

use super::{Illegal, Media, within};
use crate::block::{Extent, Pba};
use crate::layer::{Condition, UnitState};
use crate::plan::Unit;
use crate::tracks::{Side, Tracks};

/// An interlaced disk.
#[derive(Clone, Debug)]
pub struct Interlaced {
    device: u8,
    tracks: Tracks,
    condition: Condition,
}

impl Interlaced {
    /// A disk of that geometry that is device `device`.
    #[must_use]
    pub fn new(device: u8, tracks: Tracks) -> Self {
        Self { device, tracks, condition: Condition::Conventional }
    }

    fn unit(&self) -> Unit {
        Unit { device: self.device, index: 0 }
    }

    fn length(&self) -> u32 {
        u32::try_from(self.tracks.blocks()).unwrap_or(u32::MAX)
    }
}

impl Media for Interlaced {
    fn blocks(&self) -> u64 {
        self.tracks.blocks()
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        if self.condition == Condition::Offline {
            return Err(Illegal::Bad { unit: self.unit(), condition: self.condition });
        }
        within(at, self.blocks())
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        if self.condition != Condition::Conventional {
            return Err(Illegal::Bad { unit: self.unit(), condition: self.condition });
        }
        within(at, self.blocks())
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        Err(Illegal::NoReset { unit })
    }

    fn destroys(&self, write: Extent<Pba>, destroyed: &mut dyn FnMut(Extent<Pba>)) {
        let (mut block, end) = (write.start.block(), write.start.block() + u64::from(write.blocks));
        block = block.max(self.tracks.conventional_blocks());
        while block < end {
            let Some((track, offset)) = self.tracks.locate(block) else { return };
            let rest = self.tracks.track_blocks(track.side) - offset;
            let part = u64::from(rest).min(end - block) as u32;
            if track.side == Side::Bottom {
                self.tracks.over(track, offset, part, |top, at, blocks| {
                    // What this very write brings to the track after it comes later, and stays.
                    let first = self.tracks.first_block(top) + u64::from(at);
                    let from = if first < block { first } else { first.max(end) };
                    if from < first + u64::from(blocks) {
                        let blocks = (first + u64::from(blocks) - from) as u32;
                        destroyed(Extent::new(Pba::new(self.device, from), blocks));
                    }
                });
            }
            block += u64::from(part);
        }
    }

    fn unit_of(&self, _block: Pba) -> Unit {
        self.unit()
    }

    fn extent_of(&self, _unit: Unit) -> Extent<Pba> {
        Extent::new(Pba::new(self.device, 0), self.length())
    }

    fn has_pointer(&self, _unit: Unit) -> bool {
        false
    }

    fn tracks(&self) -> Option<Tracks> {
        Some(self.tracks)
    }

    fn report(&self) -> Vec<UnitState> {
        vec![UnitState { condition: self.condition, pointer: self.length() }]
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, _unit: Unit, condition: Condition) {
        self.condition = condition;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::tracks::Overlap;

    /// Two conventional tracks of 10 blocks, then two groups of three bottom tracks and two top ones of 8.
    fn tracks() -> Tracks {
        Tracks {
            conventional_tracks: 2,
            groups: 2,
            bottom_tracks: 3,
            top_tracks: 2,
            bottom_blocks: 10,
            top_blocks: 8,
            skew_blocks: 0,
            overlap: Overlap::Angle,
        }
    }

    fn destroyed(tracks: Tracks, start: u64, blocks: u32) -> Vec<(u64, u32)> {
        let mut all = Vec::new();
        let disk = Interlaced::new(Pba::DISK, tracks);
        disk.destroys(Extent::new(Pba::disk(start), blocks), &mut |at| all.push((at.start.block(), at.blocks)));
        all
    }

    #[test]
    fn bottom_writes_destroy_what_lies_over_them() {
        let t = tracks();
        assert_eq!(destroyed(t, 0, 20), [], "conventional tracks");
        assert_eq!(destroyed(t, 30, 8), [], "a top track");
        assert_eq!(destroyed(t, 20, 5), [(30, 4)]);
        assert_eq!(destroyed(t, 38, 5), [(30, 4), (48, 4)]);
        assert_eq!(destroyed(t, 56, 10), [(48, 8)], "the last of its group");
        assert_eq!(destroyed(t, 66, 10), [(76, 8)], "the first of the next group");
    }

    #[test]
    fn a_write_over_several_tracks_spares_what_it_writes_last() {
        // All of bottom 0, top 0 and bottom 1 of the first group, and half of top 1.
        assert_eq!(destroyed(tracks(), 20, 32), [(30, 8), (52, 4)], "bottom 1 comes after top 0 and destroys it");
        assert_eq!(destroyed(tracks(), 15, 10), [(30, 4)], "from a conventional track onto a bottom one");
    }

    #[test]
    fn only_its_length_limits_it() {
        let mut disk = Interlaced::new(Pba::DISK, tracks());
        let whole = Extent::new(Pba::disk(0), 112);
        assert_eq!((disk.write(whole), disk.read(whole)), (Ok(()), Ok(())));
        let beyond = Extent::new(Pba::disk(111), 2);
        assert_eq!(disk.write(beyond), Err(Illegal::Beyond { at: beyond, blocks: 112 }));
        disk.fail(Unit::disk(0), Condition::ReadOnly);
        assert!(disk.write(whole).is_err() && disk.read(whole).is_ok());
    }

    proptest! {
        /// A long write destroys what its blocks, written one after the other, destroy and do not write again.
        #[test]
        fn a_long_write_is_many_short_ones(start in 0u64..112, length in 1u32..112, skew in 0u32..8, reading in 0..2) {
            let overlap = if reading == 0 { Overlap::Angle } else { Overlap::Track };
            let tracks = Tracks { skew_blocks: skew, overlap, ..tracks() };
            let blocks = length.min((112 - start) as u32);
            let mut gone = BTreeSet::new();
            for block in start..start + u64::from(blocks) {
                gone.remove(&block);
                for (at, n) in destroyed(tracks, block, 1) {
                    gone.extend(at..at + u64::from(n));
                }
            }
            let found: BTreeSet<u64> =
                destroyed(tracks, start, blocks).into_iter().flat_map(|(at, n)| at..at + u64::from(n)).collect();
            prop_assert_eq!(found, gone);
        }
    }
}
