//! The journal ring as the runner knows it: where it begins, where it ends, and how full it is.

use super::chain::Chain;
use crate::block::{Address, Extent, Pba};

/// Blocks in use below which no checkpoint is worth its while, unless the ring is short.
const WORTHWHILE: u64 = 2048;
/// How many times as long as a checkpoint the part of the ring in use becomes.
const OF_CHECKPOINTS: u64 = 4;

/// The journal ring as the runner knows it. Sequence numbers count blocks.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Where its copies lie.
    pub copies: Vec<Extent<Pba>>,
    pub epoch: u32,
    /// Where the next entry goes.
    pub head: u64,
    /// Where recovery is to begin, as the next entry says.
    pub tail: u64,
    /// Where recovery begins as long as no further entry is durable.
    pub durable_tail: u64,
    /// Blocks that the last checkpoint took, and what was committed meanwhile.
    last_checkpoint: u64,
    /// Where the checkpoint under way began, and the region it has come to.
    pub checkpoint: Option<(u64, u64)>,
    /// Whether a durable redo entry has not been marked as done.
    pub unmarked: bool,
}

impl Ring {
    /// The ring that recovery found.
    pub fn new(copies: Vec<Extent<Pba>>, chain: &Chain) -> Self {
        let Chain { head, tail, epoch, .. } = *chain;
        Self { copies, epoch, head, tail, durable_tail: tail, last_checkpoint: 0, checkpoint: None, unmarked: false }
    }

    pub fn used(&self) -> u64 {
        self.head - self.durable_tail
    }

    pub fn capacity(&self) -> u64 {
        self.copies.first().map_or(0, |copy| copy.blocks.into())
    }

    /// Whether a checkpoint should be under way: half of the ring is in use, or so much more than a checkpoint takes that
    /// whoever recovers would read little else.
    pub fn wants_checkpoint(&self) -> bool {
        let worthwhile = (OF_CHECKPOINTS * self.last_checkpoint).max(WORTHWHILE);
        self.used() * 2 >= self.capacity() || self.used() >= worthwhile
    }

    /// The checkpoint under way is durable.
    pub fn checkpointed(&mut self) {
        self.last_checkpoint = self.used();
    }

    /// Whether the checkpoint must be completed by the next commit.
    pub fn needs_checkpoint(&self) -> bool {
        self.used() * 4 >= self.capacity() * 3
    }

    /// Where the blocks from the one numbered `seq` on lie, in every copy.
    pub fn places(&self, seq: u64, blocks: u32) -> Vec<Extent<Pba>> {
        let offset = seq % self.capacity();
        self.copies.iter().map(|copy| Extent::new(copy.start.plus(offset), blocks)).collect()
    }
}
