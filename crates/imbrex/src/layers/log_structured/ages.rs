//! How old bands are: when the host wrote what lies there. The unit of time is a block written by the host.

use super::config::Age;
use crate::block::{Extent, Lba};
use crate::layer::Violation;
use crate::parts::full_map::FullMap;
use crate::parts::paged_map::{NONE, PagedMap};

/// When the blocks that a band takes were written.
#[derive(Copy, Clone, Debug)]
pub(super) enum Written {
    /// Just now by the host, one after another.
    Now,
    /// By the host at this time; they have waited in the write buffer since.
    At(u64),
    /// Before; they are moved from bands the youngest of which is of this time, or found after a crash.
    Before(u64),
}

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

    fn gain(&mut self, time: u64) {
        self.total += time;
        self.rejuvenate(time);
    }

    fn rejuvenate(&mut self, time: u64) {
        if time >= self.youngest {
            (self.youngest, self.is_exact) = (time, true);
        }
    }

    fn lose(&mut self, time: u64) {
        self.total -= time;
        self.is_exact &= time < self.youngest;
    }
}

/// The ages of all bands under one reading.
pub(super) struct Ages {
    reading: Age,
    /// Blocks the host has written.
    clock: u64,
    /// When each block was written, not set for the beginning; of no block where the reading asks for none.
    times: PagedMap,
    bands: Vec<Band>,
}

impl Ages {
    /// Times beyond this are not told apart: 4 PiB of blocks of 4 KiB written in one life.
    const LAST: u64 = NONE - 1;

    /// Nothing has been written.
    pub fn new(reading: Age, bands: u32, capacity: u64) -> Self {
        let times = PagedMap::new(if reading == Age::Band { 0 } else { capacity });
        Self { reading, clock: 0, times, bands: vec![Band::EMPTY; bands as usize] }
    }

    /// The host has written so many blocks.
    #[inline]
    pub fn pass(&mut self, blocks: u32) {
        self.clock = self.after(blocks);
    }

    /// When the host writes the last of so many blocks more.
    pub fn after(&self, blocks: u32) -> u64 {
        (self.clock + u64::from(blocks)).min(Self::LAST)
    }

    /// A band is empty and will be written.
    pub fn opened(&mut self, band: u32) {
        self.bands[band as usize] = Band::EMPTY;
    }

    /// Reads when a block was written, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        if self.reading == Age::Band { 0 } else { self.times.get(lba.0) }
    }

    fn time(&self, lba: Lba) -> u64 {
        Some(self.times.get(lba.0)).filter(|&time| time != NONE).unwrap_or(0)
    }

    /// The blocks of `at` are about to leave the bands where `map` has them.
    pub fn leave(&mut self, at: Extent<Lba>, map: &FullMap) {
        if self.reading == Age::Band {
            return;
        }
        for lba in at.iter() {
            if let Some(slot) = map.get(lba) {
                let time = self.time(lba);
                self.bands[map.locate(slot).0 as usize].lose(time);
            }
        }
    }

    /// The blocks of `at`, which lie on no other band any more, lie on this one.
    pub fn enter(&mut self, at: Extent<Lba>, band: u32, written: Written) {
        let of = band as usize;
        if self.reading == Age::Band {
            return self.bands[of].rejuvenate(match written {
                Written::Now => self.clock,
                Written::At(time) | Written::Before(time) => time,
            });
        }
        match written {
            Written::Now => {
                self.times.set_run(at.start.0, at.blocks, (self.clock + 1).saturating_sub(at.blocks.into()));
            }
            Written::At(time) => at.iter().for_each(|lba| self.times.set(lba.0, time)),
            Written::Before(youngest) if self.reading == Age::Live => {
                at.iter().for_each(|lba| self.times.set(lba.0, youngest));
            }
            Written::Before(_) => {}
        }
        for lba in at.iter() {
            let time = self.time(lba);
            self.bands[of].gain(time);
        }
    }

    /// Looks for the youngest live block of a band of `full` blocks if the last one known lives no more.
    pub fn refresh(&mut self, band: u32, full: u32, map: &FullMap) {
        if self.bands[band as usize].is_exact || self.reading == Age::Mean {
            return;
        }
        let mut youngest = 0;
        map.holders(map.place(band, 0), full, |lba, slot| {
            if map.get(lba) == Some(slot) {
                youngest = youngest.max(self.time(lba));
            }
        });
        let of = &mut self.bands[band as usize];
        (of.youngest, of.is_exact) = (youngest, true);
    }

    /// When the youngest block that counts was written, if the band is fresh.
    pub fn youngest(&self, band: u32) -> u64 {
        self.bands[band as usize].youngest
    }

    /// The age of a fresh band of so many live blocks. One without any is as old as can be, unless dead ones count.
    pub fn of(&self, band: u32, live: u32) -> u64 {
        let of = &self.bands[band as usize];
        let when = if self.reading == Age::Mean { of.total.checked_div(live.into()).unwrap_or(0) } else { of.youngest };
        self.clock - when
    }

    /// Verifies that what is known of bands is what the times of the blocks say that `map` puts there.
    pub fn check(&self, map: &FullMap) -> Result<(), Violation> {
        if self.reading == Age::Band {
            return Ok(());
        }
        let mut bands = vec![Band::EMPTY; self.bands.len()];
        map.all_runs(|at, slot| {
            let of = &mut bands[map.locate(slot).0 as usize];
            at.iter().for_each(|lba| of.gain(self.time(lba)));
            true
        });
        let is_so = |known: &Band, is: &Band| {
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

    /// Ages and the map of three bands, kept in step as the layer does.
    struct Both {
        ages: Ages,
        map: FullMap,
    }

    impl Both {
        fn new(reading: Age) -> Self {
            Self { ages: Ages::new(reading, 3, 8), map: FullMap::new(8, 3, BAND) }
        }

        fn put(&mut self, at: Extent<Lba>, slot: u64, written: Written) {
            self.ages.leave(at, &self.map);
            self.ages.enter(at, self.map.locate(slot).0, written);
            self.map.set(at, slot, |_, _| {});
            self.check();
        }

        fn write(&mut self, at: Extent<Lba>, slot: u64) {
            self.ages.pass(at.blocks);
            self.put(at, slot, Written::Now);
        }

        fn check(&self) {
            self.ages.check(&self.map).expect("ages are kept in step");
        }

        fn age(&mut self, band: u32) -> u64 {
            self.ages.refresh(band, BAND, &self.map);
            self.check();
            self.ages.of(band, self.map.live(band))
        }
    }

    fn at(lba: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(lba), blocks)
    }

    /// Blocks 0 to 3 are written at 1 to 4 on band 0, then 3 and 2 again at 5 and 6 on band 1; block 1, of 2, is moved
    /// to band 2, and the rest of band 0 is trimmed.
    fn ages(reading: Age) -> [u64; 4] {
        let mut both = Both::new(reading);
        both.write(at(0, 4), 0);
        both.write(at(3, 1), 4);
        both.write(at(2, 1), 5);
        let remaining = both.age(0);
        let youngest = both.ages.youngest(0);
        both.put(at(1, 1), 8, Written::Before(youngest));
        let moved = both.age(2);
        both.ages.leave(at(0, 1), &both.map);
        both.map.remove(at(0, 1), |_, _| {});
        [remaining, both.age(1), moved, both.age(0)]
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
            let mut both = Both::new(reading);
            both.write(at(0, 1), 0);
            both.ages.pass(8);
            both.put(at(0, 1), 4, Written::Before(6));
            assert_eq!(both.age(1), age, "{reading:?}");
        }
    }

    #[test]
    fn after_a_crash_everything_is_as_old_as_the_life() {
        for reading in [Age::Block, Age::Mean, Age::Live, Age::Band] {
            let mut both = Both::new(reading);
            both.put(at(0, 4), 0, Written::Before(0));
            both.write(at(4, 3), 4);
            assert_eq!((both.age(0), both.age(2)), (3, 3), "{reading:?}");
            assert!(both.age(1) < 3, "{reading:?}");
        }
    }

    #[test]
    fn a_wrong_age_is_noticed() {
        let mut both = Both::new(Age::Block);
        both.write(at(0, 4), 0);
        both.ages.bands[0].youngest = 3;
        assert!(both.ages.check(&both.map).is_err());
        both.ages.bands[0] = Band { youngest: 5, is_exact: true, total: 10 };
        assert!(both.ages.check(&both.map).is_err());
        both.ages.bands[0] = Band { youngest: 5, is_exact: false, total: 10 };
        both.check();
        both.ages.bands[0].total = 9;
        assert!(both.ages.check(&both.map).is_err());
    }

    #[test]
    fn time_stands_still_at_its_end() {
        let mut both = Both::new(Age::Block);
        both.ages.clock = Ages::LAST - 1;
        both.write(at(0, 3), 0);
        both.write(at(3, 1), 3);
        both.write(at(4, 3), 4);
        assert_eq!((both.age(0), both.age(1)), (0, 0));
    }
}
