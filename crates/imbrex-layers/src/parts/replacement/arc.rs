//! ARC, the adaptive replacement cache (Megiddo & Modha, FAST'03, Figure 4).
//!
//! T1 holds what was used once of late and T2 what was used more often; B1 and B2 remember what each dropped last. The
//! target size `p` of T1 grows when a block of B1 is wanted and shrinks with one of B2.
//!
//! Decisions. The paper leaves open how the quotient by which `p` moves is rounded: down, as the statistics of traces
//! have it too. The paper forgets the oldest ghost before a block leaves for one that is in no list, here that happens
//! when the block comes: with the same outcome, since the one that leaves is newer than every ghost of its list.

use super::ghosts::Ghosts;
use super::queues::Queues;
use super::{Replacement, Size};
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// T1, and B1 among the ghosts.
const ONCE: usize = 0;
/// T2, and B2.
const OFTEN: usize = 1;

pub(super) struct Arc {
    queues: Queues,
    ghosts: Ghosts,
    /// The paper's c.
    capacity: u32,
    /// The paper's p.
    target: u32,
    /// The block that was asked for last and has not come, and the queue of its ghost.
    wanted: Option<(Lba, Option<usize>)>,
}

impl Arc {
    pub fn new(size: &Size) -> Self {
        Self {
            queues: Queues::new(2, size.slots, size.holds),
            ghosts: Ghosts::new(2, 2 * size.capacity),
            capacity: size.capacity,
            target: 0,
            wanted: None,
        }
    }

    fn forget_oldest(&mut self, queue: usize) {
        if let Some(ghost) = self.ghosts.oldest(queue) {
            self.ghosts.forget(ghost);
        }
    }

    /// Keeps T1 and B1 within the capacity, and all within twice of it, as far as ghosts can.
    fn forget_surplus(&mut self) {
        let once = self.queues.len(ONCE) + self.ghosts.len(ONCE);
        let often = self.queues.len(OFTEN) + self.ghosts.len(OFTEN);
        if once > self.capacity && self.ghosts.len(ONCE) > 0 {
            self.forget_oldest(ONCE);
        } else if once + often > 2 * self.capacity {
            self.forget_oldest(if self.ghosts.len(OFTEN) > 0 { OFTEN } else { ONCE });
        }
    }
}

impl Replacement for Arc {
    fn memory(&self) -> Memory {
        self.queues.memory() + self.ghosts.memory()
    }

    fn queues(&self) -> &Queues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut Queues {
        &mut self.queues
    }

    fn wanted(&mut self, block: Lba) {
        if self.wanted.is_some_and(|(known, _)| known == block) {
            return;
        }
        let queue = self.ghosts.find(block).map(|(_, queue)| queue);
        let [once, often] = [ONCE, OFTEN].map(|queue| self.ghosts.len(queue));
        match queue {
            Some(ONCE) => self.target = (self.target + (often / once).max(1)).min(self.capacity),
            Some(_) => self.target = self.target.saturating_sub((once / often).max(1)),
            None => {}
        }
        self.wanted = Some((block, queue));
    }

    fn inserted(&mut self, slot: u32, block: Lba) {
        self.wanted(block);
        let queue = self.wanted.take().and_then(|(_, queue)| queue);
        if let Some((ghost, _)) = self.ghosts.find(block) {
            self.ghosts.forget(ghost);
        }
        self.queues.push(if queue.is_some() { OFTEN } else { ONCE }, slot);
        self.forget_surplus();
    }

    fn touched(&mut self, slot: u32) {
        self.queues.renew(OFTEN, slot);
    }

    /// The paper's REPLACE.
    fn coldest(&mut self) -> Option<u32> {
        let once = self.queues.len(ONCE);
        let wants_often = self.wanted.is_some_and(|(_, queue)| queue == Some(OFTEN));
        let is_over = once > self.target || (wants_often && once == self.target);
        let (first, second) = if is_over { (ONCE, OFTEN) } else { (OFTEN, ONCE) };
        self.queues.oldest(first).or_else(|| self.queues.oldest(second))
    }

    fn evicted(&mut self, slot: u32, block: Lba) {
        if let Some(queue) = self.queues.queue_of(slot) {
            self.ghosts.remember(queue, block);
        }
        self.queues.forget(slot);
    }

    fn clear(&mut self) {
        self.queues.clear();
        self.ghosts.clear();
        (self.target, self.wanted) = (0, None);
    }

    fn check(&self) -> Result<(), Violation> {
        self.ghosts.check()?;
        self.queues.check()?;
        let (cached, ghosts) = (self.queues.total(), self.ghosts.len(ONCE) + self.ghosts.len(OFTEN));
        if self.target > self.capacity || (ghosts > 0 && cached + ghosts > 2 * self.capacity) {
            let (target, capacity) = (self.target, self.capacity);
            return Err(Violation(format!("{cached} cached, {ghosts} ghosts and a target of {target} for {capacity}")));
        }
        Ok(())
    }
}
