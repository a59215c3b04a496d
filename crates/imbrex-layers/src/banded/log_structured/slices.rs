//! How young the youngest live block of a band is, in little memory, where blocks cannot be looked through for it.
//!
//! The times at which a band's live blocks were written are cut into a few slices, each with how many blocks are of it.
//! A slice goes when its last block does. So the youngest block that is said may have gone, but one of its slice has not.
//! Where there would be too many slices, two neighbours of the fewest blocks become one, the older two of equals.
//! Source: the histogram of Ben-Haim and Tom-Tov, "A Streaming Parallel Decision Tree Algorithm" (JMLR 11, 2010), §2.1,
//! with ranges in place of means.

use std::cmp::Ordering;

/// Slices of a band at most.
const MOST: usize = 8;

/// Blocks of some times that follow each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Slice {
    oldest: u64,
    youngest: u64,
    blocks: u32,
}

impl Slice {
    const EMPTY: Self = Self { oldest: 0, youngest: 0, blocks: 0 };

    /// Where it is, seen from a time.
    fn from(&self, time: u64) -> Ordering {
        match time {
            _ if self.youngest < time => Ordering::Less,
            _ if self.oldest > time => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// The slices of a band, the oldest first. What was written at the beginning is in none.
#[derive(Copy, Clone, Debug)]
pub(super) struct Slices {
    slices: [Slice; MOST],
    count: u8,
}

impl Slices {
    /// The band is empty.
    pub const EMPTY: Self = Self { slices: [Slice::EMPTY; MOST], count: 0 };

    fn all(&self) -> &[Slice] {
        &self.slices[..usize::from(self.count)]
    }

    /// No block is younger.
    pub fn youngest(&self) -> u64 {
        self.all().last().map_or(0, |slice| slice.youngest)
    }

    /// A block of this time comes.
    pub fn gain(&mut self, time: u64) {
        if time == 0 {
            return;
        }
        match self.all().binary_search_by(|slice| slice.from(time)) {
            Ok(at) => self.slices[at].blocks += 1,
            Err(at) => self.insert(at, Slice { oldest: time, youngest: time, blocks: 1 }),
        }
    }

    fn insert(&mut self, at: usize, slice: Slice) {
        let count = usize::from(self.count);
        let mut all = [Slice::EMPTY; MOST + 1];
        all[..at].copy_from_slice(&self.slices[..at]);
        all[at] = slice;
        all[at + 1..=count].copy_from_slice(&self.slices[at..count]);
        if count == MOST {
            let together = |at: &usize| all[*at].blocks + all[*at + 1].blocks;
            let fewest = (0..MOST).min_by_key(together).unwrap_or(0);
            let next = all[fewest + 1];
            all[fewest] =
                Slice { oldest: all[fewest].oldest, youngest: next.youngest, blocks: all[fewest].blocks + next.blocks };
            all.copy_within(fewest + 2.., fewest + 1);
        } else {
            self.count += 1;
        }
        self.slices.copy_from_slice(&all[..MOST]);
    }

    /// A block of this time, which came, goes.
    pub fn lose(&mut self, time: u64) {
        let Ok(at) = self.all().binary_search_by(|slice| slice.from(time)) else { return };
        self.slices[at].blocks -= 1;
        if self.slices[at].blocks == 0 {
            self.slices.copy_within(at + 1.., at);
            self.count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::random::Random;

    fn of(times: impl IntoIterator<Item = u64>) -> Slices {
        let mut slices = Slices::EMPTY;
        times.into_iter().for_each(|time| slices.gain(time));
        slices
    }

    /// The guide to logs says so.
    #[test]
    fn a_band_takes_200_bytes() {
        assert_eq!((MOST, size_of::<Slices>()), (8, 200));
    }

    #[test]
    fn few_times_are_told_apart() {
        let mut slices = of([5, 3, 9, 9, 3, 7, 0]);
        for (gone, youngest) in [(9, 9), (9, 7), (7, 5), (3, 5), (5, 3), (0, 3), (3, 0)] {
            slices.lose(gone);
            assert_eq!(slices.youngest(), youngest);
        }
        assert!(slices.all().is_empty());
    }

    /// Blocks go in any order: the youngest is a block of the last slice.
    #[test]
    fn the_youngest_is_never_too_old() {
        let mut random = Random::new(7);
        for _ in 0..200 {
            let (mut slices, mut live) = (Slices::EMPTY, Vec::new());
            for _ in 0..300 {
                if random.below(3) > 0 {
                    let time = random.below(400);
                    slices.gain(time);
                    live.push(time);
                } else if !live.is_empty() {
                    slices.lose(live.swap_remove(random.below(live.len() as u64) as usize));
                }
                let last = slices.all().last().map_or(0..=0, |last| last.oldest..=last.youngest);
                let youngest = live.iter().max().copied().unwrap_or(0);
                assert!(last.contains(&youngest), "{youngest}: {slices:?}");
                let blocks: u32 = slices.all().iter().map(|slice| slice.blocks).sum();
                assert_eq!(blocks as usize, live.iter().filter(|&&time| time > 0).count());
            }
        }
    }

    /// A band that is written in order has slices of not too different sizes, small ones at its young end.
    #[test]
    fn no_slice_holds_most_of_a_band() {
        let slices = of(1..=65_536);
        assert_eq!(slices.all().len(), MOST);
        assert!(slices.all().iter().all(|slice| slice.blocks <= 65_536 / 4), "{slices:?}");
    }
}
