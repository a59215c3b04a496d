//! Which blocks were read and which were written, and a number for each written one.
//!
//! Blocks are kept in pages of 64 that exist where something was touched; numbers in lines of 16 that exist where
//! something was written. A block touched alone takes some 60 bytes and 64 more if it is written, blocks in runs one
//! and four.

use std::ops::Range;

use hashbrown::HashMap;

use imbrex_core::block::{Extent, Lba};

/// Blocks of a page.
pub const PAGE: u64 = 64;
/// Blocks of a line.
const LINE: usize = 16;

/// The number of a block that was not written yet.
pub const UNNUMBERED: u32 = u32::MAX;

/// A set of blocks by use.
#[derive(Default)]
pub struct Footprint {
    index: HashMap<u64, u32>,
    pages: Vec<Page>,
    lines: Vec<[u32; LINE]>,
    /// The page used last and where it is.
    last: Option<(u64, u32)>,
    /// Distinct blocks.
    pub touched: u64,
    /// Distinct blocks that were read.
    pub read: u64,
    /// Distinct blocks that were written.
    pub written: u64,
}

#[derive(Clone, Default)]
struct Page {
    /// One bit a block.
    read: u64,
    written: u64,
    /// One more than the line of each 16 blocks; 0 is none.
    lines: [u32; PAGE as usize / LINE],
}

impl Footprint {
    /// The most pages and lines that can be told apart.
    const MOST: usize = 1 << 31;

    /// Whether the blocks of a request can be taken in.
    pub fn has_room(&self, at: Extent<Lba>) -> bool {
        let more = at.blocks as usize / LINE + 2;
        self.pages.len().max(self.lines.len()) + more <= Self::MOST
    }

    /// The numbers that blocks have, or [`UNNUMBERED`]. Step by step for all of them, so that their cache misses
    /// overlap.
    pub fn numbers(&self, blocks: impl Iterator<Item = Lba>) -> Vec<u32> {
        let page = |block: Lba| (self.index.get(&(block.0 / PAGE)).copied(), (block.0 % PAGE) as usize);
        let pages: Vec<_> = blocks.map(page).collect();
        let line =
            |(page, at): (Option<u32>, usize)| (page.map_or(0, |page| self.pages[page as usize].lines[at / LINE]), at);
        let lines: Vec<_> = pages.into_iter().map(line).collect();
        let number =
            |(line, at): (u32, usize)| if line == 0 { UNNUMBERED } else { self.lines[line as usize - 1][at % LINE] };
        lines.into_iter().map(number).collect()
    }

    /// Takes in blocks that were read.
    pub fn read(&mut self, at: Extent<Lba>) {
        for (page, blocks) in parts(at) {
            let mask = mask(&blocks);
            let (touched, read) = {
                let page = self.page(page);
                let new = (mask & !(page.read | page.written), mask & !page.read);
                page.read |= mask;
                new
            };
            self.touched += u64::from(touched.count_ones());
            self.read += u64::from(read.count_ones());
        }
    }

    /// Takes in blocks that were written, and shows `each` its number, ascending by block.
    #[inline]
    pub fn write(&mut self, at: Extent<Lba>, mut each: impl FnMut(&mut u32)) {
        for (page, blocks) in parts(at) {
            let mask = mask(&blocks);
            let (touched, written, mut lines) = {
                let page = self.page(page);
                let new = (mask & !(page.read | page.written), mask & !page.written, page.lines);
                page.written |= mask;
                new
            };
            self.touched += u64::from(touched.count_ones());
            self.written += u64::from(written.count_ones());
            if written != 0 {
                self.add_lines(page, &blocks, &mut lines);
            }
            for block in blocks {
                each(&mut self.lines[lines[block / LINE] as usize - 1][block % LINE]);
            }
        }
    }

    /// Makes those lines of a page that are not there yet.
    fn add_lines(&mut self, page: u64, blocks: &Range<usize>, lines: &mut [u32; PAGE as usize / LINE]) {
        for line in &mut lines[blocks.start / LINE..=(blocks.end - 1) / LINE] {
            if *line == 0 {
                self.lines.push([UNNUMBERED; LINE]);
                *line = self.lines.len() as u32;
            }
        }
        self.page(page).lines = *lines;
    }

    #[inline]
    fn page(&mut self, page: u64) -> &mut Page {
        let at = match self.last {
            Some((last, at)) if last == page => at,
            _ => self.find(page),
        };
        &mut self.pages[at as usize]
    }

    fn find(&mut self, page: u64) -> u32 {
        let at = *self.index.entry(page).or_insert(self.pages.len() as u32);
        if at as usize == self.pages.len() {
            self.pages.push(Page::default());
        }
        self.last = Some((page, at));
        at
    }
}

/// The pages that blocks lie in, and which of a page's blocks they are.
pub fn parts(at: Extent<Lba>) -> impl Iterator<Item = (u64, Range<usize>)> {
    let (start, end) = (at.start.0, at.end().0);
    (start / PAGE..=(end - 1) / PAGE).map(move |page| {
        let first = page * PAGE;
        (page, (start.max(first) - first) as usize..(end.min(first + PAGE) - first) as usize)
    })
}

/// A bit for each of a page's blocks.
pub fn mask(blocks: &Range<usize>) -> u64 {
    (u64::MAX >> (PAGE as usize - blocks.len())) << blocks.start
}
