//! Dirty blocks by units of the disk, which are written home whole.

use std::cmp::Reverse;

use crate::parts::dense_set::DenseSet;
use crate::parts::unit_ages::UnitAges;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Blocks of a unit: 32 MiB of 4 KiB blocks, about as many as a band has.
pub(super) const UNIT_BLOCKS: u32 = 8192;

/// The dirty blocks of each unit.
pub(super) struct Units {
    frames: u32,
    /// Blocks of the disk.
    blocks: u64,
    ages: UnitAges,
    /// The units with dirty blocks.
    held: DenseSet,
    /// Dirty blocks of all units.
    dirty: u32,
    /// Units that leave.
    chosen: Vec<u32>,
}

impl Units {
    /// The units of a disk of `blocks` blocks behind `frames` frames.
    pub fn new(frames: u32, blocks: u64) -> Self {
        let units = blocks.div_ceil(UNIT_BLOCKS.into()) as u32;
        Self {
            frames,
            blocks,
            ages: UnitAges::new(frames, units, UNIT_BLOCKS),
            held: DenseSet::new(units),
            dirty: 0,
            chosen: Vec::with_capacity(units.min(frames) as usize),
        }
    }

    /// The memory that they take.
    pub fn memory(&self) -> Memory {
        self.ages.memory() + self.held.memory() + Memory::growing::<u32>(self.chosen.capacity() as u64)
    }

    fn number(lba: Lba) -> u32 {
        (lba.0 / u64::from(UNIT_BLOCKS)) as u32
    }

    /// Dirty blocks in all.
    #[inline]
    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    /// Units with dirty blocks.
    pub fn held(&self) -> u32 {
        self.held.members().len() as u32
    }

    /// The host has used a block.
    #[inline]
    pub fn tick(&mut self) {
        self.ages.tick();
    }

    /// A block has become dirty.
    #[inline]
    pub fn add(&mut self, frame: u32, lba: Lba) {
        let unit = Self::number(lba);
        if self.ages.blocks(unit) == 0 {
            self.held.insert(unit);
        }
        self.ages.add(frame, lba);
        self.dirty += 1;
    }

    /// A dirty block is used.
    #[inline]
    pub fn renew(&mut self, frame: u32, lba: Lba) {
        self.ages.renew(frame, lba);
    }

    /// A dirty block is gone.
    #[inline]
    pub fn remove(&mut self, frame: u32, lba: Lba) {
        self.ages.remove(frame, lba);
        self.dirty -= 1;
        let unit = Self::number(lba);
        if self.ages.blocks(unit) == 0 {
            self.held.remove(unit);
        }
    }

    /// Lets times go back before they become too large; `dirty` says which blocks are dirty, and in which frames.
    pub fn settle<I: Iterator<Item = (u32, Lba)>>(&mut self, dirty: impl FnOnce() -> I) {
        self.ages.settle(dirty);
    }

    /// Chooses the units that leave so that `wanted` blocks find room: the heaviest ones, as few as hold so many, or all.
    pub fn choose(&mut self, wanted: u32) {
        let Self { ages, held, chosen, .. } = self;
        let by_weight = |&unit: &u32| Reverse((ages.weight(unit), unit));
        chosen.clear();
        chosen.extend_from_slice(held.members());
        // Each holds a block.
        let most = wanted as usize;
        if chosen.len() > most {
            chosen.select_nth_unstable_by_key(most, by_weight);
            chosen.truncate(most);
        }
        chosen.sort_unstable_by_key(by_weight);
        let mut sum = 0;
        let before = |unit: &&u32| {
            let is_wanted = sum < wanted;
            sum += ages.blocks(**unit);
            is_wanted
        };
        let taken = chosen.iter().take_while(before).count();
        chosen.truncate(taken);
    }

    /// The units that were chosen last.
    pub fn chosen(&self) -> impl Iterator<Item = Extent<Lba>> {
        self.chosen.iter().map(|&unit| {
            let start = u64::from(unit) * u64::from(UNIT_BLOCKS);
            Extent::between(Lba(start), Lba(self.blocks.min(start + u64::from(UNIT_BLOCKS))))
        })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ages.clear();
        self.held.clear();
        self.dirty = 0;
    }

    /// Verifies the counts, given the frames of dirty blocks.
    pub fn check(&self, dirty: impl Iterator<Item = (u32, Lba)>) -> Result<(), Violation> {
        self.ages.check(dirty)?;
        let units = self.blocks.div_ceil(UNIT_BLOCKS.into()) as u32;
        if let Some(unit) = (0..units).find(|&unit| self.held.contains(unit) != (self.ages.blocks(unit) > 0)) {
            return Err(Violation(format!("unit {unit} holds dirty blocks or not, and is listed otherwise")));
        }
        let sum: u32 = self.held.members().iter().map(|&unit| self.ages.blocks(unit)).sum();
        if sum == self.dirty && sum <= self.frames {
            return Ok(());
        }
        Err(Violation(format!("units hold {sum} dirty blocks, and {} are counted", self.dirty)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units in which so many blocks have become dirty, one after another: the unit, and how many.
    fn dirtied(runs: &[(u64, u32)]) -> (Units, Vec<(u32, Lba)>) {
        let mut units = Units::new(1000, 10 * u64::from(UNIT_BLOCKS));
        let mut frames = Vec::new();
        for &(unit, blocks) in runs {
            for _ in 0..blocks {
                let (frame, lba) = (frames.len() as u32, Lba(unit * u64::from(UNIT_BLOCKS) + frames.len() as u64));
                units.tick();
                units.add(frame, lba);
                frames.push((frame, lba));
            }
        }
        units.check(frames.iter().copied()).unwrap();
        (units, frames)
    }

    fn chosen(units: &mut Units, wanted: u32) -> Vec<u64> {
        units.choose(wanted);
        units.chosen().map(|unit| unit.start.0 / u64::from(UNIT_BLOCKS)).collect()
    }

    #[test]
    fn as_few_units_leave_as_hold_what_is_wanted_the_heaviest_first() {
        let (mut units, _) = dirtied(&[(3, 10), (5, 30), (7, 20)]);
        assert_eq!(chosen(&mut units, 30), [5]);
        assert_eq!(chosen(&mut units, 31), [5, 3], "20 young blocks weigh less than 10 old ones");
        assert_eq!(chosen(&mut units, 1000), [5, 3, 7], "all that there are");
    }

    #[test]
    fn what_is_used_again_stays() {
        let (mut units, frames) = dirtied(&[(3, 10), (5, 10)]);
        assert_eq!(chosen(&mut units, 1), [3]);
        for &(frame, lba) in &frames[..10] {
            units.tick();
            units.renew(frame, lba);
        }
        assert_eq!(chosen(&mut units, 1), [5]);
        units.tick();
        frames[10..].iter().for_each(|&(frame, lba)| units.remove(frame, lba));
        assert_eq!((chosen(&mut units, 1), units.dirty()), (vec![3], 10));
        assert!(units.check(frames.iter().copied()).is_err(), "half of them are gone");
        units.clear();
        assert_eq!((chosen(&mut units, 1), units.dirty()), (vec![], 0));
    }
}
