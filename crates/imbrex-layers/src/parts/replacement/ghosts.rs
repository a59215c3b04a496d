//! Blocks that left a cache and are remembered for a while, by number only: *ghosts*.

mod place_table;

use super::queues::Queues;
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use place_table::{PLACE_BITS, PlaceTable};

/// Ghosts in queues, from the one that left first. They are numbered, and a number is given again.
pub struct Ghosts {
    places: PlaceTable,
    /// By ghost: its block.
    blocks: Vec<u64>,
    queues: Queues,
    /// How many queues there are.
    kinds: usize,
    /// Numbers that were given back, and below which all were given once.
    unused: Vec<u32>,
    given: u32,
    most: u32,
}

impl Ghosts {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.places.memory()
            + Memory::room::<u64>(self.most.into())
            + self.queues.memory()
            + Memory::room::<u32>(self.most.into())
    }

    /// No ghosts in `queues` queues, and room for `most` of them, or for 2^28 if that is less.
    #[must_use]
    pub fn new(queues: usize, most: u32) -> Self {
        let most = most.min(1 << PLACE_BITS);
        Self {
            places: PlaceTable::for_blocks(most.into()),
            blocks: vec![0; most as usize],
            queues: Queues::new(queues, most, false),
            kinds: queues,
            unused: Vec::with_capacity(most as usize),
            given: 0,
            most,
        }
    }

    /// For how many ghosts there is room.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// How many there are in a queue.
    #[must_use]
    pub fn len(&self, queue: usize) -> u32 {
        self.queues.len(queue)
    }

    /// Whether there is no room for another.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.queues.total() == self.most
    }

    /// The ghost of a block, and the queue that it is in.
    #[inline]
    #[must_use]
    pub fn find(&self, block: Lba) -> Option<(u32, usize)> {
        let ghost = self.places.get(block)?;
        Some((ghost, self.queues.queue_of(ghost)?))
    }

    /// The ghost of a queue that left first.
    #[must_use]
    pub fn oldest(&self, queue: usize) -> Option<u32> {
        self.queues.oldest(queue)
    }

    /// Remembers `block`, which is no ghost, as the one that left last. Where there is no room the oldest of the queue
    /// is forgotten for it; where there is none of them the block is not remembered.
    pub fn remember(&mut self, queue: usize, block: Lba) -> Option<u32> {
        debug_assert!(self.find(block).is_none());
        if self.is_full() {
            self.forget(self.oldest(queue)?);
        }
        let ghost = self.unused.pop().unwrap_or_else(|| {
            self.given += 1;
            self.given - 1
        });
        self.blocks[ghost as usize] = block.0;
        self.places.set(block, ghost);
        self.queues.push(queue, ghost);
        Some(ghost)
    }

    /// Forgets a ghost.
    pub fn forget(&mut self, ghost: u32) {
        self.places.remove(Lba(self.blocks[ghost as usize]));
        self.queues.forget(ghost);
        self.unused.push(ghost);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new(self.kinds, self.most);
    }

    /// Verifies that every ghost is found by its block.
    ///
    /// # Errors
    /// The [`Violation`], if there is one.
    pub fn check(&self) -> Result<(), Violation> {
        self.queues.check()?;
        let is_lost = |&ghost: &u32| {
            self.queues.contains(ghost) && self.places.get(Lba(self.blocks[ghost as usize])) != Some(ghost)
        };
        if let Some(ghost) = (0..self.given).find(is_lost) {
            return Err(Violation(format!("ghost {ghost} is not found by its block")));
        }
        let (there, unused) = (self.queues.total(), self.unused.len() as u32);
        if there + unused == self.given {
            return Ok(());
        }
        Err(Violation(format!("{there} ghosts and {unused} unused numbers of {} given", self.given)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_forgets_its_oldest_and_an_empty_one_remembers_nothing() {
        let mut ghosts = Ghosts::new(2, 2);
        assert!(ghosts.remember(0, Lba(7)).is_some() && ghosts.remember(0, Lba(8)).is_some());
        assert!(ghosts.is_full() && ghosts.remember(1, Lba(9)).is_none());
        assert!(ghosts.remember(0, Lba(9)).is_some());
        let found = [7, 8, 9].map(|block| ghosts.find(Lba(block)).map(|(_, queue)| queue));
        assert_eq!((found, ghosts.len(0)), ([None, Some(0), Some(0)], 2));
        ghosts.check().unwrap();
        ghosts.forget(ghosts.oldest(0).unwrap());
        ghosts.check().unwrap();
        assert!(ghosts.remember(1, Lba(7)).is_some());
        ghosts.check().unwrap();
        ghosts.blocks[0] += 1;
        assert!(ghosts.check().is_err());
        assert!(Ghosts::new(1, 0).remember(0, Lba(1)).is_none());
    }
}
