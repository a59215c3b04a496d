//! How the buffer is divided.

use crate::shingled::amphisbaena::config::HotMostIs;

/// How many chunks there are, and how many of them are hot.
#[derive(Copy, Clone, Debug)]
pub struct Split {
    pub chunk_blocks: u32,
    pub chunks: u32,
    /// Hot chunks at first and at least; they are the lowest. The others are loaned to the hot buffer.
    pub first_hot: u32,
    /// Hot chunks at most.
    pub most_hot: u32,
}

impl Split {
    /// Divides `slots` slots, at least one. The shares that are hot at the `start` and at `most` are rounded to chunks, of
    /// which each part has at least one; a single slot is cold.
    pub fn new(slots: u32, chunk_blocks: u32, start: f64, most: f64, most_is: HotMostIs) -> Self {
        let chunk_blocks = chunk_blocks.min(slots / 4).max(1);
        let chunks = slots / chunk_blocks;
        let of = |share: f64| share * f64::from(chunks);
        let first_hot = (of(start).round() as u32).max(1).min(chunks - 1);
        let most_hot = match most_is {
            // What is a whole number but for the last bit of a product is one.
            HotMostIs::Limit => (of(most) + 1e-9).floor(),
            HotMostIs::Nearest => of(most).round(),
        };
        Self { chunk_blocks, chunks, first_hot, most_hot: (most_hot as u32).clamp(first_hot, chunks - 1) }
    }

    pub fn slots(&self) -> u32 {
        self.chunks * self.chunk_blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_chunk_at_least_and_chunks_are_short_in_small_buffers() {
        let split = |slots, chunk_blocks, (start, most)| {
            let split = Split::new(slots, chunk_blocks, start, most, HotMostIs::Limit);
            (split.chunk_blocks, split.chunks, split.first_hot, split.most_hot)
        };
        assert_eq!(split(1600, 16, (0.25, 0.75)), (16, 100, 25, 75));
        assert_eq!(split(1615, 16, (0.25, 0.0)), (16, 100, 25, 25));
        assert_eq!(split(40, 16, (0.0, 1.0)), (10, 4, 1, 3));
        assert_eq!(split(2, 16, (1.0, 1.0)), (1, 2, 1, 1));
        assert_eq!(split(1, 16, (0.25, 0.75)), (1, 1, 0, 0));
    }

    #[test]
    fn the_hot_part_is_no_larger_than_its_limit_unless_the_nearest_number_is_asked_for() {
        let most = |slots, share, most_is| Split::new(slots, 16, 0.25, share, most_is).most_hot;
        assert_eq!([HotMostIs::Limit, HotMostIs::Nearest].map(|is| most(625 * 16, 0.75, is)), [468, 469]);
        assert_eq!(most(100 * 16, 0.29, HotMostIs::Limit), 29, "29 of 100, whatever 0.29 is in binary");
    }
}
