//! The map in pages, as a runner sees it.

use super::LogStructured;
use super::victims::Listing;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{MapPages, Touch};

impl MapPages for LogStructured {
    fn count(&self) -> u64 {
        self.bands.page_count()
    }

    fn divide(&mut self, most: u32) {
        self.bands.divide(most);
    }

    fn of_blocks(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        self.bands.pages_of_blocks(at).for_each(each);
    }

    fn of_cleaning(&self, each: &mut dyn FnMut(u64)) {
        let Some(Listing { slot, slots, .. }) = self.next_listing() else { return };
        self.bands.pages_of_written(slot, slots).into_iter().for_each(each);
    }

    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch)) {
        self.bands.take_touched().for_each(|(page, touch)| each(page, touch));
    }
}
