//! How chunks change sides at the end of a period.

use std::collections::BTreeSet;

use super::{Amphisbaena, Chunk};

/// A slot of a chunk that is lent to hot blocks.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HotSlot {
    pub chunk: usize,
    pub slot: usize,
}

impl Amphisbaena {
    pub(super) fn reallocate(&mut self) {
        let ghosts = std::mem::take(&mut self.ghosts);
        self.requests = 0;
        let written = std::mem::take(&mut self.written);
        let is_many = ghosts > self.length;
        if !is_many || self.readings.is("return_when", "always") {
            self.return_unused(&written);
        }
        if is_many {
            let parts = ghosts as f64 / self.length as f64;
            let wanted = if self.readings.switch("round_up", false) { parts.ceil() } else { (parts + 0.5).floor() };
            for _ in 0..(wanted as usize).min(self.most_hot - self.count_hot()) {
                while self.free_chunk().is_none() {
                    self.clean_cold();
                }
                let free = self.free_chunk().expect("it was cleaned");
                self.chunks[free] = Chunk::Hot(vec![None; self.length as usize]);
                self.counts.hot_cold[4] += 1;
                self.resize();
            }
        }
    }

    fn return_unused(&mut self, written: &BTreeSet<HotSlot>) {
        let some = self.readings.is("return_if", "some");
        let mut unused: Vec<usize> = (self.first_hot..self.chunks.len())
            .filter(|&at| matches!(self.chunks[at], Chunk::Hot(_)))
            .filter(|&at| {
                let touched =
                    written.range(HotSlot { chunk: at, slot: 0 }..HotSlot { chunk: at + 1, slot: 0 }).count() as u64;
                if some { touched < self.length } else { touched == 0 }
            })
            .collect();
        if !self.readings.is("return_order", "lowest") {
            unused.reverse();
        }
        let returns_any = !unused.is_empty();
        unused.into_iter().for_each(|at| self.give_back(at));
        if returns_any && self.readings.is("resize_when", "after") {
            self.resize();
        }
    }

    fn give_back(&mut self, at: usize) {
        self.retired = Some(at);
        if !self.readings.is("resize_when", "after") {
            self.resize();
        }
        loop {
            let Chunk::Hot(slots) = &self.chunks[at] else { panic!("a hot chunk") };
            let Some(&block) = slots.iter().flatten().next() else { break };
            match self.free_slot() {
                Some(free) => {
                    self.take_hot(block);
                    self.put_hot(block, free);
                    self.counts.requeued += 1;
                }
                None => self.clean_hot(),
            }
        }
        self.retired = None;
        self.chunks[at] = Chunk::Cold(None);
        self.counts.hot_cold[5] += 1;
    }
}
