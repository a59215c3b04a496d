//! What requests of a stream have in common: the range, their accesses and sizes, and a shuffle of places.

use super::random::{Random, Weighted};
use super::spec::{StreamSpec, SyntheticSpec};
use imbrex_core::block::Access;

/// What the requests of a stream share, wherever they go.
pub(super) struct Shape {
    pub range: Range,
    write_ratio: f64,
    sizes: Weighted<u32>,
}

impl Shape {
    pub(super) fn new(spec: &SyntheticSpec, stream: &StreamSpec) -> Self {
        let sizes = spec.sizes_of(stream).iter().map(|size| (size.weight.into(), size.kib << 10));
        Self { range: Range::new(spec), write_ratio: spec.write_ratio_of(stream), sizes: Weighted::new(sizes) }
    }

    /// Draws what a request does and how many bytes it has.
    #[inline]
    pub(super) fn draw(&mut self, random: &mut Random) -> (Access, u32) {
        let access = if random.chance(self.write_ratio) { Access::Write } else { Access::Read };
        (access, *self.sizes.pick(random))
    }
}

/// The address range in grains.
pub(super) struct Range {
    pub bytes: u64,
    pub grain_bytes: u64,
    pub grains: u64,
}

impl Range {
    fn new(spec: &SyntheticSpec) -> Self {
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
}

/// A fixed shuffle of the range's chunks, computed instead of stored.
pub(super) struct Scatter {
    grains: u64,
    chunk_grains: u64,
    chunks: u64,
    /// The smallest power of two that holds all chunk numbers, less one.
    mask: u64,
    /// Half the bits of `mask`, rounded up.
    shift: u32,
}

impl Scatter {
    /// A shuffle of chunks of `chunk_kib`; without it, the whole range is one chunk, which stays where it is.
    pub(super) fn new(range: &Range, chunk_kib: Option<u64>) -> Self {
        Self::of(range.grains, chunk_kib.map_or(range.grains, |kib| (kib << 10) / range.grain_bytes))
    }

    fn of(grains: u64, chunk_grains: u64) -> Self {
        let chunks = grains / chunk_grains;
        let mask = chunks.next_power_of_two() - 1;
        Self { grains, chunk_grains, chunks, mask, shift: mask.count_ones().div_ceil(2).max(1) }
    }

    /// Where the grain of popularity `rank` lies. What is left of the range beyond the last whole chunk stays in place.
    #[inline]
    pub(super) fn place(&self, rank: u64) -> u64 {
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

    /// How many grains from this one on stay neighbours.
    pub(super) fn together(&self, rank: u64) -> u64 {
        let chunk = rank / self.chunk_grains;
        if chunk < self.chunks { self.chunk_grains - rank % self.chunk_grains } else { self.grains - rank }
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
            let scatter = Scatter::of(grains, chunk);
            let mut places: Vec<u64> = (0..grains).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..grains), "{grains} grains in chunks of {chunk}");
        }
    }

    #[test]
    fn scattered_neighbours_lie_far_apart() {
        let grains = 1 << 20;
        let scatter = Scatter::of(grains, 1);
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
