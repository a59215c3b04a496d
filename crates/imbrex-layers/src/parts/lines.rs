//! Numbered things of a cache line or so that are taken and given back. They lie in chunks, so that no request waits
//! for a long list to move.

use imbrex_core::memory::Memory;

/// Lines that take memory at a time.
const CHUNK: usize = 1024;

/// A line that can hold a number instead of its content, while it is not taken.
pub trait Line: Copy {
    /// One that holds a number.
    fn holding(number: u32) -> Self;

    /// The number that it holds.
    fn held(&self) -> u32;
}

impl<const WORDS: usize> Line for [u64; WORDS] {
    fn holding(number: u32) -> Self {
        [number.into(); WORDS]
    }

    fn held(&self) -> u32 {
        self[0] as u32
    }
}

/// The lines, some of which are taken.
#[derive(Clone, Debug)]
pub struct Lines<T> {
    chunks: Vec<Box<[T]>>,
    /// One more than the number of the line that was given back last, or 0; that line holds the same of the one before.
    free: u32,
    /// Below which all were taken once.
    begun: u32,
    taken: u32,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: 0, begun: 0, taken: 0 }
    }
}

impl<T: Line> Lines<T> {
    /// The memory that they take when at most `most` are taken.
    #[must_use]
    pub fn memory(most: u64) -> Memory {
        let chunks = most.div_ceil(CHUNK as u64);
        Memory::growing::<Box<[T]>>(chunks) + Memory::room::<T>(chunks * CHUNK as u64)
    }

    /// Takes a line, which holds `content`.
    pub fn take(&mut self, content: T) -> u32 {
        self.taken += 1;
        let line = match self.free.checked_sub(1) {
            Some(line) => line,
            None => {
                self.begun += 1;
                self.begun - 1
            }
        };
        if line as usize == self.room() {
            self.chunks.push(vec![content; CHUNK].into());
        }
        let place = self.get_mut(line);
        let held = std::mem::replace(place, content).held();
        if self.free > 0 {
            self.free = held;
        }
        line
    }

    /// Gives a line back. When all are, only what few take is kept.
    pub fn give_back(&mut self, line: u32) {
        *self.get_mut(line) = T::holding(self.free);
        self.free = line + 1;
        self.taken -= 1;
        if self.chunks.len() > 1 && self.taken == 0 {
            *self = Self::default();
        }
    }

    /// A line that is taken.
    #[inline]
    #[must_use]
    pub fn get(&self, line: u32) -> &T {
        &self.chunks[line as usize / CHUNK][line as usize % CHUNK]
    }

    /// A line that is taken, to be changed.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, line: u32) -> &mut T {
        &mut self.chunks[line as usize / CHUNK][line as usize % CHUNK]
    }

    /// How many there is memory for.
    #[must_use]
    pub fn room(&self) -> usize {
        self.chunks.len() * CHUNK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_again_and_memory_is_given_up_with_the_last() {
        let mut lines = Lines::default();
        let taken: Vec<u32> = (0..3000).map(|content| lines.take([content])).collect();
        assert!((0..3000).all(|content| *lines.get(taken[content as usize]) == [content]));
        assert_eq!(lines.room(), 3 * CHUNK);
        taken[..2000].iter().for_each(|line| lines.give_back(*line));
        assert!((0..2000).all(|content| taken[..2000].contains(&lines.take([content]))));
        assert_eq!(lines.room(), 3 * CHUNK);
        taken.iter().for_each(|line| lines.give_back(*line));
        assert_eq!(lines.room(), 0);
    }
}
