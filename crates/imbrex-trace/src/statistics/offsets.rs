//! The start offsets of requests as numbers in order of first appearance.
//!
//! Memory: 4 bytes for each request; 20 to 40 for each distinct offset, in a hash table that is gone after the pass.

use hashbrown::HashMap;

use super::caches::Sequence;

/// The start offsets so far.
#[derive(Default)]
pub struct Offsets {
    numbers: HashMap<u64, u32>,
    sequence: Sequence,
}

impl Offsets {
    /// Whether `offsets` more offsets can be taken in.
    pub fn has_room(&self, offsets: usize) -> bool {
        self.sequence.numbers.len() + offsets <= Sequence::MOST as usize
    }

    /// The next request begins here.
    #[inline]
    pub fn add(&mut self, offset_bytes: u64) {
        let next = self.numbers.len() as u32;
        self.sequence.numbers.push(*self.numbers.entry(offset_bytes).or_insert(next));
    }

    /// All offsets, without the table.
    pub fn sequence(self) -> Sequence {
        Sequence { distinct: self.numbers.len() as u32, ..self.sequence }
    }
}
