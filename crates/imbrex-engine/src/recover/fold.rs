//! Reading the journal's entries again and folding their records into a layer as they come.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::Setup;
use crate::again::{Again, Assembly};
use crate::chain::{Chain, damaged};
use crate::copies::Lacking;
use crate::fatal::Fatal;
use crate::journal::Block;
use crate::pages::waits_for_pages;
use crate::reading::fold;
use crate::ring::Slots;
use crate::rules::Rule;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::TranslationLayer;
use imbrex_core::plan::Record;

/// What the entries of a journal hold.
pub(super) struct Folded {
    /// The layer that the records give.
    pub layer: Box<dyn TranslationLayer>,
    /// The records, if they are to be folded again.
    pub records: Vec<Record>,
    /// Images that must be written again. Of a place only the last one matters.
    pub images: BTreeMap<Pba, Bytes>,
    /// How many entries there are.
    pub entries: u64,
    /// Records that change pages of the map, if it has any.
    pub late: u64,
}

/// Folds the entries of a chain.
pub(super) struct Folding {
    again: Again,
    assembly: Assembly,
    so_far: Folded,
    /// Images of entries that begin before are not needed.
    redone: u64,
    failed: Option<Fatal>,
}

impl Folded {
    /// What a journal gives that holds nothing.
    pub fn nothing(setup: &Setup) -> Self {
        Self { layer: (setup.make)(), records: Vec::new(), images: BTreeMap::new(), entries: 0, late: 0 }
    }
}

impl Folding {
    pub fn new(setup: &Setup, chain: &Chain, lacking: &[Lacking]) -> Self {
        let slots = Slots::new(&setup.journal, setup.media.as_ref());
        Self {
            again: Again::new(slots, &chain.segments, lacking),
            assembly: Assembly::new(setup.block_bytes),
            so_far: Folded::nothing(setup),
            redone: if setup.rules.keeps(Rule::RedoFirst) { chain.redone } else { u64::MAX },
            failed: None,
        }
    }

    /// Folds what has come. What to read next; nothing when it is over.
    pub fn next(&mut self, setup: &Setup) -> Vec<Extent<Pba>> {
        let folded =
            self.again.take().and_then(|blocks| blocks.into_values().try_for_each(|(_, block)| self.add(setup, block)));
        self.failed = folded.err();
        if self.failed.is_some() { Vec::new() } else { self.again.next() }
    }

    /// What was asked for has been read, or could not be.
    pub fn answered(&mut self, setup: &Setup, start: Pba, data: Option<&Bytes>) {
        match data {
            Some(data) => self.again.read(start, data, setup.identity, setup.block_bytes),
            None => self.again.failed(start),
        }
    }

    /// Takes the next block.
    fn add(&mut self, setup: &Setup, block: Block) -> Result<(), Fatal> {
        let Some((header, entry)) = self.assembly.add(block)? else { return Ok(()) };
        let Folded { layer, records, images, entries, late } = &mut self.so_far;
        let mut folded = Ok(());
        layer.cached_map_mut().into_iter().for_each(|map| map.fold_at(header.start));
        let take = |record: Record| {
            *late += u64::from(waits_for_pages(&record));
            if folded.is_ok() {
                folded = fold(layer.as_mut(), &record);
            }
            if setup.audit {
                records.push(record);
            }
        };
        let found = entry.records(take).ok_or_else(|| damaged(header.start))?;
        if header.start >= self.redone {
            images.extend(found);
        }
        *entries += 1;
        folded
    }

    /// What it has come to.
    ///
    /// # Errors
    /// What is damaged, cannot be read any more, or contradicts itself.
    pub fn finish(self) -> Result<Folded, Fatal> {
        self.failed.map_or(Ok(()), Err)?;
        self.assembly.end()?;
        Ok(self.so_far)
    }
}
