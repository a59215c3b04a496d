//! The persistent cache: a circular log of slots, and the entries of its map in order of arrival.

use std::collections::VecDeque;

use crate::block::{Extent, Lba};
use crate::layer::Violation;
use crate::parts::buffered_blocks::Slots;
use crate::parts::circular_log::CircularLog;
use crate::parts::slot_table::SlotTable;

/// A log that is full when its slots or its entries run out.
pub struct Cache {
    log: CircularLog,
    /// Slots of each entry that the tail has not passed, oldest first.
    entries: VecDeque<u32>,
    most_entries: u32,
}

impl Cache {
    /// An empty cache. `spilled` blocks at most go into it at a time beyond the limit on entries.
    pub fn new(slots: u32, most_entries: u32, spilled: u32) -> Self {
        let room = most_entries.min(slots).saturating_add(spilled);
        Self { log: CircularLog::new(slots), entries: VecDeque::with_capacity(room as usize), most_entries }
    }

    /// Entries that may be added while `reserved` are kept back.
    pub fn has_entry(&self, reserved: u32) -> bool {
        self.entries.len() as u64 + u64::from(reserved) < u64::from(self.most_entries)
    }

    /// How many slots, up to `most`, could be taken in a row after `reserved` others.
    pub fn room(&self, reserved: u32, most: u32) -> u32 {
        self.log.free_behind(reserved, most)
    }

    /// Adds an entry for as many blocks from the front of `run` as find adjacent slots: the first slot, and how many.
    pub fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let (slot, taken) = self.log.take_run(run)?;
        self.entries.push_back(taken);
        Some((slot, taken))
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

    /// After a crash: an entry is a run of blocks in a run of slots, with the dead slots after it.
    pub fn recovered(&mut self) {
        self.log.recovered();
        self.entries.clear();
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
        self.log.hold(slot, lba);
    }

    fn give_up(&mut self, slot: u32) {
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
        let mut cache = Cache::new(10, 3, 0);
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
    fn recovery_makes_entries_of_what_is_live() {
        let mut cache = Cache::new(12, 100, 0);
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
