//! Seeded chance: the same numbers on every machine, from xoshiro256++ (Blackman and Vigna, ACM TOMS 47(4), 2021) and
//! integer arithmetic alone.
//!
//! A layer that draws takes its seed from a configuration field, and the stream is soft state like every order of
//! candidates: no record says how far it has come, and a layer that is made again begins it anew. Nothing durable
//! depends on that. Two epochs draw different victims, and after each draw the records say what became of it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers that its seed determines.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream of `seed`.
    #[must_use]
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`, without bias (Lemire, ACM TOMACS 29(1), 2019). `bound` is not zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if (product as u64) < bound {
            let least = bound.wrapping_neg() % bound;
            while (product as u64) < least {
                product = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bounds_are_not_biased() {
        // Without rejection, half of the draws below three quarters of 2^64 would be multiples of three.
        let mut random = Random::new(1);
        let multiples = (0..100_000).filter(|_| random.below(3 << 62).is_multiple_of(3)).count();
        assert!((32_500..34_200).contains(&multiples), "{multiples}");
    }

    #[test]
    fn small_bounds_are_drawn_evenly_and_the_seed_decides() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            let mut counts = [0u32; 7];
            (0..70_000).for_each(|_| counts[random.below(7) as usize] += 1);
            counts
        };
        assert!(draw(1).iter().all(|count| (9_600..10_400).contains(count)), "{:?}", draw(1));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    /// A change here changes every count that was ever published of a layer that draws.
    #[test]
    fn a_seed_gives_the_same_numbers_everywhere() {
        let mut random = Random::new(1);
        assert_eq!([(); 4].map(|()| random.below(1000)), [811, 747, 100, 746]);
    }
}
