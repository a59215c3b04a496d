//! How long the buffered blocks of zones have been left alone.

use crate::parts::slot_table::SlotTable;
use crate::parts::zone_map::ZoneMap;
use imbrex_core::block::{Lba, unit_and_offset};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What is known of the buffered blocks of a native zone.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Zone {
    blocks: u32,
    /// The time at which one was last written.
    newest: u32,
    /// The sum of the times at which its blocks were last written.
    sum: u64,
}

impl Zone {
    /// What it weighs at a time: the square of blocks^2 * sqrt(mean age * idle age), where no age is below 1. In whole
    /// numbers, so that it is exact: below 2^128 for a zone of up to 65,536 blocks.
    fn weight(&self, now: u32) -> u128 {
        let blocks = u64::from(self.blocks);
        let ages = (blocks * u64::from(now) - self.sum).max(blocks);
        let idle = (now - self.newest).max(1);
        u128::from(blocks).pow(3).saturating_mul(ages.into()).saturating_mul(idle.into())
    }
}

/// How far times go back when they would become too large.
const BACK: u32 = 1 << 31;

/// When the buffered blocks were last written, by slot and summed up by zone. A time is how many blocks the host had
/// written before. Before it would need more than 32 bits all of them go back by half of that, and what was written
/// longer ago counts as written then.
pub(super) struct ZoneAges {
    /// By slot, when its block was last written.
    written: Vec<u32>,
    zones: Vec<Zone>,
    zone_blocks: u32,
    now: u32,
}

impl ZoneAges {
    pub fn new(slots: u32, zones: &ZoneMap) -> Self {
        let natives = zones.most_natives() as usize;
        let written = vec![0; slots as usize];
        Self { written, zones: vec![Zone::default(); natives], zone_blocks: zones.zone_blocks(), now: 1 }
    }

    pub fn memory(&self) -> Memory {
        Memory::room::<u32>(self.written.len() as u64) + Memory::of::<Zone>(self.zones.len() as u64)
    }

    /// The host has written so many blocks. `table` says what the slots hold.
    pub fn written(&mut self, blocks: u32, table: &SlotTable) {
        if self.now.checked_add(blocks).is_none() {
            self.go_back(table);
        }
        self.now = self.now.saturating_add(blocks);
    }

    /// All times go back.
    fn go_back(&mut self, table: &SlotTable) {
        let back = |time: &mut u32| *time = time.saturating_sub(BACK);
        back(&mut self.now);
        self.written.iter_mut().for_each(back);
        for zone in &mut self.zones {
            back(&mut zone.newest);
            zone.sum = 0;
        }
        for (slot, lba) in owners(table) {
            let written = self.written[slot as usize];
            self.zone(lba).sum += u64::from(written);
        }
    }

    fn zone(&mut self, lba: Lba) -> &mut Zone {
        &mut self.zones[unit_and_offset(lba.0, self.zone_blocks).0 as usize]
    }

    pub fn add(&mut self, slot: u32, lba: Lba) {
        let now = self.now;
        self.written[slot as usize] = now;
        let zone = self.zone(lba);
        zone.blocks += 1;
        zone.sum += u64::from(now);
        zone.newest = now;
    }

    pub fn remove(&mut self, slot: u32, lba: Lba) {
        let written = self.written[slot as usize];
        let zone = self.zone(lba);
        zone.blocks -= 1;
        zone.sum -= u64::from(written);
    }

    pub fn renew(&mut self, slot: u32, lba: Lba) {
        self.remove(slot, lba);
        self.add(slot, lba);
    }

    /// The native zone to rewrite, if any holds a block: the one that weighs most, and of equals the last.
    pub fn heaviest(&self) -> Option<u32> {
        let held = (0u32..).zip(&self.zones).filter(|(_, zone)| zone.blocks > 0);
        held.max_by_key(|(_, zone)| zone.weight(self.now)).map(|(native, _)| native)
    }

    pub fn check(&self, table: &SlotTable) -> Result<(), Violation> {
        let mut zones = vec![(0, 0); self.zones.len()];
        for (slot, lba) in owners(table) {
            let zone = &mut zones[unit_and_offset(lba.0, self.zone_blocks).0 as usize];
            zone.0 += 1;
            zone.1 += u64::from(self.written[slot as usize]);
        }
        if self.zones.iter().map(|zone| (zone.blocks, zone.sum)).ne(zones) {
            return Err(Violation("what zones hold, or when it was written, does not add up".to_owned()));
        }
        Ok(())
    }
}

/// The live slots and their blocks.
fn owners(table: &SlotTable) -> impl Iterator<Item = (u32, Lba)> + '_ {
    (0..table.slots()).filter_map(|slot| Some((slot, table.owner(slot)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Unit;
    use imbrex_core::space::Zones;

    /// Slots before zones of eight blocks, each of which is the slot of a block, in the order of their writes.
    fn written(blocks: &[u64]) -> (ZoneAges, SlotTable) {
        let zones = ZoneMap::new(Zones { first: Unit::disk(8), count: 9, zone_blocks: 8 }, 1);
        let slots = (blocks.len() as u32).max(1);
        let (mut ages, mut table) = (ZoneAges::new(slots, &zones), SlotTable::new(slots));
        for (slot, &block) in (0..).zip(blocks) {
            ages.written(1, &table);
            ages.add(slot, Lba(block));
            table.hold(slot, Lba(block));
        }
        ages.written(1, &table);
        (ages, table)
    }

    fn heaviest(blocks: &[u64]) -> Option<u32> {
        written(blocks).0.heaviest()
    }

    #[test]
    fn of_as_many_blocks_the_older_ones_leave() {
        assert_eq!(heaviest(&[8, 9, 0, 1]), Some(1));
        assert_eq!(heaviest(&[0, 8, 1, 9]), Some(0));
    }

    #[test]
    fn of_as_old_blocks_more_leave() {
        assert_eq!(heaviest(&[0, 8, 9, 10, 16]), Some(1));
        assert_eq!(heaviest(&[]), None);
    }

    #[test]
    fn what_is_written_again_stays() {
        let (mut ages, table) = written(&[0, 1, 2, 8, 9]);
        assert_eq!(ages.heaviest(), Some(0));
        ages.written(20, &table);
        (0..3).for_each(|slot| ages.renew(slot, Lba(u64::from(slot))));
        ages.written(1, &table);
        assert_eq!(ages.heaviest(), Some(1));
    }

    #[test]
    fn a_block_that_left_weighs_nothing() {
        let (mut ages, _) = written(&[0, 1, 8]);
        ages.remove(0, Lba(0));
        ages.remove(1, Lba(1));
        assert_eq!(ages.heaviest(), Some(1));
    }

    #[test]
    fn a_zone_weighs_the_square_of_what_is_documented() {
        let zone = Zone { blocks: 3, newest: 90, sum: 20 + 50 + 90 };
        assert_eq!(zone.weight(100), 3u128.pow(4) * 140 / 3 * 10);
        assert_eq!(Zone { blocks: 2, newest: 100, sum: 200 }.weight(100), 16, "no age is below 1");
        let largest = Zone { blocks: 1 << 16, newest: 0, sum: 0 };
        assert!(largest.weight(u32::MAX) > largest.weight(u32::MAX - 1));
    }

    #[test]
    fn times_go_back_before_they_are_too_large() {
        let (mut ages, mut table) = written(&[0, 1, 8, 9]);
        ages.written(u32::MAX - 10, &table);
        (2..4).for_each(|slot| ages.renew(slot, Lba(u64::from(slot) + 6)));
        table.give_up(0);
        ages.remove(0, Lba(0));
        ages.written(20, &table);
        assert!(ages.now > BACK && ages.now < BACK + 20);
        ages.check(&table).unwrap();
        assert_eq!(ages.zones[0], Zone { blocks: 1, newest: 0, sum: 0 }, "as old as can be said");
        assert_eq!(ages.now - ages.zones[1].newest, 20);
        assert_eq!(ages.heaviest(), Some(0));
    }
}
