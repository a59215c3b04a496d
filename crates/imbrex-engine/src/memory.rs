//! How much memory a runner takes.

use super::Setup;
use super::epoch::OPERATIONS_LIMIT;
use super::room::REDO_PLANS;
use imbrex_core::layer::{Facts, JournalFacts};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Record;

/// Bytes that an operation under way takes beside its content: itself, what it touches and what waits for it.
const OPERATION: u64 = 1 << 10;
/// How often the records of a checkpoint are there at a time at most: listed, in lists that may have room for twice as
/// many, as entries, and once more as recovery folds them.
const LISTS: u64 = 4;

/// The memory that a runner and its layer take, by what takes it. What clients' requests hold is not among it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct RunnerMemory {
    /// The layer's maps and lists.
    pub maps: Memory,
    /// Content that the layer keeps in RAM, and what cleaning and updates have under way.
    pub content: Memory,
    /// A checkpoint, and the journal as recovery reads it.
    pub journal: Memory,
}

impl Setup {
    /// The memory that a runner takes with it.
    #[must_use]
    pub fn memory(&self) -> RunnerMemory {
        let facts = (self.make)().facts();
        let (content, journal) = (self.content_memory(&facts), self.journal_memory(&facts.journal));
        RunnerMemory { maps: facts.memory, content, journal }
    }

    fn content_memory(&self, facts: &Facts) -> Memory {
        let ram = u64::from(facts.ram_blocks);
        // What a step reads, and what it writes, is under way beside what is in RAM. So are images.
        let step = facts.step_blocks.map_or(ram, |blocks| ram.min(blocks.into()));
        let images = u64::from(facts.journal.redo_blocks) * (REDO_PLANS.0 + REDO_PLANS.1 + 1);
        let blocks = ram + 2 * step + images;
        let operations = Memory::room::<u8>(OPERATIONS_LIMIT as u64 * OPERATION);
        Memory::room::<u8>(blocks * self.block_bytes as u64) + operations
    }

    fn journal_memory(&self, facts: &JournalFacts) -> Memory {
        let gathered = 2 * self.gather as u64;
        let records = Memory::room::<Record>(LISTS.saturating_mul(facts.records + gathered));
        let blocks: u64 = self.journal.iter().map(|copy| u64::from(copy.blocks)).sum();
        records + Memory::room::<u8>(blocks * self.block_bytes as u64)
    }
}
