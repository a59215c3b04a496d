//! How old bands are: when the host wrote what lies there. The unit of time is a block written by the host.

use super::config::Age;
use super::slices::Slices;
use super::times::{Times, Written};
use crate::parts::full_map::FullMap;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What is known of a band's blocks.
#[derive(Copy, Clone, Debug)]
struct Band {
    /// No block that counts is younger.
    youngest: u64,
    /// Whether one is as young.
    is_exact: bool,
    /// Sum of the times of its live blocks.
    total: u64,
}

impl Band {
    const EMPTY: Self = Self { youngest: 0, is_exact: true, total: 0 };

    /// Blocks come whose times begin with `first` and ascend by `step`.
    fn gain(&mut self, first: u64, blocks: u32, step: u64) {
        self.total += sum(first, blocks, step);
        self.rejuvenate(last(first, blocks, step));
    }

    fn rejuvenate(&mut self, time: u64) {
        if time >= self.youngest {
            (self.youngest, self.is_exact) = (time, true);
        }
    }

    /// Blocks leave whose times begin with `first` and ascend by `step`.
    fn lose(&mut self, first: u64, blocks: u32, step: u64) {
        self.total = self.total.saturating_sub(sum(first, blocks, step));
        // Nothing is older than the beginning, so a band of its blocks stays as old, whichever of them leave: after a
        // restart each loss would otherwise have the whole band looked through.
        self.is_exact &= last(first, blocks, step) < self.youngest || self.youngest == 0;
    }
}

/// The last of some times that ascend by `step`.
fn last(first: u64, blocks: u32, step: u64) -> u64 {
    first + u64::from(blocks - 1) * step
}

/// Their sum.
fn sum(first: u64, blocks: u32, step: u64) -> u64 {
    let blocks = u64::from(blocks);
    blocks * first + blocks * (blocks - 1) / 2 * step
}

/// The ages of all bands under one interpretation.
pub(super) struct Ages {
    reading: Age,
    bands: Vec<Band>,
    /// Where only some of the blocks' times are in memory, and the youngest one counts: the times of each band.
    slices: Vec<Slices>,
}

impl Ages {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::of::<Band>(self.bands.len() as u64) + Memory::of::<Slices>(self.slices.len() as u64)
    }

    /// Nothing has been written.
    pub fn new(reading: Age, bands: u32) -> Self {
        Self { reading, bands: vec![Band::EMPTY; bands as usize], slices: Vec::new() }
    }

    /// Only some of the blocks' times are in memory, so no band is looked through: the times of each are cut into a few
    /// slices.
    pub fn cut(&mut self) {
        if matches!(self.reading, Age::Block | Age::Live) {
            self.slices = vec![Slices::EMPTY; self.bands.len()];
        }
    }

    /// Whether it asks when each block was written.
    pub fn asks_for_blocks(reading: Age) -> bool {
        reading != Age::Band
    }

    /// A band is empty and will be written.
    pub fn opened(&mut self, band: u32) {
        self.bands[band as usize] = Band::EMPTY;
        if let Some(slices) = self.slices.get_mut(band as usize) {
            *slices = Slices::EMPTY;
        }
    }

    /// The youngest block of a band is of the last slice of its times, where there are such.
    fn change_slices(&mut self, band: u32, change: impl FnOnce(&mut Slices)) {
        if let Some(slices) = self.slices.get_mut(band as usize) {
            change(slices);
            let of = &mut self.bands[band as usize];
            (of.youngest, of.is_exact) = (slices.youngest(), true);
        }
    }

    /// When blocks count as written that come to another band.
    pub fn reads(&self, written: Written) -> Written {
        match written {
            Written::Before(youngest) if self.reading == Age::Live => Written::At(youngest),
            _ => written,
        }
    }

    /// The blocks of `at` are about to leave the bands where `map` has them.
    pub fn leave(&mut self, at: Extent<Lba>, map: &FullMap, times: &Times) {
        if self.reading == Age::Band {
            return;
        }
        map.runs(at, |at, slot| {
            let (band, _) = map.locate(slot);
            times.runs(at, |first, blocks, step| self.bands[band as usize].lose(first, blocks, step));
            self.change_slices(band, |slices| at.iter().for_each(|lba| slices.lose(times.of(lba))));
            true
        });
    }

    /// The blocks of `at`, which lie on no other band any more and whose times are known, lie on this one.
    pub fn enter(&mut self, at: Extent<Lba>, band: u32, written: Written, times: &Times) {
        let of = &mut self.bands[band as usize];
        if self.reading == Age::Band {
            return of.rejuvenate(match written {
                Written::Now => times.now(),
                Written::At(time) | Written::Before(time) => time,
            });
        }
        times.runs(at, |first, blocks, step| of.gain(first, blocks, step));
        self.change_slices(band, |slices| at.iter().for_each(|lba| slices.gain(times.of(lba))));
    }

    /// Whether [`Ages::refresh`] looks the band through.
    pub fn is_looked_through(&self, band: u32) -> bool {
        !self.bands[band as usize].is_exact && self.reading != Age::Mean
    }

    /// Looks for the youngest live block of a band of `full` blocks if the last one known lives no more.
    pub fn refresh(&mut self, band: u32, full: u32, map: &FullMap, times: &Times) {
        if !self.is_looked_through(band) {
            return;
        }
        let mut youngest = 0;
        map.owners(
            map.place(band, 0),
            full,
            |lba| times.of(lba),
            |at, _| times.runs(at, |first, blocks, step| youngest = youngest.max(last(first, blocks, step))),
        );
        let of = &mut self.bands[band as usize];
        (of.youngest, of.is_exact) = (youngest, true);
    }

    /// When the youngest block that counts was written, if the band is fresh.
    pub fn youngest(&self, band: u32) -> u64 {
        self.bands[band as usize].youngest
    }

    /// When a fresh band with `live` live blocks was written. A band without any is as old as can be, unless dead ones
    /// count.
    pub fn of(&self, band: u32, live: u32) -> u64 {
        let of = &self.bands[band as usize];
        if self.reading == Age::Mean { of.total.checked_div(live.into()).unwrap_or(0) } else { of.youngest }
    }

    /// Verifies that what is known of bands is what the times of the blocks say that `map` puts there or, where a part of
    /// it is in memory, that the blocks there are no younger and sum up to no more.
    pub fn check(&self, map: &FullMap, times: &Times) -> Result<(), Violation> {
        if self.reading == Age::Band {
            return Ok(());
        }
        let mut bands = vec![Band::EMPTY; self.bands.len()];
        map.all_in_memory(|at, slot| {
            let of = &mut bands[map.locate(slot).0 as usize];
            times.runs(at, |first, blocks, step| of.gain(first, blocks, step));
        });
        let is_so = |known: &Band, is: &Band| {
            if map.is_cached() {
                return known.total >= is.total && known.youngest >= is.youngest;
            }
            let is_bound = known.youngest > is.youngest && !known.is_exact;
            known.total == is.total && (is_bound || known.youngest == is.youngest)
        };
        match self.bands.iter().zip(&bands).position(|(known, is)| !is_so(known, is)) {
            Some(band) => Err(Violation(format!("band {band} is {:?}, known as {:?}", bands[band], self.bands[band]))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAND: u32 = 4;

    /// Ages, times and the map of three bands, kept in step as the layer does.
    struct All {
        ages: Ages,
        times: Times,
        map: FullMap,
    }

    impl All {
        fn new(reading: Age) -> Self {
            let times = Times::new(Ages::asks_for_blocks(reading).then_some(8));
            Self { ages: Ages::new(reading, 3), times, map: FullMap::new(8, 3, BAND) }
        }

        fn put(&mut self, at: Extent<Lba>, slot: u64, written: Written) {
            let written = self.ages.reads(written);
            self.ages.leave(at, &self.map, &self.times);
            self.times.enter(at, written);
            self.ages.enter(at, self.map.locate(slot).0, written, &self.times);
            self.map.set(at, slot, |_, _| {});
            self.check();
        }

        fn write(&mut self, at: Extent<Lba>, slot: u64) {
            self.times.pass(at.blocks);
            self.put(at, slot, Written::Now);
        }

        fn check(&self) {
            self.ages.check(&self.map, &self.times).expect("ages are kept in step");
        }

        fn age(&mut self, band: u32) -> u64 {
            self.ages.refresh(band, BAND, &self.map, &self.times);
            self.check();
            self.times.now() - self.ages.of(band, self.map.live(band))
        }
    }

    fn at(lba: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(lba), blocks)
    }

    /// Blocks 0 to 3 are written at 1 to 4 on band 0, then 3 and 2 again at 5 and 6 on band 1; block 1, of 2, is moved
    /// to band 2, and the rest of band 0 is trimmed.
    fn ages(reading: Age) -> [u64; 4] {
        let mut all = All::new(reading);
        all.write(at(0, 4), 0);
        all.write(at(3, 1), 4);
        all.write(at(2, 1), 5);
        let remaining = all.age(0);
        let youngest = all.ages.youngest(0);
        all.put(at(1, 1), 8, Written::Before(youngest));
        let moved = all.age(2);
        all.ages.leave(at(0, 1), &all.map, &all.times);
        all.map.remove(at(0, 1), |_, _| {});
        [remaining, all.age(1), moved, all.age(0)]
    }

    #[test]
    fn a_band_is_as_old_as_its_reading_says() {
        // At 6, band 0 still holds blocks of 1 and 2, and the youngest written there is of 4.
        assert_eq!(ages(Age::Block), [4, 0, 4, 6]);
        assert_eq!(ages(Age::Live), [4, 0, 4, 6]);
        assert_eq!(ages(Age::Mean), [5, 1, 4, 6]);
        assert_eq!(ages(Age::Band), [2, 0, 2, 2]);
    }

    #[test]
    fn moved_blocks_keep_their_age_or_take_that_of_the_youngest() {
        for (reading, age) in [(Age::Block, 8), (Age::Mean, 8), (Age::Live, 3), (Age::Band, 3)] {
            let mut all = All::new(reading);
            all.write(at(0, 1), 0);
            all.times.pass(8);
            all.put(at(0, 1), 4, Written::Before(6));
            assert_eq!(all.age(1), age, "{reading:?}");
        }
    }

    #[test]
    fn after_a_crash_everything_is_as_old_as_the_life() {
        for reading in [Age::Block, Age::Mean, Age::Live, Age::Band] {
            let mut all = All::new(reading);
            all.put(at(0, 4), 0, Written::Before(0));
            all.write(at(4, 3), 4);
            assert_eq!((all.age(0), all.age(2)), (3, 3), "{reading:?}");
            assert!(all.age(1) < 3, "{reading:?}");
        }
    }

    /// Or each compaction would look through all bands that have lost a block.
    #[test]
    fn a_band_of_the_beginning_is_not_looked_through_when_it_loses_blocks() {
        let mut all = All::new(Age::Block);
        all.put(at(0, 4), 0, Written::Before(0));
        all.write(at(1, 2), 4);
        assert!(all.ages.bands[0].is_exact && all.ages.bands[1].is_exact);
        all.write(at(2, 1), 8);
        assert!(!all.ages.bands[1].is_exact, "its youngest block is gone");
    }

    #[test]
    fn a_wrong_age_is_noticed() {
        let mut all = All::new(Age::Block);
        all.write(at(0, 4), 0);
        all.ages.bands[0].youngest = 3;
        assert!(all.ages.check(&all.map, &all.times).is_err());
        all.ages.bands[0] = Band { youngest: 5, is_exact: true, total: 10 };
        assert!(all.ages.check(&all.map, &all.times).is_err());
        all.ages.bands[0] = Band { youngest: 5, is_exact: false, total: 10 };
        all.check();
        all.ages.bands[0].total = 9;
        assert!(all.ages.check(&all.map, &all.times).is_err());
    }

    #[test]
    fn time_stands_still_at_its_end() {
        let mut all = All::new(Age::Block);
        all.times.set_clock(Times::nearly_over());
        all.write(at(0, 3), 0);
        all.write(at(3, 1), 3);
        all.write(at(4, 3), 4);
        assert_eq!((all.age(0), all.age(1)), (0, 0));
    }
}
