//! What a journal adds to carrying out plans: redo entries, commits and checkpoints.

use super::error::Fault;
use super::journal::{Journal, is_staged};
use super::machine::Machine;
use super::steps::Did;
use imbrex_core::block::Extent;
use imbrex_core::layer::{TranslationLayer, Violation};
use imbrex_core::plan::{Op, Place, Plan, Why};
use imbrex_engine::journal::{Coding, Draft};

impl Machine {
    /// Under a journal, a plan with redo moves first reads all it will read, and then has the images of the redo moves
    /// and their records written in one entry (ordering rule 5). Says whether that is so.
    pub(super) fn stage_redo(&mut self, layer: &mut dyn TranslationLayer, plan: &Plan) -> Result<bool, Box<Fault>> {
        let image = |op: &Op| if let Op::Move { blocks, redo: true, .. } = op { *blocks as usize } else { 0 };
        let images = plan.ops().iter().map(image).sum();
        if images == 0 {
            return Ok(false);
        }
        self.drain()?;
        for op in plan.ops() {
            if let Op::Move { from: Place::At(source), to, blocks, why, redo } = op
                && is_staged(to, *redo)
            {
                let begun_ns = self.now_ns;
                self.read(Extent::new(*source, *blocks), *why)?;
                self.note(Did::Copy { from: Some(Place::At(*source)), to: None, blocks: *blocks, why: *why }, begun_ns);
            }
        }
        for op in plan.ops() {
            if let (Op::Record { record, redo: true }, Some(journal)) = (op, &mut self.journal) {
                journal.add_record(record);
            }
        }
        self.write_journal(layer, images)?;
        Ok(true)
    }

    pub(super) fn commit(&mut self, layer: &mut dyn TranslationLayer) -> Result<(), Box<Fault>> {
        self.write_journal(layer, 0)
    }

    /// Writes the pending records and redo images; what waited for the records takes effect.
    fn write_journal(&mut self, layer: &mut dyn TranslationLayer, images: usize) -> Result<(), Box<Fault>> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let blocks = journal.take_pending(images);
        self.write_ring(blocks)?;
        while let Some(effect) = self.journal.as_mut().and_then(Journal::next_effect) {
            self.take_effect(layer, effect)?;
        }
        Ok(())
    }

    fn write_ring(&mut self, mut blocks: u64) -> Result<(), Box<Fault>> {
        self.drain()?;
        while blocks > 0 {
            let Some(journal) = &mut self.journal else { return Ok(()) };
            let part = journal.advance(blocks);
            let begun_ns = self.now_ns;
            self.write(part, Why::Metadata)?;
            let to = Some(Place::At(part.start));
            self.note(Did::Copy { from: None, to, blocks: part.blocks, why: Why::Metadata }, begun_ns);
            blocks -= u64::from(part.blocks);
        }
        Ok(())
    }

    /// A checkpoint comes between plans, when the layer's state and the media agree.
    pub(super) fn checkpoint_if_due(&mut self, layer: &dyn TranslationLayer) -> Result<(), Box<Fault>> {
        if !self.journal.as_ref().is_some_and(Journal::checkpoint_due) {
            return Ok(());
        }
        let (mut records, mut from) = (0, Some(0));
        let mut entry = self.journal.as_mut().map_or_else(|| Draft::new(Coding::Compact), Journal::take_checkpoint);
        while let Some(region) = from {
            self.checkpoint.clear();
            from = layer.checkpoint(region, &mut self.checkpoint);
            for op in self.checkpoint.ops() {
                if let Op::Record { record, .. } = op {
                    records += 1;
                    entry.push(record);
                }
            }
        }
        let Some(journal) = &self.journal else { return Ok(()) };
        let most = journal.most_records;
        if records > most {
            return Err(Violation(format!("a checkpoint takes {records} records, and {most} were said to do")).into());
        }
        self.write_ring(journal.checkpoint_blocks(&entry))?;
        if let Some(journal) = &mut self.journal {
            journal.checkpoint_written(entry);
        }
        Ok(())
    }
}
