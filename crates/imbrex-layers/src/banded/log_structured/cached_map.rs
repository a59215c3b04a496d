//! The cache of map pages, as a runner sees it.

use std::ops::Range;

use super::LogStructured;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{CachedMap, Corrupt, HomePage, TooManyLost, Touch};
use imbrex_core::plan::Plan;

impl CachedMap for LogStructured {
    fn count(&self) -> u64 {
        self.bands.cached_pages_at_all()
    }

    fn cached(&self) -> usize {
        self.bands.cached_pages()
    }

    fn has(&self, page: u64) -> bool {
        self.bands.has_page(page)
    }

    fn is_blank(&self, page: u64) -> bool {
        self.bands.is_blank_page(page)
    }

    fn put(&mut self, page: u64, home: Option<HomePage<'_>>) -> Result<bool, Corrupt> {
        // What is written is reported when all records have been folded; pages that are there are verified then.
        self.bands.put_page(page, home, !self.is_folding())
    }

    fn content(&self, page: u64, out: &mut Vec<u8>) {
        self.bands.page_content(page, out);
    }

    fn evict(&mut self, page: u64) {
        self.bands.evict_page(page);
    }

    fn of_read(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        self.bands.cached_pages_of(at).filter(|&page| !self.bands.is_blank_page(page)).for_each(each);
    }

    fn of_write(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        self.pages_of_write(at, each);
    }

    fn of_cleaning(&self, each: &mut dyn FnMut(u64)) {
        self.pages_of_cleaning(each);
    }

    fn of_places(&self) -> Range<u64> {
        self.bands.pages_of_slots()
    }

    fn held(&self, page: u64, each: &mut dyn FnMut(Pba, Lba)) {
        self.bands.holders_of(page, each);
    }

    fn counted(&self, each: &mut dyn FnMut(Extent<Pba>, u32)) {
        let bands = 0..self.bands.zones().count;
        bands.for_each(|band| each(self.bands.extent(band), self.bands.live(band)));
    }

    fn of_place(&self, place: Pba, each: &mut dyn FnMut(u64)) {
        if let Some(slot) = self.bands.slot_of(place)
            && !self.bands.is_blank_page(self.bands.page_of_slot(slot))
        {
            self.pages_of_slots(slot, 1, each);
        }
    }

    fn lose(&mut self, place: Pba, plan: &mut Plan) -> Result<(), TooManyLost> {
        self.bands.slot_of(place).map_or(Ok(()), |slot| self.lose_slot(slot, plan))
    }

    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch)) {
        self.bands.take_touched().for_each(|(page, touch)| each(page, touch));
    }

    fn fold_at(&mut self, number: u64) {
        self.bands.fold_at(number);
    }

    fn awaited(&self, each: &mut dyn FnMut(u64)) {
        self.bands.pages_awaited(each);
    }

    fn sum_up(&mut self, plan: &mut Plan) {
        self.state_changes(plan);
    }

    fn missed(&self) -> bool {
        self.bands.has_missed()
    }

    fn consistent(&self) -> Result<(), Corrupt> {
        self.bands.map.miscounted().map_or(Ok(()), |band| {
            let why = "the records count other live blocks on it than pages of the map put there";
            Err(Corrupt(format!("band {band} contradicts the map: {why}")))
        })
    }
}

#[cfg(test)]
mod tests;
