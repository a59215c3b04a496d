//! Seeded chance, or decisions given from outside.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of decisions that a seed determines, or a string of bytes as far as it goes.
#[derive(Clone)]
pub struct Dice {
    chance: Xoshiro256PlusPlus,
    /// What is left of the string, last byte first.
    string: Option<Vec<u8>>,
}

impl Dice {
    /// The stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { chance: Xoshiro256PlusPlus::seed_from_u64(seed), string: None }
    }

    /// The decisions of `string`, a byte or a few each, and after its end those of seed 0.
    #[must_use]
    pub fn from_bytes(string: &[u8]) -> Self {
        Self { string: Some(string.iter().rev().copied().collect()), ..Self::new(0) }
    }

    /// Whether there was a string and all of it is used up.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.string.as_ref().is_some_and(Vec::is_empty)
    }

    /// The next number of the string, of as many bytes as one below `n` needs.
    fn decided(&mut self, n: u64) -> Option<u64> {
        let string = self.string.as_mut().filter(|string| !string.is_empty())?;
        let bytes = u64::BITS.saturating_sub((n - 1).leading_zeros()).div_ceil(8);
        let number = (0..bytes).fold(0, |number, _| number << 8 | u64::from(string.pop().unwrap_or(0)));
        Some(number % n)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.decided(u64::MAX).unwrap_or_else(|| self.chance.next_u64())
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.decided(n).unwrap_or_else(|| ((u128::from(self.chance.next_u64()) * u128::from(n)) >> 64) as u64)
    }

    /// A number in `[low, high]`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_decides_as_far_as_it_goes() {
        let mut dice = Dice::from_bytes(&[7, 1, 2, 9]);
        assert_eq!((dice.below(5), dice.below(1000), dice.is_used_up()), (2, 258, false));
        assert_eq!((dice.below(1), dice.between(10, 265), dice.is_used_up()), (0, 19, true));
        let mut chance = Dice::new(0);
        assert_eq!((dice.any(), chance.is_used_up()), (chance.any(), false));
    }
}
