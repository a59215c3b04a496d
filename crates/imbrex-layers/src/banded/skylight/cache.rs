//! The persistent cache: a circular log of slots, and the entries of its map.

use std::collections::VecDeque;

use crate::parts::buffered_blocks::Slots;
use crate::parts::circular_log::CircularLog;
use crate::parts::slot_table::SlotTable;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What an entry of the cache's map is.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entries {
    /// A run of blocks that lie side by side in the cache as they do on the disk, for as long as any of them does.
    Extents,
    /// An extent of a write as it arrived, until the tail has passed it.
    Writes,
}

/// A log that is full when its slots or its entries run out.
pub struct Cache {
    log: CircularLog,
    /// Runs of blocks that are adjacent in slots and on the disk.
    extents: u32,
    /// If writes are entries: slots of each that the tail has not passed, oldest first.
    entries: VecDeque<u32>,
    reading: Entries,
    most_entries: u32,
}

impl Cache {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.log.memory() + Memory::room::<u32>(2 * self.entries.capacity() as u64)
    }

    /// An empty cache for at most `most_entries` entries, which are writes or extents. At most `spilled` blocks go into
    /// it at a time beyond that.
    pub fn new(slots: u32, most_entries: u32, reading: Entries, spilled: u32) -> Self {
        let room = match reading {
            Entries::Extents => 0,
            Entries::Writes => most_entries.min(slots).saturating_add(spilled),
        };
        let entries = VecDeque::with_capacity(room as usize);
        Self { log: CircularLog::new(slots), extents: 0, entries, reading, most_entries }
    }

    /// Entries that may be added while `reserved` are kept back.
    pub fn has_entry(&self, reserved: u32) -> bool {
        let used = match self.reading {
            Entries::Extents => u64::from(self.extents),
            Entries::Writes => self.entries.len() as u64,
        };
        used + u64::from(reserved) < u64::from(self.most_entries)
    }

    /// How many slots, up to `most`, could be taken in a row after `reserved` others.
    pub fn room(&self, reserved: u32, most: u32) -> u32 {
        self.log.free_behind(reserved, most)
    }

    /// Blocks that can be taken one by one after `reserved` others, and how many could be if it was empty.
    pub fn room_ahead(&self, reserved: u32) -> (u64, u64) {
        let used = match self.reading {
            Entries::Extents => self.extents,
            Entries::Writes => self.entries.len() as u32,
        };
        let room = self.log.room().saturating_sub(reserved).min(self.most_entries.saturating_sub(used));
        (room.into(), self.log.table().slots().min(self.most_entries).into())
    }

    /// Adds an entry for as many blocks from the front of `run` as find adjacent slots: the first slot, and how many.
    pub fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let (slot, taken) = self.log.take_run(run)?;
        let joined = self.joins_next(slot.checked_sub(1)) + self.joins_next(Some(slot + taken - 1));
        self.extents = self.extents + 1 - joined;
        if self.reading == Entries::Writes {
            self.entries.push_back(taken);
        }
        Some((slot, taken))
    }

    /// 1 if the block in this slot and that in the next one are adjacent, else 0.
    fn joins_next(&self, slot: Option<u32>) -> u32 {
        let table = self.log.table();
        let pair = slot.filter(|slot| slot + 1 < table.slots()).map(|slot| (table.owner(slot), table.owner(slot + 1)));
        u32::from(matches!(pair, Some((Some(lba), Some(next))) if next.0 == lba.0 + 1))
    }

    /// How many of its two neighbours are in the extent of the block in this slot.
    fn neighbours(&self, slot: u32) -> u32 {
        self.joins_next(slot.checked_sub(1)) + self.joins_next(Some(slot))
    }

    fn count_extents(&self) -> u32 {
        let starts = |&(slot, _): &(u32, Lba)| self.joins_next(slot.checked_sub(1)) == 0;
        self.log.in_order().filter(starts).count() as u32
    }

    /// Moves the tail past what is not live, entries included, and returns the block that it meets.
    pub fn oldest(&mut self) -> Option<Lba> {
        let before = self.log.room();
        let oldest = self.log.oldest();
        let mut passed = self.log.room() - before;
        while passed > 0
            && let Some(entry) = self.entries.front_mut()
        {
            let part = passed.min(*entry);
            passed -= part;
            *entry -= part;
            if *entry == 0 {
                self.entries.pop_front();
            }
        }
        oldest.map(|(_, lba)| lba)
    }

    /// After a crash: if writes are entries, one is a run of blocks in a run of slots, with the dead slots after it.
    pub fn recovered(&mut self) {
        self.log.recovered();
        self.entries.clear();
        if self.reading == Entries::Extents {
            return;
        }
        let slots = self.log.table().slots();
        let mut last: Option<(u32, Lba)> = None;
        for (slot, lba) in self.log.in_order() {
            let distance = last.map_or(1, |(before, _)| (slot + slots - before) % slots);
            let continues = last.is_some_and(|(before, was)| slot == before + 1 && lba.0 == was.0 + 1);
            match self.entries.back_mut() {
                Some(entry) if continues => *entry += 1,
                Some(entry) => {
                    *entry += distance - 1;
                    self.entries.push_back(1);
                }
                None => self.entries.push_back(1),
            }
            last = Some((slot, lba));
        }
    }

    /// Verifies the invariants.
    pub fn check(&self) -> Result<(), Violation> {
        self.log.check()?;
        let extents = self.count_extents();
        if extents != self.extents {
            return Err(Violation(format!("the cache has {extents} extents and counts {}", self.extents)));
        }
        if self.reading == Entries::Extents {
            return Ok(());
        }
        let entries: u64 = self.entries.iter().map(|slots| u64::from(*slots)).sum();
        let window = u64::from(self.log.table().slots() - self.log.room());
        if entries != window {
            return Err(Violation(format!("the entries have {entries} slots, the log {window}")));
        }
        Ok(())
    }
}

impl Slots for Cache {
    fn table(&self) -> &SlotTable {
        self.log.table()
    }

    fn hold(&mut self, slot: u32, lba: Lba) {
        let is_new = self.log.table().owner(slot).is_none();
        self.log.hold(slot, lba);
        if is_new {
            self.extents = self.extents + 1 - self.neighbours(slot);
        }
    }

    fn give_up(&mut self, slot: u32) {
        self.extents = self.extents + self.neighbours(slot) - 1;
        self.log.give_up(slot);
    }

    fn freed(&mut self, slot: u32) {
        self.log.freed(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: u64, blocks: u32) -> Extent<Lba> {
        Extent::new(Lba(at), blocks)
    }

    #[test]
    fn an_entry_stays_until_the_tail_has_passed_it() {
        let mut cache = Cache::new(10, 3, Entries::Writes, 0);
        assert_eq!(cache.take(run(0, 3)), Some((0, 3)));
        assert_eq!(cache.take(run(20, 2)), Some((3, 2)));
        cache.give_up(3);
        cache.give_up(4);
        assert!(cache.has_entry(0) && !cache.has_entry(1), "what is dead behind the tail counts");
        cache.give_up(0);
        assert_eq!(cache.oldest(), Some(Lba(1)));
        assert!(!cache.has_entry(1), "the oldest entry is half dead");
        cache.give_up(1);
        cache.give_up(2);
        assert_eq!(cache.oldest(), None);
        assert!(cache.has_entry(2) && !cache.has_entry(3));
        assert_eq!(cache.room(0, 99), 5);
        cache.check().unwrap();
    }

    #[test]
    fn an_extent_is_an_entry_until_its_last_block_leaves() {
        let mut cache = Cache::new(10, 4, Entries::Extents, 0);
        assert_eq!(cache.take(run(0, 3)), Some((0, 3)));
        assert_eq!(cache.take(run(3, 2)), Some((3, 2)));
        assert!(cache.has_entry(2) && !cache.has_entry(3), "the second goes on where the first ended");
        cache.give_up(1);
        assert!(cache.has_entry(1) && !cache.has_entry(2), "a hole parts them");
        cache.give_up(0);
        assert!(cache.has_entry(2), "one has left, and the tail has passed nothing");
        assert_eq!(cache.room(0, 99), 5);
        assert_eq!(cache.take(run(9, 1)), Some((5, 1)));
        assert_eq!(cache.take(run(11, 4)), Some((6, 4)));
        cache.check().unwrap();
        cache.recovered();
        cache.check().unwrap();
    }

    #[test]
    fn recovery_makes_entries_of_what_is_live() {
        let mut cache = Cache::new(12, 100, Entries::Writes, 0);
        for (slot, lba) in [(10, 5), (11, 6), (0, 7), (1, 8), (4, 9), (5, 30)] {
            cache.hold(slot, Lba(lba));
        }
        cache.recovered();
        // The log's end, the hole and the jump from 9 to 30 part the entries.
        assert_eq!(cache.entries, [2, 4, 1, 1]);
        cache.check().unwrap();
        assert_eq!(cache.oldest(), Some(Lba(5)));
    }
}
