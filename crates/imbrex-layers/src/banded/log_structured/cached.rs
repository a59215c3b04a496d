//! A log of whose map only some pages are in memory.
//!
//! What a plan needs is asked for before it; a plan takes what the pages are enough for. Everything about bands is in
//! memory: roles, live blocks, and the copies of a compaction under way. Records say that too, and so do checkpoints.

use std::collections::BTreeMap;

use super::LogStructured;
use super::compact::Phase;
use super::config::{LogConfig, wrong};
use super::lifetimes::Instead;
use super::separation::COLD;
use super::sharing::Target;
use super::temperatures::Temperatures;
use crate::ConfigError;
use crate::parts::paged_map::ENTRY;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{MAP_PAGE_HEADER, MapCache};
use imbrex_core::memory::Memory;

/// Pages of blocks that are trimmed together: most of them are blank.
const TRIMMED_TOGETHER: u64 = 4096;

/// What there is beside the pages.
pub(super) struct Cached {
    pub copies: Copies,
    /// The stream for which the host's next block found no room.
    pub waiting: u8,
    /// Whether records are folded: then what they say of counts is all that is known of them.
    pub is_folding: bool,
}

impl Cached {
    /// The memory that it takes.
    pub fn memory(config: &LogConfig, band: u32) -> Memory {
        Memory::tree::<(Lba, u64)>(u64::from(config.compact_bands) * u64::from(band))
    }

    fn new() -> Self {
        Self { copies: Copies::default(), waiting: COLD, is_folding: true }
    }
}

/// The copies that a compaction has made and that do not count yet, by the block of which they are: the slot of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    slots: BTreeMap<Lba, u64>,
}

impl Copies {
    /// Copies of the blocks of `at` are in the slots from `slot` on.
    pub fn insert(&mut self, at: Extent<Lba>, slot: u64) {
        self.slots.extend(at.iter().zip(slot..));
    }

    /// The copies of blocks from `from` on, in order.
    pub fn from(&self, from: Lba) -> impl Iterator<Item = (Lba, u64)> {
        self.slots.range(from..).map(|(lba, slot)| (*lba, *slot))
    }

    /// Where the copy of a block is.
    pub fn of(&self, lba: Lba) -> Option<u64> {
        self.slots.get(&lba).copied()
    }

    /// Forgets the copies of the blocks of `at`.
    pub fn remove(&mut self, at: Extent<Lba>) {
        while let Some((&lba, _)) = self.slots.range(at.start..at.end()).next() {
            self.slots.remove(&lba);
        }
    }

    /// Forgets the copies in `slots` slots from `first` on.
    pub fn drop_from(&mut self, first: u64, slots: u32) {
        self.retain(|slot| !(first..first + u64::from(slots)).contains(&slot));
    }

    /// Keeps copies in some slots.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.slots.retain(|_, slot| keep(*slot));
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

impl LogStructured {
    /// Keeps only some pages of the map in memory.
    pub(super) fn cache(&mut self, cache: MapCache) -> Result<(), ConfigError> {
        let known = &self.bands.known;
        let because = if self.buffer.is_some() {
            "with a write buffer (buffer_bands)"
        } else if self.without_spare() {
            "without spare bands (spare_bands = 0)"
        } else if known.temperatures.as_ref().is_some_and(Temperatures::are_known) {
            "where it is known which blocks are hot (oracle)"
        } else {
            let entry = ENTRY as u32 + known.entry_bytes();
            let (least, bytes) = (MapCache::LEAST, MAP_PAGE_HEADER + entry);
            if cache.pages < least || cache.page_bytes < bytes {
                let MapCache { pages, page_bytes } = cache;
                let reason = format!(
                    "{pages} pages of {page_bytes} bytes are too little memory for its map; choose at least {least} of \
                     {bytes}"
                );
                return wrong(self.name, reason);
            }
            self.bands.cache(cache);
            self.cached = Some(Box::new(Cached::new()));
            return Ok(());
        };
        wrong(self.name, format!("{because} it has its whole map in memory; leave out --map-memory"))
    }

    /// The stream for which a write of the host waits that begins with a block.
    pub(super) fn waiting_stream(&self, lba: Lba) -> u8 {
        match &self.cached {
            // The block's page may have had to make room for others since.
            Some(cached) if self.bands.in_memory(Extent::new(lba, 1), true) == 0 => cached.waiting,
            _ => self.bands.stream_of(lba, 1),
        }
    }

    /// A write that begins with a block has found no room.
    pub(super) fn remember_stream(&mut self, lba: Lba) {
        let stream = self.waiting_stream(lba);
        if let Some(cached) = &mut self.cached {
            cached.waiting = stream;
        }
    }

    /// Of `room` slots from `slot` on, how many can be written with the front of `at` by what is in memory.
    pub(super) fn room_in_memory(&self, at: Extent<Lba>, slot: u64, room: u32) -> u32 {
        if self.bands.is_writable(slot) { room.min(self.bands.in_memory(at, false)) } else { 0 }
    }

    /// The front of `at` that can be trimmed by what is in memory.
    pub(super) fn trimmable(&self, at: Extent<Lba>) -> Extent<Lba> {
        let entries = self.bands.map.tables().map_or(1, |(blocks, _)| blocks.layout().entries());
        let most = u32::try_from(entries * TRIMMED_TOGETHER).unwrap_or(u32::MAX);
        let at = at.first(at.blocks.min(most));
        let known = self.bands.in_memory(at, true);
        if known == 0 {
            self.bands.miss();
        }
        at.first(known)
    }

    /// The pages that a write of the front of `at` needs.
    pub(super) fn pages_of_write(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
        let most = self.bands.slots_at_a_time().unwrap_or(1);
        let pages = self.bands.cached_pages_of(at);
        let has_first = self.bands.has_page(pages.start);
        pages.take(most as usize).for_each(&mut *each);
        if has_first
            && let Some(slot) = self.next_slot(self.bands.stream_of(at.start, 1))
            && let Some(page) = self.bands.page_to_write(slot)
        {
            each(page);
        }
    }

    /// The page that is written next by compaction, if it has to be in memory before.
    fn page_of_target(&self) -> Option<u64> {
        let compaction = &self.compaction;
        let band = match self.target(compaction.moving.get(compaction.done)?.stream)? {
            Target::Own(band) | Target::Other(band) => band,
            Target::Instead(Instead::TakeOver(other) | Instead::Share { with: other, .. }) => {
                compaction.targets[other]?
            }
            Target::Empty => return None,
        };
        self.bands.page_to_write(self.bands.room(band).0)
    }

    /// Whether compaction cannot write because a page is not in memory.
    pub(super) fn awaits_page(&self) -> bool {
        self.page_of_target().is_some_and(|page| !self.bands.has_page(page))
    }

    /// The pages that the next step of cleaning needs.
    pub(super) fn pages_of_cleaning(&self, each: &mut dyn FnMut(u64)) {
        match self.compaction.phase {
            Phase::None | Phase::Reading => {}
            Phase::Listing => {
                if let Some(listing) = self.next_listing() {
                    self.pages_of_slots(listing.slot, listing.slots, each);
                }
            }
            Phase::Writing => self.page_of_target().into_iter().for_each(each),
            Phase::Settling => self.settled_next().pages.into_iter().for_each(each),
        }
    }

    /// The page of some slots, all of one page, and those of the blocks there if that is in memory.
    pub(super) fn pages_of_slots(&self, slot: u64, slots: u32, each: &mut dyn FnMut(u64)) {
        let page = self.bands.page_of_slot(slot);
        each(page);
        if !self.bands.has_page(page) {
            return;
        }
        let mut pages = Vec::new();
        self.bands.map.holders(slot, slots, |_| 0, |at, _| pages.extend(self.bands.cached_pages_of(at)));
        pages.sort_unstable();
        pages.dedup();
        pages.into_iter().filter(|&page| !self.bands.is_blank_page(page)).for_each(each);
    }
}
