//! Counters in pages of which only some are in memory. Whoever owns them puts pages in and takes them out; those of a
//! page that is not there are zeros.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::COUNTER;
use imbrex_core::memory::Memory;

/// Bytes that a page takes beside its counters: its place in a table of hashes that is half empty.
const PLACE: u64 = 64;

/// The pages that are there.
#[derive(Clone, Debug)]
pub struct Paged {
    /// Counters of a page.
    entries: u64,
    /// Pages that are there at most.
    most: u64,
    pages: HashMap<u64, Box<[u16]>, FixedState>,
}

impl Paged {
    pub fn memory(&self) -> Memory {
        Memory::room::<u8>(self.most * (self.entries * COUNTER as u64 + PLACE))
    }

    /// No page is there.
    pub fn new(entries: u64, most: u64) -> Self {
        Self { entries, most, pages: HashMap::default() }
    }

    pub fn get(&self, at: u64) -> u16 {
        let counters = self.pages.get(&(at / self.entries));
        counters.map_or(0, |counters| counters[(at % self.entries) as usize])
    }

    /// The counter, if its page is there.
    pub fn counter(&mut self, at: u64) -> Option<&mut u16> {
        let counters = self.pages.get_mut(&(at / self.entries))?;
        counters.get_mut((at % self.entries) as usize)
    }

    /// The first number from `from` on and before `end` whose counter is not zero.
    pub fn next_raised(&self, mut from: u64, end: u64) -> Option<u64> {
        while from < end {
            let page = from / self.entries;
            let (start, page_end) = (page * self.entries, end.min((page + 1) * self.entries));
            if let Some(counters) = self.pages.get(&page) {
                let part = &counters[(from - start) as usize..(page_end - start) as usize];
                if let Some(at) = part.iter().position(|counter| *counter > 0) {
                    return Some(from + at as u64);
                }
            }
            from = page_end;
        }
        None
    }

    /// Puts a page in that is not there: with these counters, and zeros behind them.
    pub fn put(&mut self, page: u64, content: &[u8]) {
        let mut counters = vec![0; self.entries as usize].into_boxed_slice();
        for (counter, bytes) in counters.iter_mut().zip(content.as_chunks::<COUNTER>().0) {
            *counter = u16::from_le_bytes(*bytes);
        }
        self.pages.insert(page, counters);
    }

    /// Appends the counters of a page that is there.
    pub fn content(&self, page: u64, out: &mut Vec<u8>) {
        let counters = self.pages.get(&page);
        out.extend(counters.into_iter().flatten().flat_map(|counter| counter.to_le_bytes()));
    }

    /// Takes a page out.
    pub fn evict(&mut self, page: u64) {
        self.pages.remove(&page);
    }
}
