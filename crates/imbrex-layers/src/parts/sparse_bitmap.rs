//! A set of few numbers from all over a large range: memory follows the members, not the range.
//!
//! The range is cut into groups of as many numbers as a cache line has bits. A group without members is a zero in the
//! list of groups, four bytes; any other has a line, which it gives back with its last member.

use super::bitmap::words_of;
use super::lines::Lines;
use imbrex_core::memory::Memory;

/// Numbers of a group.
const GROUP: u64 = 512;
const WORDS: usize = GROUP as usize / 64;

/// One bit for each number of a group.
type Line = [u64; WORDS];

/// Which of `len` numbers are in the set.
#[derive(Clone, Debug, Default)]
pub struct SparseBitmap {
    /// For each group the number of its line, counted from 1; 0 if it has none.
    numbers: Vec<u32>,
    lines: Lines<Line>,
}

/// The word of a line that a number lies in, and its bit.
fn place(at: u64) -> (usize, u64) {
    ((at % GROUP / 64) as usize, 1 << (at % 64))
}

impl SparseBitmap {
    /// The memory that it takes with at most `most` numbers in it.
    #[must_use]
    pub fn memory(&self, most: u64) -> Memory {
        let groups = self.numbers.len() as u64;
        Memory::room::<u32>(groups) + Lines::<Line>::memory(groups.min(most))
    }

    /// The empty set of numbers below `len`.
    #[must_use]
    pub fn new(len: u64) -> Self {
        Self { numbers: vec![0; len.div_ceil(GROUP) as usize], lines: Lines::default() }
    }

    /// Whether `at` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, at: u64) -> bool {
        let (word, bit) = place(at);
        self.line_of(at / GROUP).is_some_and(|line| line[word] & bit != 0)
    }

    /// The word that `at` is in, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, at: u64) -> u64 {
        self.line_of(at / GROUP).map_or(0, |line| line[place(at).0])
    }

    /// Adds `at`; says whether it is new.
    #[inline]
    pub fn insert(&mut self, at: u64) -> bool {
        let group = (at / GROUP) as usize;
        if self.numbers[group] == 0 {
            self.numbers[group] = self.lines.take([0; WORDS]) + 1;
        }
        let (word, bit) = place(at);
        let word = &mut self.line_mut(group)[word];
        let was = *word;
        *word |= bit;
        was & bit == 0
    }

    /// Takes `at` out; says whether it was in.
    #[inline]
    pub fn remove(&mut self, at: u64) -> bool {
        let group = (at / GROUP) as usize;
        if self.numbers.get(group).is_none_or(|number| *number == 0) {
            return false;
        }
        let (word, bit) = place(at);
        let line = self.line_mut(group);
        let was = line[word];
        line[word] &= !bit;
        // Most lines keep other members, and most of those in the same word.
        if line[word] == 0 && line.iter().all(|word| *word == 0) {
            self.give_back(group);
        }
        was & bit != 0
    }

    /// Takes `[from, end)` out.
    pub fn remove_run(&mut self, from: u64, end: u64) {
        let mut from = from;
        while let Some(first) = self.next(from, end) {
            let group = first / GROUP;
            let after = end.min((group + 1) * GROUP);
            let line = self.line_mut(group as usize);
            for (word, bits) in words_of(first % GROUP, after - group * GROUP) {
                line[word] &= !bits;
            }
            if line.iter().all(|word| *word == 0) {
                self.give_back(group as usize);
            }
            from = after;
        }
    }

    /// The least member in `[from, end)`.
    #[inline]
    #[must_use]
    pub fn next(&self, from: u64, end: u64) -> Option<u64> {
        let mut from = from;
        while from < end {
            let group = from / GROUP;
            let found = self.line_of(group).and_then(|line| first_of(line, (from % GROUP) as usize));
            if let Some(within) = found {
                let at = group * GROUP + within as u64;
                return (at < end).then_some(at);
            }
            from = self.next_group(group + 1, end.div_ceil(GROUP))? * GROUP;
        }
        None
    }

    /// The greatest member in `[from, end)`.
    #[must_use]
    pub fn last(&self, from: u64, end: u64) -> Option<u64> {
        let mut end = end.min(self.numbers.len() as u64 * GROUP);
        while end > from {
            let group = (end - 1) / GROUP;
            let found = self.line_of(group).and_then(|line| last_of(line, ((end - 1) % GROUP) as usize));
            if let Some(within) = found {
                let at = group * GROUP + within as u64;
                return (at >= from).then_some(at);
            }
            end = group * GROUP;
        }
        None
    }

    /// The first group in `[from, end)` that has members.
    fn next_group(&self, from: u64, end: u64) -> Option<u64> {
        let end = (end as usize).min(self.numbers.len());
        let behind = self.numbers.get(from as usize..end)?.iter().position(|number| *number != 0)?;
        Some(from + behind as u64)
    }

    #[inline]
    fn line_of(&self, group: u64) -> Option<&Line> {
        Some(self.lines.get(self.numbers.get(group as usize)?.checked_sub(1)?))
    }

    /// The line of a group that has one.
    #[inline]
    fn line_mut(&mut self, group: usize) -> &mut Line {
        self.lines.get_mut(self.numbers[group] - 1)
    }

    /// The line of a group is empty.
    fn give_back(&mut self, group: usize) {
        self.lines.give_back(std::mem::take(&mut self.numbers[group]) - 1);
    }
}

/// The first bit of a line from `from` on.
#[inline]
fn first_of(line: &Line, from: usize) -> Option<usize> {
    let mut bits = line[from / 64] & (u64::MAX << (from % 64));
    let mut word = from / 64;
    while bits == 0 {
        word += 1;
        bits = *line.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}

/// The last bit of a line up to `until`.
fn last_of(line: &Line, until: usize) -> Option<usize> {
    let mut bits = line[until / 64] & (u64::MAX >> (63 - until % 64));
    let mut word = until / 64;
    while bits == 0 {
        word = word.checked_sub(1)?;
        bits = line[word];
    }
    Some(word * 64 + 63 - bits.leading_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn memory_follows_the_members() {
        let mut bits = SparseBitmap::new(1 << 32);
        for round in 0..3 {
            (0..5000).for_each(|i| assert!(bits.insert((i * 800_011 + round) % (1 << 32))));
            assert_eq!(bits.lines.room(), 5 << 10, "lines are given back and taken again");
            (0..5000).for_each(|i| assert!(bits.remove((i * 800_011 + round) % (1 << 32))));
        }
        assert_eq!((bits.next(0, 1 << 32), bits.lines.room()), (None, 0), "an empty set gives all of them up");
        (0..5000).for_each(|at| assert!(bits.insert(at)));
        bits.remove_run(3, 4998);
        assert_eq!((bits.next(3, 1 << 32), bits.lines.room()), (Some(4998), 1 << 10));
    }

    proptest! {
        #[test]
        fn behaves_like_an_ordered_set(steps in prop::collection::vec((any::<bool>(), 0u64..20_000, 0u64..9_000), 1..200)) {
            let (mut bits, mut plain) = (SparseBitmap::new(20_000), BTreeSet::new());
            for (add, at, length) in steps {
                // Some groups fill up, and others stay without members.
                let at = if at % 3 == 0 { at % 700 } else { at };
                if add {
                    prop_assert_eq!(bits.insert(at), plain.insert(at));
                } else {
                    prop_assert_eq!(bits.remove(at), plain.remove(&at));
                }
                if length < 100 {
                    bits.remove_run(at, at + 20 * length);
                    plain.retain(|n| !(at..at + 20 * length).contains(n));
                }
                prop_assert_eq!(bits.contains(at), plain.contains(&at));
                let (from, end) = (at / 2, at / 2 + length);
                prop_assert_eq!(bits.next(from, end), plain.range(from..end).next().copied());
                prop_assert_eq!(bits.last(from, end), plain.range(from..end).next_back().copied());
            }
        }
    }
}
