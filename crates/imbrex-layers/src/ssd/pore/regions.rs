//! The open and the forbidden region: which units of the disk dirty blocks may be written home to, and for how long.

use super::select::{Record, Select};
use crate::parts::bitmap::Bitmap;
use crate::ssd::flash_cache::replaced::division::Division;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What counts towards a period.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeriodCounts {
    /// Dirty blocks that leave.
    Evicted,
    /// Blocks that the host writes into the cache.
    Written,
}

/// What leaves at a time.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evict {
    /// The coldest blocks that may.
    Block,
    /// All dirty blocks of the open region.
    Region,
}

/// How regions are made.
#[derive(Copy, Clone, Debug)]
pub struct Rules {
    /// Blocks of a unit.
    pub unit_blocks: u32,
    /// Blocks of a period.
    pub period: u32,
    pub period_counts: PeriodCounts,
    pub select: Select,
    pub evict: Evict,
}

/// A region unit.
#[derive(Copy, Clone, Default)]
struct Unit {
    record: Record,
    is_open: bool,
}

/// The units, and how far the period has come.
pub struct Regions {
    rules: Rules,
    units: Box<[Unit]>,
    /// The regions that are open, have dirty blocks or were used since the last division, and few others: a division
    /// looks at no more of a large disk.
    known: Bitmap,
    /// Blocks that count towards the period, of those that have left or come since the last division.
    counted: u32,
    /// Whether the period is over. The first division comes with the first block that has to leave: then the cache is
    /// full for the first time.
    is_over: bool,
    /// By frame: whether its block was used once or more often in this period. Empty where that is not needed.
    uses: Vec<u8>,
    /// The units with dirty blocks, the one to be opened first in front. Its memory is taken at the beginning.
    candidates: Vec<u32>,
    /// Blocks of the disk.
    blocks: u64,
}

impl Regions {
    /// All of a disk of `blocks` blocks, open, behind a cache of `frames` frames.
    pub fn new(rules: Rules, blocks: u64, frames: u32) -> Self {
        let units = blocks.div_ceil(rules.unit_blocks.into()) as usize;
        let uses = if rules.select == Select::ColdBlocks { frames as usize } else { 0 };
        let mut this = Self {
            rules,
            units: vec![Unit::default(); units].into(),
            known: Bitmap::new(units as u64),
            counted: 0,
            is_over: true,
            uses: vec![0; uses],
            candidates: Vec::with_capacity(units.min(frames as usize)),
            blocks,
        };
        this.clear();
        this
    }

    #[inline]
    fn unit_of(&self, lba: Lba) -> usize {
        (lba.0 / u64::from(self.rules.unit_blocks)) as usize
    }

    #[inline]
    fn record(&mut self, lba: Lba) -> &mut Record {
        let unit = self.unit_of(lba);
        self.known.insert(unit as u64);
        &mut self.units[unit].record
    }

    fn count(&mut self, counts: PeriodCounts, blocks: u32) {
        if counts == self.rules.period_counts {
            self.counted = self.counted.saturating_add(blocks);
            self.is_over |= self.counted >= self.rules.period;
        }
    }

    /// Notes that the block in `frame` was used once in this period, or once more.
    fn count_use(&mut self, lba: Lba, frame: u32, is_new: bool) {
        let Some(uses) = self.uses.get_mut(frame as usize) else { return };
        let before = if is_new { 0 } else { *uses };
        *uses = (before + 1).min(2);
        match before {
            0 => self.record(lba).once += 1,
            1 => self.record(lba).once -= 1,
            _ => {}
        }
    }
}

/// The numbers in a set of units.
fn members(units: &Bitmap) -> impl Iterator<Item = u32> {
    let next = |from: u64| units.next(from, u64::MAX);
    std::iter::successors(next(0), move |&unit| next(unit + 1)).map(|unit| unit as u32)
}

impl Division for Regions {
    fn memory(&self) -> Memory {
        let units = self.units.len() as u64;
        let lists = Memory::of::<Unit>(units) + Memory::room::<u8>(self.uses.len() as u64);
        // Their order is made in a list of its own.
        lists + Memory::growing::<u32>(2 * self.candidates.capacity() as u64) + self.known.memory()
    }

    const HOLDS: bool = true;

    fn is_due(&self) -> bool {
        self.is_over
    }

    /// Opens units in the order of the selection until their dirty blocks are enough for a period.
    fn divide(&mut self) {
        let Self { units, known, candidates, rules, .. } = self;
        candidates.clear();
        candidates.extend(members(known).filter(|&unit| units[unit as usize].record.dirty > 0));
        candidates.sort_unstable_by(|&one, &other| {
            let [first, second] = [one, other].map(|unit| &units[unit as usize].record);
            rules.select.order(first, second).then(one.cmp(&other))
        });
        for number in members(known) {
            let unit = &mut units[number as usize];
            *unit = Unit { record: Record { dirty: unit.record.dirty, ..Record::default() }, is_open: false };
        }
        known.clear();
        candidates.iter().for_each(|&unit| {
            known.insert(unit.into());
        });
        let mut supply = 0;
        for &candidate in candidates.iter() {
            if supply >= rules.period {
                break;
            }
            let unit = &mut units[candidate as usize];
            unit.is_open = true;
            supply += unit.record.dirty;
        }
        self.uses.fill(0);
        (self.counted, self.is_over) = (0, false);
    }

    #[inline]
    fn may_leave(&self, lba: Lba) -> bool {
        self.units[self.unit_of(lba)].is_open
    }

    fn is_flushed_whole(&self) -> bool {
        self.rules.evict == Evict::Region
    }

    fn open_from(&self, from: Lba) -> Option<Extent<Lba>> {
        let first = from.0.div_ceil(self.rules.unit_blocks.into()) as usize;
        let unit = first + self.units.get(first..)?.iter().position(|unit| unit.is_open)?;
        let start = unit as u64 * u64::from(self.rules.unit_blocks);
        let end = (start + u64::from(self.rules.unit_blocks)).min(self.blocks);
        Some(Extent::between(Lba(start), Lba(end)))
    }

    fn used(&mut self, lba: Lba, frame: u32, is_new: bool) {
        let record = self.record(lba);
        record.accesses += 1;
        record.hits += u64::from(!is_new);
        self.count_use(lba, frame, is_new);
    }

    fn passed(&mut self, at: Extent<Lba>) {
        at.iter().for_each(|lba| self.record(lba).accesses += 1);
    }

    fn written(&mut self, blocks: u32) {
        self.count(PeriodCounts::Written, blocks);
    }

    fn dirtied(&mut self, lba: Lba) {
        self.record(lba).dirty += 1;
    }

    fn chosen(&mut self, lba: Lba) {
        self.record(lba).dirty -= 1;
        self.count(PeriodCounts::Evicted, 1);
        // What is flushed whole ends the period, whatever it comes to.
        self.is_over |= self.is_flushed_whole();
    }

    fn gone(&mut self, lba: Lba) {
        self.record(lba).dirty -= 1;
    }

    fn clear(&mut self) {
        self.units.fill(Unit { record: Record::default(), is_open: true });
        self.known.insert_run(0, self.units.len() as u64);
        self.uses.fill(0);
        (self.counted, self.is_over) = (0, true);
    }

    fn check(&self, dirty: &mut dyn Iterator<Item = Lba>) -> Result<(), Violation> {
        let mut counted = vec![0; self.units.len()];
        dirty.for_each(|lba| counted[self.unit_of(lba)] += 1);
        let is_known = |unit: &Unit| unit.is_open || unit.record.dirty > 0 || unit.record.accesses > 0;
        if let Some(unit) = (0..).zip(&self.units).find(|&(unit, is)| is_known(is) && !self.known.contains(unit)) {
            return Err(Violation(format!("unit {} is open, dirty or used, and not known", unit.0)));
        }
        match self.units.iter().zip(&counted).position(|(unit, &dirty)| unit.record.dirty != dirty) {
            Some(unit) => Err(Violation(format!("unit {unit} has {} dirty blocks and counts others", counted[unit]))),
            None if self.counted >= self.rules.period && !self.is_over => {
                Err(Violation(format!("{} blocks have left or come, and the period goes on", self.counted)))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(select: Select, period: u32) -> Regions {
        let rules =
            Rules { unit_blocks: 10, period, period_counts: PeriodCounts::Evicted, select, evict: Evict::Block };
        Regions::new(rules, 45, 20)
    }

    fn open(regions: &Regions) -> Vec<u64> {
        (0..5).map(|unit| unit * 10).filter(|&block| regions.may_leave(Lba(block))).collect()
    }

    #[test]
    fn units_are_opened_until_they_have_enough_for_a_period() {
        let mut regions = regions(Select::DirtySquareOverHeat, 3);
        assert_eq!(open(&regions), [0, 10, 20, 30, 40], "until the cache is full");
        for block in [1, 2, 12, 13, 44] {
            regions.dirtied(Lba(block));
        }
        assert!(regions.is_due());
        regions.divide();
        assert_eq!(open(&regions), [0, 10], "two of two blocks, the lower one first");
        for _ in 0..5 {
            regions.used(Lba(1), 0, false);
        }
        [1, 12].into_iter().for_each(|block| regions.chosen(Lba(block)));
        assert!(!regions.is_due());
        regions.gone(Lba(44));
        regions.dirtied(Lba(44));
        regions.chosen(Lba(13));
        assert!(regions.is_due());
        regions.divide();
        assert_eq!(open(&regions), [0, 40], "what has no dirty block is not opened");
        assert_eq!(regions.open_from(Lba(10)), Some(Extent::between(Lba(40), Lba(45))));
        assert_eq!(regions.open_from(Lba(45)), None);
    }

    #[test]
    fn a_use_counts_once_while_its_block_stays_and_once_more_when_it_is_back() {
        let mut regions = regions(Select::ColdBlocks, 1);
        let once = |regions: &Regions| regions.units[0].record.once;
        regions.used(Lba(1), 7, true);
        regions.used(Lba(2), 8, true);
        assert_eq!(once(&regions), 2);
        regions.used(Lba(1), 7, false);
        regions.used(Lba(1), 7, false);
        assert_eq!(once(&regions), 1);
        regions.used(Lba(1), 9, true);
        assert_eq!(once(&regions), 2);
        regions.divide();
        regions.used(Lba(1), 9, false);
        assert_eq!(once(&regions), 1);
    }

    #[test]
    fn a_wrong_count_is_noticed() {
        let mut regions = regions(Select::MeanPopularity, 1);
        regions.dirtied(Lba(3));
        let check = |regions: &Regions| regions.check(&mut [Lba(3)].into_iter());
        assert!(check(&regions).is_ok() && regions.check(&mut std::iter::empty()).is_err());
        regions.divide();
        assert!(check(&regions).is_ok());
        regions.known.remove(0);
        assert!(check(&regions).is_err(), "a division would leave the unit out");
        regions.known.insert(0);
        regions.counted = 1;
        assert!(check(&regions).is_err());
    }
}
