//! The map in pages: which of them there are, which a plan needs, and what it did to them.
//!
//! A page holds what is known of some blocks, one after another: where each lies and, where something depends on it,
//! when it was written and how hot it is. Other pages say which block each slot was written with. Their entries are
//! those of [`PagedMap`](crate::parts::paged_map::PagedMap), and what that says with one number has no page.

use super::Bands;
use crate::parts::paged_map::ENTRY;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{MAP_PAGE_BYTES, Touch};

/// Bytes that a page has for its checksum and its version.
const HEADER: u32 = 64;
/// Entries come in groups of so many.
const GROUP: u32 = 128;

/// Entries of a page.
const fn entries(bytes: u32) -> u64 {
    let fit = (MAP_PAGE_BYTES - HEADER) / bytes;
    (fit - fit % GROUP) as u64
}

/// Where entries are: pages of blocks come first, then those of slots.
#[derive(Copy, Clone, Debug)]
struct Geometry {
    /// Blocks of a page.
    blocks: u64,
    /// Pages of blocks.
    of_blocks: u64,
    /// Pages of slots.
    of_slots: u64,
}

impl Geometry {
    /// Slots of a page.
    const SLOTS: u64 = entries(ENTRY as u32);

    fn of(bands: &Bands) -> Self {
        let blocks = entries(ENTRY as u32 + bands.known.entry_bytes());
        let slots = u64::from(bands.zones().count) * u64::from(bands.blocks());
        Self { blocks, of_blocks: bands.map.capacity().div_ceil(blocks), of_slots: slots.div_ceil(Self::SLOTS) }
    }

    /// The pages of some blocks.
    fn pages(&self, at: Extent<Lba>) -> std::ops::Range<u64> {
        at.start.0 / self.blocks..at.end().0.div_ceil(self.blocks)
    }

    /// The pages of `slots` slots from `first` on.
    fn pages_of_slots(&self, first: u64, slots: u32) -> std::ops::Range<u64> {
        self.of_blocks + first / Self::SLOTS..self.of_blocks + (first + u64::from(slots)).div_ceil(Self::SLOTS)
    }
}

/// What was done to pages.
pub(in crate::banded::log_structured) struct Divided {
    /// Pages that a step of cleaning may need at a time.
    most: u32,
    touched: Vec<(u64, Touch)>,
    /// How many of these are known to be so; the others are marked.
    settled: usize,
    /// Where only some pages are in memory: bands whose live blocks have changed.
    pub changed: Vec<u32>,
}

impl Divided {
    /// A step of cleaning needs at most `most` pages, and nothing has been done to any.
    pub fn new(most: u32) -> Self {
        Self { most, touched: Vec::new(), settled: 0, changed: Vec::new() }
    }

    /// Something was done to a page, and is known.
    pub fn touch(&mut self, page: u64, touch: Touch) {
        if self.touched.last() != Some(&(page, touch)) {
            self.touched.push((page, touch));
        }
        self.settled = self.touched.len();
    }

    /// The same was done to some pages; nothing is marked.
    fn add(&mut self, pages: Vec<u64>, touch: Touch) {
        self.touched.extend(pages.into_iter().map(|page| (page, touch)));
        self.settled = self.touched.len();
    }
}

impl Bands {
    /// Slots whose pages, and those of the blocks there, are as many as a step of cleaning may need; nothing where the
    /// map is not divided.
    pub fn slots_at_a_time(&self) -> Option<u32> {
        self.pages.as_ref().map(|pages| (pages.most / 2).max(1))
    }

    /// Pages that there may be.
    pub fn page_count(&self) -> u64 {
        let Geometry { of_blocks, of_slots, .. } = Geometry::of(self);
        of_blocks + of_slots
    }

    /// Divides the map for steps of cleaning that need at most `most` pages.
    pub fn divide(&mut self, most: u32) {
        self.pages = Some(Divided::new(most));
    }

    /// The pages of some blocks.
    pub fn pages_of_blocks(&self, at: Extent<Lba>) -> impl Iterator<Item = u64> {
        let geometry = Geometry::of(self);
        geometry.pages(at).filter(move |&page| !self.is_regular(geometry, page))
    }

    /// The pages of some slots, and of the blocks that were written there.
    pub fn pages_of_written(&self, slot: u64, slots: u32) -> Vec<u64> {
        let mut pages = Vec::new();
        self.pages_of_holders(Geometry::of(self), slot, slots, &mut pages);
        pages
    }

    /// What was done to pages since this was last asked.
    pub fn take_touched(&mut self) -> impl Iterator<Item = (u64, Touch)> {
        self.pages.iter_mut().flat_map(|pages| {
            pages.settled = 0;
            pages.touched.drain(..)
        })
    }

    /// Whether a page is as good as none.
    fn is_regular(&self, geometry: Geometry, page: u64) -> bool {
        match page.checked_sub(geometry.of_blocks) {
            None => {
                let first = page * geometry.blocks;
                let end = (first + geometry.blocks).min(self.map.capacity());
                self.map.is_regular(first, end) && self.known.is_regular(first, end)
            }
            Some(page) => self.map.is_held_regularly(page * Geometry::SLOTS, (page + 1) * Geometry::SLOTS),
        }
    }

    /// Blocks are about to change. What is marked is settled when they have. Where the map is not divided, each costs a
    /// look at that and no more.
    #[inline(always)]
    pub fn mark(&mut self, at: Extent<Lba>) {
        if self.pages.is_some() {
            self.mark_pages_of_blocks(at);
        }
    }

    /// The slots from `first` on, of one band, are about to be written.
    #[inline(always)]
    pub fn mark_slots(&mut self, first: u64, slots: u32) {
        if self.pages.is_some() {
            self.mark_pages_of_slots(first, slots);
        }
    }

    /// What was marked has changed.
    #[inline(always)]
    pub fn settle(&mut self) {
        if self.pages.is_some() {
            self.settle_marked();
        }
    }

    #[cold]
    #[inline(never)]
    fn mark_pages_of_blocks(&mut self, at: Extent<Lba>) {
        if self.map.is_cached() {
            return self.touch_blocks(at);
        }
        let geometry = Geometry::of(self);
        self.mark_pages(geometry, geometry.pages(at));
    }

    #[cold]
    #[inline(never)]
    fn mark_pages_of_slots(&mut self, first: u64, slots: u32) {
        if self.map.is_cached() {
            return self.touch_slots(first, slots);
        }
        let (geometry, from) = (Geometry::of(self), self.pages.as_ref().map_or(0, |pages| pages.touched.len()));
        self.mark_pages(geometry, geometry.pages_of_slots(first, slots));
        self.renew(geometry, first, from);
    }

    /// Pages that are written from their first slot on are not needed as they were, unless they have slots of the next
    /// band too.
    fn renew(&mut self, geometry: Geometry, first: u64, from: usize) {
        let (band, _) = self.map.locate(first);
        let end = self.map.place(band, self.blocks());
        let is_renewed = |page: u64| {
            let start = (page - geometry.of_blocks) * Geometry::SLOTS;
            start >= first && start + Geometry::SLOTS <= end
        };
        let touched = self.pages.iter_mut().flat_map(|pages| &mut pages.touched[from..]);
        touched.filter(|(page, _)| is_renewed(*page)).for_each(|(_, touch)| *touch = Touch::Renew);
    }

    fn mark_pages(&mut self, geometry: Geometry, range: std::ops::Range<u64>) {
        for page in range {
            let is_new = self.is_regular(geometry, page);
            if let Some(pages) = &mut self.pages {
                pages.touched.push((page, if is_new { Touch::Renew } else { Touch::Change }));
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_marked(&mut self) {
        let Some(pages) = self.pages.as_ref().filter(|_| !self.map.is_cached()) else { return };
        let (geometry, marked) = (Geometry::of(self), pages.settled..pages.touched.len());
        for at in marked.clone() {
            self.settle_one(geometry, at);
        }
        if let Some(pages) = &mut self.pages {
            pages.settled = marked.end;
        }
    }

    fn settle_one(&mut self, geometry: Geometry, at: usize) {
        let page = self.pages.as_ref().map_or(0, |pages| pages.touched[at].0);
        let is_regular = self.is_regular(geometry, page);
        if let Some(pages) = &mut self.pages
            && is_regular
        {
            pages.touched[at].1 = Touch::Drop;
        }
    }

    /// What was written to a band behind its first `kept` slots is of no use any more.
    pub fn drop_writes(&mut self, band: u32, kept: u32) {
        if self.pages.is_none() || self.map.is_cached() {
            return;
        }
        let geometry = Geometry::of(self);
        let range = geometry.pages_of_slots(self.map.place(band, kept), self.blocks() - kept);
        let gone: Vec<u64> = range.filter(|&page| self.is_regular(geometry, page)).collect();
        if let Some(pages) = &mut self.pages {
            pages.add(gone, Touch::Drop);
        }
    }

    /// Bands are about to be looked through for their youngest blocks.
    pub fn mark_refreshed(&mut self) {
        let (Some(_), Some(ages)) = (&self.pages, &self.known.ages) else { return };
        let (geometry, mut looked) = (Geometry::of(self), Vec::new());
        for band in self.pool.by_age().filter(|&band| ages.is_looked_through(band)) {
            self.pages_of_holders(geometry, self.map.place(band, 0), self.written(band), &mut looked);
        }
        if let Some(pages) = &mut self.pages {
            pages.add(looked, Touch::Read);
        }
    }

    /// The pages of some slots, and of the blocks that were written there, in ascending order.
    fn pages_of_holders(&self, geometry: Geometry, first: u64, slots: u32, found: &mut Vec<u64>) {
        let from = found.len();
        found.extend(geometry.pages_of_slots(first, slots));
        self.map.holders(first, slots, |_| 0, |at, _| found.extend(geometry.pages(at)));
        let mut pages = found.split_off(from);
        pages.sort_unstable();
        pages.dedup();
        found.extend(pages.into_iter().filter(|&page| !self.is_regular(geometry, page)));
    }
}
