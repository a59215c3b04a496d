//! A map from dense numbers to 40-bit values, in pages that take memory for what they hold.
//!
//! A page in which nothing was set, or whose values ascend by ones (a disk that was filled in order is all such pages),
//! is one number. One with few runs lists them. Any other is an array of five bytes an entry, which a lookup reaches
//! with one cache miss when the list of pages is cached. Pages are listed in chunks, and a chunk in which nothing was
//! set, or whose values ascend by ones, is one number too: a large disk that holds little takes little memory.

mod runs;

use runs::Runs;

pub use super::page_table::{ENTRY, NONE};
use super::page_table::{Layout, PageTable};
use imbrex_core::memory::Memory;

/// Entries of a page: 1280 bytes of array.
const PAGE: usize = 256;
/// Bytes of a page: an entry is read as eight bytes, the last one too.
const BYTES: usize = PAGE * ENTRY + size_of::<u64>() - ENTRY;

#[derive(Clone, Debug)]
enum Page {
    /// Nothing is set.
    Empty,
    /// Entry `i` is the value plus `i`.
    Run(u64),
    /// What lies in no run is not set.
    Runs(Runs),
    /// An array, and how many of its values are set. At the end of the array that number would be one more cache miss.
    Each(Box<Entries>, u16),
}

/// The values of a page.
#[derive(Clone, Debug)]
struct Entries([u8; BYTES]);

impl Entries {
    /// Nothing is set.
    fn new() -> Self {
        Self([u8::MAX; BYTES])
    }

    #[inline]
    fn get(&self, offset: usize) -> u64 {
        let at = offset % PAGE * ENTRY;
        u64::from_le_bytes(std::array::from_fn(|i| self.0[at + i])) & NONE
    }

    /// Sets a value, and counts how many are.
    #[inline]
    fn set(&mut self, offset: usize, value: u64, count: &mut u16) {
        *count += u16::from(value != NONE);
        *count -= u16::from(self.get(offset) != NONE);
        let at = offset % PAGE * ENTRY;
        self.0[at..at + ENTRY].copy_from_slice(&value.to_le_bytes()[..ENTRY]);
    }

    /// Sets values that ascend from `first` by ones, or are [`NONE`], and counts how many are set.
    fn set_run(&mut self, offset: usize, blocks: usize, first: u64, count: &mut u16) {
        let step = u64::from(first != NONE);
        (0..blocks as u64).for_each(|i| self.set(offset + i as usize, first + i * step, count));
    }

    /// Sets values that ascend from `first` by ones where nothing is set.
    fn fill(&mut self, offset: usize, blocks: usize, first: u64) {
        let places = self.0[offset * ENTRY..(offset + blocks) * ENTRY].chunks_exact_mut(ENTRY);
        places.zip(first..).for_each(|(place, value)| place.copy_from_slice(&value.to_le_bytes()[..ENTRY]));
    }
}

/// Pages of a chunk.
const CHUNK: usize = 256;
/// Numbers of a chunk.
const SPAN: usize = CHUNK * PAGE;

/// Pages that lie behind each other.
#[derive(Clone, Debug)]
enum Chunk {
    /// Nothing is set.
    Empty,
    /// Number `i` of the chunk is the value plus `i`.
    Run(u64),
    Pages(Box<[Page; CHUNK]>),
    /// All of the map is in a table of which only some pages are in memory.
    Elsewhere,
}

/// What only some pages are in memory of, and how many at most.
#[derive(Clone, Debug)]
struct Elsewhere {
    table: PageTable,
    most: u64,
}

/// A value for each number below a length.
#[derive(Clone, Debug)]
pub struct PagedMap {
    chunks: Vec<Chunk>,
    /// Pages that have numbers: in the last chunk these may be few.
    pages: u64,
    /// Instead of all chunks.
    elsewhere: Option<Box<Elsewhere>>,
}

/// Chunk and offset of a number.
#[inline]
fn place(at: u64) -> (usize, usize) {
    (at as usize / SPAN, at as usize % SPAN)
}

impl PagedMap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let chunks = self.chunks.len() as u64;
        if let Some(elsewhere) = &self.elsewhere {
            return Memory::of::<Chunk>(chunks) + elsewhere.table.memory(elsewhere.most);
        }
        let pages = Memory::room::<[Page; CHUNK]>(chunks) + Memory::room::<Entries>(self.pages);
        Memory::of::<Chunk>(chunks) + pages
    }

    /// Nothing is set for any of `length` numbers.
    #[must_use]
    pub fn new(length: u64) -> Self {
        let chunks = vec![Chunk::Empty; length.div_ceil(SPAN as u64) as usize];
        Self { chunks, pages: length.div_ceil(PAGE as u64), elsewhere: None }
    }

    /// Nothing is set, and what will be is in pages of which at most `most` are in memory.
    #[must_use]
    pub fn cached(layout: Layout, most: u64) -> Self {
        let chunks = vec![Chunk::Elsewhere; layout.numbers().div_ceil(SPAN as u64) as usize];
        Self { chunks, pages: 0, elsewhere: Some(Box::new(Elsewhere { table: PageTable::new(layout), most })) }
    }

    /// The pages, if only some of them are in memory.
    #[inline]
    #[must_use]
    pub fn table(&self) -> Option<&PageTable> {
        self.elsewhere.as_ref().map(|elsewhere| &elsewhere.table)
    }

    /// The same, to be changed.
    #[inline]
    pub fn table_mut(&mut self) -> Option<&mut PageTable> {
        self.elsewhere.as_mut().map(|elsewhere| &mut elsewhere.table)
    }

    /// The value of a number that is elsewhere.
    #[cold]
    fn get_elsewhere(&self, at: u64) -> u64 {
        self.table().map_or(NONE, |table| table.get(at))
    }

    /// The same of a run.
    #[cold]
    fn run_elsewhere(&self, at: u64, most: u32) -> (u64, u32) {
        self.table().map_or((NONE, most), |table| table.run(at, most))
    }

    /// The value of `at`, or [`NONE`].
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u64 {
        let (chunk, offset) = place(at);
        match &self.chunks[chunk] {
            Chunk::Empty => NONE,
            Chunk::Run(value) => value + offset as u64,
            Chunk::Pages(pages) => pages[offset / PAGE].get(offset % PAGE),
            Chunk::Elsewhere => self.get_elsewhere(at),
        }
    }

    /// Reads some of what a lookup of `at` will, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, at: u64) -> u64 {
        let (chunk, offset) = place(at);
        match &self.chunks[chunk] {
            Chunk::Empty => NONE,
            Chunk::Run(value) => *value,
            Chunk::Pages(pages) => pages[offset / PAGE].prefetch(offset % PAGE),
            Chunk::Elsewhere => NONE,
        }
    }

    /// The value of `at`, and for how many of the `most` numbers from there on it is seen at once that values ascend by
    /// ones, or that nothing is set.
    #[inline]
    #[must_use]
    pub fn run(&self, at: u64, most: u32) -> (u64, u32) {
        let (chunk, offset) = place(at);
        let rest = (SPAN - offset) as u32;
        match &self.chunks[chunk] {
            Chunk::Empty => (NONE, most.min(rest)),
            Chunk::Run(value) => (value + offset as u64, most.min(rest)),
            Chunk::Pages(pages) => pages[offset / PAGE].run(offset % PAGE, most),
            Chunk::Elsewhere => self.run_elsewhere(at, most),
        }
    }

    /// Whether a few numbers say all values from `first` to `end`: of each page there nothing is set, or values ascend
    /// by ones.
    #[must_use]
    pub fn is_regular(&self, first: u64, end: u64) -> bool {
        let pages = first as usize / PAGE..(end as usize).div_ceil(PAGE);
        let is_regular = |page: usize| match self.chunks.get(page / CHUNK) {
            Some(Chunk::Pages(pages)) => matches!(pages[page % CHUNK], Page::Empty | Page::Run(_)),
            Some(Chunk::Empty | Chunk::Run(_)) | None => true,
            Some(Chunk::Elsewhere) => false,
        };
        pages.into_iter().all(is_regular)
    }

    /// Sets the value of `at`, below [`NONE`], or to that.
    #[inline]
    pub fn set(&mut self, at: u64, value: u64) {
        let (chunk, offset) = place(at);
        if let Chunk::Pages(pages) = &mut self.chunks[chunk]
            && let page = &mut pages[offset / PAGE]
            && let Page::Each(values, count) = page
        {
            values.set(offset % PAGE, value, count);
            if *count == 0 {
                *page = Page::Empty;
            }
        } else {
            self.set_any(at, 1, value);
        }
    }

    /// Sets the `blocks` numbers from `at` on to values that ascend from `value` by ones; to [`NONE`] if that is the
    /// value.
    #[inline]
    pub fn set_run(&mut self, at: u64, blocks: u32, value: u64) {
        if blocks == 1 { self.set(at, value) } else { self.set_any(at, blocks, value) }
    }

    /// The same for any number of blocks, and whatever their pages are.
    fn set_any(&mut self, at: u64, blocks: u32, value: u64) {
        if let Some(elsewhere) = &mut self.elsewhere {
            return elsewhere.table.set_run(at, blocks, value);
        }
        let step = u64::from(value != NONE);
        let mut done = 0;
        while done < blocks {
            let (chunk, offset) = place(at + u64::from(done));
            let part = (blocks - done).min((SPAN - offset) as u32);
            self.chunks[chunk].set_run(offset, part as usize, value + u64::from(done) * step);
            done += part;
        }
    }
}

impl Chunk {
    /// Sets values that ascend from `first` by ones, or are [`NONE`].
    fn set_run(&mut self, offset: usize, blocks: usize, first: u64) {
        let is_so = match self {
            Self::Empty => first == NONE,
            Self::Run(value) => *value + offset as u64 == first,
            Self::Pages(_) => false,
            // Its map does not come here.
            Self::Elsewhere => true,
        };
        if is_so {
            return;
        }
        // Pages are kept as long as something is set, as arrays of values are.
        if blocks == SPAN && (first == NONE || !matches!(self, Self::Pages(_))) {
            *self = if first == NONE { Self::Empty } else { Self::Run(first) };
            return;
        }
        let step = u64::from(first != NONE);
        let pages = self.pages();
        let mut done = 0;
        while done < blocks {
            let (page, offset) = ((offset + done) / PAGE, (offset + done) % PAGE);
            let part = (blocks - done).min(PAGE - offset);
            pages[page].set_run(offset, part, first + done as u64 * step);
            done += part;
        }
    }

    /// Its pages, one by one.
    fn pages(&mut self) -> &mut [Page; CHUNK] {
        let first = if let Self::Run(value) = self { Some(*value) } else { None };
        let page = |page: usize| first.map_or(Page::Empty, |first| Page::Run(first + (page * PAGE) as u64));
        if !matches!(self, Self::Pages(_)) {
            *self = Self::Pages(Box::new(std::array::from_fn(page)));
        }
        match self {
            Self::Pages(pages) => pages,
            Self::Empty | Self::Run(_) | Self::Elsewhere => unreachable!("it has just been divided"),
        }
    }
}

impl Page {
    #[inline]
    fn get(&self, offset: usize) -> u64 {
        match self {
            Self::Empty => NONE,
            Self::Run(value) => value + offset as u64,
            Self::Runs(runs) => runs.get(offset).0,
            Self::Each(values, _) => values.get(offset),
        }
    }

    #[inline]
    fn prefetch(&self, offset: usize) -> u64 {
        match self {
            Self::Empty => NONE,
            Self::Run(value) => *value,
            Self::Runs(runs) => runs.prefetch(offset),
            Self::Each(values, _) => values.get(offset),
        }
    }

    /// The value at an offset, and for how many of the `most` from there on values ascend by ones or are not set.
    #[inline]
    fn run(&self, offset: usize, most: u32) -> (u64, u32) {
        let most = most.min((PAGE - offset) as u32);
        match self {
            Self::Empty => (NONE, most),
            Self::Run(value) => (value + offset as u64, most),
            Self::Runs(runs) => {
                let (value, run) = runs.get(offset);
                (value, most.min(run as u32))
            }
            Self::Each(values, _) => {
                let value = values.get(offset);
                let (step, mut next, mut run) = (u64::from(value != NONE), value, 1);
                while run < most {
                    next += step;
                    if values.get(offset + run as usize) != next {
                        break;
                    }
                    run += 1;
                }
                (value, run)
            }
        }
    }

    /// Sets values that ascend from `first` by ones, or are [`NONE`].
    fn set_run(&mut self, offset: usize, blocks: usize, first: u64) {
        let is_so = match self {
            Self::Empty => first == NONE,
            Self::Run(value) => *value + offset as u64 == first,
            Self::Runs(_) | Self::Each(..) => false,
        };
        if is_so {
            return;
        }
        // An array is kept until nothing in it is set, so that a map that is in use allocates little in the end.
        if blocks == PAGE && (first == NONE || !matches!(self, Self::Each(..))) {
            *self = if first == NONE { Self::Empty } else { Self::Run(first) };
            return;
        }
        match self {
            Self::Empty => *self = Self::Runs(Runs::default()),
            Self::Run(value) => *self = Self::Runs(Runs::of_page(*value)),
            Self::Runs(_) | Self::Each(..) => {}
        }
        if let Self::Runs(runs) = self
            && !runs.set(offset, blocks, first)
        {
            *self = runs.entries();
        }
        if let Self::Runs(runs) = self
            && let Some(value) = runs.whole()
        {
            *self = Self::Run(value);
        }
        let is_empty = match self {
            Self::Each(entries, count) => {
                entries.set_run(offset, blocks, first, count);
                *count == 0
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
mod tests;
