//! A full map of which only some pages are in memory: those of places, and those of what places hold.
//!
//! The counts of live blocks are always in memory. While records are folded they do not follow the map, whose older
//! state may not be there; they are told.

use super::FullMap;
use crate::parts::page_table::{Layout, PageTable};
use crate::parts::paged_map::{NONE, PagedMap};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;

/// Entries of the pages.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Entries {
    /// Blocks of a page that says where they lie.
    pub blocks: u64,
    /// Places of a page that says what they hold.
    pub places: u64,
}

impl FullMap {
    /// The same map, of which nothing is in memory: at most `most` pages will be, and nothing is mapped. Pages of places
    /// begin anew with each unit.
    #[must_use]
    pub fn into_cached(self, entries: Entries, most: u64) -> Self {
        let places = self.live.len() as u64 * u64::from(self.unit_blocks);
        let blocks = Layout::new(self.capacity, self.capacity, entries.blocks);
        let held = Layout::new(places, self.unit_blocks.into(), entries.places);
        // The limit is that of all pages together.
        Self { places: PagedMap::cached(blocks, most), holders: PagedMap::cached(held, 0), ..self }
    }

    /// Whether only some pages are in memory.
    #[inline]
    #[must_use]
    pub fn is_cached(&self) -> bool {
        self.places.table().is_some()
    }

    /// The pages that say where blocks lie, and those that say what places hold.
    #[must_use]
    pub fn tables(&self) -> Option<(&PageTable, &PageTable)> {
        Some((self.places.table()?, self.holders.table()?))
    }

    /// The same, to be changed.
    pub fn tables_mut(&mut self) -> Option<(&mut PageTable, &mut PageTable)> {
        Some((self.places.table_mut()?, self.holders.table_mut()?))
    }

    /// A record says that the blocks of `at` were written to `place` and behind, and lie there.
    pub fn fold(&mut self, at: Extent<Lba>, place: u64) {
        self.fold_written(at, place);
        self.places.set_run(at.start.0, at.blocks, place);
    }

    /// A record says that the blocks of `at` were written to `place` and behind.
    pub fn fold_written(&mut self, at: Extent<Lba>, place: u64) {
        self.holders.set_run(place, at.blocks, at.start.0);
    }

    /// A record says that the blocks of `at` lie nowhere.
    pub fn fold_nowhere(&mut self, at: Extent<Lba>) {
        self.places.set_run(at.start.0, at.blocks, NONE);
    }

    /// A record says how many blocks lie in a unit.
    pub fn fold_live(&mut self, unit: u32, live: u32) {
        self.live[unit as usize] = live;
    }

    /// It has come out that other blocks lie in a unit than are counted there.
    pub fn miscount(&mut self, unit: u32) {
        self.miscounted = self.miscounted.or(Some(unit));
    }

    /// The first unit of which that has come out.
    #[must_use]
    pub fn miscounted(&self) -> Option<u32> {
        self.miscounted
    }

    /// Runs of blocks of one unit, and where they lie: all that are mapped, or those in pages that are in memory.
    pub fn all_in_memory(&self, mut each: impl FnMut(Extent<Lba>, u64)) {
        let mut and_on = |at, place| {
            each(at, place);
            true
        };
        let Some((places, _)) = self.tables() else { return self.all_runs(and_on) };
        for numbers in places.all_cached().map(|page| places.layout().numbers_of(page)) {
            self.runs(Extent::between(Lba(numbers.start), Lba(numbers.end)), &mut and_on);
        }
    }

    /// Verifies what is in memory: blocks lie below what `written` says of each unit, are held where they lie, are not
    /// lost, and are no more than are counted.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check_cached(&self, is_lost: impl Fn(Lba) -> bool, written: impl Fn(u32) -> u32) -> Result<(), Violation> {
        let Some((places, holders)) = self.tables() else { return Ok(()) };
        let mut seen = vec![0; self.live.len()];
        for page in places.all_cached() {
            for lba in places.layout().numbers_of(page).map(Lba) {
                let Some(place) = self.get(lba) else { continue };
                let (unit, offset) = self.locate(place);
                let is_counted = seen.get_mut(unit as usize).is_some_and(|seen| {
                    *seen += 1;
                    *seen <= self.live(unit)
                });
                let is_held = !holders.has(holders.layout().page_of(place)) || self.holder(place) == Some(lba);
                if !is_counted || !is_held || offset >= written(unit) || is_lost(lba) {
                    return Err(Violation(format!(
                        "{lba:?} is mapped to place {place}, is counted there: {is_counted}, held: {is_held}"
                    )));
                }
            }
        }
        let units = 0..self.live.len() as u32;
        match units.into_iter().find(|&unit| self.live(unit) > written(unit)) {
            Some(unit) => Err(Violation(format!("unit {unit} has {} live blocks, more than written", self.live(unit)))),
            None => Ok(()),
        }
    }
}
