//! The buffer cut into buffer zones, each filled from its start.

use crate::parts::slot_table::SlotTable;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

pub(super) struct BufferZones {
    table: SlotTable,
    /// Slots of each.
    length: u32,
    /// By buffer zone, up to where it is filled.
    filled: Vec<u32>,
    /// By buffer zone, up to where nothing is live.
    first: Vec<u32>,
}

impl BufferZones {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.table.memory() + Memory::room::<(u32, u32)>(self.filled.len() as u64)
    }

    /// As many equal buffer zones of at least `least` slots as fit into `slots` slots, but at least one.
    pub fn new(slots: u32, least: u32) -> Self {
        let count = (slots / least).max(1);
        let length = slots / count;
        let marks = vec![0; count as usize];
        Self { table: SlotTable::new(count * length), length, filled: marks.clone(), first: marks }
    }

    pub fn table(&self) -> &SlotTable {
        &self.table
    }

    /// The buffer zone of a native zone.
    #[inline]
    pub fn of(&self, native: u32) -> u32 {
        native % self.count()
    }

    pub fn count(&self) -> u32 {
        self.filled.len() as u32
    }

    /// Slots of a buffer zone that can be appended to.
    #[inline]
    pub fn room(&self, zone: u32) -> u32 {
        self.length - self.filled[zone as usize]
    }

    /// The share of a buffer zone that can be appended to.
    pub fn free_share(&self, zone: u32) -> f64 {
        f64::from(self.room(zone)) / f64::from(self.length)
    }

    /// Takes slots in a buffer zone for as many blocks of `run` as it has room for: the first, and how many.
    #[inline]
    pub fn append(&mut self, zone: u32, run: Extent<Lba>) -> Option<(u32, u32)> {
        let run = run.first(self.room(zone));
        let first = self.slot(zone, self.filled[zone as usize]);
        for (slot, lba) in (first..).zip(run.iter()) {
            self.table.take(slot, lba);
        }
        self.filled[zone as usize] += run.blocks;
        (!run.is_empty()).then_some((first, run.blocks))
    }

    pub fn hold(&mut self, slot: u32, lba: Lba) {
        self.table.hold(slot, lba);
    }

    pub fn give_up(&mut self, slot: u32) {
        self.table.give_up(slot);
    }

    pub fn freed(&mut self, slot: u32) {
        self.table.freed(slot);
    }

    /// The block whose live copy is the oldest of a buffer zone.
    pub fn oldest(&mut self, zone: u32) -> Option<Lba> {
        let filled = self.filled[zone as usize];
        let live = (self.first[zone as usize]..filled).find(|&i| self.table.owner(self.slot(zone, i)).is_some());
        self.first[zone as usize] = live.unwrap_or(filled);
        live.and_then(|i| self.table.owner(self.slot(zone, i)))
    }

    /// Begins a buffer zone anew, if all its slots are free.
    pub fn reopen(&mut self, zone: u32) -> bool {
        let filled = self.filled[zone as usize];
        let free = (0..filled).all(|i| self.table.is_free(self.slot(zone, i)));
        if free {
            self.filled[zone as usize] = 0;
            self.first[zone as usize] = 0;
        }
        free
    }

    /// After a crash: nothing is pending, and a buffer zone is filled up to its last live slot.
    pub fn recovered(&mut self) {
        self.table.recovered();
        self.first.fill(0);
        for zone in 0..self.count() {
            let last = (0..self.length).rev().find(|&i| self.table.owner(self.slot(zone, i)).is_some());
            self.filled[zone as usize] = last.map_or(0, |i| i + 1);
        }
    }

    /// Verifies the invariants; `zone_of` is the buffer zone of a block.
    pub fn check(&self, zone_of: impl Fn(Lba) -> u32) -> Result<(), Violation> {
        self.table.check()?;
        for zone in 0..self.count() {
            let (first, filled) = (self.first[zone as usize], self.filled[zone as usize]);
            for i in 0..self.length {
                let slot = self.slot(zone, i);
                let owner = self.table.owner(slot);
                if owner.is_some_and(|lba| i < first || i >= filled || zone_of(lba) != zone) {
                    return Err(Violation(format!("slot {slot} holds {owner:?}, not where buffer zone {zone} may")));
                }
                if i >= filled && !self.table.is_free(slot) {
                    return Err(Violation(format!("slot {slot} lies behind what buffer zone {zone} has filled")));
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn slot(&self, zone: u32, index: u32) -> u32 {
        zone * self.length + index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_cut_into_equal_zones_of_at_least_that_length() {
        for (slots, least, count, length) in [(64, 4, 16, 4), (70, 16, 4, 17), (10, 16, 1, 10), (1, 1, 1, 1)] {
            let zones = BufferZones::new(slots, least);
            assert_eq!((zones.count(), zones.length), (count, length));
        }
    }

    #[test]
    fn a_buffer_zone_is_filled_in_order_and_reopened_when_all_of_it_is_free() {
        let mut zones = BufferZones::new(6, 3);
        let run = |at, blocks| Extent::new(Lba(at), blocks);
        assert_eq!(zones.append(1, run(10, 2)), Some((3, 2)));
        assert_eq!(zones.append(1, run(10, 2)), Some((5, 1)), "room for one");
        assert_eq!((zones.append(1, run(11, 1)), zones.room(1), zones.room(0)), (None, 0, 3));
        zones.give_up(3);
        assert_eq!(zones.oldest(1), Some(Lba(11)));
        zones.give_up(4);
        zones.freed(3);
        assert_eq!(zones.oldest(1), Some(Lba(10)));
        zones.give_up(5);
        assert_eq!(zones.oldest(1), None);
        zones.freed(4);
        assert!(!zones.reopen(1), "a slot is pending");
        zones.freed(5);
        assert!(zones.reopen(1) && zones.room(1) == 3);
        zones.check(|_| 1).unwrap();
    }

    #[test]
    fn after_a_crash_a_buffer_zone_ends_with_its_last_live_slot() {
        let mut zones = BufferZones::new(8, 4);
        zones.hold(5, Lba(1));
        zones.recovered();
        assert_eq!((zones.room(0), zones.room(1)), (4, 2));
        zones.check(|_| 1).unwrap();
        assert!(zones.check(|_| 0).is_err());
    }
}
