//! Which frame each block of `band-cache` lies in, written from its page.

use std::collections::{BTreeMap, BTreeSet};

/// Free runs that are looked at.
const LOOKED_AT: usize = 64;

pub struct Places {
    free: BTreeSet<u64>,
    of: BTreeMap<u64, u64>,
    /// Behind the frame that was taken last.
    next: u64,
}

impl Places {
    pub fn new(frames: u64) -> Self {
        Self { free: (0..frames).collect(), of: BTreeMap::new(), next: 0 }
    }

    pub fn contains(&self, block: u64) -> bool {
        self.of.contains_key(&block)
    }

    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub fn used(&self) -> u64 {
        self.of.len() as u64
    }

    /// The runs of free frames from `from` on, as the first frame and how many.
    fn runs(&self, from: u64) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &frame in self.free.range(from..) {
            let begun = runs.len();
            match runs.last_mut() {
                Some((first, count)) if *first + *count == frame => *count += 1,
                _ if begun == LOOKED_AT => break,
                _ => runs.push((frame, 1)),
            }
        }
        runs
    }

    /// Frames for the run of so many blocks that begins with `block`; how many of its blocks found one.
    pub fn take(&mut self, block: u64, blocks: u64, in_turn: bool) -> u64 {
        let behind = if in_turn { self.runs(self.next) } else { Vec::new() };
        let runs = if behind.is_empty() { self.runs(0) } else { behind };
        let Some(lowest) = runs.first() else { return 0 };
        let (first, count) = *runs.iter().find(|(_, count)| *count >= blocks).unwrap_or(lowest);
        let count = count.min(blocks);
        for (block, frame) in (block..).zip(first..first + count) {
            self.free.remove(&frame);
            self.of.insert(block, frame);
        }
        self.next = first + count;
        count
    }

    /// `block` leaves.
    pub fn give_up(&mut self, block: u64) {
        self.free.extend(self.of.remove(&block));
    }

    /// Which of the blocks, that lie in frames, come first from the frame on that is taken next.
    pub fn oldest(&self, blocks: impl Iterator<Item = u64>, count: usize) -> Vec<u64> {
        let mut blocks: Vec<u64> = blocks.collect();
        blocks.sort_by_key(|block| (self.of[block] < self.next, self.of[block]));
        blocks.truncate(count);
        blocks
    }
}
