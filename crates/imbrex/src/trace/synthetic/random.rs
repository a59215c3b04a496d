//! Random numbers that are the same on every machine: bits from xoshiro256++, everything else in integers, exact
//! floating-point operations and `libm`. The standard library's logarithm is the platform's and may differ in the last
//! bit.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded source of random numbers.
pub(in crate::trace) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(in crate::trace) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in `0..bound`, without bias (Lemire, TOMACS 2019). `bound` is not zero.
    #[inline]
    pub(in crate::trace) fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        let mut product = u128::from(self.0.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let least = bound.wrapping_neg() % bound;
            while (product as u64) < least {
                product = u128::from(self.0.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform in `[0, 1)`, in steps of 2⁻⁵³.
    #[inline]
    pub(in crate::trace) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP
    }

    /// True with probability `share`.
    #[inline]
    pub(in crate::trace) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Exponentially distributed with the given mean.
    #[inline]
    pub(in crate::trace) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// At least one, geometrically distributed with the given mean.
    pub(in crate::trace) fn geometric(&mut self, mean: f64) -> u64 {
        1 + (libm::log(1.0 - self.unit()) / libm::log(1.0 - 1.0 / mean)) as u64
    }
}

/// Items drawn in proportion to their weights. There are a handful of them, so drawing is a walk.
pub(super) struct Weighted<T> {
    /// Each item with the sum of the weights up to and including its own.
    items: Vec<(u64, T)>,
    total: u64,
}

impl<T> Weighted<T> {
    /// At least one of the weights is not zero.
    pub(in crate::trace) fn new(items: impl IntoIterator<Item = (u32, T)>) -> Self {
        let mut total = 0;
        let items = items
            .into_iter()
            .map(|(weight, item)| {
                total += u64::from(weight);
                (total, item)
            })
            .collect();
        Self { items, total }
    }

    /// Draws an item.
    #[inline]
    pub(in crate::trace) fn pick(&mut self, random: &mut Random) -> &mut T {
        let at = if self.items.len() == 1 { 0 } else { random.below(self.total) };
        let index = self.items.partition_point(|(up_to, _)| *up_to <= at);
        &mut self.items[index].1
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
}
