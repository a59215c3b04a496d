//! Free slots that are taken in one direction, round and round.

use crate::parts::free_slots::FreeSlots;
use imbrex_core::memory::Memory;

/// Free runs that are looked at for one that holds a whole request.
const RUNS: u32 = 16;

/// The free slots, and behind which of them blocks were put last.
pub(super) struct Ring {
    free: FreeSlots,
    slots: u32,
    /// The slot behind the last one taken.
    head: u32,
}

impl Ring {
    pub fn new(slots: u32) -> Self {
        Self { free: FreeSlots::all(slots), slots, head: 0 }
    }

    pub fn memory(&self) -> Memory {
        self.free.memory()
    }

    pub fn count(&self) -> u32 {
        self.free.count()
    }

    pub fn contains(&self, slot: u32) -> bool {
        self.free.contains(slot)
    }

    pub fn insert(&mut self, slot: u32) {
        self.free.insert(slot);
    }

    pub fn remove(&mut self, slot: u32) {
        self.free.remove(slot);
    }

    /// The next free run for `wanted` blocks: the first of some that holds all, else the next one.
    pub fn take(&mut self, wanted: u32) -> Option<(u32, u32)> {
        let run = match self.free.next_fit(self.head, wanted, RUNS) {
            Some(run) => run,
            None => self.free.next_fit(0, wanted, RUNS)?,
        };
        self.head = run.0 + run.1;
        if self.head >= self.slots {
            self.head = 0;
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ring: &mut Ring, wanted: u32) -> Option<(u32, u32)> {
        let run = ring.take(wanted)?;
        (run.0..run.0 + run.1).for_each(|slot| ring.remove(slot));
        Some(run)
    }

    #[test]
    fn slots_are_taken_in_one_direction_round_and_round() {
        let mut ring = Ring::new(8);
        assert_eq!([3, 2].map(|wanted| taken(&mut ring, wanted)), [Some((0, 3)), Some((3, 2))]);
        ring.insert(1);
        assert_eq!(taken(&mut ring, 1), Some((5, 1)), "not back to what was given up");
        assert_eq!(taken(&mut ring, 9), Some((6, 2)));
        assert_eq!(taken(&mut ring, 1), Some((1, 1)));
        assert_eq!((taken(&mut ring, 1), ring.count()), (None, 0));
    }

    #[test]
    fn a_run_for_a_whole_request_comes_before_nearer_ones() {
        let mut ring = Ring::new(12);
        [1, 2, 5, 6, 7].into_iter().for_each(|slot| ring.remove(slot));
        assert_eq!(taken(&mut ring, 3), Some((8, 3)));
        assert_eq!(taken(&mut ring, 2), Some((11, 1)), "behind the last one taken there is no longer one");
    }
}
