//! The map in pages: which of them there are, which a plan needs, and what it did to them.
//!
//! A page holds what is known of some blocks, one after another: where each lies and, where something depends on it,
//! when it was written and how hot it is. Other pages say which block each slot was written with. Their entries are
//! those of [`PagedMap`](crate::parts::paged_map::PagedMap), and what that says with one number has no page.

use super::Bands;
use crate::banded::log_structured::LogStructured;
use crate::banded::log_structured::victims::Listing;
use crate::parts::paged_map::ENTRY;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{MAP_PAGE_BYTES, MapPages, Touch};

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
    geometry: Geometry,
    /// Pages that a step of cleaning may need at a time.
    most: u32,
    touched: Vec<(u64, Touch)>,
}

impl Bands {
    /// Slots whose pages, and those of the blocks there, are as many as a step of cleaning may need; nothing where the
    /// map is not divided.
    pub fn slots_at_a_time(&self) -> Option<u32> {
        self.pages.as_ref().map(|pages| (pages.most / 2).max(1))
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

    /// Makes a change; where the map is divided, with a look before and after it at the pages that it changes.
    #[inline(always)]
    pub fn change(&mut self, mark: impl FnOnce(&mut Self) -> usize, change: impl FnOnce(&mut Self)) {
        if self.pages.is_none() { change(self) } else { self.change_pages(mark, change) }
    }

    /// Out of the way of maps that are not divided.
    #[cold]
    #[inline(never)]
    fn change_pages(&mut self, mark: impl FnOnce(&mut Self) -> usize, change: impl FnOnce(&mut Self)) {
        let from = mark(self);
        change(self);
        self.settle(from);
    }

    /// Blocks are about to change. Says from where on [`Bands::settle`] has to look.
    pub fn mark(&mut self, at: Extent<Lba>) -> usize {
        let Some(pages) = &self.pages else { return 0 };
        let (geometry, from) = (pages.geometry, pages.touched.len());
        self.mark_pages(geometry, geometry.pages(at));
        from
    }

    /// The slots from `first` on, of one band, are about to be written.
    pub fn mark_slots(&mut self, first: u64, slots: u32) -> usize {
        let Some(pages) = &self.pages else { return 0 };
        let (geometry, from) = (pages.geometry, pages.touched.len());
        self.mark_pages(geometry, geometry.pages_of_slots(first, slots));
        self.renew(geometry, first, from);
        from
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

    /// What was marked from there on has changed.
    fn settle(&mut self, from: usize) {
        let Some(pages) = &self.pages else { return };
        let geometry = pages.geometry;
        for at in from..pages.touched.len() {
            self.settle_one(geometry, at);
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
        let Some(pages) = &self.pages else { return };
        let geometry = pages.geometry;
        let range = geometry.pages_of_slots(self.map.place(band, kept), self.blocks() - kept);
        let gone: Vec<u64> = range.filter(|&page| self.is_regular(geometry, page)).collect();
        if let Some(pages) = &mut self.pages {
            pages.touched.extend(gone.into_iter().map(|page| (page, Touch::Drop)));
        }
    }

    /// What is known of how hot blocks are is about to change.
    pub fn mark_heat(&mut self, at: Extent<Lba>) -> usize {
        if self.known.temperatures.is_some() { self.mark(at) } else { usize::MAX }
    }

    /// Bands are about to be looked through for their youngest blocks.
    pub fn mark_refreshed(&mut self) {
        let (Some(pages), Some(ages)) = (&self.pages, &self.known.ages) else { return };
        let mut looked = Vec::new();
        for band in self.pool.by_age().filter(|&band| ages.is_looked_through(band)) {
            self.pages_of_holders(pages.geometry, self.map.place(band, 0), self.written(band), &mut looked);
        }
        if let Some(pages) = &mut self.pages {
            pages.touched.extend(looked.into_iter().map(|page| (page, Touch::Read)));
        }
    }

    /// The pages of some slots, and of the blocks that were written there, in ascending order.
    fn pages_of_holders(&self, geometry: Geometry, first: u64, slots: u32, found: &mut Vec<u64>) {
        let from = found.len();
        found.extend(geometry.pages_of_slots(first, slots));
        self.map.holders(first, slots, |_| 0, |lba, _| found.extend(geometry.pages(Extent::new(lba, 1))));
        let mut pages = found.split_off(from);
        pages.sort_unstable();
        pages.dedup();
        found.extend(pages.into_iter().filter(|&page| !self.is_regular(geometry, page)));
    }
}

impl MapPages for LogStructured {
    fn count(&self) -> u64 {
        let Geometry { of_blocks, of_slots, .. } = Geometry::of(&self.bands);
        of_blocks + of_slots
    }

    fn divide(&mut self, most: u32) {
        let geometry = Geometry::of(&self.bands);
        self.bands.pages = Some(Divided { geometry, most, touched: Vec::new() });
    }

    fn of_blocks(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        let geometry = Geometry::of(&self.bands);
        geometry.pages(at).filter(|&page| !self.bands.is_regular(geometry, page)).for_each(each);
    }

    fn of_cleaning(&self, each: &mut dyn FnMut(u64)) {
        let Some(Listing { slot, slots, .. }) = self.next_listing() else { return };
        let mut pages = Vec::new();
        self.bands.pages_of_holders(Geometry::of(&self.bands), slot, slots, &mut pages);
        pages.into_iter().for_each(each);
    }

    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch)) {
        if let Some(pages) = &mut self.bands.pages {
            pages.touched.drain(..).for_each(|(page, touch)| each(page, touch));
        }
    }
}
