//! Maps that are larger than memory: they are divided into pages that lie on the drive, and a runner keeps some of them
//! in memory.
//!
//! Source: Gupta, Kim and Urgaonkar, "DFTL: A Flash Translation Layer Employing Demand-based Selective Caching of
//! Page-level Address Mappings" (ASPLOS 2009), §3, with pages as the unit of what is cached.

use crate::block::{Extent, Lba};

/// Bytes of a page of a map.
pub const MAP_PAGE_BYTES: u32 = 4096;

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
