//! How long blocks live until they are overwritten, as SepBIT infers it from how long others have.
//!
//! Source: Wang, Wang, Luo, Chen, Lee and Chan, "Separating Data via Block Invalidation Time Inference for Write
//! Amplification Reduction in Log-Structured Storage" (FAST 2022), §4. The unit of time is a block written by the host.
//!
//! What the host overwrites soon goes to the bands of *short* lives, everything else it writes to those of *long* ones.
//! What is short is the mean life, from opening to compaction, of the last bands of short lives that were compacted.
//! Blocks that are moved from a band of short lives share bands, other moved ones share them by their age.
//!
//! The mean is taken anew after every sixteen such bands, when the last of them is chosen to be compacted and before
//! its blocks are told apart; until there is one, every life is short, but a block that lies nowhere has lived none. A
//! life is from one write of the host to the next, also while the block waits in the write buffer; the age of a moved
//! block is from the write of the copy that is moved. Of a full write buffer the blocks with short lives behind them
//! leave, the hottest first, or the others in order of arrival, whichever are more.

use imbrex_core::memory::Memory;

/// Bands of short lives whose lives are averaged.
const AVERAGED: u64 = 16;

/// Ages up to which moved blocks are together, as multiples of what is short.
const AGES: [u64; 2] = [4, 16];

/// The stream of blocks that the host overwrote soon.
pub(super) const SHORT: u8 = 0;

/// The stream of other blocks that the host wrote.
pub(super) const LONG: u8 = 1;

/// The stream of blocks that were moved from bands of short lives; those of other moved blocks follow, by age.
const MOVED_SHORT: u8 = 2;

/// How many streams there are.
pub(super) const STREAMS: u8 = MOVED_SHORT + 2 + AGES.len() as u8;

/// What is known of a band's life.
#[derive(Copy, Clone, Debug)]
struct Life {
    stream: u8,
    opened: u64,
    closed: u64,
}

/// The lives of all bands, and what they say of those of blocks.
pub(super) struct Lives {
    bands: Vec<Life>,
    /// The sum of the lives averaged last; nothing before there are enough of them, when every life is short.
    short: Option<u64>,
    /// How many have been collected since, and their sum.
    collected: (u64, u64),
}

impl Lives {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        Memory::of::<Life>(self.bands.len() as u64)
    }

    /// Nothing is known of `bands` bands.
    pub fn new(bands: u32) -> Self {
        Self {
            bands: vec![Life { stream: LONG, opened: 0, closed: 0 }; bands as usize],
            short: None,
            collected: (0, 0),
        }
    }

    /// A band is empty and will be written by this stream.
    pub fn opened(&mut self, band: u32, stream: u8, now: u64) {
        self.bands[band as usize] = Life { stream, opened: now, closed: now };
    }

    /// A band is written as far as it will be.
    pub fn closed(&mut self, band: u32, now: u64) {
        self.bands[band as usize].closed = now;
    }

    /// When it was.
    pub fn when_closed(&self, band: u32) -> u64 {
        self.bands[band as usize].closed
    }

    /// A band is compacted.
    pub fn compacted(&mut self, band: u32, now: u64) {
        let life = self.bands[band as usize];
        if life.stream != SHORT {
            return;
        }
        let (count, sum) = &mut self.collected;
        *count += 1;
        *sum += now - life.opened;
        if *count == AVERAGED {
            self.short = Some(*sum);
            self.collected = (0, 0);
        }
    }

    /// The stream of a block that the host has written, and that lived so long before, if it did.
    pub fn of_host(&self, lived: Option<u64>) -> u8 {
        if lived.is_some_and(|lived| self.is_within(lived, 1)) { SHORT } else { LONG }
    }

    /// The stream of a block of this age that is moved from `band`.
    pub fn of_moved(&self, band: u32, age: u64) -> u8 {
        if self.bands[band as usize].stream == SHORT {
            return MOVED_SHORT;
        }
        let older = AGES.iter().filter(|&&times| !self.is_within(age, times)).count() as u8;
        MOVED_SHORT + 1 + older
    }

    /// Whether `life` is less than `times` short ones.
    fn is_within(&self, life: u64, times: u64) -> bool {
        self.short.is_none_or(|sum| life.saturating_mul(AVERAGED) < sum.saturating_mul(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen bands of short lives, of 95 to 110 blocks, were compacted, and one of long ones.
    fn lives() -> Lives {
        let mut lives = Lives::new(18);
        (0..16).for_each(|band| lives.opened(band, SHORT, 0));
        (0..15).for_each(|band| lives.compacted(band, 95 + u64::from(band)));
        assert_eq!(lives.of_host(Some(u64::MAX)), SHORT, "there are too few to say what is short");
        lives.opened(16, LONG, 0);
        lives.compacted(16, 9000);
        lives.compacted(15, 110);
        lives
    }

    #[test]
    fn the_host_writes_by_how_long_a_block_lived() {
        let lives = lives();
        assert_eq!([Some(102), Some(103), None].map(|lived| lives.of_host(lived)), [SHORT, LONG, LONG]);
    }

    #[test]
    fn moved_blocks_are_apart_by_where_they_lay_and_how_old_they_are() {
        let mut lives = lives();
        lives.opened(17, MOVED_SHORT, 500);
        assert_eq!([1, 5000].map(|age| lives.of_moved(0, age)), [2, 2]);
        // 102.5 is short: 410 and 1640 are the borders.
        assert_eq!([409, 410, 1639, 1640].map(|age| lives.of_moved(17, age)), [3, 4, 4, 5]);
        assert_eq!(lives.of_moved(16, 1640), STREAMS - 1);
    }

    #[test]
    fn what_is_short_follows_the_last_bands() {
        let mut lives = lives();
        (0..16).for_each(|band| lives.opened(band, SHORT, 1000));
        (0..16).for_each(|band| lives.compacted(band, 1010));
        assert_eq!([9, 10].map(|lived| lives.of_host(Some(lived))), [SHORT, LONG]);
    }
}
