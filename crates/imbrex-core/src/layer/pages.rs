//! Maps that are larger than memory: they are divided into pages that lie on the drive, and a runner keeps some of them
//! in memory.
//!
//! Source: Gupta, Kim and Urgaonkar, "DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings" (ASPLOS 2009), §3, with pages as the unit of what is cached.

use std::ops::Range;

use super::Corrupt;
use crate::block::{Extent, Lba, Pba};
use crate::plan::Plan;

/// Bytes of a page of a map.
pub const MAP_PAGE_BYTES: u32 = 4096;

/// Bytes at the front of a page that are the runner's: what the page is, its version and its checksum.
pub const MAP_PAGE_HEADER: u32 = 64;

/// What a plan did to a page.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Touch {
    /// Looked at it.
    Read,
    /// Changed a part of it, so the rest is needed.
    Change,
    /// Wrote it from its beginning; what was there before is of no use.
    Renew,
    /// It is so regular now that it has no page any more, such as blocks that lie behind each other.
    Drop,
}

/// The part of the contract for layers whose map has an entry for each block of the drive.
///
/// A page has a number. What is so regular that a few bytes say it stays in memory and has no page. The runner asks
/// which pages a plan will need before it asks for the plan, and what has become of pages afterwards. What it does with
/// that is its choice: one that keeps the whole map in memory asks nothing.
pub trait MapPages {
    /// How many pages there may be.
    fn count(&self) -> u64;

    /// From now on the map is divided: a step of cleaning needs at most `most` pages, at least 2 of them, at a time, and
    /// touched pages are remembered.
    fn divide(&mut self, most: u32);

    /// The pages that a read, write or trim of these blocks needs, in ascending order.
    fn of_blocks(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64));

    /// The pages that the next step of cleaning looks at to find out what to do.
    fn of_cleaning(&self, each: &mut dyn FnMut(u64));

    /// What was done to pages since it was last asked, in that order; a page may come several times.
    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch));
}

/// How much of a map a served layer has in memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MapCache {
    /// Bytes of a page, with its header: a block of the drive, or less.
    pub page_bytes: u32,
    /// The most pages in memory, at least [`MapCache::LEAST`]. A plan may begin a few more from nothing.
    pub pages: u32,
}

impl MapCache {
    /// The fewest pages in memory with which every plan can be made.
    pub const LEAST: u32 = 3;
}

/// A page as it lies on the drive.
#[derive(Copy, Clone, Debug)]
pub struct HomePage<'a> {
    /// What [`CachedMap::content`] gave.
    pub content: &'a [u8],
    /// Records that were folded under a lower number are in it.
    pub version: u64,
    /// Whether it was written in the layer's epoch: soft state of another one is of no meaning.
    pub is_of_epoch: bool,
}

/// As many lost blocks are on record as the journal has room for. They are on record until they are written or trimmed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "one more block cannot be read, and there is no room to record that it is lost beside {0} that are; write or trim blocks that read as errors, and serve the volume again"
)]
pub struct TooManyLost(pub u64);

/// The part of the contract for a map of which a runner keeps a cache in memory and the rest on the drive: what is
/// asked for with [`MapCache`] in [`crate::space::Space::map_cache`]. A layer that is made so has an empty cache.
///
/// Such a layer looks only at pages that are cached; a page that is blank counts as empty and need not be cached to be
/// read. The runner asks what a plan needs, brings that, and asks again, since the first pages may say which others are
/// needed; when nothing is missing it asks for the plan. All pages that one plan cannot do without are at most
/// [`MapCache::LEAST`]; a write or trim takes what the cached pages are enough for.
///
/// Pages are not part of [`super::TranslationLayer::checkpoint`], which restates what is in memory only. A record that
/// is applied before the first request, for a page that is not cached, waits for the page under the number that
/// [`CachedMap::fold_at`] said.
pub trait CachedMap {
    /// How many pages there may be, of all numbers.
    fn count(&self) -> u64;

    /// How many pages are in the cache.
    fn cached(&self) -> usize;

    /// Whether a page is in the cache.
    fn has(&self, page: u64) -> bool;

    /// Whether a page never held anything: there is nothing to be read for it.
    fn is_blank(&self, page: u64) -> bool;

    /// Puts a page into the cache that is not there: as it lies on the drive, or empty. What was folded for it and is
    /// not in that version is applied; whether anything was, so that the page differs from the one on the drive. A page
    /// that is put empty, and that nothing waits for, is never refused.
    ///
    /// # Errors
    /// [`Corrupt`] when the page says what cannot be, such as a place that is not on the drive. It is not put then, and
    /// what waited for it is gone.
    fn put(&mut self, page: u64, home: Option<HomePage<'_>>) -> Result<bool, Corrupt>;

    /// Appends what a cached page holds to `out`: at most the page's bytes less [`MAP_PAGE_HEADER`].
    fn content(&self, page: u64, out: &mut Vec<u8>);

    /// Takes a page out of the cache.
    fn evict(&mut self, page: u64);

    /// The pages that a read of these blocks needs.
    fn of_read(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64));

    /// The pages that a write of these blocks needs, as far as cached ones say so. With those of its first block
    /// cached, a write takes a block, if there is room for one.
    fn of_write(&self, at: Extent<Lba>, each: &mut dyn FnMut(u64));

    /// The pages that the next step of cleaning needs, as far as cached ones say so.
    fn of_cleaning(&self, each: &mut dyn FnMut(u64));

    /// The pages that say which block each place was last written with; none, if the map does not say.
    fn of_places(&self) -> Range<u64> {
        0..0
    }

    /// What a cached page of these says: a place, and the block that it was last written with.
    fn held(&self, _page: u64, _each: &mut dyn FnMut(Pba, Lba)) {}

    /// The units on which the map counts the blocks that lie there, and how many it has counted.
    fn counted(&self, _each: &mut dyn FnMut(Extent<Pba>, u32)) {}

    /// The pages that say which block lies at a place, as far as cached ones say so.
    fn of_place(&self, place: Pba, each: &mut dyn FnMut(u64));

    /// Plans that the block that lies at a place, if one does, is lost. The place's pages are cached.
    ///
    /// # Errors
    /// [`TooManyLost`] when the block cannot be put on record. Then nothing is planned, and the block goes on lying there.
    fn lose(&mut self, place: Pba, plan: &mut Plan) -> Result<(), TooManyLost>;

    /// What was done to pages since it was last asked; a page may come several times.
    fn touched(&mut self, each: &mut dyn FnMut(u64, Touch));

    /// Records that are applied from now on are under this number.
    fn fold_at(&mut self, number: u64);

    /// The pages that records wait for.
    fn awaited(&self, each: &mut dyn FnMut(u64));

    /// Plans the records that say what changed in memory, and not in pages, since this was last asked: how many blocks of
    /// a unit are live. A runner asks when it begins a commit, since nothing in between matters.
    fn sum_up(&mut self, plan: &mut Plan);

    /// Whether a page was looked at that was neither cached nor blank: the layer or its runner has a bug.
    fn missed(&self) -> bool;

    /// What has come out while planning that pages and records cannot both say: no page is impossible by itself, but more
    /// blocks have left a unit than were counted there, or fewer.
    ///
    /// # Errors
    /// [`Corrupt`] names the first of it.
    fn consistent(&self) -> Result<(), Corrupt>;
}
