//! A map from dense numbers to 40-bit values, in pages that take memory only where they hold more than a run.
//!
//! A page in which nothing was set, or whose values ascend by ones (a disk that was filled in order is all such pages),
//! is one number. Any other is an array of five bytes an entry, which a lookup reaches with one cache miss when the
//! list of pages is cached.

/// Entries of a page: 10 KiB of array.
const PAGE: usize = 2048;
/// Bytes of an entry.
const ENTRY: usize = 5;
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
    Each(Box<Entries>),
}

/// The values of a page.
#[derive(Clone, Debug)]
struct Entries([u8; BYTES]);

impl Entries {
    #[inline]
    fn get(&self, offset: usize) -> u64 {
        let at = offset % PAGE * ENTRY;
        u64::from_le_bytes(std::array::from_fn(|i| self.0[at + i])) & NONE
    }

    #[inline]
    fn set(&mut self, offset: usize, value: u64) {
        let at = offset % PAGE * ENTRY;
        self.0[at..at + ENTRY].copy_from_slice(&value.to_le_bytes()[..ENTRY]);
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
            Page::Each(values) => {
                let value = values.get(offset);
                let step = u64::from(value != NONE);
                let follows = |i: &u32| values.get(offset + *i as usize) == value + u64::from(*i) * step;
                (value, 1 + (1..most).take_while(follows).count() as u32)
            }
        }
    }

    /// Sets the value of `at`, below [`NONE`], or to that.
    #[inline]
    pub fn set(&mut self, at: u64, value: u64) {
        let (page, offset) = place(at);
        if let Page::Each(values) = &mut self.pages[page] {
            values.set(offset, value);
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
            let first = value + u64::from(done) * step;
            let page = &mut self.pages[page];
            let is_so = match page {
                Page::Empty => first == NONE,
                Page::Run(value) => *value + offset as u64 == first,
                Page::Each(_) => false,
            };
            // An array is kept, so that a map that is in use allocates nothing in the end.
            if part as usize == PAGE && !matches!(page, Page::Each(_)) {
                *page = if first == NONE { Page::Empty } else { Page::Run(first) };
            } else if !is_so {
                let entries = page.unfold();
                (0..u64::from(part)).for_each(|i| entries.set(offset + i as usize, first + i * step));
            }
            done += part;
        }
    }
}

impl Page {
    /// The page's array, which is made if there is none.
    fn unfold(&mut self) -> &mut Entries {
        let (first, step) = match self {
            Self::Run(value) => (*value, 1),
            Self::Empty | Self::Each(_) => (NONE, 0),
        };
        if !matches!(self, Self::Each(_)) {
            let mut entries = Box::new(Entries([0; BYTES]));
            (0..PAGE as u64).for_each(|i| entries.set(i as usize, first + i * step));
            *self = Self::Each(entries);
        }
        let Self::Each(entries) = self else { unreachable!("the page has just been unfolded") };
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: usize = 3 * PAGE + 100;

    proptest! {
        #[test]
        fn behaves_like_an_array(steps in prop::collection::vec((0..LENGTH as u64, 1u32..3 * PAGE as u32, 0u64..4), 1..60)) {
            let (mut map, mut plain) = (PagedMap::new(LENGTH as u64), vec![NONE; LENGTH]);
            for (at, blocks, kind) in steps {
                // Half of the runs begin and end with pages.
                let at = if kind % 2 == 0 { at / PAGE as u64 * PAGE as u64 } else { at };
                let blocks = blocks.min(LENGTH as u32 - at as u32);
                let value = if kind == 3 { NONE } else { 7 * at + kind };
                map.set_run(at, blocks, value);
                for (i, entry) in (0..).zip(&mut plain[at as usize..at as usize + blocks as usize]) {
                    *entry = if value == NONE { NONE } else { value + i };
                }
                let mut next = 0;
                while next < LENGTH as u64 {
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
    fn what_ascends_takes_no_array() {
        let mut map = PagedMap::new(10 * PAGE as u64);
        map.set_run(0, 10 * PAGE as u32, 5);
        map.set(3, 8);
        assert!(map.pages.iter().all(|page| matches!(page, Page::Run(_))));
        map.set(3, 9);
        assert!(matches!(map.pages[0], Page::Each(_)) && map.get(2) == 7 && map.get(4) == 9);
    }
}
