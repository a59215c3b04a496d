//! CLOCK (Corbató, *A paging experiment with the Multics system*, 1968): a hand goes round, spares what was used since
//! it last came by, and drops the first that was not.
//!
//! The circle is a queue whose old end is where the hand is: what the hand passes goes to the new end, and a block
//! comes there too, right behind the hand.
//!
//! Decision: a block comes unused. To come is not to be used again, so a block that is never used leaves when the hand
//! first reaches it.

use super::queues::Queues;
use super::{Replacement, Size};
use crate::parts::bitmap::Bitmap;
use imbrex_core::block::Lba;
use imbrex_core::memory::Memory;

pub(super) struct Clock {
    queues: Queues,
    used: Bitmap,
    slots: u32,
}

impl Clock {
    pub fn new(size: &Size) -> Self {
        let used = Bitmap::new(size.slots.into());
        Self { queues: Queues::new(1, size.slots, size.holds), used, slots: size.slots }
    }
}

impl Replacement for Clock {
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
        loop {
            let slot = self.queues.oldest(0)?;
            if !self.used.remove(slot.into()) {
                return Some(slot);
            }
            self.queues.renew(0, slot);
        }
    }

    fn clear(&mut self) {
        self.queues.clear();
        self.used = Bitmap::new(self.slots.into());
    }
}
