//! The journal as it lies on a store, for programs that look at it without serving.

use bytes::Bytes;

use super::Setup;
use super::again::{Again, Assembly};
use super::chain::{self, Segment};
use super::copies::{self, Lacking};
use super::fatal::Fatal;
use super::journal::{Entry, Header};
use super::ring::Slots;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::{TranslationLayer, UnitReport};
use imbrex_core::plan::Record;

/// What recovery would make of a journal.
#[derive(Clone, Debug)]
pub struct JournalState {
    /// The number of the block at which recovery begins.
    pub tail: u64,
    /// The number of the block that is written next.
    pub head: u64,
    /// How often the store has been started, and once more.
    pub epoch: u32,
    /// The entries that count, oldest first.
    pub entries: Vec<JournalEntry>,
    /// Places of blocks that are damaged or older in one copy.
    pub lacking: Vec<Pba>,
}

/// An entry of a journal.
#[derive(Clone, Debug)]
pub struct JournalEntry {
    /// The number of its first block.
    pub start: u64,
    /// Its blocks.
    pub blocks: u32,
    /// The start of the store in which it was written.
    pub epoch: u32,
    /// What it says.
    pub entry: Entry,
}

impl JournalState {
    /// Reads a journal; `units` is what the drive reports, and `read` gives nothing for what cannot be read.
    ///
    /// # Errors
    /// What is damaged in every copy.
    pub fn read(
        setup: &Setup,
        units: &UnitReport,
        read: &mut dyn FnMut(Extent<Pba>) -> Option<Bytes>,
    ) -> Result<Self, Fatal> {
        let slots = Slots::new(&setup.journal, setup.media.as_ref());
        let mut scan = slots.scan(setup.media.as_ref(), units);
        loop {
            let parts = scan.next();
            if parts.is_empty() {
                break;
            }
            for part in parts {
                match read(part) {
                    Some(data) => scan.read(part.start, &data, setup.identity, setup.block_bytes),
                    None => scan.failed(part.start),
                }
            }
        }
        let found = scan.finish()?;
        let chain = chain::find(&found)?;
        let lacking = copies::lacking(&found, &chain, &setup.journal);
        let again = Again::new(slots, &chain.segments, &lacking);
        let numbers = |of: &Segment| of.start..of.end;
        let places = |lacking: &Lacking| lacking.segments.iter().flat_map(numbers).map(|n| lacking.place(n)).collect();
        let lacking = lacking.iter().flat_map::<Vec<Pba>, _>(places).collect();
        let entries = entries(setup, again, read)?;
        Ok(Self { tail: chain.tail, head: chain.head, epoch: chain.epoch, entries, lacking })
    }

    /// The layer that the records give, before it has seen what the drive reports.
    ///
    /// # Errors
    /// The record that contradicts another.
    pub fn fold(&self, setup: &Setup) -> Result<Box<dyn TranslationLayer>, Fatal> {
        let mut layer = (setup.make)();
        for entry in &self.entries {
            layer.cached_map_mut().into_iter().for_each(|map| map.fold_at(entry.start));
            entry.entry.records.iter().try_for_each(|record| fold(layer.as_mut(), record))?;
        }
        Ok(layer)
    }
}

/// Reads entries again for what they hold.
fn entries(
    setup: &Setup,
    mut again: Again,
    read: &mut dyn FnMut(Extent<Pba>) -> Option<Bytes>,
) -> Result<Vec<JournalEntry>, Fatal> {
    let mut assembly = Assembly::new(setup.block_bytes);
    let mut entries = Vec::new();
    loop {
        for (_, (_, block)) in again.take()? {
            if let Some((Header { start, count, epoch, .. }, entry)) = assembly.add(block)? {
                let entry = entry.decode().ok_or_else(|| chain::damaged(start))?;
                entries.push(JournalEntry { start, blocks: count, epoch, entry });
            }
        }
        let parts = again.next();
        if parts.is_empty() {
            assembly.end()?;
            return Ok(entries);
        }
        for part in parts {
            match read(part) {
                Some(data) => again.read(part.start, &data, setup.identity, setup.block_bytes),
                None => again.failed(part.start),
            }
        }
    }
}

/// Lets a layer take over a record of its journal.
///
/// # Errors
/// The record that contradicts another.
pub(super) fn fold(layer: &mut dyn TranslationLayer, record: &Record) -> Result<(), Fatal> {
    layer.apply(record).map_err(|e| Fatal::JournalDamaged(format!("the journal is damaged: {e}")))
}
