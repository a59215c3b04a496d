//! Where requests go: one sampler per pattern.

use super::random::Random;
use super::spec::{Pattern, SyntheticSpec};
use super::zipf::Zipf;

/// The address range in grains.
#[derive(Copy, Clone)]
pub(super) struct Range {
    bytes: u64,
    grain_bytes: u64,
    grains: u64,
}

impl Range {
    pub(super) fn new(spec: &SyntheticSpec) -> Self {
        let grain_bytes = spec.grain_bytes();
        Self { bytes: spec.range_bytes, grain_bytes, grains: spec.range_bytes / grain_bytes }
    }

    /// Where a request of `bytes` that wants to begin with `grain` begins.
    #[inline]
    pub(super) fn offset(&self, grain: u64, bytes: u32) -> u64 {
        let offset = grain * self.grain_bytes;
        let last = self.bytes - u64::from(bytes);
        if offset <= last { offset } else { last - last % self.grain_bytes }
    }

    pub(super) fn holds(&self, end_bytes: u64) -> bool {
        end_bytes <= self.bytes
    }

    pub(super) fn anywhere(&self, random: &mut Random) -> u64 {
        random.below(self.grains)
    }
}

/// Draws the grain with which a request begins.
pub(super) enum Sampler {
    Uniform,
    HotCold { hot_grains: u64, hot_accesses: f64, scatter: Option<Scatter> },
    Zipf { ranks: Zipf, scatter: Option<Scatter> },
}

impl Sampler {
    /// The sampler of `pattern`; `None` for one that goes on where it stopped.
    pub(super) fn new(pattern: &Pattern, range: &Range) -> Option<Self> {
        let scatter = |kib: Option<u64>| kib.map(|kib| Scatter::new(range.grains, (kib << 10) / range.grain_bytes));
        match *pattern {
            Pattern::Uniform => Some(Self::Uniform),
            Pattern::HotCold { hot_space, hot_accesses, scatter_kib } => {
                let hot_grains = ((range.grains as f64 * hot_space) as u64).clamp(1, range.grains - 1);
                Some(Self::HotCold { hot_grains, hot_accesses, scatter: scatter(scatter_kib) })
            }
            Pattern::Zipf { theta, scatter_kib } => {
                Some(Self::Zipf { ranks: Zipf::new(range.grains, theta), scatter: scatter(scatter_kib) })
            }
            Pattern::Sequential { .. } => None,
        }
    }

    #[inline]
    pub(super) fn draw(&self, range: &Range, random: &mut Random) -> u64 {
        let (rank, scatter) = match self {
            Self::Uniform => return range.anywhere(random),
            Self::HotCold { hot_grains, hot_accesses, scatter } if random.chance(*hot_accesses) => {
                (random.below(*hot_grains), scatter)
            }
            Self::HotCold { hot_grains, scatter, .. } => {
                (hot_grains + random.below(range.grains - hot_grains), scatter)
            }
            Self::Zipf { ranks, scatter } => (ranks.draw(random), scatter),
        };
        scatter.as_ref().map_or(rank, |scatter| scatter.place(rank))
    }
}

/// A fixed shuffle of the range's chunks, computed instead of stored.
pub(super) struct Scatter {
    chunk_grains: u64,
    chunks: u64,
    /// The smallest power of two that holds all chunk numbers, less one.
    mask: u64,
    /// Half the bits of `mask`, rounded up.
    shift: u32,
}

impl Scatter {
    fn new(grains: u64, chunk_grains: u64) -> Self {
        let chunks = grains / chunk_grains;
        let mask = chunks.next_power_of_two() - 1;
        Self { chunk_grains, chunks, mask, shift: mask.count_ones().div_ceil(2).max(1) }
    }

    /// Where the grain of popularity `rank` lies. What is left of the range beyond the last whole chunk stays in place.
    #[inline]
    fn place(&self, rank: u64) -> u64 {
        let chunk = rank / self.chunk_grains;
        if chunk >= self.chunks {
            return rank;
        }
        let mut shuffled = self.mix(chunk);
        // Walking the cycle keeps the shuffle one-to-one on numbers that are not a power of two.
        while shuffled >= self.chunks {
            shuffled = self.mix(shuffled);
        }
        shuffled * self.chunk_grains + rank % self.chunk_grains
    }

    /// One-to-one on `0..=mask`, as each of its steps is. The constants are those of SplitMix64.
    #[inline]
    fn mix(&self, number: u64) -> u64 {
        let mut x = number ^ (0x9e37_79b9_7f4a_7c15 & self.mask);
        for odd in [0xbf58_476d_1ce4_e5b9u64, 0x94d0_49bb_1331_11eb] {
            x = x.wrapping_mul(odd) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_moves_every_grain_to_a_place_of_its_own() {
        for (grains, chunk) in [(1, 1), (2, 1), (3, 1), (1000, 1), (1000, 7), (1024, 16), (5, 5)] {
            let scatter = Scatter::new(grains, chunk);
            let mut places: Vec<u64> = (0..grains).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..grains), "{grains} grains in chunks of {chunk}");
        }
    }

    #[test]
    fn scattered_neighbours_lie_far_apart() {
        let grains = 1 << 20;
        let scatter = Scatter::new(grains, 1);
        let places: Vec<u64> = (0..1000).map(|rank| scatter.place(rank)).collect();
        let mean_gap = places.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum::<u64>() / 999;
        // A random shuffle's mean gap is a third of the range.
        assert!((grains / 4..grains / 2).contains(&mean_gap), "{mean_gap}");
        for tenth in 0..10 {
            let inside = places.iter().filter(|&&place| place * 10 / grains == tenth).count();
            assert!((60..140).contains(&inside), "{inside} of 1000 in tenth {tenth}");
        }
    }
}
