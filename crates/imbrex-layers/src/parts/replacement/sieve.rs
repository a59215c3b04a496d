//! SIEVE (Zhang et al., NSDI'24, Algorithm 1): a queue whose blocks stay where they are, and a hand that goes from the
//! oldest to the newest and on from the oldest, spares what was used since it last came by, and drops the first that
//! was not.

use super::queues::Queues;
use super::{Replacement, Size};
use crate::parts::bitmap::Bitmap;
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

pub(super) struct Sieve {
    queues: Queues,
    used: Bitmap,
    /// Where the hand is, if that is a slot that may leave; else it begins with the oldest.
    hand: Option<u32>,
    slots: u32,
}

impl Sieve {
    pub fn new(size: &Size) -> Self {
        let used = Bitmap::new(size.slots.into());
        Self { queues: Queues::new(1, size.slots, size.holds), used, hand: None, slots: size.slots }
    }

    /// The hand leaves `slot`, which goes.
    fn leave(&mut self, slot: u32) {
        if self.hand == Some(slot) {
            self.hand = self.queues.newer(0, slot);
        }
    }
}

impl Replacement for Sieve {
    fn memory(&self) -> Memory {
        self.queues.memory() + self.used.memory()
    }

    fn queues(&self) -> &Queues {
        &self.queues
    }

    fn queues_mut(&mut self) -> &mut Queues {
        &mut self.queues
    }

    fn inserted(&mut self, slot: u32, _block: Lba) {
        self.used.remove(slot.into());
        self.queues.push(0, slot);
    }

    fn touched(&mut self, slot: u32) {
        self.used.insert(slot.into());
    }

    fn coldest(&mut self) -> Option<u32> {
        let mut slot = self.hand.or_else(|| self.queues.oldest(0))?;
        while self.used.remove(slot.into()) {
            slot = self.queues.newer(0, slot).or_else(|| self.queues.oldest(0))?;
        }
        self.hand = Some(slot);
        self.hand
    }

    fn removed(&mut self, slot: u32) {
        self.leave(slot);
        self.queues.forget(slot);
    }

    fn hold(&mut self, slot: u32) {
        self.leave(slot);
        self.queues.hold(slot);
    }

    fn sort(&mut self, may_leave: &dyn Fn(u32) -> bool) {
        self.queues.sort(may_leave);
        self.hand = self.hand.and_then(|slot| self.queues.leaving_from(0, slot));
    }

    fn clear(&mut self) {
        self.queues.clear();
        (self.used, self.hand) = (Bitmap::new(self.slots.into()), None);
    }

    fn check(&self) -> Result<(), Violation> {
        match self.hand.filter(|&slot| !self.queues.contains(slot) || !self.queues.may_leave(slot)) {
            Some(slot) => Err(Violation(format!("the hand is at slot {slot}, which may not leave"))),
            None => self.queues.check(),
        }
    }
}
