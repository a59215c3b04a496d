//! Division by a number fixed at construction, as a multiplication.

/// A divisor of sector, track and section numbers.
///
/// Locating a sector divides two to five times by numbers that never change; a 64-bit division costs up to ten times a
/// multiplication. With `m = ⌊2ᵖ/d⌋ + 1` the error term is `e = m·d − 2ᵖ ≤ d`, and `⌊n·m / 2ᵖ⌋ = ⌊n/d⌋` for all
/// `n·d < 2ᵖ`. Dividends are below [`MAX_DIVIDEND`], so `p` follows from the divisor, and `m` has at most 64 bits.
#[derive(Copy, Clone, Debug)]
pub(super) struct Reciprocal {
    by: u64,
    magic: u64,
    /// By how much `p` is more than 63.
    shift: u32,
}

/// Bits of a dividend.
const DIVIDEND_BITS: u32 = 42;
/// Dividends lie below this.
pub(super) const MAX_DIVIDEND: u64 = 1 << DIVIDEND_BITS;

impl Reciprocal {
    /// Division by `by`, which is at least 1 and at most [`MAX_DIVIDEND`]; checked when a geometry is built.
    pub(super) const fn new(by: u64) -> Self {
        assert!(by >= 1 && by <= MAX_DIVIDEND);
        let shift = (u64::BITS - by.leading_zeros() + DIVIDEND_BITS).saturating_sub(63);
        Self { by, magic: ((1u128 << (63 + shift)) / by as u128) as u64 + 1, shift }
    }

    /// Quotient of `n`.
    #[inline]
    pub(super) const fn quotient(self, n: u64) -> u64 {
        debug_assert!(n < MAX_DIVIDEND);
        ((n as u128 * self.magic as u128) >> 63) as u64 >> self.shift
    }

    /// Quotient and remainder of `n`.
    #[inline]
    pub(super) const fn divide(self, n: u64) -> (u64, u64) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_division(n in 0..MAX_DIVIDEND, bits in 0..=DIVIDEND_BITS, low in any::<u64>()) {
            // Divisors of every length are as likely.
            let by = (1 << bits) | (low & ((1 << bits) - 1));
            let by = by.min(MAX_DIVIDEND);
            prop_assert_eq!(Reciprocal::new(by).divide(n), (n / by, n % by));
        }

        #[test]
        fn agrees_at_the_multiples(k in any::<u64>(), by in 1..=MAX_DIVIDEND, small in 1..=1u64 << 20, off in 0u64..2) {
            for by in [by, small] {
                let n = (k % (MAX_DIVIDEND / by + 1) * by).saturating_sub(off).min(MAX_DIVIDEND - 1);
                prop_assert_eq!(Reciprocal::new(by).quotient(n), n / by);
            }
        }
    }

    #[test]
    fn agrees_at_the_ends() {
        let powers = (0..=DIVIDEND_BITS).map(|bits| 1 << bits);
        for by in
            powers.flat_map(|power: u64| [power - 1, power, power + 1]).filter(|by| (1..=MAX_DIVIDEND).contains(by))
        {
            for n in [0, 1, by - 1, by, MAX_DIVIDEND - 1] {
                let n = n.min(MAX_DIVIDEND - 1);
                assert_eq!(Reciprocal::new(by).quotient(n), n / by, "{n} by {by}");
            }
        }
    }
}
