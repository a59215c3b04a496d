//! In which order the zones that chunks have were last used: conventional and sequential ones apart.

use super::zones::ZonePool;
use crate::parts::recency::RecencyList;
use imbrex_core::memory::Memory;

pub(super) struct ZoneRecency {
    conventional: RecencyList,
    sequential: RecencyList,
}

impl ZoneRecency {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.conventional.memory() + self.sequential.memory()
    }

    pub fn new(pool: &ZonePool) -> Self {
        let (conventional, sequential) = (pool.conventional(), pool.sequential());
        Self { conventional: RecencyList::new(conventional), sequential: RecencyList::new(sequential) }
    }

    fn slot(&mut self, pool: &ZonePool, zone: u32) -> (&mut RecencyList, u32) {
        match zone.checked_sub(pool.conventional()) {
            Some(index) => (&mut self.sequential, index),
            None => (&mut self.conventional, zone),
        }
    }

    pub fn push(&mut self, pool: &ZonePool, zone: u32) {
        let (list, slot) = self.slot(pool, zone);
        list.push(slot);
    }

    pub fn remove(&mut self, pool: &ZonePool, zone: u32) {
        let (list, slot) = self.slot(pool, zone);
        list.remove(slot);
    }

    pub fn renew(&mut self, pool: &ZonePool, zone: u32) {
        let (list, slot) = self.slot(pool, zone);
        list.renew(slot);
    }

    /// Conventional zones from the least to the most recently used.
    pub fn conventional(&self) -> impl Iterator<Item = u32> {
        self.conventional.in_order()
    }

    /// Sequential zones from the least to the most recently used.
    pub fn sequential(&self, pool: &ZonePool) -> impl Iterator<Item = u32> {
        let first = pool.conventional();
        self.sequential.in_order().map(move |index| first + index)
    }

    pub fn clear(&mut self) {
        self.conventional.clear();
        self.sequential.clear();
    }

    /// How many zones are in the lists.
    pub fn len(&self) -> u32 {
        self.conventional.len() + self.sequential.len()
    }
}
