//! Closed forms of the write amplification of a log under uniformly random writes of single blocks.
//!
//! Steady state over a full logical space. With α the physical blocks for each logical one, b blocks in a unit that is
//! cleaned as a whole and W the principal branch of Lambert's function:
//!
//! - by age (Desnoyers; also Bux and Iliadis, Xiang and Kurkoski): A = α / (α + W(−α·e^−α));
//! - greedily (Desnoyers, ACM TOS 2014): with k = (1 + 1/2b)·α and X = 1/2 − (b/α)·W(−k·e^−k), A = b / (b − X + 1).

/// Write amplification when the unit written longest ago is cleaned.
pub(super) fn by_age(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

/// Write amplification when the unit with the fewest live blocks is cleaned, of units of `blocks` blocks.
pub(super) fn greedy(alpha: f64, blocks: f64) -> f64 {
    let k = (1.0 + 1.0 / (2.0 * blocks)) * alpha;
    let x = 0.5 - blocks / alpha * lambert_w(-k * (-k).exp());
    blocks / (blocks - x + 1.0)
}

/// The principal branch of Lambert's function, w·e^w = x, for −1/e < x < 0, by Halley's iteration from the branch
/// point's series.
fn lambert_w(x: f64) -> f64 {
    let mut w = -1.0 + (2.0 * (1.0 + std::f64::consts::E * x)).max(0.0).sqrt();
    for _ in 0..50 {
        let e = w.exp();
        let f = w * e - x;
        w -= f / (e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_give_the_published_values() {
        let ages = [(0.07, 7.3177), (0.10, 5.1787), (0.15, 3.5187), (0.20, 2.6927), (0.30, 1.8762), (0.50, 1.2550)];
        for (spare, expected) in ages {
            let is = by_age(1.0 / (1.0 - spare));
            assert!((is - expected).abs() < 1e-4, "{spare}: {is}");
        }
        let greedily = [
            (0.07, [5.111, 6.600, 7.124]),
            (0.10, [3.986, 4.816, 5.083]),
            (0.20, [2.353, 2.598, 2.668]),
            (0.30, [1.716, 1.833, 1.865]),
        ];
        for (spare, values) in greedily {
            for (blocks, expected) in [16.0, 64.0, 256.0].into_iter().zip(values) {
                let is = greedy(1.0 / (1.0 - spare), blocks);
                assert!((is - expected).abs() < 1e-3, "{spare}, {blocks}: {is}");
            }
        }
    }
}
