//! The units of a disk that are written home whole, and what that costs.

use std::cmp::Reverse;

use crate::parts::dense_set::DenseSet;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Units are numbered by 32 bits, and each takes 32 bytes.
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
    /// How many of these are known to be out of date.
    out_of_date: u32,
    /// Which flush it was part of last; 0 if of none.
    flushed: u64,
}

/// The units, and which of them are to be written home.
pub(super) struct Units {
    unit_blocks: u32,
    /// Blocks of the disk.
    blocks: u64,
    most_open: u32,
    rest: u32,
    units: Box<[Unit]>,
    /// The units with dirty blocks.
    dirty: DenseSet,
    /// Flushes so far.
    flushes: u64,
    /// Units that are to be written home; those with dirty blocks while they are being chosen.
    open: Vec<u32>,
}

impl Units {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let open = Memory::growing::<u32>(self.open.capacity() as u64);
        Memory::of::<Unit>(self.units.len() as u64) + self.dirty.memory() + open
    }

    /// The units of a disk of `blocks` blocks behind a cache of `frames` frames. At most `most_open` are open, and one
    /// rests for `rest` flushes after its own.
    pub(super) fn new(unit_blocks: u32, blocks: u64, most_open: u32, rest: u32, frames: u32) -> Self {
        let units = blocks.div_ceil(unit_blocks.into()) as usize;
        Self {
            unit_blocks,
            blocks,
            most_open,
            rest,
            units: vec![Unit::default(); units].into(),
            dirty: DenseSet::new(units as u32),
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
        let unit = self.of(lba);
        unit.dirty += 1;
        if unit.dirty == 1 {
            self.dirty.insert(self.number(lba));
        }
    }

    /// A dirty block is gone.
    #[inline]
    pub(super) fn gone(&mut self, lba: Lba) {
        let unit = self.of(lba);
        unit.dirty -= 1;
        if unit.dirty == 0 {
            self.dirty.remove(self.number(lba));
        }
    }

    /// A dirty block is out of date.
    #[inline]
    pub(super) fn note_out_of_date(&mut self, lba: Lba) {
        self.of(lba).out_of_date += 1;
    }

    /// It is so no more.
    #[inline]
    pub(super) fn forget_out_of_date(&mut self, lba: Lba) {
        self.of(lba).out_of_date -= 1;
    }

    /// Opens the units with most dirty blocks that are out of date; of equals those with lower numbers. Units that rest
    /// are opened only where no other has dirty blocks.
    pub(super) fn open(&mut self) {
        let Self { units, dirty, open, flushes, rest, .. } = self;
        let rests = |unit: &Unit| unit.flushed > 0 && *flushes - unit.flushed < u64::from(*rest);
        open.clear();
        open.extend(dirty.members());
        if open.iter().any(|&number| !rests(&units[number as usize])) {
            open.retain(|&number| !rests(&units[number as usize]));
        }
        let most = self.most_open as usize;
        if open.len() > most {
            open.select_nth_unstable_by_key(most, |&number| (Reverse(units[number as usize].out_of_date), number));
            open.truncate(most);
        }
        open.sort_unstable();
    }

    /// The open units, in order.
    pub(super) fn opened(&self) -> impl Iterator<Item = Extent<Lba>> {
        self.open.iter().map(|&number| {
            let start = u64::from(number) * u64::from(self.unit_blocks);
            let end = self.blocks.min(start + u64::from(self.unit_blocks));
            Extent::between(Lba(start), Lba(end))
        })
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
        self.dirty.clear();
        self.flushes = 0;
        self.open.clear();
    }

    /// Verifies the counts, given the dirty blocks and which of them are known to be out of date.
    pub(super) fn check(&self, dirty: impl Iterator<Item = (Lba, bool)>) -> Result<(), Violation> {
        let mut counted = vec![(0, 0); self.units.len()];
        for (lba, is_out_of_date) in dirty {
            let unit = &mut counted[self.number(lba) as usize];
            *unit = (unit.0 + 1, unit.1 + u32::from(is_out_of_date));
        }
        if let Some(unit) = (0..).zip(&counted).position(|(unit, is)| (is.0 > 0) != self.dirty.contains(unit)) {
            return Err(Violation(format!("unit {unit} has {} dirty blocks and is listed otherwise", counted[unit].0)));
        }
        match self.units.iter().zip(&counted).position(|(unit, is)| (unit.dirty, unit.out_of_date) != *is) {
            Some(unit) => {
                let (dirty, out_of_date) = counted[unit];
                let is = format!("{dirty} dirty blocks, {out_of_date} of them out of date");
                Err(Violation(format!("unit {unit} has {is}, and counts others")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units() -> Units {
        let mut units = Units::new(10, 45, 2, 1, 20);
        [1, 2, 3, 12, 13, 44].into_iter().for_each(|block| units.dirtied(Lba(block)));
        units
    }

    fn open(units: &mut Units, out_of_date: &[u64]) -> Vec<u64> {
        out_of_date.iter().for_each(|&block| units.note_out_of_date(Lba(block)));
        units.open();
        units.opened().map(|unit| unit.start.0).collect()
    }

    #[test]
    fn units_with_most_blocks_that_are_out_of_date_are_opened() {
        let mut units = units();
        assert_eq!(open(&mut units, &[12, 13, 44]), [10, 40]);
        assert_eq!(units.cost(100, 7), Some(Cost { us: 2 * 100 + 3 * 7, won: 3 }));
        let dirty = [1, 2, 3, 12, 13, 44].map(|block| (Lba(block), block > 3));
        assert!(units.check(dirty.into_iter()).is_ok());
        assert!(units.check(dirty[1..].iter().copied()).is_err());
        [12, 13, 44].into_iter().for_each(|block| units.forget_out_of_date(Lba(block)));
        assert!(units.check(dirty.into_iter()).is_err());
        assert_eq!(open(&mut units, &[]), [0, 10], "of equals the lower ones");
    }

    #[test]
    fn a_unit_rests_while_others_have_dirty_blocks() {
        let mut units = units();
        assert_eq!(open(&mut units, &[12, 13]), [0, 10]);
        units.close();
        assert_eq!(open(&mut units, &[]), [40]);
        units.close();
        assert_eq!(open(&mut units, &[]), [0, 10], "one flush is over");
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
