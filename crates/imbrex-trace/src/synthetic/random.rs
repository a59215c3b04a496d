//! Random numbers of many kinds that are the same on every machine: from random bits, exact floating-point operations
//! and `libm`. The standard library's logarithm is the platform's and may differ in the last bit.

use imbrex_core::random;

/// A seeded source of random numbers.
pub(crate) struct Random(random::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(random::Random::new(seed))
    }

    /// Uniform in `0..bound`, without bias. `bound` is not zero.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Uniform in `[0, 1)`, in steps of 2⁻⁵³.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.0.bits() >> 11) as f64 * STEP
    }

    /// True with probability `share`.
    #[inline]
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Exponentially distributed with the given mean.
    #[inline]
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// At least one, geometrically distributed with the given mean.
    pub(crate) fn geometric(&mut self, mean: f64) -> u64 {
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
    pub(crate) fn new(items: impl IntoIterator<Item = (u64, T)>) -> Self {
        let mut total = 0;
        let items = items
            .into_iter()
            .map(|(weight, item)| {
                total += weight;
                (total, item)
            })
            .collect();
        Self { items, total }
    }

    /// Draws an item.
    #[inline]
    pub(crate) fn pick(&mut self, random: &mut Random) -> &mut T {
        let at = if self.items.len() == 1 { 0 } else { random.below(self.total) };
        let index = self.items.partition_point(|(up_to, _)| *up_to <= at);
        &mut self.items[index].1
    }
}
