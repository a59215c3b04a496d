//! Zipf-distributed ranks over any number of items, in constant time and memory: rejection-inversion (Hörmann and
//! Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", TOMACS 1996).

use super::random::Random;

/// Draws rank `k` of `0..items` with probability proportional to `1 / (k + 1)^theta`.
pub(super) struct Zipf {
    items: u64,
    theta: f64,
    /// The hat's integral `H` at its two ends; the draw is uniform between them.
    integral_first: f64,
    integral_last: f64,
    /// A rank this close above its inverse is taken without further computation.
    squeeze: f64,
}

impl Zipf {
    /// `items` is at least one, `theta` above zero.
    pub(super) fn new(items: u64, theta: f64) -> Self {
        debug_assert!(items > 0 && theta > 0.0);
        Self {
            items,
            theta,
            integral_first: integral(1.5, theta) - 1.0,
            integral_last: integral(items as f64 + 0.5, theta),
            squeeze: 2.0 - inverse(integral(2.5, theta) - hat(2.0, theta), theta),
        }
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let x = inverse(area, self.theta);
            let rank = ((x + 0.5) as u64).clamp(1, self.items);
            let k = rank as f64;
            if k - x <= self.squeeze || area >= integral(k + 0.5, self.theta) - hat(k, self.theta) {
                return rank - 1;
            }
        }
    }
}

/// `x^-theta`.
fn hat(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// The integral of the hat from 1 to `x`: `(x^(1-theta) - 1) / (1 - theta)`, and `ln x` for `theta` = 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log_x = libm::log(x);
    let t = (1.0 - theta) * log_x;
    // Near zero the quotient loses its digits; its series has them.
    let quotient = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
    log_x * quotient
}

/// The `x` whose integral is `area`.
fn inverse(area: f64, theta: f64) -> f64 {
    // Rounding may carry `t` below -1, where the logarithm ends.
    let t = (area * (1.0 - theta)).max(-1.0);
    let quotient = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
    libm::exp(area * quotient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_the_law_says() {
        const DRAWS: u64 = 1_000_000;
        for theta in [0.5, 0.99, 1.0, 1.5] {
            let items = 1000;
            let zipf = Zipf::new(items, theta);
            let mut random = Random::new(1);
            let mut counts = vec![0u64; items as usize];
            for _ in 0..DRAWS {
                counts[zipf.draw(&mut random) as usize] += 1;
            }
            let sum: f64 = (1..=items).map(|k| (k as f64).powf(-theta)).sum();
            for k in [1u64, 2, 3, 10, 100] {
                let expected = DRAWS as f64 * (k as f64).powf(-theta) / sum;
                let off = (counts[k as usize - 1] as f64 - expected).abs();
                assert!(off < 5.0 * expected.sqrt(), "theta {theta}, rank {k}: {off} off {expected}");
            }
        }
    }

    #[test]
    fn few_and_many_items_stay_in_bounds() {
        let mut random = Random::new(1);
        for items in [1, 2, 1 << 26, 1 << 52] {
            for theta in [1e-6, 0.99, 1.0 + 1e-12, 10.0] {
                let zipf = Zipf::new(items, theta);
                assert!((0..1000).all(|_| zipf.draw(&mut random) < items), "{items} items, theta {theta}");
            }
        }
    }
}
