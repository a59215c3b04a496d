//! A recency list without links.
//!
//! A list ordered by last access is the sequence of accesses itself, without those that are not the last of their
//! number or whose number has gone elsewhere. So its members lie between two positions of the sequence, and the least
//! recent one is found by walking on from the lower: in all, every list walks over the sequence at most once.
//!
//! Positions count from 1, so that 0 is before every list.

/// The lower end of a recency list, and its length.
#[derive(Copy, Clone)]
pub struct Window {
    /// No member's last access is at a lower position.
    pub from: u32,
    /// How many members there are.
    pub len: u32,
}

impl Window {
    /// A list without members.
    pub const EMPTY: Self = Self { from: 1, len: 0 };

    /// Takes out the least recent member. There is one; `is_member` says of an access whether it is the last of a
    /// member.
    #[inline]
    pub fn pop(&mut self, numbers: &[u32], is_member: impl Fn(u32, u32) -> bool) {
        debug_assert!(self.len > 0);
        while !is_member(numbers[self.from as usize - 1], self.from) {
            self.from += 1;
        }
        self.from += 1;
        self.len -= 1;
    }
}
