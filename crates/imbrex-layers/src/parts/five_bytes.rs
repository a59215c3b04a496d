//! A list of numbers below 2^40, five bytes each. Zeros at first: memory that the system gives as they are written.

use imbrex_core::memory::Memory;

/// Numbers are below this.
pub const LIMIT: u64 = 1 << 40;

/// The numbers.
#[derive(Clone, Debug)]
pub struct FiveBytes(Vec<[u8; 5]>);

impl FiveBytes {
    /// The memory that `count` of them take.
    #[must_use]
    pub fn memory(count: u64) -> Memory {
        Memory::room::<[u8; 5]>(count)
    }

    /// `count` zeros.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self(vec![[0; 5]; count])
    }

    /// How many there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes it `count` numbers; further ones are zeros.
    pub fn resize(&mut self, count: usize) {
        self.0.resize(count, [0; 5]);
    }

    /// A number.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> u64 {
        let [a, b, c, d, e] = self.0[at];
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }

    /// Replaces a number.
    #[inline]
    pub fn set(&mut self, at: usize, number: u64) {
        debug_assert!(number < LIMIT);
        let [a, b, c, d, e, ..] = number.to_le_bytes();
        self.0[at] = [a, b, c, d, e];
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.len()).map(|at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_touch_their_neighbours() {
        let mut list = FiveBytes::new(3);
        list.set(1, LIMIT - 1);
        assert_eq!(list.iter().collect::<Vec<_>>(), [0, LIMIT - 1, 0]);
        list.set(0, 0x01_02_03_04_05);
        list.set(2, 7);
        list.set(1, 9);
        list.resize(4);
        assert_eq!(list.iter().collect::<Vec<_>>(), [0x01_02_03_04_05, 9, 7, 0]);
    }
}
