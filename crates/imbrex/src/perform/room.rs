//! How much room the journal of a layer needs, so that no commit ever finds it full.

use super::Setup;
use super::journal;
use super::ring::Slots;
use crate::layer::{REGION_RECORDS, TranslationLayer};

/// Journal blocks that an entry with so many redo images takes; none without any.
pub(super) fn redo_entry_blocks(block_bytes: usize, images: u32) -> usize {
    if images == 0 { 0 } else { journal::entry_blocks(0, images as usize, block_bytes) }
}

/// How many journal blocks a layer's commits take at most.
struct Sizes {
    /// A whole checkpoint, entries that are not filled up included.
    checkpoint: u64,
    /// A commit that carries as much of a checkpoint as its records ask for.
    usual: u64,
    /// The images of a redo plan.
    redo: u64,
}

impl Sizes {
    fn of(layer: &dyn TranslationLayer, block_bytes: usize, gather: usize) -> Self {
        let per_block = (journal::payload_bytes(block_bytes) / journal::RECORD_BYTES) as u64;
        let regions = journal::entry_blocks(2 * 2 * gather + REGION_RECORDS, 0, block_bytes);
        let records = journal::entry_blocks(2 * gather, 0, block_bytes);
        Self {
            checkpoint: layer.most_records().div_ceil(per_block) * 5 / 4 + 1,
            usual: (records + regions + 1) as u64,
            redo: redo_entry_blocks(block_bytes, layer.most_redo_blocks()) as u64,
        }
    }

    /// What must be free when a commit begins. Else it completes a checkpoint; and since the commit before took no more
    /// than is usual, there is room for one from its first region on, as a new life has to write it.
    fn reserve(&self) -> u64 {
        self.checkpoint + 2 * self.usual + 3 * self.redo
    }
}

/// Blocks that the journal of `layer` needs: what is kept free, and what is in use when a checkpoint that came bit by
/// bit is complete.
#[must_use]
pub fn journal_need(layer: &dyn TranslationLayer, block_bytes: usize, gather: usize) -> u64 {
    let sizes = Sizes::of(layer, block_bytes, gather);
    sizes.reserve() + sizes.checkpoint * 3 / 2 + sizes.usual + 5 * sizes.redo
}

/// Blocks of the journal of `layer` that must be free when a commit begins that completes no checkpoint.
pub(super) fn reserve(setup: &Setup, layer: &dyn TranslationLayer) -> u64 {
    Sizes::of(layer, setup.block_bytes, setup.gather).reserve()
}

/// Whether the largest checkpoint of `layer` fits the journal.
pub(super) fn fits(setup: &Setup, layer: &dyn TranslationLayer) -> Result<(), String> {
    let need = journal_need(layer, setup.block_bytes, setup.gather);
    let have = Slots::new(&setup.journal, setup.media.as_ref()).room();
    if need > have {
        return Err(format!("the map needs a journal of {need} blocks, but it has {have}; make the journal larger"));
    }
    Ok(())
}
