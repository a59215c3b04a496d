//! The table of sums: four bytes for each block of the drive, of which the pages that are used are kept in memory.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use imbrex::block::{Address, Extent, Pba};

use super::place::{self, HEAD, Place, SECTOR, SUMS};
use crate::store::{Store, StoreError};

/// Pages that are kept in memory; each has the sums of some four megabytes.
pub(super) const MOST_PAGES: usize = 4096;

/// A sum; nothing for a block that has none.
pub(super) type Sum = Option<u32>;

/// The sum of what a block holds. A block that is found in the place of another one has another sum.
pub(super) fn sum(block: Pba, content: &[u8]) -> Sum {
    let sum = crc32c::crc32c_append(crc32c::crc32c(content), &block.block().to_le_bytes());
    // Zero says that there is none.
    Some(if sum == 0 { 1 } else { sum })
}

/// The table.
pub(super) struct Table {
    identity: u64,
    place: Place,
    block_bytes: u32,
    pages: BTreeMap<u32, Page>,
    /// Pages written since the store was last flushed.
    unflushed: BTreeSet<u32>,
    clock: u64,
    /// Sectors that were found damaged, whose sums are gone.
    pub damaged: u64,
}

struct Page {
    bytes: Vec<u8>,
    is_dirty: bool,
    used: u64,
}

impl Table {
    pub fn new(identity: u64, place: Place, block_bytes: u32) -> Self {
        Self { identity, place, block_bytes, pages: BTreeMap::new(), unflushed: BTreeSet::new(), clock: 0, damaged: 0 }
    }

    /// Sums on a page.
    pub fn per_page(&self) -> u64 {
        u64::from(self.block_bytes) / SECTOR as u64 * SUMS
    }

    /// The sums of blocks.
    ///
    /// # Errors
    /// When a page that made room cannot be written.
    pub fn get(&mut self, below: &dyn Store, at: Extent<Pba>) -> Result<Vec<Sum>, StoreError> {
        let mut sums = Vec::with_capacity(at.blocks as usize);
        for (number, slots) in self.runs(at) {
            let page = self.page(below, number)?;
            sums.extend(slots.map(|slot| read(&page.bytes, slot)));
        }
        Ok(sums)
    }

    /// Sets the sums of blocks.
    ///
    /// # Errors
    /// When a page that made room cannot be written.
    pub fn set(&mut self, below: &dyn Store, at: Extent<Pba>, sums: &[Sum]) -> Result<(), StoreError> {
        let mut sums = sums.iter();
        for (number, slots) in self.runs(at) {
            let page = self.page(below, number)?;
            page.is_dirty = true;
            slots.zip(sums.by_ref()).for_each(|(slot, sum)| write(&mut page.bytes, slot, *sum));
        }
        Ok(())
    }

    /// Forgets the sums of blocks.
    ///
    /// # Errors
    /// When a page that made room cannot be written.
    pub fn clear(&mut self, below: &dyn Store, at: Extent<Pba>) -> Result<(), StoreError> {
        let all = self.per_page();
        for (number, slots) in self.runs(at) {
            if slots.end - slots.start == all {
                self.pages.remove(&number);
                self.keep(below, number, vec![0; self.block_bytes as usize])?.is_dirty = true;
                continue;
            }
            let page = self.page(below, number)?;
            page.is_dirty = true;
            slots.for_each(|slot| write(&mut page.bytes, slot, None));
        }
        Ok(())
    }

    /// Writes what has changed.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&mut self, below: &dyn Store) -> Result<(), StoreError> {
        let changed: Vec<u32> =
            self.pages.iter().filter(|(_, page)| page.is_dirty).map(|(number, _)| *number).collect();
        changed.into_iter().try_for_each(|number| self.write_page(below, number))
    }

    /// Pages that a flush of the store will make durable.
    pub fn take_unflushed(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.unflushed)
    }

    /// A flush failed: pages that it was to make durable are to be written again.
    pub fn not_flushed(&mut self, pages: BTreeSet<u32>) {
        for number in pages {
            if let Some(page) = self.pages.get_mut(&number) {
                page.is_dirty = true;
            }
        }
    }

    /// The pages on which the sums of blocks are, and where on them.
    fn runs(&self, at: Extent<Pba>) -> Vec<(u32, std::ops::Range<u64>)> {
        let (per_page, end) = (self.per_page(), at.start.block() + u64::from(at.blocks));
        let (mut runs, mut next) = (Vec::new(), at.start.block());
        while next < end {
            let page = next / per_page;
            let until = end.min((page + 1) * per_page);
            runs.push((page as u32, next % per_page..until - page * per_page));
            next = until;
        }
        runs
    }

    fn page(&mut self, below: &dyn Store, number: u32) -> Result<&mut Page, StoreError> {
        self.clock += 1;
        if self.pages.contains_key(&number) {
            let clock = self.clock;
            return Ok(self.pages.entry(number).and_modify(|page| page.used = clock).or_insert_with(Page::none));
        }
        let mut bytes = vec![0; self.block_bytes as usize];
        let at = self.at(number);
        match below.read(at) {
            Ok(content) => bytes.copy_from_slice(&content),
            Err(error) => {
                self.damaged += (bytes.len() / SECTOR) as u64;
                tracing::warn!(%error, "the checksums of {} blocks are lost", self.per_page());
            }
        }
        let damaged = place::damaged(&mut bytes, self.identity, self.place.sector(at.start, self.block_bytes));
        for sector in &damaged {
            let first = u64::from(number) * self.per_page() + *sector as u64 * SUMS;
            tracing::warn!(first, blocks = SUMS, "checksums are damaged: what they were of is not checked");
        }
        self.damaged += damaged.len() as u64;
        self.keep(below, number, bytes)
    }

    /// Takes a page into memory, where the least recently used ones make room.
    fn keep(&mut self, below: &dyn Store, number: u32, bytes: Vec<u8>) -> Result<&mut Page, StoreError> {
        if self.pages.len() >= MOST_PAGES {
            let mut oldest: Vec<(u64, u32)> = self.pages.iter().map(|(number, page)| (page.used, *number)).collect();
            oldest.sort_unstable();
            for (_, number) in oldest.into_iter().take(MOST_PAGES / 8) {
                self.write_page(below, number)?;
                self.pages.remove(&number);
            }
        }
        let page = Page { bytes, is_dirty: false, used: self.clock };
        Ok(self.pages.entry(number).or_insert(page))
    }

    fn write_page(&mut self, below: &dyn Store, number: u32) -> Result<(), StoreError> {
        let at = self.at(number);
        let first = self.place.sector(at.start, self.block_bytes);
        let Some(page) = self.pages.get_mut(&number).filter(|page| page.is_dirty) else { return Ok(()) };
        place::seal(&mut page.bytes, self.identity, first);
        below.write(at, &Bytes::copy_from_slice(&page.bytes))?;
        page.is_dirty = false;
        self.unflushed.insert(number);
        Ok(())
    }

    fn at(&self, number: u32) -> Extent<Pba> {
        Extent::new(self.place.table.start.plus(number.into()), 1)
    }
}

impl Page {
    fn none() -> Self {
        Self { bytes: Vec::new(), is_dirty: false, used: 0 }
    }
}

/// Where a sum is on a page.
fn offset(slot: u64) -> usize {
    (slot / SUMS) as usize * SECTOR + HEAD + (slot % SUMS) as usize * size_of::<u32>()
}

fn read(page: &[u8], slot: u64) -> Sum {
    let at = offset(slot);
    let sum = u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
    (sum != 0).then_some(sum)
}

fn write(page: &mut [u8], slot: u64, sum: Sum) {
    let at = offset(slot);
    page[at..at + 4].copy_from_slice(&sum.unwrap_or(0).to_le_bytes());
}
