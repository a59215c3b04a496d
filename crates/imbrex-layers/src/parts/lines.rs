//! Numbered things of a cache line or so that are taken and given back. They lie in chunks, so that no request waits
//! for a long list to move.

use imbrex_core::memory::Memory;

/// Lines that take memory at a time.
const CHUNK: usize = 1024;

/// The lines, some of which are taken.
#[derive(Clone, Debug)]
pub struct Lines<T> {
    chunks: Vec<Box<[T]>>,
    /// The numbers that are not taken.
    free: Vec<u32>,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Lines<T> {
    /// The memory that they take when at most `most` are taken.
    #[must_use]
    pub fn memory(most: u64) -> Memory {
        let chunks = most.div_ceil(CHUNK as u64);
        let lines = chunks * CHUNK as u64;
        Memory::growing::<Box<[T]>>(chunks) + Memory::growing::<u32>(lines) + Memory::room::<T>(lines)
    }

    /// Takes a line, which holds `content`.
    pub fn take(&mut self, content: T) -> u32 {
        if self.free.is_empty() {
            let first = (self.chunks.len() * CHUNK) as u32;
            self.chunks.push(vec![content; CHUNK].into());
            self.free.extend((first..first + CHUNK as u32).rev());
        }
        let line = self.free.pop().unwrap_or_else(|| unreachable!("there are some now"));
        *self.get_mut(line) = content;
        line
    }

    /// Gives a line back. When all are, only what few take is kept.
    pub fn give_back(&mut self, line: u32) {
        self.free.push(line);
        if self.chunks.len() > 1 && self.free.len() == self.chunks.len() * CHUNK {
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
        let taken: Vec<u32> = (0..3000).map(|content| lines.take(content)).collect();
        assert!((0..3000).all(|content| *lines.get(taken[content as usize]) == content));
        assert_eq!(lines.room(), 3 * CHUNK);
        taken[..2000].iter().for_each(|line| lines.give_back(*line));
        assert!((0..2000).all(|content| taken[..2000].contains(&lines.take(content))));
        assert_eq!(lines.room(), 3 * CHUNK);
        taken.iter().for_each(|line| lines.give_back(*line));
        assert_eq!(lines.room(), 0);
    }
}
