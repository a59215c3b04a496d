//! Closed forms of the write amplification of a log under uniformly random writes of single blocks.
//!
//! Steady state over a full logical space. With α the physical blocks for each logical one, b blocks in a unit that is
//! cleaned as a whole and W the principal branch of Lambert's function:
//!
//! - by age (Desnoyers; also Bux and Iliadis, Xiang and Kurkoski): A = α / (α + W(−α·e^−α));
//! - greedily (Desnoyers, ACM TOS 2014): with k = (1 + 1/2b)·α and X = 1/2 − (b/α)·W(−k·e^−k), A = b / (b − X + 1);
//! - the best of d drawn (the mean field of Van Houdt, SIGMETRICS 2013): [`by_choices`]. It is no formula but a fixed
//!   point, found by halving intervals.

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

/// Write amplification when hot blocks, the share `hot` of all, get the share `writes` of the writes, each kind uniformly,
/// and both lie on units of their own, cleaned by age, of which the hot ones have as much of the spare space as is best;
/// and the weight of cold blocks for which the units of both are then equally good to clean.
///
/// With hot blocks on α' physical blocks for each of them, cold ones are left α'' = (α − hot·α') / (1 − hot). Both
/// amplifications are those of [`by_age`], a victim holds u = 1 − 1/A live blocks, and its score is 1 − u'' + w·u'' where
/// these are cold and 1 − u' where they are hot: equal for w = 1 − u'/u''.
pub(super) fn apart(alpha: f64, hot: f64, writes: f64) -> (f64, f64) {
    let rest = |alpha_hot: f64| (alpha - hot * alpha_hot) / (1.0 - hot);
    let both = |alpha_hot: f64| (by_age(alpha_hot), by_age(rest(alpha_hot)));
    let whole = |alpha_hot: f64| {
        let (hot, cold) = both(alpha_hot);
        writes * hot + (1.0 - writes) * cold
    };
    let step = 1e-6;
    // Neither kind has less than its own blocks.
    let (least, most) = (1.0 + 1e-3, (alpha - (1.0 - hot) * (1.0 + 1e-3)) / hot);
    let best = root(least, most - step, |alpha_hot| whole(alpha_hot + step) - whole(alpha_hot));
    let live = |amplification: f64| 1.0 - 1.0 / amplification;
    let (hot, cold) = both(best);
    (whole(best), 1.0 - live(hot) / live(cold))
}

/// Write amplification when of `choices` units drawn at random, with replacement, the one with the fewest live blocks
/// is cleaned; units of `blocks` blocks.
///
/// Let w(i) be the share of units with at least i live blocks. A victim has at least i with probability w(i)^d. It
/// comes back full, and the host writes H = Σ (1 − w(i)^d) blocks before the next: the dead ones it had. Each of them
/// kills one of the b/α live blocks that there are for each unit, so units fall from i to i − 1 at the rate
/// i·(w(i) − w(i+1)) · Hα/b. In the steady state that is what has come in above less what has been cleaned there,
/// 1 − w(i)^d. With c = Hα/b this determines w from i = b down, and c is the one for which Σ w(i) = b/α. A = b/H = α/c.
pub(super) fn by_choices(alpha: f64, blocks: u32, choices: u32) -> f64 {
    let live = f64::from(blocks) / alpha;
    // The larger c, the sooner blocks die.
    let fall = root(0.0, alpha, |fall| live - live_blocks(fall, blocks, choices));
    alpha / fall
}

/// Σ w(i), the live blocks for each unit, where blocks die at the rate `fall`.
fn live_blocks(fall: f64, blocks: u32, choices: u32) -> f64 {
    let exponent = f64::from(choices);
    let (mut above, mut sum) = (0.0, 0.0);
    for i in (1..=blocks).rev() {
        let rate = fall * f64::from(i);
        above = root(above, 1.0, |share| rate * (share - above) - (1.0 - share.powf(exponent)));
        sum += above;
    }
    sum
}

/// Where `f`, which grows, is zero between `low` and `high`.
pub(super) fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
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
    fn two_and_ten_choices_give_the_published_values() {
        for (choices, expected) in [(2, 3.533), (10, 2.675)] {
            let is = by_choices(1.25, 64, choices);
            assert!((is - expected).abs() < 1e-3, "{choices}: {is}");
        }
    }

    #[test]
    fn one_choice_is_random_and_many_are_greedy() {
        for (spare, blocks) in [(0.1, 16), (0.2, 64), (0.5, 4)] {
            let alpha = 1.0 / (1.0 - spare);
            // A random victim has as many dead blocks as the average unit.
            assert!((by_choices(alpha, blocks, 1) * spare - 1.0).abs() < 1e-9);
            let amplifications = [1, 2, 3, 10, 100, 1000].map(|choices| by_choices(alpha, blocks, choices));
            assert!(amplifications.is_sorted_by(|fewer, more| fewer > more), "{amplifications:?}");
        }
        for (spare, blocks) in [(0.1, 16), (0.2, 64), (0.3, 64)] {
            let alpha = 1.0 / (1.0 - spare);
            let (drawn, greedily) = (by_choices(alpha, blocks, 1000), greedy(alpha, f64::from(blocks)));
            assert!((drawn / greedily - 1.0).abs() < 2e-3, "{drawn}, {greedily}");
        }
    }

    #[test]
    fn separate_hot_blocks_give_the_published_value_and_equal_blocks_the_undivided_one() {
        let (amplification, weight) = apart(1.25, 0.2, 0.8);
        assert!((amplification - 1.998).abs() < 1e-3 && (weight - 0.527).abs() < 1e-3, "{amplification}, {weight}");
        let (amplification, weight) = apart(1.25, 0.2, 0.2);
        assert!((amplification - by_age(1.25)).abs() < 1e-6 && weight.abs() < 1e-3, "{amplification}, {weight}");
    }

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
