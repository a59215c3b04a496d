//! Which parts of a disk are open, as sets and sums.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Settings;

/// The open region of a disk, and what was used in a period.
#[derive(Default)]
pub struct Regions {
    unit_blocks: u64,
    period: u64,
    counts_written: bool,
    select: String,
    pub are_flushed_whole: bool,
    /// The open units; nothing if all are.
    open: Option<BTreeSet<u64>>,
    counted: u64,
    pub is_over: bool,
    accesses: HashMap<u64, u64>,
    hits: HashMap<u64, u64>,
    /// How often blocks were used since they came or the period began, and of each cached one where that is.
    uses: Vec<(u64, u64)>,
    current: HashMap<u64, usize>,
}

impl Regions {
    pub fn new(settings: &Settings, frames: u64) -> Self {
        let period = settings.number("period_blocks", 0);
        Self {
            unit_blocks: settings.number("region_blocks", 5120),
            period: if period == 0 { (frames / 4).max(1) } else { period },
            counts_written: settings.text("period_counts", "evicted") == "written",
            select: settings.text("select", "dirty-square-over-heat").to_owned(),
            are_flushed_whole: settings.text("evict", "block") == "region",
            is_over: true,
            ..Self::default()
        }
    }

    pub fn is_open(&self, block: u64) -> bool {
        self.open.as_ref().is_none_or(|open| open.contains(&(block / self.unit_blocks)))
    }

    pub fn accessed(&mut self, block: u64) {
        *self.accesses.entry(block / self.unit_blocks).or_default() += 1;
    }

    pub fn used(&mut self, block: u64, is_new: bool) {
        self.accessed(block);
        if !is_new {
            *self.hits.entry(block / self.unit_blocks).or_default() += 1;
        }
        match self.current.get(&block).filter(|_| !is_new) {
            Some(&place) => self.uses[place].1 += 1,
            None => {
                self.current.insert(block, self.uses.len());
                self.uses.push((block, 1));
            }
        }
    }

    pub fn left(&mut self) {
        self.count(!self.counts_written);
    }

    pub fn written(&mut self) {
        self.count(self.counts_written);
    }

    fn count(&mut self, counts: bool) {
        self.counted += u64::from(counts);
        self.is_over |= self.counted >= self.period;
    }

    /// What a unit is opened by, the smallest first, as a numerator and a denominator.
    fn score(&self, unit: u64, dirty: u64) -> (i128, i128) {
        let of = |records: &HashMap<u64, u64>| i128::from(records.get(&unit).copied().unwrap_or(0));
        let dirty = i128::from(dirty);
        match &self.select[..] {
            "dirty-square-over-heat" => (-dirty * dirty, of(&self.hits) + 1),
            "most-dirty" => (-dirty, 1),
            "mean-popularity" => (of(&self.accesses), dirty),
            "cold-blocks" => {
                let once = self.uses.iter().filter(|(block, uses)| block / self.unit_blocks == unit && *uses == 1);
                (-(once.count() as i128), 1)
            }
            other => panic!("{other} is no selection"),
        }
    }

    pub fn divide(&mut self, dirty: &BTreeSet<u64>) {
        let mut units = BTreeMap::new();
        dirty.iter().for_each(|block| *units.entry(block / self.unit_blocks).or_insert(0) += 1);
        let mut scored: Vec<_> = units.iter().map(|(&unit, &dirty)| (self.score(unit, dirty), unit, dirty)).collect();
        scored.sort_by(|((up, down), one, _), ((other_up, other_down), other, _)| {
            (up * other_down).cmp(&(other_up * down)).then(one.cmp(other))
        });
        let mut supply = 0;
        let opened = scored.into_iter().take_while(|&(_, _, dirty)| {
            let is_wanted = supply < self.period;
            supply += dirty;
            is_wanted
        });
        let open = opened.map(|(_, unit, _)| unit).collect();
        *self = Self {
            unit_blocks: self.unit_blocks,
            period: self.period,
            counts_written: self.counts_written,
            select: std::mem::take(&mut self.select),
            are_flushed_whole: self.are_flushed_whole,
            open: Some(open),
            ..Self::default()
        };
    }
}
