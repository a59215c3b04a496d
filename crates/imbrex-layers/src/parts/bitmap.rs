//! A set of block numbers: one bit a block, and above it one bit for each 64 of those, so that empty stretches are
//! crossed quickly. Untouched memory is never written, so an operating system that hands out pages on demand keeps the
//! set of a large disk small.

use imbrex_core::memory::Memory;

/// Which of `len` numbers are in the set.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    /// Bit `w` says that word `w` is not zero.
    summary: Vec<u64>,
}

fn place(at: u64) -> (usize, u64) {
    ((at / 64) as usize, 1 << (at % 64))
}

/// The words that `[from, end)` lies in, and its bits in each.
pub(super) fn words_of(from: u64, end: u64) -> impl Iterator<Item = (usize, u64)> {
    let words = if from < end { place(from).0..place(end - 1).0 + 1 } else { 0..0 };
    words.map(move |word| {
        let start = word as u64 * 64;
        let low = u64::MAX << from.saturating_sub(start);
        let high = if end - start < 64 { (1 << (end - start)) - 1 } else { u64::MAX };
        (word, low & high)
    })
}

impl Bitmap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::room::<u64>((self.words.len() + self.summary.len()) as u64)
    }

    /// The empty set of numbers below `len`.
    #[must_use]
    pub fn new(len: u64) -> Self {
        let words = len.div_ceil(64) as usize;
        Self { words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }

    /// Whether `at` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, at: u64) -> bool {
        let (word, bit) = place(at);
        self.words.get(word).is_some_and(|w| w & bit != 0)
    }

    /// The word that `at` is in, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, at: u64) -> u64 {
        self.words.get(place(at).0).copied().unwrap_or(0)
    }

    /// Adds `at`; says whether it is new.
    #[inline]
    pub fn insert(&mut self, at: u64) -> bool {
        let (word, bit) = place(at);
        let was = self.words[word];
        self.words[word] = was | bit;
        if was == 0 {
            let (word, bit) = place(word as u64);
            self.summary[word] |= bit;
        }
        was & bit == 0
    }

    /// Takes `at` out; says whether it was in.
    #[inline]
    pub fn remove(&mut self, at: u64) -> bool {
        let (word, bit) = place(at);
        let was = self.words[word];
        self.words[word] = was & !bit;
        if was == bit {
            let (word, bit) = place(word as u64);
            self.summary[word] &= !bit;
        }
        was & bit != 0
    }

    /// Adds `[from, end)`; says how many of them are new.
    pub fn insert_run(&mut self, from: u64, end: u64) -> u64 {
        let mut new = 0;
        for (word, bits) in words_of(from, end) {
            new += u64::from((bits & !self.words[word]).count_ones());
            self.words[word] |= bits;
            let (summary, bit) = place(word as u64);
            self.summary[summary] |= bit;
        }
        new
    }

    /// Takes `[from, end)` out; says how many of them were in.
    pub fn remove_run(&mut self, from: u64, end: u64) -> u64 {
        let mut removed = 0;
        let mut at = from;
        while let Some(first) = self.next(at, end) {
            let (word, _) = place(first);
            let after = end.min((word as u64 + 1) * 64);
            for (word, bits) in words_of(first, after) {
                removed += u64::from((bits & self.words[word]).count_ones());
                self.words[word] &= !bits;
                if self.words[word] == 0 {
                    let (summary, bit) = place(word as u64);
                    self.summary[summary] &= !bit;
                }
            }
            at = after;
        }
        removed
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        for (words, summary) in self.words.chunks_mut(64).zip(&mut self.summary) {
            while *summary != 0 {
                words[summary.trailing_zeros() as usize] = 0;
                *summary &= *summary - 1;
            }
        }
    }

    /// How many of `[from, end)` are in the set.
    #[must_use]
    pub fn count(&self, from: u64, end: u64) -> u64 {
        words_of(from, end).map(|(word, bits)| u64::from((bits & self.words[word]).count_ones())).sum()
    }

    /// Which of `[from, end)`, 64 numbers at most, are in the set: a bit each, the lowest for `from`.
    #[must_use]
    pub fn bits(&self, from: u64, end: u64) -> u64 {
        debug_assert!(end - from <= 64);
        words_of(from, end).fold(0, |found, (word, bits)| {
            let (start, here) = (word as u64 * 64, bits & self.words[word]);
            found | if start < from { here >> (from - start) } else { here << (start - from) }
        })
    }

    /// The least number in `[from, end)` that is not in the set, else `end`.
    #[inline]
    #[must_use]
    pub fn next_absent(&self, from: u64, end: u64) -> u64 {
        let mut at = from;
        while at < end {
            let members = u64::from((self.words[place(at).0] >> (at % 64)).trailing_ones());
            at += members;
            // Unless the word ends there.
            if members == 0 || !at.is_multiple_of(64) {
                break;
            }
        }
        at.min(end)
    }

    /// The least member in `[from, end)`.
    #[inline]
    #[must_use]
    pub fn next(&self, from: u64, end: u64) -> Option<u64> {
        if from >= end {
            return None;
        }
        let (word, _) = place(from);
        let here = self.words.get(word)? & (u64::MAX << (from % 64));
        let found = if here != 0 {
            word as u64 * 64 + u64::from(here.trailing_zeros())
        } else {
            let word = self.next_word(word as u64 + 1, end.div_ceil(64))?;
            word * 64 + u64::from(self.words[word as usize].trailing_zeros())
        };
        (found < end).then_some(found)
    }

    /// The first word in `[from, end)` that is not zero.
    fn next_word(&self, from: u64, end: u64) -> Option<u64> {
        let mut at = from;
        while at < end {
            let (word, _) = place(at);
            let here = self.summary.get(word)? & (u64::MAX << (at % 64));
            if here != 0 {
                return Some(word as u64 * 64 + u64::from(here.trailing_zeros()));
            }
            at = (word as u64 + 1) * 64;
        }
        None
    }

    /// The greatest member in `[from, end)`.
    #[must_use]
    pub fn last(&self, from: u64, end: u64) -> Option<u64> {
        let mut end = end.min(self.words.len() as u64 * 64);
        while end > from {
            let (word, _) = place(end - 1);
            let here = self.words[word] & (u64::MAX >> (63 - (end - 1) % 64));
            if here != 0 {
                let found = word as u64 * 64 + 63 - u64::from(here.leading_zeros());
                return (found >= from).then_some(found);
            }
            end = word as u64 * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_an_ordered_set(steps in prop::collection::vec((any::<bool>(), 0u64..20_000, 0u64..9_000), 1..200)) {
            let (mut bits, mut plain) = (Bitmap::new(20_000), BTreeSet::new());
            for (add, at, length) in steps {
                if add {
                    prop_assert_eq!(bits.insert(at), plain.insert(at));
                } else {
                    prop_assert_eq!(bits.remove(at), plain.remove(&at));
                }
                prop_assert_eq!(bits.contains(at), plain.contains(&at));
                let (from, end) = (at / 2, at / 2 + length);
                prop_assert_eq!(bits.next(from, end), plain.range(from..end).next().copied());
                prop_assert_eq!(bits.last(from, end), plain.range(from..end).next_back().copied());
                let end = end.min(20_000);
                prop_assert_eq!(bits.count(from, end), plain.range(from..end).count() as u64);
                let absent = (from..end).find(|n| !plain.contains(n)).unwrap_or(end);
                prop_assert_eq!(bits.next_absent(from, end), absent);
                let word = end.min(from + length % 65);
                let set = plain.range(from..word).fold(0, |set, at| set | 1 << (at - from));
                prop_assert_eq!(bits.bits(from, word), set);
                let end = end.min(from + length / 16);
                let held = plain.range(from..end).count() as u64;
                if add {
                    prop_assert_eq!(bits.insert_run(from, end), end - from - held);
                    plain.extend(from..end);
                } else {
                    prop_assert_eq!(bits.remove_run(from, end), held);
                    plain.retain(|n| !(from..end).contains(n));
                }
            }
            bits.clear();
            prop_assert_eq!((bits.next(0, 20_000), bits.insert_run(0, 20_000)), (None, 20_000));
        }
    }
}
