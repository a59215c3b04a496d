//! How long extents are.

/// 4 KiB to 1 MiB.
const LEVELS: usize = 9;

/// The longest extent in blocks.
pub(super) const LONGEST_BLOCKS: u64 = 1 << (LEVELS - 1);

/// The fractional part of the golden ratio: its multiples spread over the unit interval more evenly than any other's.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Powers of two of blocks, each `q` times as frequent as its half. The longest are cut off at eight times the mean:
/// one much longer extent that happens to be popular would move the mean length of requests. For the same reason
/// lengths are not drawn at random but spread evenly.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    /// Share of the lengths up to and including each.
    up_to: [f64; LEVELS],
    at: f64,
}

impl Lengths {
    /// Lengths with this mean, if that is possible.
    pub(super) fn with_mean(mean: f64) -> Option<Self> {
        if !(1.0..LONGEST_BLOCKS as f64).contains(&mean) {
            return None;
        }
        let levels = (1..LEVELS).take_while(|level| (1u64 << level) as f64 <= 8.0 * mean).count() + 1;
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..200 {
            let q = (low + high) / 2.0;
            if Self::of(q, levels).mean() < mean { low = q } else { high = q }
        }
        Some(Self::of(low, levels))
    }

    fn of(q: f64, levels: usize) -> Self {
        let mut up_to = [0.0; LEVELS];
        let (mut weight, mut sum) = (1.0, 0.0);
        for (level, share) in up_to.iter_mut().enumerate() {
            sum += if level < levels { weight } else { 0.0 };
            weight *= q;
            *share = sum;
        }
        up_to.iter_mut().for_each(|share| *share /= sum);
        Self { up_to, at: 0.0 }
    }

    pub(super) fn mean(&self) -> f64 {
        let mut before = 0.0;
        let mut mean = 0.0;
        for (level, share) in self.up_to.iter().enumerate() {
            mean += (share - before) * (1u64 << level) as f64;
            before = *share;
        }
        mean
    }

    /// The next length in blocks.
    #[inline]
    pub(super) fn next(&mut self) -> u16 {
        self.at += GOLDEN;
        self.at -= if self.at >= 1.0 { 1.0 } else { 0.0 };
        let level = self.up_to.iter().take_while(|share| **share <= self.at).count();
        1 << level.min(LEVELS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_what_was_asked_for_and_soon() {
        for mean in [1.0, 1.13, 2.3, 12.8, 60.0, 255.0] {
            let mut lengths = Lengths::with_mean(mean).unwrap();
            assert!((lengths.mean() - mean).abs() < 1e-6 * mean, "{mean}: {}", lengths.mean());
            let drawn = (0..1_000).map(|_| f64::from(lengths.next())).sum::<f64>() / 1_000.0;
            assert!((drawn - mean).abs() < 0.01 * mean, "{mean}: {drawn}");
        }
        assert!(Lengths::with_mean(0.9).is_none() && Lengths::with_mean(256.0).is_none());
    }
}
