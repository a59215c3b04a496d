//! What never changes of a log, and how full it is.

use super::LogStructured;
use super::buffer::WriteBuffer;
use super::cached::Cached;
use imbrex_core::layer::{Facts, JournalFacts, Occupancy, Unsafe};
use imbrex_core::memory::Memory;

impl LogStructured {
    /// What never changes.
    pub(super) fn all_facts(&self) -> Facts {
        Facts {
            memory: self.memory(),
            ram_blocks: self.config.buffer_bands * self.bands.blocks() + self.compaction.ram_blocks(),
            trims_to_zeros: true,
            step_blocks: Some(self.step.most()),
            // The bands that the host's blocks are appended to, and those that compaction writes.
            most_active: Some(2 * u32::from(self.bands.separation().streams())),
            journal: JournalFacts { records: self.records(), in_order: self.in_order(), ..JournalFacts::default() },
            loses_flushed: self.loses_flushed(),
            ..Facts::default()
        }
    }

    /// The memory that it takes.
    pub(super) fn memory(&self) -> Memory {
        let buffer = self.buffer.as_ref().map_or_else(Memory::default, WriteBuffer::memory);
        let tuner = self.tuner.as_ref().map_or_else(Memory::default, |tuner| tuner.miniatures.memory());
        let cached =
            self.cached.as_ref().map_or_else(Memory::default, |_| Cached::memory(&self.config, self.bands.blocks()));
        self.bands.memory() + self.compaction.memory() + buffer + tuner + cached
    }

    fn loses_flushed(&self) -> Option<Unsafe> {
        let reason = if self.without_spare() {
            "bands that are reset before they are written again are lost with the power; set spare_bands to 1 or more"
        } else if self.buffer.is_some() && !self.config.buffer_volatile {
            "the write buffer lies in RAM, which is lost with the power; set buffer_volatile to true"
        } else {
            return None;
        };
        Some(Unsafe(reason.to_owned()))
    }

    pub(super) fn occupancy(&self) -> Option<Occupancy> {
        let blocks = |bands: u32| u64::from(bands) * u64::from(self.bands.blocks());
        let bands = self.bands.zones().count;
        Some(Occupancy { used: blocks(bands - self.bands.empties() - self.bands.emptying()), blocks: blocks(bands) })
    }
}
