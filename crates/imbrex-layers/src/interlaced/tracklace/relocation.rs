//! The map of what lies elsewhere than at home: blocks in slots of the Top-Buffer, and swapped ones.
//!
//! A pair of swapped blocks is one from a bottom track and one from a top track, each at the other's home; so the map
//! keeps who the two are, and no place. Records speak of single blocks, and a checkpoint may name one of a pair long
//! before the other: until the records are all applied, a pair may be half.

mod least_first;

use super::frames::Frames;
use crate::parts::block_map::BlockMap;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use least_first::LeastFirst;

/// Where a block lies that is not at home.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Lies {
    /// In this slot.
    Slot(u32),
    /// At the home of the other of this pair.
    Swapped(u32),
}

/// Two swapped blocks.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pair {
    /// From a bottom track, and now on a top one.
    pub hot: Lba,
    /// From a top track, and now on a bottom one.
    pub cold: Lba,
    /// Whether the map has the one and the other.
    mapped: [bool; 2],
    /// When the hot block was last written.
    pub last_write: u64,
    /// Writes of the hot block, halved with each turn of its log, as of this turn.
    weight: u32,
    turn: u32,
    /// Writes of the cold block since the hot one was last written.
    pub cold_writes: u32,
}

impl Pair {
    /// The place of a block in `mapped`.
    fn side(&self, lba: Lba) -> usize {
        usize::from(lba == self.cold)
    }

    /// The other one.
    pub fn partner(&self, lba: Lba) -> Lba {
        if lba == self.hot { self.cold } else { self.hot }
    }

    /// Writes of the hot block, those of older turns counting less.
    pub fn weight(&self, turn: u32) -> u32 {
        self.weight.checked_shr(turn.wrapping_sub(self.turn)).unwrap_or(0)
    }
}

/// The map.
pub(super) struct Relocations {
    /// A slot, or behind all slots a pair.
    map: BlockMap,
    slots: u32,
    /// The most entries.
    budget: u64,
    pub most_pairs: u32,
    pairs: Vec<Pair>,
    /// Pairs that are none.
    unused: Vec<u32>,
    /// Pairs by the last write of their hot block; of several, the one of the lowest number.
    by_write: LeastFirst<(u64, Lba)>,
    buffered: u32,
}

impl Relocations {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let pairs = u64::from(self.most_pairs);
        self.map.memory() + Memory::growing::<Pair>(pairs) + Memory::growing::<u32>(pairs) + self.by_write.memory()
    }

    /// An empty map of blocks below `capacity` with at most `budget` entries, two for each of at most `pairs` pairs.
    /// None if there are too many places to number.
    pub fn new(capacity: u64, slots: u64, pairs: u32, budget: u64) -> Option<Self> {
        let fits = slots + u64::from(pairs) < u64::from(BlockMap::PLACES) && capacity < 1 << 36;
        fits.then(|| Self {
            map: BlockMap::new(capacity, budget.min(u64::from(BlockMap::PLACES)) as u32),
            slots: slots as u32,
            budget,
            most_pairs: pairs,
            pairs: Vec::with_capacity(pairs as usize),
            unused: Vec::with_capacity(pairs as usize),
            by_write: LeastFirst::new(pairs),
            buffered: 0,
        })
    }

    /// Where the block lies, if not at home.
    #[inline]
    pub fn lies(&self, lba: Lba) -> Option<Lies> {
        let at = self.map.get(lba)?;
        Some(if at < self.slots { Lies::Slot(at) } else { Lies::Swapped(at - self.slots) })
    }

    /// What a lookup needs, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.map.prefetch(lba)
    }

    /// The blocks from the front of `at`, the first of which is at home, that are.
    #[inline]
    pub fn at_home(&self, at: Extent<Lba>) -> Extent<Lba> {
        if at.blocks == 1 {
            return at;
        }
        match self.map.next(at.start, at.end()) {
            Some(moved) => at.first((moved.0 - at.start.0) as u32),
            None => at,
        }
    }

    /// The blocks of `at` that are not at home.
    pub fn moved(&self, at: Extent<Lba>) -> impl Iterator<Item = Lba> {
        self.map.blocks(at)
    }

    /// The first block of `at` that is not at home.
    pub fn first_moved(&self, at: Extent<Lba>) -> Option<Lba> {
        self.map.next(at.start, at.end())
    }

    /// A pair.
    pub fn pair(&self, pair: u32) -> &Pair {
        &self.pairs[pair as usize]
    }

    /// The pair whose hot block was written least recently.
    pub fn oldest(&self) -> Option<u32> {
        self.by_write.least()
    }

    /// The hot block of a pair was last written at `last_write`, and `writes` times more than was known.
    pub fn hot_written(&mut self, pair: u32, last_write: u64, writes: u32, turn: u32) {
        let of_pair = &mut self.pairs[pair as usize];
        of_pair.weight = of_pair.weight(turn).saturating_add(writes);
        (of_pair.turn, of_pair.last_write, of_pair.cold_writes) = (turn, last_write, 0);
        self.by_write.set(pair, (last_write, of_pair.hot));
    }

    /// The cold block of a pair is written.
    pub fn cold_written(&mut self, pair: u32) {
        self.pairs[pair as usize].cold_writes += 1;
    }

    /// Entries that the map may get.
    pub fn room(&self) -> u64 {
        self.budget - self.map.mapped()
    }

    /// Entries of the map, how many of them are in slots, and the most there may be.
    pub fn entries(&self) -> (u64, u32, u64) {
        (self.map.mapped(), self.buffered, self.budget)
    }

    /// Pairs.
    pub fn pairs(&self) -> u32 {
        (self.pairs.len() - self.unused.len()) as u32
    }

    /// The block lies in a slot, which no other holds.
    #[inline]
    pub fn buffer(&mut self, lba: Lba, slot: u32, frames: &mut Frames) -> Option<u32> {
        let before = self.remove(lba, frames);
        self.map.set(lba, slot);
        frames.set_owner(slot, Some(lba));
        self.buffered += 1;
        before
    }

    /// `lba` lies at the home of `partner`: one of them is from a bottom track, which `is_hot` says of `lba`.
    pub fn swap(&mut self, lba: Lba, partner: Lba, is_hot: bool, frames: &mut Frames) -> Option<u32> {
        let before = self.remove(lba, frames);
        let pair = match self.pair_of(partner, lba) {
            Some(pair) => pair,
            None if is_hot => self.new_pair(lba, partner),
            None => self.new_pair(partner, lba),
        };
        let of_pair = &mut self.pairs[pair as usize];
        of_pair.mapped[of_pair.side(lba)] = true;
        self.map.set(lba, self.slots + pair);
        before
    }

    /// The pair of two blocks, if the first is known to be swapped with the second.
    fn pair_of(&self, lba: Lba, with: Lba) -> Option<u32> {
        let pair = self.map.get(lba).and_then(|at| at.checked_sub(self.slots));
        pair.filter(|&pair| self.pair(pair).partner(lba) == with)
    }

    /// Whether there is a pair of these blocks, or room for one.
    pub fn takes_pair(&self, lba: Lba, partner: Lba) -> bool {
        let is_pair = self.pair_of(lba, partner).is_some() || self.pair_of(partner, lba).is_some();
        is_pair || self.pairs() < self.most_pairs
    }

    fn new_pair(&mut self, hot: Lba, cold: Lba) -> u32 {
        let new = Pair { hot, cold, mapped: [false; 2], last_write: 0, weight: 0, turn: 0, cold_writes: 0 };
        let pair = match self.unused.pop() {
            Some(pair) => {
                self.pairs[pair as usize] = new;
                pair
            }
            None => {
                self.pairs.push(new);
                self.pairs.len() as u32 - 1
            }
        };
        self.by_write.set(pair, (0, new.hot));
        pair
    }

    /// The block is at home. The slot that it lay in, if it did.
    pub fn remove(&mut self, lba: Lba, frames: &mut Frames) -> Option<u32> {
        let at = self.map.remove(lba)?;
        let Some(pair) = at.checked_sub(self.slots) else {
            frames.set_owner(at, None);
            self.buffered -= 1;
            return Some(at);
        };
        let of_pair = &mut self.pairs[pair as usize];
        of_pair.mapped[of_pair.side(lba)] = false;
        if of_pair.mapped == [false; 2] {
            self.by_write.remove(pair);
            self.unused.push(pair);
        }
        None
    }

    /// Another budget, to see that it is checked.
    #[cfg(test)]
    pub fn set_budget(&mut self, budget: u64) {
        self.budget = budget;
    }

    /// Verifies that slots hold what the map says, that pairs are whole and the budget is kept.
    pub fn check(&self, frames: &Frames) -> Result<(), Violation> {
        let (entries, buffered, budget) = self.entries();
        let wrong = |what: String| Err(Violation(what));
        if entries > budget || entries != u64::from(buffered) + 2 * u64::from(self.pairs()) {
            let pairs = self.pairs();
            return wrong(format!("{entries} entries of {budget}, for {buffered} buffered blocks and {pairs} pairs"));
        }
        // Behind these are slots of virtual logs, which note blocks and hold none.
        let slots = frames.slots().0;
        let mut count = 0;
        for (slot, lba) in frames.holding().take_while(|(slot, _)| u64::from(*slot) < slots) {
            count += 1;
            if self.map.get(lba) != Some(slot) {
                return wrong(format!("slot {slot} holds {lba:?}, which lies elsewhere"));
            }
        }
        if count != buffered {
            return wrong(format!("{count} slots hold blocks, and {buffered} blocks are buffered"));
        }
        for pair in self.by_write.numbers() {
            let of_pair = self.pair(pair);
            let both = [of_pair.hot, of_pair.cold].map(|lba| self.lies(lba) == Some(Lies::Swapped(pair)));
            if both != [true; 2] || of_pair.mapped != [true; 2] {
                return wrong(format!(
                    "{:?} and {:?} are a pair, and one of them is not swapped",
                    of_pair.hot, of_pair.cold
                ));
            }
        }
        let listed = self.by_write.numbers().count();
        if listed as u32 == self.pairs() {
            Ok(())
        } else {
            wrong(format!("{listed} pairs are listed of {}", self.pairs()))
        }
    }
}
