//! What the runner needs to know of a store.

use super::journal::Coding;
use super::room::JournalNeed;
use super::rules::Rules;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::{JournalFacts, TranslationLayer};
use imbrex_core::media::Media;

/// Where the pages of a map lie, and how many of them are in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MapHome {
    /// Two blocks beside each other for each page, which are written in turn.
    pub at: Extent<Pba>,
    /// The most pages in memory: [`imbrex_core::layer::MapCache::pages`].
    pub pages: u32,
}

impl MapHome {
    /// Blocks that pages of this number take.
    #[must_use]
    pub const fn blocks(pages: u64) -> u64 {
        2 * pages
    }
}

/// What the runner needs to know of a store.
pub struct Setup {
    /// Makes the layer, empty.
    pub make: Box<dyn Fn() -> Box<dyn TranslationLayer> + Send>,
    /// The recording, for what a write touches and destroys. Its state is not used.
    pub media: Box<dyn Media>,
    /// Conventional blocks, or whole sequential zones, that hold the journal ring, and those that hold further copies
    /// of it: at least one run, all equally long. With two, no block of the journal that is damaged or unreadable loses
    /// anything.
    pub journal: Vec<Extent<Pba>>,
    /// Where the pages of the layer's map lie, if it has a cache of them in memory: conventional blocks.
    pub map_home: Option<MapHome>,
    /// Bytes of a block.
    pub block_bytes: usize,
    /// The number that tells this store's journal blocks from those of another.
    pub identity: u64,
    /// Records gathered before a commit starts of its own accord.
    pub gather: usize,
    /// Blocks that a journal entry has at most, unless one region of a checkpoint or one redo plan alone needs more.
    pub entry_blocks: usize,
    /// How the journal's records are encoded.
    pub coding: Coding,
    /// Which ordering rules are kept: all, unless the crash explorer is being tested.
    pub rules: Rules,
    /// Whether every record is kept so that [`Performer::check`](super::Performer::check) can fold them. Memory then
    /// grows without bound.
    pub audit: bool,
}

impl Setup {
    /// What the journal of a layer that states these facts needs on this store.
    pub(super) fn journal_need(&self, facts: &JournalFacts) -> JournalNeed {
        JournalNeed::of(facts, self.block_bytes, self.gather, self.coding)
    }
}
