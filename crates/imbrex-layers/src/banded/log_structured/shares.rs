//! Which part of the host's blocks goes to each stream of late: so it is known how many more it can write before one of
//! the streams has no room, however much others have left.

use super::separation::MOST_STREAMS;

/// Empty bands that are given to streams one by one. With more of them the first ones count as filled to the end.
const LOOKED_AT: u64 = 16;

/// How many of the last blocks went to each stream.
pub(super) struct Shares {
    blocks: [u64; MOST_STREAMS],
    all: u64,
    /// Blocks after which those before count half.
    memory: u64,
}

impl Shares {
    /// The shares of no blocks yet; those of a band of `band` blocks are remembered well.
    pub fn new(band: u32) -> Self {
        Self { blocks: [0; MOST_STREAMS], all: 0, memory: 2 * u64::from(band) }
    }

    /// `blocks` blocks went to a stream.
    #[inline]
    pub fn add(&mut self, stream: u8, blocks: u32) {
        self.blocks[usize::from(stream)] += u64::from(blocks);
        self.all += u64::from(blocks);
        if self.all > self.memory {
            self.blocks.iter_mut().for_each(|of_stream| *of_stream /= 2);
            self.all = self.blocks.iter().sum();
        }
    }

    /// How many blocks the host writes, in these shares, until one of its streams has no room: `left` is what each has
    /// in open bands, and any that needs it goes on in one of the empty ones of `band` blocks. Of streams that nothing
    /// went to what is left does not count, unless nothing went to any.
    pub fn room(&self, mut left: [u64; MOST_STREAMS], empty: u64, band: u64) -> u64 {
        let all = self.all;
        if all == 0 {
            return empty * band + left.iter().sum::<u64>();
        }
        // Without separation all goes to one: this is asked before every write that is served.
        if let Some(only) = self.blocks.iter().position(|blocks| *blocks == all) {
            return left[only] + empty * band;
        }
        let mut handed_out = 0;
        loop {
            let until_full = |(stream, left): (usize, &u64)| (left * all / self.blocks[stream], stream);
            let written = left.iter().enumerate().filter(|(stream, _)| self.blocks[*stream] > 0);
            let Some((blocks, first)) = written.map(until_full).min() else { return empty * band };
            if handed_out == empty.min(LOOKED_AT) {
                return blocks + (empty - handed_out) * band;
            }
            left[first] += band;
            handed_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(of: &[u32]) -> Shares {
        let mut shares = Shares::new(1000);
        (0..).zip(of).for_each(|(stream, blocks)| shares.add(stream, *blocks));
        shares
    }

    /// What the first streams have left.
    fn left(first: &[u64]) -> [u64; MOST_STREAMS] {
        std::array::from_fn(|stream| first.get(stream).copied().unwrap_or(0))
    }

    #[test]
    fn the_stream_that_is_full_first_decides() {
        let left = left(&[100, 30, 500, 500]);
        assert_eq!(shares(&[]).room(left, 2, 1000), 3130);
        assert_eq!(shares(&[7]).room(left, 0, 1000), 100);
        assert_eq!(shares(&[50, 50]).room(left, 0, 1000), 60, "half of them go to the second one");
        assert_eq!(shares(&[90, 10]).room(left, 0, 1000), 111);
        assert_eq!(shares(&[50, 50]).room(left, 1, 1000), 200, "that band is the second one's, and the first is full");
        assert_eq!(shares(&[50, 50]).room(left, 2, 1000), 2060);
        assert_eq!(shares(&[7]).room(left, 100, 1000), 100_100);
    }

    #[test]
    fn opening_an_empty_band_changes_nothing() {
        let shares = shares(&[60, 30, 10]);
        assert_eq!(shares.room(left(&[0, 70, 80]), 3, 1000), shares.room(left(&[1000, 70, 80]), 2, 1000));
    }

    #[test]
    fn a_stream_that_nothing_goes_to_any_more_is_forgotten() {
        let mut shares = shares(&[100, 100]);
        (0..200).for_each(|_| shares.add(0, 100));
        assert_eq!(shares.room(left(&[500]), 0, 1000), 500);
    }
}
