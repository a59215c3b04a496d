//! How unevenly zones are used: by rank, after Zipf.

use crate::synthetic::random::Random;

/// Ranks from 0 on, of which the one with number `r` is drawn in proportion to `1 / (r + 1)^skew`.
pub(super) struct Ranks {
    /// The sum of the weights up to and including each.
    up_to: Vec<f64>,
}

impl Ranks {
    pub(super) fn new(count: usize, skew: f64) -> Self {
        let mut sum = 0.0;
        let weigh = |rank: usize| {
            sum += libm::pow((rank + 1) as f64, -skew);
            sum
        };
        Self { up_to: (0..count).map(weigh).collect() }
    }

    /// Draws one of the first `among` ranks, at least one.
    #[inline]
    pub(super) fn draw(&self, among: usize, random: &mut Random) -> usize {
        let at = random.unit() * self.up_to[among - 1];
        self.up_to[..among - 1].partition_point(|up_to| *up_to <= at)
    }

    /// How often each rank is drawn where all take part.
    pub(super) fn shares(&self) -> impl Iterator<Item = f64> {
        let before = std::iter::once(0.0).chain(self.up_to.iter().copied());
        let all = self.up_to.last().copied().unwrap_or(1.0);
        self.up_to.iter().zip(before).map(move |(up_to, before)| (up_to - before) / all)
    }
}

/// A step that visits `count` places in scattered order, each once: near the golden part of `count`, and without a
/// common divisor.
pub(super) fn scattering_step(count: u32) -> u32 {
    let golden = (f64::from(count) * 0.618_033_988_749_894_9) as u32;
    (golden.max(1)..).find(|step| divisor(*step, count) == 1).unwrap_or(1)
}

/// The greatest common divisor.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_drawn_by_their_weights() {
        let (mut random, ranks) = (Random::new(1), Ranks::new(4, 1.0));
        let shares: Vec<_> = ranks.shares().collect();
        for (among, expected) in [(4, shares.as_slice()), (2, &[2.0 / 3.0, 1.0 / 3.0]), (1, &[1.0])] {
            let mut drawn = vec![0.0; among];
            (0..10_000).for_each(|_| drawn[ranks.draw(among, &mut random)] += 1e-4);
            let off = drawn.iter().zip(expected).map(|(drawn, share): (&f64, _)| (drawn - share).abs());
            assert!(off.fold(0.0, f64::max) < 0.02, "among {among}: {drawn:?}");
        }
        assert!((shares[0] - 0.48).abs() < 1e-9 && (shares[3] - 0.12).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_step_visits_every_place() {
        for count in [1, 2, 3, 8, 12, 200, 256] {
            let step = scattering_step(count);
            let mut seen = vec![false; count as usize];
            (0..count).for_each(|nth| seen[(nth * step % count) as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{count} by {step}");
        }
    }
}
