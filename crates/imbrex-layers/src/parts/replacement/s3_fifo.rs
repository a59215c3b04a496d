//! S3-FIFO (Yang et al., SOSP'23, Algorithm 1): a small queue takes what is new, and lets pass into the main one what
//! was used more than once meanwhile; what it drops is remembered, and goes to the main queue at once if it comes back.
//! The main queue gives what was used another round for each use, up to three.
//!
//! Decisions. What is promoted from the small queue may fill the main one beyond its share; the algorithm then drops
//! from the main queue as well, and goes on in the small one until that has dropped a block too. Here the block from
//! the main queue is the one that leaves: each step asks anew whether the small queue has its share. Uses are counted
//! from 0 again in the main queue, as the text says. A block that comes back is no ghost any more, and there are as
//! many ghosts as the main queue's share.

use super::ghosts::Ghosts;
use super::queues::Queues;
use super::{Replacement, Size};
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

const SMALL: usize = 0;
const MAIN: usize = 1;
/// Uses that are counted.
const MOST_USES: u8 = 3;
/// Uses with which a block passes from the small queue to the main one.
const PASSES: u8 = 2;

pub(super) struct S3Fifo {
    queues: Queues,
    ghosts: Ghosts,
    /// By slot: how often its block was used.
    uses: Vec<u8>,
    /// Blocks that the small queue has as its share.
    small: u32,
}

impl S3Fifo {
    pub fn new(size: &Size) -> Self {
        let small = size.share(size.shares.s3_small).max(1);
        Self {
            queues: Queues::new(2, size.slots, size.holds),
            ghosts: Ghosts::new(1, size.capacity.saturating_sub(small)),
            uses: vec![0; size.slots as usize],
            small,
        }
    }
}

impl Replacement for S3Fifo {
    fn memory(&self) -> Memory {
        self.queues.memory() + self.ghosts.memory() + Memory::room::<u8>(self.uses.len() as u64)
    }

    fn queues(&self) -> &Queues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut Queues {
        &mut self.queues
    }

    fn inserted(&mut self, slot: u32, block: Lba) {
        self.uses[slot as usize] = 0;
        let ghost = self.ghosts.find(block);
        if let Some((ghost, _)) = ghost {
            self.ghosts.forget(ghost);
        }
        self.queues.push(if ghost.is_some() { MAIN } else { SMALL }, slot);
    }

    fn touched(&mut self, slot: u32) {
        let uses = &mut self.uses[slot as usize];
        *uses = (*uses + 1).min(MOST_USES);
    }

    fn coldest(&mut self) -> Option<u32> {
        loop {
            let has_share = self.queues.len(SMALL) >= self.small;
            let (first, second) = if has_share { (SMALL, MAIN) } else { (MAIN, SMALL) };
            let queue = if self.queues.oldest(first).is_some() { first } else { second };
            let slot = self.queues.oldest(queue)?;
            let uses = &mut self.uses[slot as usize];
            match queue {
                SMALL if *uses >= PASSES => *uses = 0,
                MAIN if *uses > 0 => *uses -= 1,
                _ => return Some(slot),
            }
            self.queues.renew(MAIN, slot);
        }
    }

    fn evicted(&mut self, slot: u32, block: Lba) {
        if self.queues.queue_of(slot) == Some(SMALL) {
            self.ghosts.remember(0, block);
        }
        self.queues.forget(slot);
    }

    fn clear(&mut self) {
        self.queues.clear();
        self.ghosts.clear();
    }

    fn check(&self) -> Result<(), Violation> {
        self.ghosts.check()?;
        self.queues.check()
    }
}
