//! Pages of a map that lie on the drive, while somebody looks at the map: few of them are in memory at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::layer::{CachedMap, Corrupt, TranslationLayer, UnitReport};
use imbrex::perform::pages::{is_torn_page, newest_page};
use imbrex::perform::{MapHome, Setup};

use super::Problem;
use crate::store::Store;

/// Problems with pages that are told; of more it is only said how many there are.
const TOLD: usize = 100;

/// Brings pages of a map into memory.
pub(super) struct Pages {
    store: Arc<dyn Store>,
    home: MapHome,
    identity: u64,
    /// Pages that are in memory.
    held: BTreeSet<u64>,
    /// Pages that the journal has something newer of than the drive. A layer takes that from its records once.
    awaited: BTreeSet<u64>,
    /// Whether all that is wanted has been looked at once: what is wrong with pages is known.
    is_known: bool,
    problems: Vec<Problem>,
    /// How many more there are.
    more: u64,
}

impl Pages {
    /// The pages of the map of a layer that has been folded, if it has some on the drive.
    pub fn of(setup: &Setup, store: &Arc<dyn Store>, layer: &dyn TranslationLayer) -> Option<Self> {
        let (home, store, identity) = (setup.map_home?, Arc::clone(store), setup.identity);
        let (held, is_known, problems, more) = (BTreeSet::new(), false, Vec::new(), 0);
        let mut pages = Self { store, home, identity, held, awaited: BTreeSet::new(), is_known, problems, more };
        pages.folded(layer);
        Some(pages)
    }

    /// The layer has been folded, and no page is in memory.
    pub fn folded(&mut self, layer: &dyn TranslationLayer) {
        self.held.clear();
        self.awaited.clear();
        if let Some(map) = layer.cached_map() {
            map.awaited(&mut |page| self.awaited.extend([page]));
        }
    }

    /// A look at the map begins. Whether the layer has to be folded for it, since pages have taken what waited for them.
    pub fn begin(&mut self) -> bool {
        self.is_known |= !self.held.is_empty();
        self.is_known
    }

    /// What the drive reports.
    pub fn report(&self) -> UnitReport {
        self.store.media().unit_report()
    }

    /// What is wrong with pages that have been looked at, and how many problems more than these there are.
    pub fn problems(&self) -> (&[Problem], u64) {
        (&self.problems, self.more)
    }

    /// Brings what it needs to look at the blocks at the front of `at`, and says how many these are.
    pub fn bring(&mut self, layer: &mut dyn TranslationLayer, at: Extent<Lba>) -> Extent<Lba> {
        let mut front = at;
        let Some(map) = layer.cached_map_mut() else { return front };
        loop {
            // Pages that are there may say which others are needed.
            let mut needed = BTreeSet::new();
            map.of_read(front, &mut |page| {
                if !map.is_blank(page) {
                    needed.insert(page);
                }
            });
            if needed.len() > self.home.pages as usize && front.blocks > 1 {
                front = front.first(front.blocks / 2);
                continue;
            }
            let missing: Vec<u64> = needed.iter().copied().filter(|page| !map.has(*page)).collect();
            if missing.is_empty() {
                return front;
            }
            self.make_room(map, &needed);
            missing.into_iter().for_each(|page| self.load(map, page));
        }
    }

    /// Tells `each` all places that pages of places name, and the block that each was last written with.
    pub fn holders(&mut self, layer: &mut dyn TranslationLayer, mut each: impl FnMut(Pba, Lba)) {
        let Some(map) = layer.cached_map_mut() else { return };
        for page in map.of_places() {
            if map.is_blank(page) {
                continue;
            }
            if !map.has(page) {
                self.make_room(map, &BTreeSet::new());
                self.load(map, page);
            }
            map.held(page, &mut each);
        }
    }

    /// Takes out what is not needed.
    fn make_room(&mut self, map: &mut dyn CachedMap, needed: &BTreeSet<u64>) {
        self.held.retain(|page| {
            let stays = needed.contains(page);
            if !stays {
                map.evict(*page);
            }
            stays
        });
    }

    /// Puts a page into memory; an empty one in place of one that cannot be put.
    fn load(&mut self, map: &mut dyn CachedMap, page: u64) {
        self.held.insert(page);
        let (blocks, is_awaited) = (self.read(page), self.awaited.contains(&page));
        let whole = blocks.each_ref().map(Option::as_deref);
        let newest = newest_page(whole, self.identity, page);
        let is_torn = whole.iter().flatten().any(|block| is_torn_page(block, self.identity, page));
        // As the service sees it: a write that the power cut short is one that the journal knows of.
        if (newest.is_none() || is_torn) && whole.iter().all(Option::is_some) && !is_awaited {
            let block = self.place(page).block();
            let (what, next) = ("do not hold what was written there", block + 1);
            self.found(format!("page {page} of the map is damaged: blocks {block} and {next} {what}"), false);
        }
        if let Err(Corrupt(why)) = map.put(page, newest.map(|newest| newest.page)) {
            self.found(format!("the map says what cannot be: {why}"), false);
            // Nothing waits for it any more, so it is not refused.
            if map.put(page, None).is_err() {
                self.held.remove(&page);
            }
        }
    }

    fn found(&mut self, what: String, is_repairable: bool) {
        if self.is_known {
            return;
        }
        if self.problems.len() < TOLD {
            self.problems.push(Problem { what, is_repairable });
        } else {
            self.more += 1;
        }
    }

    fn place(&self, page: u64) -> Pba {
        self.home.at.start.plus(MapHome::blocks(page))
    }

    /// The two blocks of a page, as far as they can be read.
    fn read(&mut self, page: u64) -> [Option<Bytes>; 2] {
        let first = self.place(page);
        if let Ok(both) = self.store.read(Extent::new(first, 2)) {
            let half = both.len() / 2;
            return [both.slice(..half), both.slice(half..)].map(Some);
        }
        [first, first.plus(1)].map(|place| {
            let read = self.store.read(Extent::new(place, 1)).ok();
            if read.is_none() {
                // What the journal knows of a page is written to both of its blocks.
                let is_repairable = self.awaited.contains(&page);
                let what = format!("block {} of the pages of the map cannot be read", place.block());
                self.found(what, is_repairable);
            }
            read
        })
    }
}
