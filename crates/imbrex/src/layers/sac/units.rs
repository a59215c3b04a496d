//! The units of a disk that are written home whole, and what that costs.

use crate::block::Lba;
use crate::layer::Violation;
use crate::memory::Memory;

/// Units are numbered by 32 bits, and each takes 24 bytes.
pub(super) const MOST_UNITS: u64 = 1 << 24;

/// A cost, over what is won by it.
#[derive(Copy, Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Cost {
    /// In microseconds.
    pub us: u64,
    /// Blocks that leave and are out of date.
    pub won: u64,
}

impl Cost {
    /// Whether the time for each block won, and one, is less than the other's.
    pub(super) fn is_less_than(self, other: Self) -> bool {
        let across = |us: u64, won: u64| u128::from(us) * (u128::from(won) + 1);
        across(self.us, other.won) < across(other.us, self.won)
    }
}

#[derive(Copy, Clone, Default)]
struct Unit {
    /// Dirty blocks of it in the cache.
    dirty: u32,
    /// Of these, the ones that were out of date at the last decision.
    out_of_date: u32,
    /// Which flush it was part of last; 0 if of none.
    flushed: u64,
}

/// The units, and which of them are to be written home.
pub(super) struct Units {
    unit_blocks: u32,
    most_open: u32,
    rest: u32,
    units: Box<[Unit]>,
    /// Flushes so far.
    flushes: u64,
    /// Units that are to be written home; those with dirty blocks while they are being chosen.
    open: Vec<u32>,
}

impl Units {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::of::<Unit>(self.units.len() as u64) + Memory::growing::<u32>(self.open.capacity() as u64)
    }

    /// Those of a disk of `blocks` blocks behind a cache of `frames` frames. So many are open at most, and one rests
    /// for so many flushes after its own.
    pub(super) fn new(unit_blocks: u32, blocks: u64, (most_open, rest): (u32, u32), frames: u32) -> Self {
        let units = blocks.div_ceil(unit_blocks.into()) as usize;
        Self {
            unit_blocks,
            most_open,
            rest,
            units: vec![Unit::default(); units].into(),
            flushes: 0,
            open: Vec::with_capacity(units.min(frames as usize)),
        }
    }

    #[inline]
    fn number(&self, lba: Lba) -> u32 {
        (lba.0 / u64::from(self.unit_blocks)) as u32
    }

    #[inline]
    fn of(&mut self, lba: Lba) -> &mut Unit {
        let unit = self.number(lba);
        &mut self.units[unit as usize]
    }

    /// A cached block has become dirty.
    #[inline]
    pub(super) fn dirtied(&mut self, lba: Lba) {
        self.of(lba).dirty += 1;
    }

    /// A dirty block is gone.
    #[inline]
    pub(super) fn gone(&mut self, lba: Lba) {
        self.of(lba).dirty -= 1;
    }

    /// No block counts as out of date.
    pub(super) fn forget_out_of_date(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.out_of_date = 0);
    }

    /// A dirty block does.
    pub(super) fn note_out_of_date(&mut self, lba: Lba) {
        self.of(lba).out_of_date += 1;
    }

    /// Opens the units with most dirty blocks that are out of date; of equals those with lower numbers. Units that rest
    /// are opened only where no other has dirty blocks.
    pub(super) fn open(&mut self) {
        let Self { units, open, flushes, rest, .. } = self;
        let rests = |unit: &Unit| unit.flushed > 0 && *flushes - unit.flushed < u64::from(*rest);
        open.clear();
        open.extend((0..).zip(units.iter()).filter(|(_, unit)| unit.dirty > 0).map(|(number, _)| number));
        if open.iter().any(|&number| !rests(&units[number as usize])) {
            open.retain(|&number| !rests(&units[number as usize]));
        }
        open.sort_unstable_by_key(|&number| (std::cmp::Reverse(units[number as usize].out_of_date), number));
        open.truncate(self.most_open as usize);
        // To be looked for by number.
        open.sort_unstable();
    }

    /// Whether a block is of an open unit.
    pub(super) fn is_open(&self, lba: Lba) -> bool {
        self.open.binary_search(&self.number(lba)).is_ok()
    }

    /// What it costs that all dirty blocks of the open units leave, if there are any.
    pub(super) fn cost(&self, rewrite_us: u32, write_us: u32) -> Option<Cost> {
        let mut cost = Cost::default();
        for unit in self.open.iter().map(|&number| &self.units[number as usize]) {
            cost.us += u64::from(rewrite_us) + u64::from(write_us) * u64::from(unit.dirty);
            cost.won += u64::from(unit.out_of_date);
        }
        (!self.open.is_empty()).then_some(cost)
    }

    /// The open units are being written home.
    pub(super) fn close(&mut self) {
        self.flushes += 1;
        for number in self.open.drain(..) {
            self.units[number as usize].flushed = self.flushes;
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.units.fill(Unit::default());
        self.flushes = 0;
        self.open.clear();
    }

    /// Verifies the counts, given the dirty blocks.
    pub(super) fn check(&self, dirty: impl Iterator<Item = Lba>) -> Result<(), Violation> {
        let mut counted = vec![0; self.units.len()];
        dirty.for_each(|lba| counted[self.number(lba) as usize] += 1);
        match self.units.iter().zip(&counted).position(|(unit, &dirty)| unit.dirty != dirty) {
            Some(unit) => Err(Violation(format!("unit {unit} has {} dirty blocks and counts others", counted[unit]))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units() -> Units {
        let mut units = Units::new(10, 45, (2, 1), 20);
        [1, 2, 3, 12, 13, 44].into_iter().for_each(|block| units.dirtied(Lba(block)));
        units
    }

    fn open(units: &mut Units, out_of_date: &[u64]) -> Vec<u64> {
        units.forget_out_of_date();
        out_of_date.iter().for_each(|&block| units.note_out_of_date(Lba(block)));
        units.open();
        (0..5).map(|unit| unit * 10).filter(|&block| units.is_open(Lba(block))).collect()
    }

    #[test]
    fn units_with_most_blocks_that_are_out_of_date_are_opened() {
        let mut units = units();
        assert_eq!(open(&mut units, &[12, 13, 44]), [10, 40]);
        assert_eq!(units.cost(100, 7), Some(Cost { us: 2 * 100 + 3 * 7, won: 3 }));
        assert_eq!(open(&mut units, &[]), [0, 10], "of equals the lower ones");
        assert!(units.check([1, 2, 3, 12, 13, 44].map(Lba).into_iter()).is_ok());
        assert!(units.check([1, 2].map(Lba).into_iter()).is_err());
    }

    #[test]
    fn a_unit_rests_while_others_have_dirty_blocks() {
        let mut units = units();
        assert_eq!(open(&mut units, &[12, 13]), [0, 10]);
        units.close();
        assert_eq!(open(&mut units, &[12, 13]), [40]);
        units.close();
        assert_eq!(open(&mut units, &[12, 13]), [0, 10], "one flush is over");
        units.close();
        units.gone(Lba(44));
        assert_eq!(open(&mut units, &[]), [0, 10], "no others are left");
        units.clear();
        assert_eq!((open(&mut units, &[]), units.cost(1, 1)), (vec![], None));
    }

    #[test]
    fn costs_are_compared_as_quotients() {
        let cost = |us, won| Cost { us, won };
        assert!(cost(10, 1).is_less_than(cost(6, 0)) && !cost(6, 0).is_less_than(cost(10, 1)), "10/2 and 6/1");
        assert!(!cost(10, 1).is_less_than(cost(5, 0)), "equal");
        assert!(cost(u64::MAX - 1, u64::MAX).is_less_than(cost(u64::MAX, u64::MAX)));
    }
}
