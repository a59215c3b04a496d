//! LRU: what was not used for longest leaves.

use super::queues::Queues;
use super::{Replacement, Size};
use imbrex_core::block::Lba;
use imbrex_core::memory::Memory;

pub(super) struct Lru(Queues);

impl Lru {
    pub fn new(size: &Size) -> Self {
        Self(Queues::new(1, size.slots, size.holds))
    }
}

impl Replacement for Lru {
    fn memory(&self) -> Memory {
        self.0.memory()
    }

    fn queues(&self) -> &Queues {
        &self.0
    }

    fn queues_mut(&mut self) -> &mut Queues {
        &mut self.0
    }

    fn inserted(&mut self, slot: u32, _block: Lba) {
        self.0.push(0, slot);
    }

    fn touched(&mut self, slot: u32) {
        self.0.renew(0, slot);
    }

    fn coldest(&mut self) -> Option<u32> {
        self.0.oldest(0)
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
