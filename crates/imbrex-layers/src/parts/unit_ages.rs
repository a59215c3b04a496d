//! How long the buffered blocks of units of a disk have been left alone: of zones, or of stretches of equal length.

use imbrex_core::block::{Lba, unit_and_offset};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What is known of the buffered blocks of a unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Unit {
    blocks: u32,
    /// The time at which one was last written.
    newest: u32,
    /// The sum of the times at which its blocks were last written.
    sum: u64,
}

impl Unit {
    /// What it weighs at a time: the square of blocks^2 * sqrt(mean age * idle age), where no age is below 1. In whole
    /// numbers, so that it is exact: below 2^128 for a unit of up to 65,536 blocks.
    fn weight(&self, now: u32) -> u128 {
        let blocks = u64::from(self.blocks);
        let ages = (blocks * u64::from(now) - self.sum).max(blocks);
        let idle = (now - self.newest).max(1);
        u128::from(blocks).pow(3).saturating_mul(ages.into()).saturating_mul(idle.into())
    }
}

/// How far times go back when they would become too large.
const BACK: u32 = 1 << 31;

/// When the buffered blocks were last used, by slot and summed up by unit. A time is how many blocks the host had used
/// before. Before it would need more than 32 bits all of them go back by half of that, and what was used longer ago
/// counts as used then.
pub struct UnitAges {
    /// By slot, when its block was last used.
    used: Vec<u32>,
    units: Vec<Unit>,
    unit_blocks: u32,
    now: u32,
}

impl UnitAges {
    /// The ages of `slots` slots before `units` units of `unit_blocks` blocks.
    #[must_use]
    pub fn new(slots: u32, units: u32, unit_blocks: u32) -> Self {
        let used = vec![0; slots as usize];
        Self { used, units: vec![Unit::default(); units as usize], unit_blocks, now: 1 }
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        self.units.fill(Unit::default());
        self.now = 1;
    }

    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::room::<u32>(self.used.len() as u64) + Memory::of::<Unit>(self.units.len() as u64)
    }

    /// The host has used so many blocks. `buffered` says which blocks the slots hold.
    pub fn passed<I: Iterator<Item = (u32, Lba)>>(&mut self, blocks: u32, buffered: impl FnOnce() -> I) {
        if self.now.checked_add(blocks).is_none() {
            self.go_back(buffered());
        }
        self.now = self.now.saturating_add(blocks);
    }

    /// The host has used a block. Times do not go back before [`Self::settle`].
    #[inline]
    pub fn tick(&mut self) {
        self.now = self.now.saturating_add(1);
    }

    /// Lets times go back before they become too large. `buffered` says which blocks the slots hold.
    pub fn settle<I: Iterator<Item = (u32, Lba)>>(&mut self, buffered: impl FnOnce() -> I) {
        if self.now > BACK + BACK / 2 {
            self.go_back(buffered());
        }
    }

    /// All times go back.
    fn go_back(&mut self, buffered: impl Iterator<Item = (u32, Lba)>) {
        let back = |time: &mut u32| *time = time.saturating_sub(BACK);
        back(&mut self.now);
        self.used.iter_mut().for_each(back);
        for unit in &mut self.units {
            back(&mut unit.newest);
            unit.sum = 0;
        }
        for (slot, lba) in buffered {
            let used = self.used[slot as usize];
            self.unit(lba).sum += u64::from(used);
        }
    }

    fn unit(&mut self, lba: Lba) -> &mut Unit {
        &mut self.units[unit_and_offset(lba.0, self.unit_blocks).0 as usize]
    }

    /// The slot takes a block of which it is the time.
    pub fn add(&mut self, slot: u32, lba: Lba) {
        let now = self.now;
        self.used[slot as usize] = now;
        let unit = self.unit(lba);
        unit.blocks += 1;
        unit.sum += u64::from(now);
        unit.newest = now;
    }

    /// The block in the slot does not count any more.
    pub fn remove(&mut self, slot: u32, lba: Lba) {
        let used = self.used[slot as usize];
        let unit = self.unit(lba);
        unit.blocks -= 1;
        unit.sum -= u64::from(used);
    }

    /// The block in the slot is used again.
    pub fn renew(&mut self, slot: u32, lba: Lba) {
        self.remove(slot, lba);
        self.add(slot, lba);
    }

    /// How many blocks of a unit are buffered.
    #[must_use]
    pub fn blocks(&self, unit: u32) -> u32 {
        self.units[unit as usize].blocks
    }

    /// What a unit weighs, of which blocks are buffered, to compare it with others.
    #[must_use]
    pub fn weight(&self, unit: u32) -> u128 {
        self.units[unit as usize].weight(self.now)
    }

    /// The unit to write home, if any holds a block: the one that weighs most, and of equals the last.
    #[must_use]
    pub fn heaviest(&self) -> Option<u32> {
        let held = (0u32..).zip(&self.units).filter(|(_, unit)| unit.blocks > 0);
        held.max_by_key(|(_, unit)| unit.weight(self.now)).map(|(number, _)| number)
    }

    /// Verifies the sums, given the slots of buffered blocks.
    ///
    /// # Errors
    /// The [`Violation`], if there is one.
    pub fn check(&self, buffered: impl Iterator<Item = (u32, Lba)>) -> Result<(), Violation> {
        let mut units = vec![(0, 0); self.units.len()];
        for (slot, lba) in buffered {
            let unit = &mut units[unit_and_offset(lba.0, self.unit_blocks).0 as usize];
            unit.0 += 1;
            unit.1 += u64::from(self.used[slot as usize]);
        }
        if self.units.iter().map(|unit| (unit.blocks, unit.sum)).ne(units) {
            return Err(Violation("what units hold, or when it was used, does not add up".to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slots and what they hold.
    type Slots = Vec<(u32, Lba)>;

    /// Slots before units of eight blocks, each of which is the slot of a block, in the order of their writes.
    fn written(blocks: &[u64]) -> (UnitAges, Slots) {
        let slots = (blocks.len() as u32).max(1);
        let (mut ages, mut table) = (UnitAges::new(slots, 8, 8), Slots::new());
        for (slot, &block) in (0..).zip(blocks) {
            ages.passed(1, || table.iter().copied());
            ages.add(slot, Lba(block));
            table.push((slot, Lba(block)));
        }
        ages.passed(1, || table.iter().copied());
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
        ages.passed(20, || table.iter().copied());
        (0..3).for_each(|slot| ages.renew(slot, Lba(u64::from(slot))));
        ages.passed(1, || table.iter().copied());
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
    fn a_unit_weighs_the_square_of_what_is_documented() {
        let zone = Unit { blocks: 3, newest: 90, sum: 20 + 50 + 90 };
        assert_eq!(zone.weight(100), 3u128.pow(4) * 140 / 3 * 10);
        assert_eq!(Unit { blocks: 2, newest: 100, sum: 200 }.weight(100), 16, "no age is below 1");
        let largest = Unit { blocks: 1 << 16, newest: 0, sum: 0 };
        assert!(largest.weight(u32::MAX) > largest.weight(u32::MAX - 1));
    }

    #[test]
    fn times_go_back_before_they_are_too_large() {
        let (mut ages, mut table) = written(&[0, 1, 8, 9]);
        ages.passed(u32::MAX - 10, || table.iter().copied());
        (2..4).for_each(|slot| ages.renew(slot, Lba(u64::from(slot) + 6)));
        table.remove(0);
        ages.remove(0, Lba(0));
        ages.passed(20, || table.iter().copied());
        assert!(ages.now > BACK && ages.now < BACK + 20);
        ages.check(table.iter().copied()).unwrap();
        assert_eq!(ages.units[0], Unit { blocks: 1, newest: 0, sum: 0 }, "as old as can be said");
        assert_eq!(ages.now - ages.units[1].newest, 20);
        assert_eq!(ages.heaviest(), Some(0));
    }
}
