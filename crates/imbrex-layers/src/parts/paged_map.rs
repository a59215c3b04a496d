//! A map from dense numbers to 40-bit values, in pages that take memory for what they hold.
//!
//! A page in which nothing was set, or whose values ascend by ones (a disk that was filled in order is all such pages),
//! is one number. One with few runs lists them. Any other is an array of five bytes an entry, which a lookup reaches
//! with one cache miss when the list of pages is cached.

mod runs;

use runs::Runs;

use imbrex_core::memory::Memory;

/// Entries of a page: 1280 bytes of array.
const PAGE: usize = 256;
/// Bytes of an entry.
pub const ENTRY: usize = 5;
/// Bytes of a page: an entry is read as eight bytes, the last one too.
const BYTES: usize = PAGE * ENTRY + size_of::<u64>() - ENTRY;

/// What is not set; all values are below it.
pub const NONE: u64 = (1 << (8 * ENTRY)) - 1;

#[derive(Clone, Debug)]
enum Page {
    /// Nothing is set.
    Empty,
    /// Entry `i` is the value plus `i`.
    Run(u64),
    /// What lies in no run is not set.
    Runs(Runs),
    Each(Box<Entries>),
}

/// The values of a page.
#[derive(Clone, Debug)]
struct Entries {
    bytes: [u8; BYTES],
    /// How many of them are set.
    set: u16,
}

impl Entries {
    /// Nothing is set.
    fn new() -> Self {
        Self { bytes: [u8::MAX; BYTES], set: 0 }
    }

    #[inline]
    fn get(&self, offset: usize) -> u64 {
        let at = offset % PAGE * ENTRY;
        u64::from_le_bytes(std::array::from_fn(|i| self.bytes[at + i])) & NONE
    }

    #[inline]
    fn set(&mut self, offset: usize, value: u64) {
        self.set += u16::from(value != NONE);
        self.set -= u16::from(self.get(offset) != NONE);
        let at = offset % PAGE * ENTRY;
        self.bytes[at..at + ENTRY].copy_from_slice(&value.to_le_bytes()[..ENTRY]);
    }

    /// Sets values that ascend from `first` by ones, or are [`NONE`].
    fn set_run(&mut self, offset: usize, blocks: usize, first: u64) {
        let step = u64::from(first != NONE);
        (0..blocks as u64).for_each(|i| self.set(offset + i as usize, first + i * step));
    }
}

/// A value for each number below a length.
#[derive(Clone, Debug)]
pub struct PagedMap {
    pages: Vec<Page>,
}

/// Page and offset of a number.
#[inline]
fn place(at: u64) -> (usize, usize) {
    (at as usize / PAGE, at as usize % PAGE)
}

impl PagedMap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let pages = self.pages.len() as u64;
        Memory::of::<Page>(pages) + Memory::room::<Entries>(pages)
    }

    /// Nothing is set for any of `length` numbers.
    #[must_use]
    pub fn new(length: u64) -> Self {
        Self { pages: vec![Page::Empty; length.div_ceil(PAGE as u64) as usize] }
    }

    /// The value of `at`, or [`NONE`].
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u64 {
        let (page, offset) = place(at);
        match &self.pages[page] {
            Page::Empty => NONE,
            Page::Run(value) => value + offset as u64,
            Page::Runs(runs) => runs.get(offset).0,
            Page::Each(values) => values.get(offset),
        }
    }

    /// Reads some of what a lookup of `at` will, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, at: u64) -> u64 {
        let (page, offset) = place(at);
        match &self.pages[page] {
            Page::Empty => NONE,
            Page::Run(value) => *value,
            Page::Runs(runs) => runs.prefetch(offset),
            Page::Each(values) => values.get(offset),
        }
    }

    /// The value of `at`, and for how many of the `most` numbers from there on it is seen at once that values ascend by
    /// ones, or that nothing is set.
    #[inline]
    #[must_use]
    pub fn run(&self, at: u64, most: u32) -> (u64, u32) {
        let (page, offset) = place(at);
        let most = most.min((PAGE - offset) as u32);
        match &self.pages[page] {
            Page::Empty => (NONE, most),
            Page::Run(value) => (value + offset as u64, most),
            Page::Runs(runs) => {
                let (value, run) = runs.get(offset);
                (value, most.min(run as u32))
            }
            Page::Each(values) => {
                let value = values.get(offset);
                let step = u64::from(value != NONE);
                let follows = |i: &u32| values.get(offset + *i as usize) == value + u64::from(*i) * step;
                (value, 1 + (1..most).take_while(follows).count() as u32)
            }
        }
    }

    /// Whether each page that has numbers from `first` to `end` is one number: nothing is set there, or values ascend by
    /// ones.
    #[inline]
    #[must_use]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        let pages = &self.pages[place(first).0..(end as usize).div_ceil(PAGE).min(self.pages.len())];
        pages.iter().all(|page| matches!(page, Page::Empty | Page::Run(_)))
    }

    /// Sets the value of `at`, below [`NONE`], or to that.
    #[inline]
    pub fn set(&mut self, at: u64, value: u64) {
        let (page, offset) = place(at);
        if let Page::Each(values) = &mut self.pages[page] {
            values.set(offset, value);
            if values.set == 0 {
                self.pages[page] = Page::Empty;
            }
        } else {
            self.set_run(at, 1, value);
        }
    }

    /// Sets the `blocks` numbers from `at` on to values that ascend from `value` by ones; to [`NONE`] if that is the
    /// value.
    pub fn set_run(&mut self, at: u64, blocks: u32, value: u64) {
        let step = u64::from(value != NONE);
        let mut done = 0;
        while done < blocks {
            let (page, offset) = place(at + u64::from(done));
            let part = (blocks - done).min((PAGE - offset) as u32);
            self.pages[page].set_run(offset, part as usize, value + u64::from(done) * step);
            done += part;
        }
    }
}

impl Page {
    /// Sets values that ascend from `first` by ones, or are [`NONE`].
    fn set_run(&mut self, offset: usize, blocks: usize, first: u64) {
        let is_so = match self {
            Self::Empty => first == NONE,
            Self::Run(value) => *value + offset as u64 == first,
            Self::Runs(_) | Self::Each(_) => false,
        };
        if is_so {
            return;
        }
        // An array is kept until nothing in it is set, so that a map that is in use allocates little in the end.
        if blocks == PAGE && (first == NONE || !matches!(self, Self::Each(_))) {
            *self = if first == NONE { Self::Empty } else { Self::Run(first) };
            return;
        }
        match self {
            Self::Empty => *self = Self::Runs(Runs::default()),
            Self::Run(value) => *self = Self::Runs(Runs::of_page(*value)),
            Self::Runs(_) | Self::Each(_) => {}
        }
        if let Self::Runs(runs) = self
            && !runs.set(offset, blocks, first)
        {
            *self = Self::Each(runs.entries());
        }
        if let Self::Runs(runs) = self
            && let Some(value) = runs.whole()
        {
            *self = Self::Run(value);
        }
        let is_empty = match self {
            Self::Each(entries) => {
                entries.set_run(offset, blocks, first);
                entries.set == 0
            }
            Self::Runs(runs) => runs.is_empty(),
            Self::Empty | Self::Run(_) => false,
        };
        if is_empty {
            *self = Self::Empty;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: usize = 3 * PAGE + 100;

    fn steps(most: u32, count: usize) -> impl Strategy<Value = Vec<(u64, u32, u64)>> {
        prop::collection::vec((0..LENGTH as u64, 1..most, 0u64..4), 1..count)
    }

    proptest! {
        #[test]
        fn behaves_like_an_array(long in steps(3 * PAGE as u32, 20), short in steps(8, 300), middle in steps(300, 40)) {
            let (mut map, mut plain) = (PagedMap::new(LENGTH as u64), vec![NONE; LENGTH]);
            for (number, (at, blocks, kind)) in long.into_iter().chain(short).chain(middle).enumerate() {
                // Half of the runs begin and end with pages.
                let at = if kind % 2 == 0 && blocks > 100 { at / PAGE as u64 * PAGE as u64 } else { at };
                let blocks = blocks.min(LENGTH as u32 - at as u32);
                // Some go on where others lie.
                let value = if kind == 3 { NONE } else { at + kind * 1000 };
                map.set_run(at, blocks, value);
                for (i, entry) in (0..).zip(&mut plain[at as usize..at as usize + blocks as usize]) {
                    *entry = if value == NONE { NONE } else { value + i };
                }
                let mut next = if number % 16 == 0 { 0 } else { at };
                let end = if number % 16 == 0 { LENGTH as u64 } else { at + u64::from(blocks) };
                while next < end {
                    let (value, run) = map.run(next, (LENGTH as u64 - next) as u32);
                    prop_assert!(run > 0);
                    for i in 0..u64::from(run) {
                        let expected = plain[(next + i) as usize];
                        prop_assert_eq!(if value == NONE { NONE } else { value + i }, expected);
                        prop_assert_eq!(map.get(next + i), expected);
                    }
                    next += u64::from(run);
                }
            }
        }
    }

    #[test]
    fn pages_without_values_take_no_array() {
        let mut map = PagedMap::new(3 * PAGE as u64);
        (0..2 * PAGE as u64).for_each(|at| map.set(at, 2 * at));
        map.set(2 * PAGE as u64 + 7, 7);
        assert!(map.pages[..2].iter().all(|page| matches!(page, Page::Each(_))));
        (0..PAGE as u64).for_each(|at| map.set(at, NONE));
        map.set_run(PAGE as u64, PAGE as u32, NONE);
        map.set(2 * PAGE as u64 + 7, NONE);
        assert!(map.pages.iter().all(|page| matches!(page, Page::Empty)));
    }

    #[test]
    fn pieces_that_make_a_whole_page_are_one_number() {
        let mut map = PagedMap::new(2 * PAGE as u64);
        (0..8).for_each(|piece| map.set_run(32 * piece, 32, 1000 + 32 * piece));
        assert!(map.is_regular(0, PAGE as u64) && matches!(map.pages[0], Page::Run(1000)));
        // The same over what was there before, piece by piece.
        (0..8).for_each(|piece| map.set_run(32 * piece, 32, 5000 + 32 * piece));
        assert!(matches!(map.pages[0], Page::Run(5000)));
    }

    #[test]
    fn memory_follows_what_is_set() {
        let mut map = PagedMap::new(10 * PAGE as u64);
        map.set_run(0, 10 * PAGE as u32, 5);
        map.set(3, 8);
        assert!(map.pages.iter().all(|page| matches!(page, Page::Run(_))));
        map.set(3, 9);
        assert!(matches!(map.pages[0], Page::Runs(_)) && map.get(2) == 7 && map.get(4) == 9);
        (0..PAGE as u64).for_each(|at| map.set(at, 2 * at));
        assert!(matches!(map.pages[0], Page::Each(_)) && map.get(2) == 4);
        assert_eq!(size_of::<Page>(), 16);
    }
}
