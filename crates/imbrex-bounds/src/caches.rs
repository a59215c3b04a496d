//! The most hits of a cache.

use std::collections::BinaryHeap;

use crate::accesses::{Accesses, NONE};

/// The most blocks that any cache of `blocks` blocks hits when it serves these requests, beginning empty.
///
/// **Claim.** No cache hits more often, whatever it keeps, also one that lets blocks pass it by and one that knows all
/// requests beforehand; so all accesses less these are the fewest misses. A hit is an access to a block that the cache
/// held when its request came.
///
/// **Proof.** This is MIN (Belady 1966). After each request the cache keeps, of what it holds and what the request
/// brings, the blocks that are asked for again first. Take the best cache, and the first request after which it keeps a
/// block x although a block y that it could keep and does not is asked for before x. Let it keep y instead. Until y is
/// asked for both do the same, and then the changed cache has a hit more. It holds x again, or not, as it likes: should
/// x be asked for later, that hit is lost, and no more than what was won. So the changed cache is no worse, and step by
/// step it becomes MIN. ∎
///
/// What is written back is another matter: MIN does not have the fewest of these (Beckmann et al., APOCS 2020).
#[must_use]
pub fn most_hits(requests: &Accesses, blocks: u64) -> u64 {
    let next = requests.next();
    let mut cache = Min { next_of: vec![NONE; requests.blocks() as usize], last: BinaryHeap::new(), held: 0 };
    let (mut hits, mut at) = (0, 0);
    for request in requests.requests() {
        hits += request.iter().filter(|block| cache.next_of[**block as usize] != NONE).count() as u64;
        for &block in request {
            cache.keep(block, next[at]);
            at += 1;
        }
        while cache.held > blocks {
            cache.drop_last();
        }
    }
    hits
}

/// What MIN holds: blocks that are asked for again.
struct Min {
    /// When each block that is held is asked for next; [`NONE`] for the others.
    next_of: Vec<u32>,
    /// These times with their blocks, and some that hold no more.
    last: BinaryHeap<(u32, u32)>,
    held: u64,
}

impl Min {
    /// Keeps a block until it is asked for at `next`.
    fn keep(&mut self, block: u32, next: u32) {
        let before = std::mem::replace(&mut self.next_of[block as usize], next);
        self.held -= u64::from(before != NONE);
        if next != NONE {
            self.last.push((next, block));
            self.held += 1;
        }
    }

    /// Gives up the block that is asked for last.
    fn drop_last(&mut self) {
        while let Some((next, block)) = self.last.pop() {
            if self.next_of[block as usize] == next {
                self.next_of[block as usize] = NONE;
                self.held -= 1;
                return;
            }
        }
    }
}
