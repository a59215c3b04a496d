//! Which places something lies at: a bit for each, so that the map of a large drive needs no more memory than that.

use std::collections::HashMap;

use imbrex::block::{Extent, Pba};

/// Places of a part.
const PART: u64 = 1 << 16;
/// Places of a word.
const WORD: u64 = u64::BITS as u64;

/// Places that are taken.
#[derive(Default)]
pub(super) struct Taken {
    parts: HashMap<u64, Box<[u64]>>,
}

impl Taken {
    /// Whether a place is taken.
    pub fn has(&self, place: Pba) -> bool {
        let raw = place.to_raw();
        let words = self.parts.get(&(raw / PART));
        words.is_some_and(|words| words[(raw % PART / WORD) as usize] >> (raw % WORD) & 1 == 1)
    }

    /// Takes places, and says which is the first of them that was taken before.
    pub fn take(&mut self, at: Extent<Pba>) -> Option<Pba> {
        let (mut from, end) = (at.start.to_raw(), at.end().to_raw());
        let mut before = None;
        while from < end {
            let words = self.parts.entry(from / PART).or_insert_with(|| vec![0; (PART / WORD) as usize].into());
            let until = end.min((from / PART + 1) * PART);
            while from < until {
                let (word, first) = (&mut words[(from % PART / WORD) as usize], from % WORD);
                let bits = (until - from).min(WORD - first);
                let mask = (u64::MAX >> (WORD - bits)) << first;
                let twice = *word & mask;
                if before.is_none() && twice != 0 {
                    before = Some(Pba::from_raw(from - first + u64::from(twice.trailing_zeros())));
                }
                *word |= mask;
                from += bits;
            }
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_once_wherever_runs_begin_and_end() {
        let run = |start: u64, blocks: u32| Extent::new(Pba::disk(start), blocks);
        let mut taken = Taken::default();
        for at in [run(3, 1), run(5, 200_000), run(200_005, 1), run(1 << 40, 64)] {
            assert!(!taken.has(at.start));
            assert_eq!(taken.take(at), None, "{at:?}");
            assert!(at.iter().all(|place| taken.has(place)) && !taken.has(at.end()));
        }
        for (at, first) in [(run(0, 4), 3), (run(4, 2), 5), (run(70_000, 1), 70_000), (run(200_000, 100), 200_000)] {
            assert_eq!(taken.take(at), Some(Pba::disk(first)), "{at:?}");
        }
        assert_eq!(taken.take(run((1 << 40) - 9, 9)), None);
        assert_eq!(taken.take(run((1 << 40) + 64, 9)), None);
        assert_eq!(taken.take(run(200_099, 2)), Some(Pba::disk(200_099)));
        assert_eq!(taken.take(Extent::new(Pba::new(2, 3), 1)), None, "another device");
    }
}
