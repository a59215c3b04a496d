//! Where each logical block lies and how hot it is, both in one word: the full map.

use crate::block::{Extent, Lba};
use crate::parts::paged_map::{NONE, PagedMap};

/// Bits of an entry that hold the place; those above hold the heat.
const PLACE_BITS: u32 = 40;
/// As a place: on no band. The block is in RAM only, and its heat counts on.
const NOWHERE: u64 = (1 << PLACE_BITS) - 1;
/// Heat is not counted further than this, so that no entry is [`NONE`].
const MAX_HEAT: u64 = (1 << (u64::BITS - PLACE_BITS)) - 2;

/// What becomes of a block's heat when its place changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Heat {
    Kept,
    /// The host overwrites the block: one more, if it lay on a band.
    Raised,
    /// Compaction moves the block.
    Cooled,
}

/// Place and heat of every logical block. A place is a slot: the block's number on the bands.
pub(super) struct Places {
    entries: PagedMap,
}

fn place_of(entry: u64) -> Option<u64> {
    let place = entry & NOWHERE;
    (place != NOWHERE).then_some(place)
}

fn heat_of(entry: u64) -> u64 {
    if entry == NONE { 0 } else { entry >> PLACE_BITS }
}

impl Places {
    /// Slots are below this.
    pub const SLOTS: u64 = NOWHERE;

    pub fn new(capacity: u64) -> Self {
        Self { entries: PagedMap::new(capacity) }
    }

    #[inline]
    pub fn get(&self, lba: Lba) -> Option<u64> {
        place_of(self.entries.get(lba.0))
    }

    #[inline]
    pub fn heat(&self, lba: Lba) -> u32 {
        heat_of(self.entries.get(lba.0)) as u32
    }

    /// Loads the block's entry, for the effect on the cache.
    #[inline]
    pub fn touch(&self, lba: Lba) -> u64 {
        self.entries.get(lba.0)
    }

    /// The entry of `lba`, and how many of the `most` blocks from there on lie behind it, or nowhere, with the same heat.
    fn entry(&self, lba: u64, most: u32) -> (u64, u32) {
        let (entry, run) = self.entries.run(lba, most);
        // Nowhere and heat do not ascend.
        if entry != NONE && entry & NOWHERE == NOWHERE { (entry, 1) } else { (entry, run) }
    }

    /// Where `lba` lies, and for how many of the `most` blocks from there on it is seen at once that they follow it or lie
    /// nowhere either.
    #[inline]
    pub fn run(&self, lba: Lba, most: u32) -> (Option<u64>, u32) {
        let (entry, run) = self.entry(lba.0, most);
        (place_of(entry), run)
    }

    /// The blocks of `at` lie in the slots from `to` on; tells `left` the runs of slots they lay in.
    #[inline]
    pub fn assign(&mut self, at: Extent<Lba>, to: u64, heat: Heat, mut left: impl FnMut(u64, u32)) {
        let mut done = 0;
        while done < at.blocks {
            let lba = at.start.0 + u64::from(done);
            let (entry, run) = self.entry(lba, at.blocks - done);
            let was = heat_of(entry);
            let old = place_of(entry);
            let is = match heat {
                Heat::Kept => was,
                Heat::Raised => (was + u64::from(old.is_some())).min(MAX_HEAT),
                Heat::Cooled => 0,
            };
            if let Some(old) = old {
                left(old, run);
            }
            let entry = is << PLACE_BITS | (to + u64::from(done));
            if run == 1 {
                self.entries.set(lba, entry);
            } else {
                self.entries.set_run(lba, run, entry);
            }
            done += run;
        }
    }

    /// The blocks of `at` lie on no band and are cold; tells `left` the runs of slots they lay in.
    pub fn forget(&mut self, at: Extent<Lba>, mut left: impl FnMut(u64, u32)) {
        let mut done = 0;
        while done < at.blocks {
            let lba = at.start.0 + u64::from(done);
            let (entry, run) = self.entry(lba, at.blocks - done);
            if let Some(old) = place_of(entry) {
                left(old, run);
            }
            self.entries.set_run(lba, run, NONE);
            done += run;
        }
    }

    /// The block has been overwritten in RAM.
    pub fn raise(&mut self, lba: Lba) {
        let entry = self.entries.get(lba.0);
        let place = if entry == NONE { NOWHERE } else { entry & NOWHERE };
        self.entries.set(lba.0, (heat_of(entry) + 1).min(MAX_HEAT) << PLACE_BITS | place);
    }

    /// The block lies on no band any more and keeps its heat.
    pub fn lift(&mut self, lba: Lba) {
        let entry = self.entries.get(lba.0);
        self.entries.set(lba.0, heat_of(entry) << PLACE_BITS | NOWHERE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_counts_overwrites_until_the_block_is_moved() {
        let mut places = Places::new(100);
        let both = Extent::new(Lba(3), 2);
        let mut left = Vec::new();
        places.assign(both, 50, Heat::Raised, |_, _| unreachable!("the blocks lay nowhere"));
        places.assign(Extent::new(Lba(4), 1), 60, Heat::Raised, |slot, run| left.push((slot, run)));
        assert_eq!((places.heat(Lba(3)), places.heat(Lba(4))), (0, 1));
        places.assign(both, 70, Heat::Cooled, |slot, run| left.push((slot, run)));
        assert_eq!(left, [(51, 1), (50, 1), (60, 1)]);
        assert_eq!((places.heat(Lba(4)), places.run(Lba(3), 9)), (0, (Some(70), 2)));
    }

    #[test]
    fn a_block_in_ram_only_has_heat_and_no_place() {
        let mut places = Places::new(100);
        places.raise(Lba(7));
        places.raise(Lba(8));
        assert_eq!((places.get(Lba(7)), places.heat(Lba(7)), places.run(Lba(7), 2)), (None, 1, (None, 1)));
        places.assign(Extent::new(Lba(7), 1), 0, Heat::Kept, |_, _| unreachable!("it lay nowhere"));
        places.lift(Lba(7));
        assert_eq!((places.get(Lba(7)), places.heat(Lba(7))), (None, 1));
        places.forget(Extent::new(Lba(0), 100), |_, _| unreachable!("nothing lies anywhere"));
        assert_eq!(places.heat(Lba(7)), 0);
    }
}
