//! Division by a number fixed at construction, as a multiplication.

/// A divisor of sector, track and section numbers.
///
/// Locating a sector divides two to five times by numbers that never change; a 64-bit division costs up to ten times a
/// multiplication. With `m = ⌊2⁶³/d⌋ + 1` the error term is `e = m·d − 2⁶³ ≤ d`, and `⌊n·m / 2⁶³⌋ = ⌊n/d⌋` for all
/// `n·d < 2⁶³`. Both factors are bounded: [`MAX_DIVIDEND`] and [`MAX_DIVISOR`].
#[derive(Copy, Clone, Debug)]
pub(super) struct Reciprocal {
    by: u32,
    magic: u64,
}

/// Dividends lie below this.
pub(super) const MAX_DIVIDEND: u64 = 1 << 42;
/// Divisors are at most this.
pub(super) const MAX_DIVISOR: u32 = 1 << 20;

impl Reciprocal {
    /// Division by `by`, which is in `1..=MAX_DIVISOR`; whoever builds a geometry has checked it.
    pub(super) const fn new(by: u32) -> Self {
        assert!(by >= 1 && by <= MAX_DIVISOR);
        Self { by, magic: (1 << 63) / by as u64 + 1 }
    }

    /// Quotient and remainder of `n`.
    #[inline]
    pub(super) const fn divide(self, n: u64) -> (u64, u32) {
        debug_assert!(n < MAX_DIVIDEND);
        let quotient = ((n as u128 * self.magic as u128) >> 63) as u64;
        (quotient, (n - quotient * self.by as u64) as u32)
    }

    /// The divisor.
    #[inline]
    pub(super) const fn by(self) -> u32 {
        self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_division(n in 0..MAX_DIVIDEND, by in 1..=MAX_DIVISOR) {
            let (q, r) = Reciprocal::new(by).divide(n);
            prop_assert_eq!((q, u64::from(r)), (n / u64::from(by), n % u64::from(by)));
        }

        #[test]
        fn agrees_at_the_multiples(k in 0u64..1 << 22, by in 1..=MAX_DIVISOR, off in 0u64..2) {
            let n = (k * u64::from(by)).saturating_sub(off).min(MAX_DIVIDEND - 1);
            prop_assert_eq!(Reciprocal::new(by).divide(n).0, n / u64::from(by));
        }
    }

    #[test]
    fn agrees_at_the_ends() {
        for by in [1, 2, 3, MAX_DIVISOR - 1, MAX_DIVISOR] {
            for n in [0, 1, MAX_DIVIDEND - 1] {
                assert_eq!(Reciprocal::new(by).divide(n).0, n / u64::from(by));
            }
        }
    }
}
