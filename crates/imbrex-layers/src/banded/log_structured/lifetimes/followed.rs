//! Some blocks, of which it is known when they were written and how long that has been counted: what hazards are learned
//! from.
//!
//! All blocks of a small disk are followed, and one of each group of neighbours of a larger one. Everything about them is
//! here, so no page of the map is needed. A hand goes round, and counts how long each has lived since it last came by:
//! otherwise blocks that are never overwritten would not count.

use super::hazards::Hazards;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::memory::Memory;

/// Blocks that are followed at least, of a disk that has so many, and less than twice as many.
const FEWEST: u64 = 1 << 16;

/// A block that is followed.
#[derive(Copy, Clone, Debug)]
struct Block {
    /// When it was written.
    written: u64,
    /// Until when its life has been counted.
    counted: u64,
    /// Nothing if it was not written since the epoch began, or trimmed.
    class: Option<u8>,
}

pub(super) struct Followed {
    /// Of how many blocks one is followed, as a power of two.
    group: u32,
    blocks: Vec<Block>,
    /// Which block the hand comes to next, and when.
    hand: usize,
    next: u64,
}

impl Followed {
    pub fn memory(&self) -> Memory {
        Memory::of::<Block>(self.blocks.len() as u64)
    }

    /// No block has been written of `capacity`.
    pub fn new(capacity: u64) -> Self {
        let group = (capacity / FEWEST).max(1).ilog2();
        let blocks = vec![Block { written: 0, counted: 0, class: None }; capacity.div_ceil(1 << group) as usize];
        Self { group, blocks, hand: 0, next: 0 }
    }

    /// The blocks of `at` that are followed, and their numbers.
    #[inline]
    pub fn among(&self, at: Extent<Lba>) -> impl Iterator<Item = (Lba, usize)> + use<> {
        let (group, first, end) = (self.group, at.start.0, at.end().0);
        let of_group = move |number: u64| {
            let chosen = if group == 0 { 0 } else { number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - group) };
            (Lba((number << group) | chosen), number as usize)
        };
        let groups = first >> group..end.div_ceil(1 << group);
        groups.map(of_group).filter(move |(lba, _)| (first..end).contains(&lba.0))
    }

    /// A life ends, of the block with a number.
    #[inline]
    pub fn ended(&mut self, number: usize, now: u64, hazards: &mut Hazards) {
        let block = &mut self.blocks[number];
        if let Some(class) = block.class.take() {
            hazards.lived(class, block.counted - block.written, now - block.written);
            hazards.died(class, now - block.written);
        }
    }

    /// The block with a number begins to live, as one of this class.
    #[inline]
    pub fn begun(&mut self, number: usize, class: u8, now: u64) {
        self.blocks[number] = Block { written: now, counted: now, class: Some(class) };
    }

    /// When the hand goes on next.
    #[inline]
    pub fn rests_before(&self) -> u64 {
        self.next + 1
    }

    /// The hand goes on.
    pub fn pass(&mut self, now: u64, hazards: &mut Hazards) {
        while self.next < now {
            let block = &mut self.blocks[self.hand];
            if let Some(class) = block.class {
                hazards.lived(class, block.counted - block.written, now - block.written);
                block.counted = now;
            }
            self.hand = (self.hand + 1) % self.blocks.len();
            self.next += 1 << self.group;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_block_of_each_group_is_followed() {
        for (capacity, group) in [(1000, 1), ((1 << 17) - 1, 1), (1 << 17, 2), (1 << 20, 16)] {
            let followed = Followed::new(capacity);
            let mut met = vec![0; followed.blocks.len()];
            let of_parts = |part: u64| {
                let at = Extent::new(Lba(part * 7), (capacity - part * 7).min(7) as u32);
                followed.among(at)
            };
            for (lba, number) in (0..capacity.div_ceil(7)).flat_map(of_parts) {
                assert_eq!(lba.0 / group, number as u64);
                met[number] += 1;
            }
            assert_eq!(met.len() as u64, capacity.div_ceil(group));
            assert!(met.iter().all(|times| *times == 1), "{capacity}");
        }
    }

    /// A block that is never overwritten counts as the hand comes by, and what it counted is not counted again.
    #[test]
    fn lives_are_counted_once() {
        let (mut followed, mut hazards) = (Followed::new(10), Hazards::new());
        followed.begun(4, 9, 3);
        followed.pass(500, &mut hazards);
        followed.ended(4, 1003, &mut hazards);
        followed.ended(4, 1400, &mut hazards);
        let mut whole = Hazards::new();
        whole.lived(9, 0, 1000);
        whole.died(9, 1000);
        hazards.conclude(2000);
        whole.conclude(2000);
        for age in [1, 10, 100, 900, 1000] {
            assert!((hazards.rest(9, age) - whole.rest(9, age)).abs() < 1e-6, "{age}");
        }
    }
}
