//! Pages of a map that lie on the drive, while somebody looks at the map: few of them are in memory at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Lba, Pba};
use imbrex::layer::{CachedMap, HomePage, TranslationLayer};
use imbrex::perform::pages::newest_page;
use imbrex::perform::{MapHome, Setup};

use crate::store::Store;

/// Brings pages of a map into memory.
pub(super) struct Pages {
    store: Arc<dyn Store>,
    home: MapHome,
    identity: u64,
    /// Pages that are in memory.
    held: BTreeSet<u64>,
    /// Pages that the journal has newer content of than the drive: a layer takes that from its records once.
    changed: BTreeMap<u64, Vec<u8>>,
    /// Blocks of pages that cannot be read.
    pub unread: BTreeSet<Pba>,
}

impl Pages {
    /// The pages of a layer's map, if it has some on the drive.
    pub fn of(setup: &Setup, store: &Arc<dyn Store>) -> Option<Self> {
        let (home, store, identity) = (setup.map_home?, Arc::clone(store), setup.identity);
        let (held, changed, unread) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        Some(Self { store, home, identity, held, changed, unread })
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

    fn load(&mut self, map: &mut dyn CachedMap, page: u64) {
        self.held.insert(page);
        if let Some(content) = self.changed.get(&page) {
            let newest = HomePage { content, version: u64::MAX, is_of_epoch: false };
            map.put(page, Some(newest));
            return;
        }
        let blocks = self.read(page);
        let newest = newest_page(blocks.each_ref().map(Option::as_deref), self.identity, page);
        if map.put(page, newest.map(|newest| newest.page)) {
            let mut content = Vec::new();
            map.content(page, &mut content);
            self.changed.insert(page, content);
        }
    }
    /// The two blocks of a page, as far as they can be read.
    fn read(&mut self, page: u64) -> [Option<Bytes>; 2] {
        let first = self.home.at.start.plus(MapHome::blocks(page));
        [first, first.plus(1)].map(|place| {
            let read = self.store.read(Extent::new(place, 1)).ok();
            if read.is_none() {
                self.unread.insert(place);
            }
            read
        })
    }
}
