//! How much memory a runner takes.

use bytes::Bytes;

use super::Setup;
use super::chain::MOST_SEGMENTS;
use super::epoch::{OPERATIONS_LIMIT, longest_checkpoint_part};
use super::journal::{Block, RECORD_BYTES, entry_blocks};
use super::pages;
use super::room::{REDO_PLANS, redo_entry_blocks};
use super::runs::Run;
use super::scan::{PART_BLOCKS, PARTS};
use imbrex_core::block::Pba;
use imbrex_core::layer::{Facts, JournalFacts, REGION_RECORDS};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Record;

/// Bytes that an operation under way takes beside its content: itself, what it touches and what waits for it.
const OPERATION: u64 = 1 << 10;
/// How often a record is there as bytes at most: in its entry, which may have room for twice as many, and as the stream,
/// the blocks and the content of a write that are made of it.
const ENCODED: u64 = 5;
/// Runs of the journal that a copy holds for each segment of the chain: of the commit that an epoch was writing when it
/// ended there may be more.
const RUNS: u64 = 2;
/// Words that are known of a page in the cache: its blocks, when it was changed, whose turn it is, and what hashes and
/// trees of these take beside them.
const PAGE_WORDS: usize = 32;
/// Words of what waits for a page: numbers, a value, and the record that said so.
const LATE_WORDS: usize = 5;
/// Lists of runs beside those that the scan has: of all copies, of one, where they begin, and what copies lack.
const RUN_LISTS: u64 = 4;

/// The memory that a runner and its layer take, by what takes it. What clients' requests hold is not among it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct RunnerMemory {
    /// The layer's maps and lists.
    pub maps: Memory,
    /// Content that the layer keeps in RAM, and what cleaning and updates have under way.
    pub content: Memory,
    /// A commit with its part of a checkpoint, or the part of the journal that recovery is reading.
    pub journal: Memory,
}

impl Setup {
    /// The memory that a runner takes with it.
    #[must_use]
    pub fn memory(&self) -> RunnerMemory {
        let facts = (self.make)().facts();
        let (content, journal) = (self.content_memory(&facts), self.journal_memory(&facts.journal));
        RunnerMemory { maps: facts.memory + self.pages_memory(), content, journal }
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

    /// What is known of the pages of a map that are cached, and those on their way home.
    fn pages_memory(&self) -> Memory {
        let Some(home) = self.map_home else { return Memory::default() };
        let block = self.block_bytes as u64;
        // A record is about blocks and about the places where they lie.
        let late = Memory::tree::<[u64; LATE_WORDS]>(2 * pages::most_late(&home, self.gather));
        late + Memory::room::<[u64; PAGE_WORDS]>(home.pages.into())
            + Memory::room::<u8>(2 * pages::BATCH as u64 * block)
    }

    /// However much is mapped, it is read and written piece by piece; and recovery is over before a commit begins.
    fn journal_memory(&self, facts: &JournalFacts) -> Memory {
        let (reading, writing) = (self.recovery_memory(facts), self.commit_memory(facts));
        Memory { empty: 0, most: reading.most.max(writing.most) }
    }

    /// The records of a commit.
    fn commit_memory(&self, facts: &JournalFacts) -> Memory {
        let part = (longest_checkpoint_part(self) + REGION_RECORDS) as u64;
        let records = part.min(facts.records) + 2 * self.gather as u64;
        Memory::growing::<Record>(records) + Memory::room::<[u8; RECORD_BYTES]>(ENCODED * records)
    }

    /// What recovery has of the journal: the content of what is being read, as the drive gives it and as it is kept until
    /// its entry is whole, that entry, and where the rest lies.
    fn recovery_memory(&self, facts: &JournalFacts) -> Memory {
        let read = PARTS as u64 * u64::from(PART_BLOCKS);
        let region = entry_blocks(REGION_RECORDS, 0, self.block_bytes);
        let entry = self.entry_blocks.max(region).max(redo_entry_blocks(self.block_bytes, facts.redo_blocks)) as u64;
        let content = Memory::room::<u8>((2 * read + 2 * entry) * self.block_bytes as u64);
        let runs = RUNS * (MOST_SEGMENTS * self.journal.len()) as u64;
        let places = Memory::tree::<(Pba, Run)>(runs) + Memory::room::<Run>(RUN_LISTS * runs);
        content + Memory::tree::<(u64, (Bytes, Block))>(read) + places
    }
}
