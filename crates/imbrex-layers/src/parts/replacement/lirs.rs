//! LIRS (Jiang & Zhang, SIGMETRICS 2002): blocks whose last two uses lie close together stay (*LIR*), the others
//! (*HIR*) share a small part of the cache and leave in order.
//!
//! The stack S holds, by last use, all LIR blocks and what was used since the oldest of them was: HIR blocks, cached or
//! not. Its bottom is always a LIR block: what lies below is taken out (*pruning*). The queue Q holds the cached HIR
//! blocks. One of S that is used again has a shorter distance than the bottom block: they change roles.
//!
//! Decisions. S remembers as many blocks that are not cached as the size says, the paper any number; the one that left
//! first is forgotten. As long as there are fewer LIR blocks than their share, every block that comes is one, as the
//! paper has it for the beginning. Where all of Q is held back, the LIR block that was used longest ago leaves, and is
//! not remembered.

use super::ghosts::Ghosts;
use super::queues::Queues;
use super::{Replacement, Size};
use crate::parts::recency::RecencyList;
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// LIR blocks, by last use.
const LIR: usize = 0;
/// Q.
const HIR: usize = 1;

pub(super) struct Lirs {
    queues: Queues,
    /// S: slots, and behind their numbers the ghosts.
    stack: RecencyList,
    ghosts: Ghosts,
    slots: u32,
    /// LIR blocks at most.
    most_lir: u32,
}

impl Lirs {
    pub fn new(size: &Size) -> Self {
        let ghosts = Ghosts::new(1, size.share(size.shares.lirs_ghosts));
        Self {
            queues: Queues::new(2, size.slots, size.holds),
            stack: RecencyList::new(size.slots + ghosts.most()),
            ghosts,
            slots: size.slots,
            most_lir: size.capacity - size.share(size.shares.lirs_hir).clamp(1, size.capacity),
        }
    }

    fn is_lir(&self, slot: u32) -> bool {
        self.queues.queue_of(slot) == Some(LIR)
    }

    fn forget_ghost(&mut self, ghost: u32) {
        self.stack.remove(self.slots + ghost);
        self.ghosts.forget(ghost);
    }

    /// Lets a block that is on top of S be a LIR block; if they are too many the bottom one is so no more.
    fn promote(&mut self, slot: u32) {
        self.queues.renew(LIR, slot);
        if self.queues.len(LIR) > self.most_lir
            && let Some(bottom) = self.stack.oldest()
        {
            self.stack.remove(bottom);
            self.queues.renew(HIR, bottom);
        }
    }

    /// Takes out of S what lies below the oldest LIR block.
    fn prune(&mut self) {
        while let Some(bottom) = self.stack.oldest().filter(|&entry| entry >= self.slots || !self.is_lir(entry)) {
            self.stack.remove(bottom);
            if bottom >= self.slots {
                self.ghosts.forget(bottom - self.slots);
            }
        }
    }
}

impl Replacement for Lirs {
    fn memory(&self) -> Memory {
        self.queues.memory() + self.stack.memory() + self.ghosts.memory()
    }

    fn queues(&self) -> &Queues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut Queues {
        &mut self.queues
    }

    fn inserted(&mut self, slot: u32, block: Lba) {
        let ghost = self.ghosts.find(block);
        if let Some((ghost, _)) = ghost {
            self.forget_ghost(ghost);
        }
        self.stack.push(slot);
        if ghost.is_some() || self.queues.len(LIR) < self.most_lir {
            self.promote(slot);
        } else {
            self.queues.push(HIR, slot);
        }
        self.prune();
    }

    fn touched(&mut self, slot: u32) {
        let is_recent = self.stack.contains(slot);
        if is_recent {
            self.stack.renew(slot);
            self.promote(slot);
        } else {
            self.stack.push(slot);
            self.queues.renew(HIR, slot);
        }
        self.prune();
    }

    fn coldest(&mut self) -> Option<u32> {
        self.queues.oldest(HIR).or_else(|| self.queues.oldest(LIR))
    }

    fn evicted(&mut self, slot: u32, block: Lba) {
        if self.is_lir(slot) || !self.stack.contains(slot) || self.ghosts.most() == 0 {
            return self.removed(slot);
        }
        if let Some(oldest) = self.ghosts.oldest(0).filter(|_| self.ghosts.is_full()) {
            self.forget_ghost(oldest);
        }
        if let Some(ghost) = self.ghosts.remember(0, block) {
            self.stack.replace(slot, self.slots + ghost);
        }
        self.queues.forget(slot);
    }

    fn removed(&mut self, slot: u32) {
        self.queues.forget(slot);
        if self.stack.contains(slot) {
            self.stack.remove(slot);
        }
        self.prune();
    }

    fn clear(&mut self) {
        self.queues.clear();
        self.ghosts.clear();
        self.stack.clear();
    }

    fn check(&self) -> Result<(), Violation> {
        self.queues.check()?;
        self.ghosts.check()?;
        let lir = self.stack.in_order().filter(|&entry| entry < self.slots && self.is_lir(entry)).count() as u32;
        if (lir, self.stack.oldest().is_some_and(|entry| entry >= self.slots || !self.is_lir(entry)))
            != (self.queues.len(LIR), false)
        {
            return Err(Violation(format!("{lir} LIR blocks are in the stack, or another is at its bottom")));
        }
        let ghosts = self.stack.in_order().filter(|&entry| entry >= self.slots).count() as u32;
        if ghosts != self.ghosts.len(0) || lir > self.most_lir {
            return Err(Violation(format!("the stack holds {ghosts} ghosts and {lir} LIR blocks")));
        }
        let lost = |&entry: &u32| entry < self.slots && !self.queues.contains(entry);
        match self.stack.in_order().find(lost) {
            Some(slot) => Err(Violation(format!("slot {slot} is in the stack and holds no block"))),
            None => Ok(()),
        }
    }
}
