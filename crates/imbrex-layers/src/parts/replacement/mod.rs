//! Which block leaves a cache next: replacement policies over numbered slots, behind one interface.
//!
//! A policy keeps the slots that hold a block in [`queues`], and some remember blocks that left, in [`ghosts`]. Nothing
//! here allocates once a policy is made.
//!
//! The owner of the cache says what happens: a block is asked for that no slot holds (`wanted`), a slot takes a block
//! (`inserted`), its block is used again (`touched`), leaves because the policy chose it (`evicted`) or for any other
//! reason (`removed`). `coldest` names the slot that leaves next and takes nothing out: until something else happens
//! it gives the same answer.
//!
//! # Slots that may not leave
//! A policy that is made with `holds` can be told that a slot is *held back*: `coldest` passes over it. A slot is held
//! back one by one, with `hold`, and all are told anew with `sort`. A held slot keeps its place in its queue and what
//! the policy knows of it, so that the order is the one without holding when it may leave again. `coldest` never walks
//! over held slots, and takes constant time on average: what it passes over was touched since it last did.
//!
//! # Decisions, for all policies
//! - The sources choose a victim at the moment in which a block comes. Here the choice and the coming are apart, and
//!   several slots may be chosen first and filled later. One by one, with `wanted` before `coldest`, they are the same.
//! - A cache may hold fewer blocks than its capacity, or more; shares are of the capacity.

mod arc;
mod clock;
pub mod ghosts;
mod lirs;
mod lru;
pub mod queues;
mod s3_fifo;
mod sieve;
#[cfg(test)]
mod tests;

use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use queues::Queues;

/// The policies there are.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyKind {
    /// Least recently used.
    Lru,
    /// CLOCK (Corbató, 1968): one bit says that a block was used since the hand came by.
    Clock,
    /// LIRS (Jiang & Zhang, SIGMETRICS 2002): by the distance between the last two uses.
    Lirs,
    /// ARC (Megiddo & Modha, FAST'03): what was used once, and what was used more often, share adaptively.
    Arc,
    /// S3-FIFO (Yang et al., SOSP'23): a small queue that lets pass only what is used again.
    S3Fifo,
    /// SIEVE (Zhang et al., NSDI'24): a queue and a hand; what was used stays where it is.
    Sieve,
}

impl PolicyKind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Lru, Self::Clock, Self::Lirs, Self::Arc, Self::S3Fifo, Self::Sieve];

    /// An empty policy.
    #[must_use]
    pub fn policy(self, size: &Size) -> Box<dyn Replacement> {
        match self {
            Self::Lru => Box::new(lru::Lru::new(size)),
            Self::Clock => Box::new(clock::Clock::new(size)),
            Self::Lirs => Box::new(lirs::Lirs::new(size)),
            Self::Arc => Box::new(arc::Arc::new(size)),
            Self::S3Fifo => Box::new(s3_fifo::S3Fifo::new(size)),
            Self::Sieve => Box::new(sieve::Sieve::new(size)),
        }
    }
}

/// How large a policy is.
#[derive(Copy, Clone, Debug)]
pub struct Size {
    /// The slots there are: at most 2^28.
    pub slots: u32,
    /// How many of them hold a block when the cache is full: what the sources call the size of the cache. At least 1.
    pub capacity: u32,
    /// Whether slots are ever held back.
    pub holds: bool,
    /// The parts of the policies that have any.
    pub shares: Shares,
}

/// The parts of the capacity that policies give to one queue or another.
#[derive(Copy, Clone, Debug)]
pub struct Shares {
    /// The small queue of S3-FIFO.
    pub s3_small: f64,
    /// What LIRS keeps for blocks of high inter-reference recency.
    pub lirs_hir: f64,
    /// How many blocks that left LIRS remembers.
    pub lirs_ghosts: f64,
}

impl Default for Shares {
    /// The values of the sources: 10 % and 1 %. That of LIRS remembers without a limit; here it is the capacity.
    fn default() -> Self {
        Self { s3_small: 0.1, lirs_hir: 0.01, lirs_ghosts: 1.0 }
    }
}

impl Size {
    /// A part of the capacity, rounded down.
    fn share(&self, part: f64) -> u32 {
        (f64::from(self.capacity) * part) as u32
    }
}

/// Decides which slot's block leaves next.
pub trait Replacement: Send {
    /// The memory that it takes.
    fn memory(&self) -> Memory;

    /// The slots that hold a block.
    fn queues(&self) -> &Queues;

    /// The slots that hold a block, to change.
    fn queues_mut(&mut self) -> &mut Queues;

    /// `block`, which no slot holds, is asked for: learns what it can from that before another block leaves for it.
    fn wanted(&mut self, _block: Lba) {}

    /// `slot`, which held none, holds `block`.
    fn inserted(&mut self, slot: u32, block: Lba);

    /// The block in `slot` is used again.
    fn touched(&mut self, slot: u32);

    /// The slot that leaves next of those that may.
    fn coldest(&mut self) -> Option<u32>;

    /// `block` leaves `slot`, which is the coldest.
    fn evicted(&mut self, slot: u32, _block: Lba) {
        self.removed(slot);
    }

    /// The block in `slot` is gone without having been chosen.
    fn removed(&mut self, slot: u32) {
        self.queues_mut().forget(slot);
    }

    /// `slot` may not leave any more.
    fn hold(&mut self, slot: u32) {
        self.queues_mut().hold(slot);
    }

    /// Says anew of each slot with a block whether it may leave. Takes time for all of them.
    fn sort(&mut self, may_leave: &dyn Fn(u32) -> bool) {
        self.queues_mut().sort(may_leave);
    }

    /// Forgets everything.
    fn clear(&mut self);

    /// Verifies the invariants.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    fn check(&self) -> Result<(), Violation> {
        self.queues().check()
    }
}
