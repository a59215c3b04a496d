//! The map in pages of which only some are in memory.
//!
//! The first pages are those of blocks: where each of some blocks lies, and behind that when each was written and how hot
//! each is, where that is kept. Others say which block each slot was written with. They begin anew with each band, so
//! that the first write to a page of a band that was emptied begins it from nothing.

use super::Bands;
use super::pages::Divided;
use crate::parts::full_map::{Entries, FullMap};
use crate::parts::page_table::{Layout, Located, PageTable};
use crate::parts::paged_map::ENTRY;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, HomePage, MAP_PAGE_HEADER, MapCache, Touch};

/// Pages that one step of cleaning needs at most, however many are in memory.
const MOST_PAGES: u32 = 512;

/// Pages of which a count says whether they were ever used.
pub(in crate::banded::log_structured) const USES: u64 = 64;

/// What a page is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// Page of that number of those of blocks.
    Blocks(u64),
    /// The same of slots.
    Slots(u64),
}

impl Bands {
    /// Keeps only some pages of the map in memory, none at first.
    pub fn cache(&mut self, MapCache { page_bytes, pages }: MapCache) {
        let content = u64::from(page_bytes.saturating_sub(MAP_PAGE_HEADER));
        let blocks = content / u64::from(ENTRY as u32 + self.known.entry_bytes());
        let entries = Entries { blocks: blocks.max(1), places: (content / ENTRY as u64).max(1) };
        let capacity = self.map.capacity();
        let map = std::mem::replace(&mut self.map, FullMap::new(0, 0, 1));
        self.map = map.into_cached(entries, pages.into());
        self.known.cache(Layout::new(capacity, capacity, entries.blocks), pages.into());
        self.pages = Some(Divided::new(pages.min(MOST_PAGES)));
    }

    /// How many pages there are of blocks.
    fn of_blocks(&self) -> u64 {
        self.map.tables().map_or(0, |(blocks, _)| blocks.layout().pages())
    }

    fn kind(&self, page: u64) -> Kind {
        page.checked_sub(self.of_blocks()).map_or(Kind::Blocks(page), Kind::Slots)
    }

    /// The table that a page is in, and its number there.
    fn table(&self, page: u64) -> Option<(&PageTable, u64)> {
        let (blocks, slots) = self.map.tables()?;
        Some(match self.kind(page) {
            Kind::Blocks(page) => (blocks, page),
            Kind::Slots(page) => (slots, page),
        })
    }

    /// All pages that there may be.
    pub fn cached_pages_at_all(&self) -> u64 {
        self.of_blocks() + self.map.tables().map_or(0, |(_, slots)| slots.layout().pages())
    }

    /// How many pages are in memory.
    pub fn cached_pages(&self) -> usize {
        self.map.tables().map_or(0, |(blocks, slots)| blocks.cached() + slots.cached())
    }

    /// Whether a page is in memory.
    pub fn has_page(&self, page: u64) -> bool {
        self.table(page).is_some_and(|(table, page)| table.has(page))
    }

    /// Whether a page never held anything.
    pub fn is_blank_page(&self, page: u64) -> bool {
        self.table(page).is_none_or(|(table, page)| !table.is_used(page))
    }

    /// Puts a page into memory; whether it differs from the one at home. Blocks lie below what is written of each band, if
    /// that `is_known`.
    pub fn put_page(&mut self, page: u64, home: Option<HomePage<'_>>, is_known: bool) -> Result<bool, Corrupt> {
        let kind = self.kind(page);
        let Some((blocks, slots)) = self.map.tables_mut() else { return Ok(false) };
        let content = home.map(|home| (home.content, home.version));
        let differs = match kind {
            Kind::Slots(page) => slots.put(page, content),
            Kind::Blocks(page) => {
                let entries = blocks.layout().entries();
                let behind = home.filter(|home| home.is_of_epoch);
                let known = behind.and_then(|home| home.content.get(entries as usize * ENTRY..));
                self.known.put_page(page, entries, known);
                blocks.put(page, content)
            }
        };
        match self.impossible(page, home, is_known) {
            None => Ok(differs),
            Some(why) => {
                self.evict_page(page);
                Err(Corrupt(format!("page {page} of the map {why}")))
            }
        }
    }

    /// What a page in memory says that cannot be.
    fn impossible(&self, page: u64, home: Option<HomePage<'_>>, is_known: bool) -> Option<String> {
        let ((blocks, slots), (table, number)) = (self.map.tables()?, self.table(page)?);
        let takes = table.layout().entries() as usize * ENTRY;
        if let Some(HomePage { content, .. }) = home.filter(|home| home.content.len() < takes) {
            return Some(format!("has {} bytes, and its entries take {takes}", content.len()));
        }
        let (places, capacity) = (slots.layout().numbers(), blocks.layout().numbers());
        let is_written = |slot: u64| {
            let (band, offset) = self.map.locate(slot);
            !is_known || offset < self.written(band)
        };
        if self.kind(page) == Kind::Blocks(page) {
            let (lba, slot) = table.impossible(number, |slot| slot < places && is_written(slot))?;
            let that = if slot < places { "nothing is written" } else { "no band is" };
            return Some(format!("puts block {lba} at place {slot} of the bands, where {that}"));
        }
        let (slot, lba) = table.impossible(number, |lba| lba < capacity)?;
        Some(format!("says that place {slot} of the bands was written with block {lba}, beyond the capacity"))
    }

    /// Appends what a page in memory holds.
    pub fn page_content(&self, page: u64, out: &mut Vec<u8>) {
        if let Some((table, number)) = self.table(page) {
            table.content(number, out);
        }
        if let Kind::Blocks(page) = self.kind(page) {
            self.known.page_content(page, out);
        }
    }

    /// Takes a page out of memory.
    pub fn evict_page(&mut self, page: u64) {
        let kind = self.kind(page);
        let Some((blocks, slots)) = self.map.tables_mut() else { return };
        match kind {
            Kind::Slots(page) => slots.evict(page),
            Kind::Blocks(page) => {
                blocks.evict(page);
                self.known.evict_page(page);
            }
        }
    }

    /// The pages of some blocks.
    pub fn cached_pages_of(&self, at: Extent<Lba>) -> std::ops::Range<u64> {
        self.map.tables().map_or(0..0, |(blocks, _)| blocks.layout().pages_of(at.start.0, at.blocks.into()))
    }

    /// The page that says what a slot was written with.
    pub fn page_of_slot(&self, slot: u64) -> u64 {
        self.of_blocks() + self.map.tables().map_or(0, |(_, slots)| slots.layout().page_of(slot))
    }

    /// The pages that say what slots were written with.
    pub fn pages_of_slots(&self) -> std::ops::Range<u64> {
        self.of_blocks()..self.cached_pages_at_all()
    }

    /// The blocks that a page in memory says its slots were written with, as far as they are.
    pub fn holders_of(&self, page: u64, each: &mut dyn FnMut(Pba, Lba)) {
        let (Kind::Slots(page), Some((_, slots))) = (self.kind(page), self.map.tables()) else { return };
        for slot in slots.layout().numbers_of(page) {
            let (band, offset) = self.map.locate(slot);
            if let Some(lba) = self.map.holder(slot).filter(|_| offset < self.written(band)) {
                each(self.block(slot), lba);
            }
        }
    }

    /// How many blocks from the front of `at` are in pages that can be looked at and changed: in memory, or blank where
    /// nothing is to be set.
    pub fn in_memory(&self, at: Extent<Lba>, is_blank_enough: bool) -> u32 {
        let Some((blocks, _)) = self.map.tables() else { return at.blocks };
        let layout = blocks.layout();
        let can_be = |page: &u64| if is_blank_enough { blocks.is_known(*page) } else { blocks.has(*page) };
        let last = layout.pages_of(at.start.0, at.blocks.into()).take_while(can_be).last();
        last.map_or(0, |last| (layout.numbers_of(last).end.min(at.end().0) - at.start.0) as u32)
    }

    /// The page that has to be in memory before a slot is written; none if the write begins it.
    pub fn page_to_write(&self, slot: u64) -> Option<u64> {
        let (_, slots) = self.map.tables()?;
        let Located { page, offset, .. } = slots.layout().locate(slot);
        (offset > 0).then_some(self.of_blocks() + page)
    }

    /// Whether a slot can be written: always, where all of the map is in memory.
    pub fn is_writable(&self, slot: u64) -> bool {
        self.page_to_write(slot).is_none_or(|page| self.has_page(page))
    }

    /// At most `slots` slots from `slot` on, all of one page.
    pub fn of_one_page(&self, slot: u64, slots: u32) -> u32 {
        self.map.tables().map_or(slots, |(_, table)| table.layout().locate(slot).rest.min(slots.into()) as u32)
    }

    /// A page of blocks was needed that is not in memory.
    pub fn miss(&self) {
        if let Some((blocks, _)) = self.map.tables() {
            blocks.miss();
        }
    }

    /// Whether a page was looked at that was neither in memory nor blank.
    pub fn has_missed(&self) -> bool {
        // Of times and heat nothing is known that the places of the same blocks do not say.
        self.map.tables().is_some_and(|(blocks, slots)| blocks.missed() || slots.missed())
    }

    /// Blocks are about to change: their pages, and the counts of the bands they lie on.
    pub(super) fn touch_blocks(&mut self, at: Extent<Lba>) {
        let (Some(pages), Some((blocks, _))) = (&mut self.pages, self.map.tables()) else { return };
        let range = blocks.layout().pages_of(at.start.0, at.blocks.into());
        range.filter(|&page| blocks.has(page)).for_each(|page| pages.touch(page, Touch::Change));
        self.map.runs(at, |_, slot| {
            pages.changed.push(self.map.locate(slot).0);
            true
        });
    }

    /// The slots from `first` on, of one band, are about to be written. Pages are begun that are written from their
    /// beginning.
    pub(super) fn touch_slots(&mut self, first: u64, slots: u32) {
        let (before, band) = (self.of_blocks(), self.map.locate(first).0);
        let (Some(pages), Some((_, table))) = (&mut self.pages, self.map.tables_mut()) else { return };
        let Located { page, offset, .. } = table.layout().locate(first);
        let begun = table.layout().pages_of(first, slots.into()).skip(usize::from(offset > 0));
        if offset > 0 {
            pages.touch(before + page, Touch::Change);
        }
        for page in begun {
            table.begin(page);
            pages.touch(before + page, Touch::Renew);
        }
        pages.changed.push(band);
    }

    /// The live blocks of a band change.
    pub fn count_again(&mut self, band: u32) {
        if let Some(pages) = &mut self.pages {
            pages.changed.push(band);
        }
    }

    /// The bands whose live blocks have changed since this was last asked, in order.
    pub fn take_changed(&mut self) -> Vec<u32> {
        let mut changed = self.pages.as_mut().map(|pages| std::mem::take(&mut pages.changed)).unwrap_or_default();
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Numbers of [`USES`] pages each of which one has been used since this was last asked, in order.
    pub fn take_used(&mut self) -> Vec<u64> {
        let before = self.of_blocks();
        let Some((blocks, slots)) = self.map.tables_mut() else { return Vec::new() };
        self.known.tables_mut().for_each(|table| table.take_begun().for_each(drop));
        let begun = blocks.take_begun().chain(slots.take_begun().map(|page| before + page));
        let mut used: Vec<u64> = begun.map(|page| page / USES).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Which pages of each number from `from` to `to` have ever been used. Numbers of which none was are left out.
    pub fn uses(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let Some((blocks, slots)) = self.map.tables() else { return Vec::new() };
        let (first, end, before) = (from * USES, to * USES, self.of_blocks());
        let of_slots = slots.used(first.saturating_sub(before), end.saturating_sub(before));
        let mut uses: Vec<(u64, u64)> = Vec::new();
        for page in blocks.used(first, end).chain(of_slots.map(|page| before + page)) {
            let (number, bit) = (page / USES, 1 << (page % USES));
            match uses.last_mut() {
                Some((last, bits)) if *last == number => *bits |= bit,
                _ => uses.push((number, bit)),
            }
        }
        uses
    }

    /// A record says which of [`USES`] pages have been used. False if there are no such pages.
    pub fn fold_uses(&mut self, number: u64, bits: u64) -> bool {
        let pages = self.cached_pages_at_all();
        for page in (0..USES).filter(|bit| bits >> bit & 1 == 1).map(|bit| number.saturating_mul(USES) + bit) {
            if page >= pages {
                return false;
            }
            let kind = self.kind(page);
            match (kind, self.map.tables_mut()) {
                (Kind::Blocks(page), Some((blocks, _))) => blocks.was_used(page),
                (Kind::Slots(page), Some((_, slots))) => slots.was_used(page),
                (_, None) => {}
            }
        }
        true
    }

    /// Records that are applied from now on are under this number.
    pub fn fold_at(&mut self, number: u64) {
        if let Some((blocks, slots)) = self.map.tables_mut() {
            blocks.fold_at(number);
            slots.fold_at(number);
        }
    }

    /// No more records are folded.
    pub fn end_fold(&mut self) {
        if let Some((blocks, slots)) = self.map.tables_mut() {
            blocks.end_fold();
            slots.end_fold();
        }
        self.known.tables_mut().for_each(PageTable::end_fold);
    }

    /// The pages that records wait for.
    pub fn pages_awaited(&self, each: &mut dyn FnMut(u64)) {
        let before = self.of_blocks();
        if let Some((blocks, slots)) = self.map.tables() {
            blocks.awaited(&mut *each);
            slots.awaited(|page| each(before + page));
        }
    }
}
