//! Least recently used.

use super::window::Window;
use super::{Policy, Sequence};

/// A cache that drops what was not used for longest.
pub struct Lru<'a> {
    numbers: &'a [u32],
    entries: u32,
    /// The position of each number's last access.
    last: Vec<u32>,
    position: u32,
    cached: Window,
}

impl<'a> Lru<'a> {
    pub fn new(sequence: &'a Sequence, entries: u32) -> Self {
        let last = vec![0; sequence.distinct as usize];
        Self { numbers: &sequence.numbers, entries, last, position: 0, cached: Window::EMPTY }
    }
}

impl Policy for Lru<'_> {
    #[inline]
    fn access(&mut self, number: u32) -> bool {
        self.position += 1;
        let last = &mut self.last;
        let hit = last[number as usize] >= self.cached.from;
        if !hit {
            if self.cached.len == self.entries {
                self.cached.pop(self.numbers, |number, at| last[number as usize] == at);
            }
            self.cached.len += 1;
        }
        last[number as usize] = self.position;
        hit
    }
}
