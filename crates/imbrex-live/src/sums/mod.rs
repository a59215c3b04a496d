//! A store that keeps a checksum of every block that is written to it, and gives no block that does not match its own.
//!
//! Sums are four bytes for each block, in a table in blocks of the drive that the layer does not get (`place.rs`); the
//! pages of it that are used are kept in memory (`table.rs`). They become durable with the flush that makes durable
//! what they are of. A power cut in between leaves blocks that match neither the old sum nor the new one; so a region
//! of blocks is durably marked before the first of them changes (`intents.rs`). When a store is opened, what lies in
//! marked regions is not checked until the first flush, which reads it and sums it anew.

mod intents;
mod place;
mod settle;
mod table;
mod verify;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::layer::UnitReport;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;

use crate::store::{Store, StoreError, Summed, Written};
use intents::{Intents, MOST_DIRTY};
pub use place::{Checksums, Place};
use table::{Sum, Table, sum};

/// Blocks that are read at a time where many are.
const PART: u32 = 256;

/// What a checked store is made of.
#[derive(Clone)]
pub struct SumsSetup {
    /// How data is summed.
    pub checksums: Checksums,
    /// Where the sums lie.
    pub place: Place,
    /// The volume's number, by which its sums are told from another one's.
    pub identity: u64,
    /// Blocks that have checksums of their own: superblocks, journals, and pages of a map.
    pub exempt: Vec<Extent<Pba>>,
    /// Whether regions are marked before they change; not where the crash explorer is to find out what that is for.
    pub keeps_intents: bool,
}

/// A store with checksums.
pub struct Checked {
    below: Arc<dyn Store>,
    /// For what does not change of it: what a write destroys, and a reset empties.
    media: Mutex<Box<dyn Media>>,
    blocks: u64,
    setup: SumsSetup,
    intents: Mutex<Intents>,
    table: Mutex<Table>,
    /// Regions that were marked when the store was opened, until what lies there is summed anew.
    unsettled: Mutex<BTreeSet<u64>>,
    is_settled: AtomicBool,
    verified: AtomicU64,
    damaged: AtomicU64,
    resummed: AtomicU64,
}

impl Checked {
    /// Takes a store on which sums lie.
    #[must_use]
    pub fn open(below: Arc<dyn Store>, setup: SumsSetup) -> Self {
        let checked = Self::new(below, setup);
        let unsettled = checked.intents().read(checked.below.as_ref(), checked.blocks);
        checked.is_settled.store(unsettled.is_empty(), Ordering::Release);
        *checked.unsettled() = unsettled;
        checked
    }

    /// Takes a store on which sums are to lie: there are none yet.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn create(below: Arc<dyn Store>, setup: SumsSetup) -> Result<Self, StoreError> {
        let mut left = setup.place.all();
        let block_bytes = below.block_bytes() as usize;
        while !left.is_empty() {
            let part = left.first(left.blocks.min(PART));
            // What is zero already keeps no room on a host.
            let is_zero = below.read(part).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0));
            if !is_zero {
                below.write(part, &Bytes::from(vec![0; part.blocks as usize * block_bytes]))?;
            }
            left = left.skip(part.blocks);
        }
        Ok(Self::new(below, setup))
    }

    fn new(below: Arc<dyn Store>, setup: SumsSetup) -> Self {
        let (media, block_bytes) = (below.media(), below.block_bytes());
        let (identity, place) = (setup.identity, setup.place);
        Self {
            blocks: media.blocks(),
            media: Mutex::new(media),
            intents: Mutex::new(Intents::new(identity, place, block_bytes, setup.checksums.region_blocks)),
            table: Mutex::new(Table::new(identity, place, block_bytes)),
            unsettled: Mutex::new(BTreeSet::new()),
            is_settled: AtomicBool::new(true),
            verified: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            resummed: AtomicU64::new(0),
            below,
            setup,
        }
    }

    fn intents(&self) -> MutexGuard<'_, Intents> {
        self.intents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unsettled(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn media_as_it_was(&self) -> MutexGuard<'_, Box<dyn Media>> {
        self.media.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether blocks have checksums of their own.
    fn is_exempt(&self, at: Extent<Pba>) -> bool {
        self.setup.exempt.iter().chain([&self.setup.place.all()]).any(|exempt| exempt.overlaps(&at))
    }

    /// Does something that changes `runs`, when the regions that they lie in are marked, and what has then to be done
    /// to the table.
    fn change<T>(
        &self,
        runs: &[Extent<Pba>],
        work: impl FnOnce() -> Result<T, StoreError>,
        sums: impl FnOnce(&mut Table, &Result<T, StoreError>) -> Result<(), StoreError>,
    ) -> Result<T, StoreError> {
        self.settle()?;
        self.mark(runs)?;
        let done = work();
        let summed = sums(&mut self.table(), &done);
        self.intents().ends(runs);
        summed.and(done)
    }

    /// Marks the regions of `runs`, which are about to change, durably.
    fn mark(&self, runs: &[Extent<Pba>]) -> Result<(), StoreError> {
        let mut intents = self.intents();
        let new = intents.clean(runs);
        if !new.is_empty() {
            if intents.dirty() + new.len() > MOST_DIRTY {
                let clock = intents.flush_begins();
                self.table().write(self.below.as_ref())?;
                self.below.flush()?;
                intents.clear_oldest(self.below.as_ref(), clock, new.len().max(MOST_DIRTY / 4))?;
            }
            if self.setup.keeps_intents {
                intents.mark(self.below.as_ref(), &new)?;
            } else {
                intents.found(&new);
            }
        }
        intents.begins(runs);
        Ok(())
    }

    /// What a write destroys beside what it writes.
    fn destroyed(&self, at: Extent<Pba>) -> Vec<Extent<Pba>> {
        let mut destroyed = Vec::new();
        self.media_as_it_was().destroys(at, &mut |gone| destroyed.push(gone));
        destroyed
    }
}

impl Store for Checked {
    fn block_bytes(&self) -> u32 {
        self.below.block_bytes()
    }

    fn recording(&self) -> Recording {
        self.below.recording()
    }

    fn media(&self) -> Box<dyn Media> {
        self.below.media()
    }

    fn is_cached(&self) -> bool {
        self.below.is_cached()
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        let (content, verified, damaged) = self.examine(at)?;
        self.verified.fetch_add(verified, Ordering::Relaxed);
        if damaged.is_empty() {
            return Ok(content);
        }
        self.damaged.fetch_add(damaged.len() as u64, Ordering::Relaxed);
        Err(verify::mismatch(at, &damaged))
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        if self.is_exempt(at) {
            return self.below.write(at, content);
        }
        let destroyed = self.destroyed(at);
        let runs: Vec<Extent<Pba>> = destroyed.iter().copied().chain([at]).collect();
        let size = self.below.block_bytes() as usize;
        let sums: Vec<Sum> = at.iter().zip(content.chunks(size)).map(|(block, bytes)| sum(block, bytes)).collect();
        let below = self.below.as_ref();
        self.change(
            &runs,
            || below.write(at, content),
            |table, written| {
                match written {
                    Ok(()) => table.set(below, at, &sums)?,
                    Err(StoreError::Illegal(_)) => return Ok(()),
                    // Each of its sectors is old or new.
                    Err(_) => table.clear(below, at)?,
                }
                destroyed.iter().try_for_each(|gone| table.clear(below, *gone))
            },
        )
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        let mut emptied = Vec::new();
        self.media_as_it_was().emptied_by(unit, &mut |space| emptied.push(space));
        let below = self.below.as_ref();
        if emptied.iter().any(|space| self.is_exempt(*space)) {
            return below.reset(unit);
        }
        self.change(
            &emptied,
            || below.reset(unit),
            |table, done| match done {
                Err(StoreError::Illegal(_)) => Ok(()),
                _ => emptied.iter().try_for_each(|space| table.clear(below, *space)),
            },
        )
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.settle()?;
        let clock = self.intents().flush_begins();
        let pages = {
            let mut table = self.table();
            table.write(self.below.as_ref())?;
            table.take_unflushed()
        };
        if let Err(error) = self.below.flush() {
            self.table().not_flushed(pages);
            return Err(error);
        }
        self.intents().flush_ended(self.below.as_ref(), clock)
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        self.below.report()
    }

    fn reserve(&self, at: Extent<Pba>) -> Result<(), StoreError> {
        self.below.reserve(at)
    }

    fn written(&self, at: Extent<Pba>) -> Vec<Written> {
        self.below.written(at)
    }

    fn forget(&self, blocks: &[Written]) {
        for part in blocks.iter().copied().filter(|part| self.below.written(part.at) == [*part]) {
            let below = self.below.as_ref();
            let clear = |table: &mut Table, _: &Result<(), StoreError>| table.clear(below, part.at);
            let forget = || {
                below.forget(&[part]);
                Ok(())
            };
            if let Err(error) = self.change(&[part.at], forget, clear) {
                tracing::debug!(%error, "room is not given back");
            }
        }
    }

    fn available(&self) -> Option<u64> {
        self.below.available()
    }

    fn stale(&self) -> Vec<String> {
        self.below.stale()
    }

    fn mend(&self) -> Result<(), StoreError> {
        self.below.mend()
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.flush()?;
        let mut intents = self.intents();
        let clock = intents.flush_begins();
        self.table().write(self.below.as_ref())?;
        self.below.flush()?;
        intents.clear_oldest(self.below.as_ref(), clock, usize::MAX)?;
        drop(intents);
        self.below.flush()
    }

    fn summed(&self) -> Option<&dyn Summed> {
        Some(self)
    }
}
