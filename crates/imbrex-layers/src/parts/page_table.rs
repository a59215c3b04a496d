//! Values of five bytes for dense numbers, in pages of which only some are in memory. The rest lie somewhere else, and
//! whoever owns the table puts pages into it and takes them out.
//!
//! A page that never held a value is *blank*: it reads as nothing set, and need not be there. A look at any other page
//! that is not there finds nothing either, and is remembered as a mistake.
//!
//! While records are folded, values for pages that are not there wait until they are put: of each number the last one.

mod late;

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::bitmap::Bitmap;
use imbrex_core::memory::Memory;
use late::Late;

/// Bytes of a value.
pub const ENTRY: usize = 5;

/// What is not set; all values are below it.
pub const NONE: u64 = (1 << (8 * ENTRY)) - 1;

/// Bytes that the table takes for a page beside the page's own: its place in a table of hashes that is half empty.
const PLACE: u64 = 64;

/// Which numbers are in which page.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    numbers: u64,
    unit: u64,
    entries: u64,
    /// Pages of a unit, and of all.
    of_unit: u64,
    pages: u64,
}

/// Where the value of a number is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// Its page.
    pub page: u64,
    /// Its place in the page.
    pub offset: u64,
    /// Numbers of the page from there on.
    pub rest: u64,
}

impl Layout {
    /// Numbers below `numbers` in pages of at most `entries` numbers, which begin anew with every `unit` numbers.
    #[must_use]
    pub const fn new(numbers: u64, unit: u64, entries: u64) -> Self {
        let of_unit = unit.div_ceil(entries);
        Self { numbers, unit, entries, of_unit, pages: numbers.div_ceil(unit) * of_unit }
    }

    /// Numbers are below this.
    #[must_use]
    pub fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Numbers of a page, at most.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// All pages.
    #[inline]
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The unit of a number, and its place there. A division takes as long as all else that a look at a value does.
    #[inline]
    fn unit_of(&self, at: u64) -> (u64, u64) {
        if at < self.unit {
            (0, at)
        } else if self.unit.is_power_of_two() {
            (at >> self.unit.trailing_zeros(), at & (self.unit - 1))
        } else {
            (at / self.unit, at % self.unit)
        }
    }

    /// Where the value of a number is.
    #[inline]
    #[must_use]
    pub fn locate(&self, at: u64) -> Located {
        let (unit, in_unit) = self.unit_of(at);
        let (page, offset) = (in_unit / self.entries, in_unit % self.entries);
        let rest = (self.entries - offset).min(self.unit - in_unit).min(self.numbers - at);
        Located { page: unit * self.of_unit + page, offset, rest }
    }

    /// The page of a number.
    #[inline]
    #[must_use]
    pub fn page_of(&self, at: u64) -> u64 {
        self.locate(at).page
    }

    /// The numbers of a page.
    #[must_use]
    pub fn numbers_of(&self, page: u64) -> Range<u64> {
        let (unit, page) = (page / self.of_unit, page % self.of_unit);
        let (first, end) = (page * self.entries, ((page + 1) * self.entries).min(self.unit));
        unit * self.unit + first..(unit * self.unit + end).min(self.numbers)
    }

    /// The pages of `blocks` numbers from `at` on.
    #[inline]
    #[must_use]
    pub fn pages_of(&self, at: u64, blocks: u64) -> Range<u64> {
        if blocks == 0 {
            return 0..0;
        }
        let Located { page, rest, .. } = self.locate(at);
        page..if blocks <= rest { page + 1 } else { self.page_of(at + blocks - 1) + 1 }
    }
}

/// The table.
#[derive(Clone, Debug)]
pub struct PageTable {
    layout: Layout,
    /// What is there, five bytes a value.
    pages: HashMap<u64, Box<[u8]>, FixedState>,
    used: Bitmap,
    /// Pages that have been used since this was last asked.
    begun: Vec<u64>,
    late: Late,
    /// While records are folded: the number that they are under.
    folding: Option<u64>,
    missed: Cell<bool>,
}

fn value_at(values: &[u8], offset: u64) -> u64 {
    let at = offset as usize * ENTRY;
    match values.get(at..at + ENTRY) {
        Some(&[a, b, c, d, e]) => u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]),
        _ => NONE,
    }
}

impl PageTable {
    /// The memory that it takes with at most `pages` pages.
    #[must_use]
    pub fn memory(&self, pages: u64) -> Memory {
        Memory::room::<u8>(pages * (self.layout.entries * ENTRY as u64 + PLACE)) + self.used.memory()
    }

    /// No page has been used. Records are folded.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            pages: HashMap::default(),
            used: Bitmap::new(layout.pages()),
            begun: Vec::new(),
            late: Late::default(),
            folding: Some(0),
            missed: Cell::new(false),
        }
    }

    /// Which numbers are in which page.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How many pages are there.
    #[must_use]
    pub fn cached(&self) -> usize {
        self.pages.len()
    }

    /// The pages that are there, in no particular order.
    pub fn all_cached(&self) -> impl Iterator<Item = u64> {
        self.pages.keys().copied()
    }

    /// Whether a page is there.
    #[inline]
    #[must_use]
    pub fn has(&self, page: u64) -> bool {
        self.pages.contains_key(&page)
    }

    /// Whether a page ever held a value.
    #[inline]
    #[must_use]
    pub fn is_used(&self, page: u64) -> bool {
        self.used.contains(page)
    }

    /// Whether a page can be looked at: it is there, or blank.
    #[inline]
    #[must_use]
    pub fn is_known(&self, page: u64) -> bool {
        self.has(page) || !self.is_used(page)
    }

    /// A page has held a value.
    pub fn set_used(&mut self, page: u64) {
        if self.used.insert(page) {
            self.begun.push(page);
        }
    }

    /// A page has held a value, as was known before.
    pub fn was_used(&mut self, page: u64) {
        self.used.insert(page);
    }

    /// The pages that have been used since this was last asked.
    pub fn take_begun(&mut self) -> impl Iterator<Item = u64> {
        self.begun.drain(..)
    }

    /// Whether a page was looked at or changed that was neither there nor blank.
    #[must_use]
    pub fn missed(&self) -> bool {
        self.missed.get()
    }

    /// Remembers that a page was needed that is not there.
    pub fn miss(&self) {
        self.missed.set(true);
    }

    /// The values of a page, if it is there.
    fn values(&self, page: u64) -> Option<&[u8]> {
        let values = self.pages.get(&page);
        if values.is_none() && self.is_used(page) {
            self.miss();
        }
        values.map(|values| &values[..])
    }

    /// The value of a number, or [`NONE`].
    #[must_use]
    pub fn get(&self, at: u64) -> u64 {
        let Located { page, offset, .. } = self.layout.locate(at);
        self.values(page).map_or(NONE, |values| value_at(values, offset))
    }

    /// The value of `at`, and for how many of the `most` numbers from there on it is seen at once that values ascend by
    /// ones, or that nothing is set.
    #[must_use]
    pub fn run(&self, at: u64, most: u32) -> (u64, u32) {
        let Located { page, offset, rest } = self.layout.locate(at);
        let most = rest.min(most.into()) as u32;
        let Some(values) = self.values(page) else { return (NONE, most) };
        let value = value_at(values, offset);
        let step = u64::from(value != NONE);
        let follows = |i: &u32| value_at(values, offset + u64::from(*i)) == value + u64::from(*i) * step;
        (value, 1 + (1..most).take_while(follows).count() as u32)
    }

    /// Sets `blocks` numbers from `at` on to values that ascend from `value` by ones; to [`NONE`] if that is the value.
    pub fn set_run(&mut self, at: u64, blocks: u32, value: u64) {
        if let Some(number) = self.folding.filter(|_| self.pages.is_empty()) {
            return self.wait(at, blocks.into(), value, number);
        }
        let step = u64::from(value != NONE);
        let mut done = 0;
        while done < u64::from(blocks) {
            let (first, value) = (at + done, value + done * step);
            let Located { page, offset, rest } = self.layout.locate(first);
            let part = rest.min(u64::from(blocks) - done);
            self.set_in_page(page, offset, part, value);
            done += part;
        }
    }

    fn set_in_page(&mut self, page: u64, offset: u64, blocks: u64, value: u64) {
        if let Some(values) = self.pages.get_mut(&page) {
            write(values, offset, blocks, value);
            if value != NONE && !self.is_used(page) {
                self.set_used(page);
            }
        } else if let Some(number) = self.folding {
            self.wait(self.layout.numbers_of(page).start + offset, blocks, value, number);
        } else if value != NONE || self.is_used(page) {
            self.miss();
        }
    }

    fn wait(&mut self, at: u64, blocks: u64, value: u64, number: u64) {
        self.late.insert(at, blocks, value, number);
        if value != NONE {
            self.layout.pages_of(at, blocks).for_each(|page| self.set_used(page));
        }
    }

    /// Begins a page, of which nothing is set.
    pub fn begin(&mut self, page: u64) {
        let Range { start, end } = self.layout.numbers_of(page);
        self.late.take(start, end);
        self.pages.insert(page, self.empty());
        self.set_used(page);
    }

    fn empty(&self) -> Box<[u8]> {
        vec![u8::MAX; self.layout.entries as usize * ENTRY].into()
    }

    /// Puts a page that is not there: as it was taken out, with a number below which what was folded is in it, or empty.
    /// What waits for it is set, unless it is in it; whether anything was.
    pub fn put(&mut self, page: u64, content: Option<(&[u8], u64)>) -> bool {
        let (mut values, mut version) = (self.empty(), 0);
        if let Some((content, of)) = content {
            let bytes = content.len().min(values.len());
            values[..bytes].copy_from_slice(&content[..bytes]);
            version = of;
        }
        let Range { start, end } = self.layout.numbers_of(page);
        let mut is_changed = false;
        for late in self.late.take(start, end).into_iter().filter(|late| late.number >= version) {
            write(&mut values, late.at - start, late.blocks, late.value);
            // Of a blank page nothing was set before either.
            is_changed = self.is_used(page);
        }
        self.pages.insert(page, values);
        is_changed
    }

    /// The first number of a page, if it is there, whose value is not possible, and that value.
    #[must_use]
    pub fn impossible(&self, page: u64, is_possible: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
        let values = self.pages.get(&page)?.chunks_exact(ENTRY).map(|entry| value_at(entry, 0));
        self.layout.numbers_of(page).zip(values).find(|&(_, value)| value != NONE && !is_possible(value))
    }

    /// The pages from one to another that ever held something. Stretches of others are passed quickly.
    pub fn used(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let (mut next, end) = (from, to.min(self.layout.pages()));
        std::iter::from_fn(move || {
            let page = if next < end { self.used.next(next, end) } else { None }?;
            next = page + 1;
            Some(page)
        })
    }

    /// Appends what a page holds that is there.
    pub fn content(&self, page: u64, out: &mut Vec<u8>) {
        out.extend(self.values(page).unwrap_or_default());
    }

    /// Takes a page out.
    pub fn evict(&mut self, page: u64) {
        self.pages.remove(&page);
    }

    /// What is set from now on is under this number, as long as records are folded.
    pub fn fold_at(&mut self, number: u64) {
        self.folding = self.folding.map(|_| number);
    }

    /// No more records are folded. Of blank pages it is known now that nothing is set.
    pub fn end_fold(&mut self) {
        self.folding = None;
        let (used, layout) = (&self.used, self.layout);
        self.late.retain(|at, blocks| {
            let pages = layout.pages_of(at, blocks);
            used.next(pages.start, pages.end).is_some()
        });
    }

    /// The pages that values wait for, in ascending order; one may come several times.
    pub fn awaited(&self, mut each: impl FnMut(u64)) {
        for (at, blocks) in self.late.all() {
            let Range { mut start, end } = self.layout.pages_of(at, blocks);
            while let Some(page) = self.used.next(start, end) {
                each(page);
                start = page + 1;
            }
        }
    }
}

/// Sets values of a page that ascend from `value` by ones, or to [`NONE`].
fn write(values: &mut [u8], offset: u64, blocks: u64, value: u64) {
    let (from, to) = (offset as usize * ENTRY, (offset + blocks) as usize * ENTRY);
    let step = u64::from(value != NONE);
    for (entry, i) in values[from..to].chunks_exact_mut(ENTRY).zip(0u64..) {
        entry.copy_from_slice(&(value + i * step).to_le_bytes()[..ENTRY]);
    }
}

#[cfg(test)]
mod tests;
