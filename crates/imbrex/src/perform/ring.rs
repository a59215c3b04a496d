//! The journal ring as the runner knows it: where it begins, where it ends, and how full it is.

use super::chain::Chain;
use crate::block::{Address, Extent, Pba};

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
    /// Where the checkpoint under way began, and the region it has come to.
    pub checkpoint: Option<(u64, u64)>,
    /// Whether a durable redo entry has not been marked as done.
    pub unmarked: bool,
}

impl Ring {
    /// The ring that recovery found.
    pub fn new(copies: Vec<Extent<Pba>>, chain: &Chain) -> Self {
        let Chain { head, tail, epoch, .. } = *chain;
        Self { copies, epoch, head, tail, durable_tail: tail, checkpoint: None, unmarked: false }
    }

    pub fn used(&self) -> u64 {
        self.head - self.durable_tail
    }

    pub fn capacity(&self) -> u64 {
        self.copies.first().map_or(0, |copy| copy.blocks.into())
    }

    /// Whether a checkpoint should be under way.
    pub fn wants_checkpoint(&self) -> bool {
        self.used() * 2 >= self.capacity()
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
