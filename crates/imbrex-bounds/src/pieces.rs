//! Writes cut into pieces with a fixed number of different blocks each.

use crate::accesses::{Accesses, NONE, Units};

/// Marks blocks as seen, and forgets all of them at once.
pub struct Seen {
    when: Vec<u32>,
    now: u32,
}

impl Seen {
    /// Nothing of so many blocks.
    pub fn new(blocks: u32) -> Self {
        Self { when: vec![0; blocks as usize], now: 1 }
    }

    /// Whether a block is seen for the first time.
    pub fn is_new(&mut self, block: u32) -> bool {
        std::mem::replace(&mut self.when[block as usize], self.now) != self.now
    }

    /// Forgets all of them.
    pub fn forget(&mut self) {
        self.now += 1;
    }
}

/// Where pieces end: at the request with which `length` different blocks that count have been written in the piece.
pub fn pieces(writes: &Accesses, zones: &Units, length: u64) -> Vec<usize> {
    let mut seen = Seen::new(writes.blocks());
    let (mut ends, mut at, mut different) = (Vec::new(), 0, 0);
    for blocks in writes.requests() {
        at += blocks.len();
        different += blocks.iter().filter(|block| zones.of(**block) != NONE && seen.is_new(**block)).count() as u64;
        if different >= length {
            ends.push(at);
            different = 0;
            seen.forget();
        }
    }
    if different > 0 {
        ends.push(at);
    }
    ends
}
