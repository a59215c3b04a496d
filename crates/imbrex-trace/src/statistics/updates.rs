//! How often written blocks are written again, and how many other blocks are written in between.
//!
//! Memory: 16 bytes for each distinct written block, 4 to 8 for its number in the footprint where blocks lie in runs,
//! and half a byte to order them.

use serde::{Serialize, Serializer};

use super::footprint::UNNUMBERED;
use super::ratio;
use super::recency::Recency;

/// Classes of periods: 0, 1, 2 to 3, 4 to 7 and so on.
const CLASSES: usize = 33;

/// A written block.
struct Written {
    /// Its place in the order of last writes.
    slot: u32,
    /// How often it was written after the first time.
    updates: u32,
    /// The sum of its update periods.
    periods: u64,
}

/// The blocks written so far.
#[derive(Default)]
pub struct Updates {
    blocks: Vec<Written>,
    recency: Recency,
    /// Updates by class of period.
    by_period: Vec<u64>,
}

/// The update periods of a trace's blocks, after §2.3 of Amphisbaena.
///
/// The period of an update is how many other distinct blocks were written since its block was last written. A block's
/// period is the mean of those of its updates; it is *long* when it is greater than the buffer in blocks, else *short*.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UpdatePeriods {
    /// The size of the buffer.
    pub buffer_blocks: u64,
    /// Block writes that were updates.
    pub updates: u64,
    /// The mean period of an update.
    pub mean: f64,
    /// Distinct blocks that were updated.
    pub updated_blocks: u64,
    /// The blocks with short periods.
    pub short: PeriodShare,
    /// The blocks with long periods.
    pub long: PeriodShare,
    /// Updates and blocks by period, up to the longest; [`period_name`] names the classes.
    #[serde(serialize_with = "by_name")]
    pub distribution: Vec<PeriodClass>,
}

/// Updated blocks with short or long periods.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize)]
pub struct PeriodShare {
    /// How many there are.
    pub blocks: u64,
    /// Their part of all updated blocks.
    pub share: f64,
    /// The part of them that was updated once, that is, written twice.
    pub updated_once: f64,
    /// The part of them that was updated twice.
    pub updated_twice: f64,
    /// The part of them that was updated more than twice.
    pub updated_more: f64,
}

/// The periods from a power of two to before the next, or 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PeriodClass {
    /// Updates with such a period.
    pub updates: u64,
    /// Blocks whose mean period, rounded down, is such.
    pub blocks: u64,
}

/// How often blocks were written.
pub struct WriteCounts {
    /// Writes of blocks.
    pub writes: u64,
    /// Distinct blocks written more than once.
    pub hot_blocks: u64,
    /// Writes of those.
    pub hot_writes: u64,
}

impl Updates {
    /// The most distinct written blocks.
    pub const MOST: u32 = Recency::MOST;

    /// Whether `blocks` more blocks can be told apart.
    pub fn has_room(&self, blocks: u32) -> bool {
        self.blocks.len() + blocks as usize <= Self::MOST as usize
    }

    /// Loads what writing blocks of these numbers needs, for its effect on the cache.
    pub fn touch(&self, numbers: &[u32]) -> u64 {
        let slot = |&number: &u32| self.blocks.get(number as usize).map(|block| block.slot);
        let slots: Vec<_> = numbers.iter().filter_map(slot).collect();
        slots.into_iter().fold(0, |sum, slot| sum ^ self.recency.touch(slot))
    }

    /// A block is written; `number` is its own, which the first write gives it.
    #[inline]
    pub fn write(&mut self, number: &mut u32) {
        if self.recency.is_used_up() {
            self.recency.renumber(self.blocks.iter_mut().map(|block| &mut block.slot));
        }
        if *number == UNNUMBERED {
            *number = self.blocks.len() as u32;
            self.blocks.push(Written { slot: self.recency.take(), updates: 0, periods: 0 });
            return;
        }
        let block = &mut self.blocks[*number as usize];
        let period = u64::from(self.recency.give_up(block.slot));
        block.slot = self.recency.take();
        block.updates += 1;
        block.periods += period;
        let class = class_of(period);
        if self.by_period.len() <= class {
            self.by_period.resize(class + 1, 0);
        }
        self.by_period[class] += 1;
    }

    /// How often blocks were written.
    pub fn counts(&self) -> WriteCounts {
        let hot = self.blocks.iter().filter(|block| block.updates > 0);
        let (hot_blocks, updates) = hot.fold((0, 0), |(n, sum), block| (n + 1, sum + u64::from(block.updates)));
        WriteCounts { writes: self.blocks.len() as u64 + updates, hot_blocks, hot_writes: hot_blocks + updates }
    }

    /// The periods, set against a buffer of `buffer_blocks` blocks.
    pub fn periods(&self, buffer_blocks: u64) -> UpdatePeriods {
        let (mut short, mut long) = (Tally::default(), Tally::default());
        let mut by_mean = [0; CLASSES];
        let mut sum = 0u128;
        for block in self.blocks.iter().filter(|block| block.updates > 0) {
            let updates = u64::from(block.updates);
            let is_long = u128::from(block.periods) > u128::from(buffer_blocks) * u128::from(updates);
            (if is_long { &mut long } else { &mut short }).add(updates);
            by_mean[class_of(block.periods / updates)] += 1;
            sum += u128::from(block.periods);
        }
        let updates = self.by_period.iter().sum();
        let updated_blocks = short.blocks + long.blocks;
        let classes = self.by_period.iter().zip(by_mean);
        UpdatePeriods {
            buffer_blocks,
            updates,
            mean: if updates == 0 { 0.0 } else { sum as f64 / updates as f64 },
            updated_blocks,
            short: short.share(updated_blocks),
            long: long.share(updated_blocks),
            distribution: classes.map(|(&updates, blocks)| PeriodClass { updates, blocks }).collect(),
        }
    }
}

/// Blocks by how often they were updated.
#[derive(Default)]
struct Tally {
    blocks: u64,
    once: u64,
    twice: u64,
}

impl Tally {
    fn add(&mut self, updates: u64) {
        self.blocks += 1;
        self.once += u64::from(updates == 1);
        self.twice += u64::from(updates == 2);
    }

    fn share(&self, of: u64) -> PeriodShare {
        let Self { blocks, once, twice } = *self;
        PeriodShare {
            blocks,
            share: ratio(blocks, of),
            updated_once: ratio(once, blocks),
            updated_twice: ratio(twice, blocks),
            updated_more: ratio(blocks - once - twice, blocks),
        }
    }
}

fn class_of(period: u64) -> usize {
    (u64::BITS - period.leading_zeros()) as usize
}

fn least_of(class: usize) -> u64 {
    if class == 0 { 0 } else { 1 << (class - 1) }
}

/// The name of a class of periods: `0`, `1`, `2-3`, `4-7` and so on.
#[must_use]
pub fn period_name(class: usize) -> String {
    match least_of(class) {
        least @ (0 | 1) => least.to_string(),
        least => format!("{least}-{}", 2 * least - 1),
    }
}

fn by_name<S: Serializer>(classes: &[PeriodClass], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(classes.iter().enumerate().map(|(class, counts)| (period_name(class), counts)))
}
