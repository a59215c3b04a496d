//! How long the buffered blocks of zones have been left alone.

use crate::parts::slot_table::SlotTable;
use crate::parts::zone_map::ZoneMap;
use imbrex_core::block::{Lba, unit_and_offset};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What is known of the buffered blocks of a native zone. Times are blocks that the host wrote before.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Zone {
    blocks: u32,
    /// The sum of the times at which its blocks were last written.
    sum: u64,
    /// The time at which one was last written.
    newest: u64,
}

pub(super) struct ZoneAges {
    /// By slot, when its block was last written.
    written: Vec<u64>,
    zones: Vec<Zone>,
    zone_blocks: u32,
    /// Blocks that the host has written.
    now: u64,
}

impl ZoneAges {
    pub fn new(slots: u32, zones: &ZoneMap) -> Self {
        let natives = zones.most_natives() as usize;
        let written = vec![0; slots as usize];
        Self { written, zones: vec![Zone::default(); natives], zone_blocks: zones.zone_blocks(), now: 1 }
    }

    pub fn memory(&self) -> Memory {
        Memory::room::<u64>(self.written.len() as u64) + Memory::room::<Zone>(self.zones.len() as u64)
    }

    /// The host has written so many blocks.
    pub fn written(&mut self, blocks: u32) {
        self.now += u64::from(blocks);
    }

    fn zone(&mut self, lba: Lba) -> &mut Zone {
        &mut self.zones[unit_and_offset(lba.0, self.zone_blocks).0 as usize]
    }

    pub fn add(&mut self, slot: u32, lba: Lba) {
        let now = self.now;
        self.written[slot as usize] = now;
        let zone = self.zone(lba);
        zone.blocks += 1;
        zone.sum += now;
        zone.newest = now;
    }

    pub fn remove(&mut self, slot: u32, lba: Lba) {
        let written = self.written[slot as usize];
        let zone = self.zone(lba);
        zone.blocks -= 1;
        zone.sum -= written;
    }

    pub fn renew(&mut self, slot: u32, lba: Lba) {
        self.remove(slot, lba);
        self.add(slot, lba);
    }

    /// The native zone to rewrite, if any holds a block.
    pub fn heaviest(&self) -> Option<u32> {
        let weight = |zone: &Zone| {
            let blocks = f64::from(zone.blocks);
            let mean = (self.now as f64 - zone.sum as f64 / blocks).max(1.0);
            let idle = ((self.now - zone.newest) as f64).max(1.0);
            // The square of blocks^2 * sqrt(mean * idle).
            blocks.powi(4) * mean * idle
        };
        let held = (0u32..).zip(&self.zones).filter(|(_, zone)| zone.blocks > 0);
        held.max_by(|(_, a), (_, b)| weight(a).total_cmp(&weight(b))).map(|(native, _)| native)
    }

    pub fn check(&self, table: &SlotTable) -> Result<(), Violation> {
        let mut zones = vec![(0, 0); self.zones.len()];
        for (slot, lba) in (0..table.slots()).filter_map(|slot| Some((slot, table.owner(slot)?))) {
            let zone = &mut zones[unit_and_offset(lba.0, self.zone_blocks).0 as usize];
            zone.0 += 1;
            zone.1 += self.written[slot as usize];
        }
        if self.zones.iter().map(|zone| (zone.blocks, zone.sum)).ne(zones) {
            return Err(Violation("what zones hold, or when it was written, does not add up".to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::plan::Unit;
    use imbrex_core::space::Zones;

    /// Slots for zones of eight blocks; each slot is that of a block, in the order of their writes.
    fn written(blocks: &[u64]) -> ZoneAges {
        let zones = ZoneMap::new(Zones { first: Unit::disk(8), count: 9, zone_blocks: 8 }, 1);
        let mut ages = ZoneAges::new(blocks.len() as u32, &zones);
        for (slot, &block) in (0..).zip(blocks) {
            ages.written(1);
            ages.add(slot, Lba(block));
        }
        ages.written(1);
        ages
    }

    #[test]
    fn of_as_many_blocks_the_older_ones_leave() {
        assert_eq!(written(&[8, 9, 0, 1]).heaviest(), Some(1));
        assert_eq!(written(&[0, 8, 1, 9]).heaviest(), Some(0));
    }

    #[test]
    fn of_as_old_blocks_more_leave() {
        assert_eq!(written(&[0, 8, 9, 10, 16]).heaviest(), Some(1));
        assert_eq!(written(&[]).heaviest(), None);
    }

    #[test]
    fn what_is_written_again_stays() {
        let mut ages = written(&[0, 1, 2, 8, 9]);
        assert_eq!(ages.heaviest(), Some(0));
        ages.written(20);
        (0..3).for_each(|slot| ages.renew(slot, Lba(u64::from(slot))));
        ages.written(1);
        assert_eq!(ages.heaviest(), Some(1));
    }

    #[test]
    fn a_block_that_left_weighs_nothing() {
        let mut ages = written(&[0, 1, 8]);
        ages.remove(0, Lba(0));
        ages.remove(1, Lba(1));
        assert_eq!(ages.heaviest(), Some(1));
    }
}
