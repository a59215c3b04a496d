//! How many blocks come to each stream, and which open band a stream goes on with that has none of its own.

const MOST_STREAMS: usize = super::MOST_STREAMS as usize;

/// What a stream writes to, where it has no open band and had better not begin one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Instead {
    /// The open band of this stream, which is its own from now on.
    TakeOver(usize),
    /// That of a stream, for the next `blocks` blocks: then something else may be better.
    Share { with: usize, blocks: u32 },
}

/// Who writes, and so whether time passes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Writer {
    Host,
    Compaction,
}

/// What came to each stream in this period, and in the one before.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// What the host writes in a period: as much as there are blocks to spare.
    period: u64,
    began: u64,
    now: [u64; MOST_STREAMS],
    before: [u64; MOST_STREAMS],
    /// How long the period before was.
    lasted: u64,
}

impl Flow {
    /// Nothing came yet. There are `spare` blocks more than the host has.
    pub fn new(spare: u64) -> Self {
        Self { period: spare, began: 0, now: [0; MOST_STREAMS], before: [0; MOST_STREAMS], lasted: 0 }
    }

    /// Blocks came to a stream.
    pub fn add(&mut self, stream: u8, blocks: u32) {
        self.now[usize::from(stream)] += u64::from(blocks);
    }

    /// When the period is over.
    #[inline]
    pub fn ends(&self) -> u64 {
        self.began + self.period
    }

    /// The host has written until now.
    #[inline]
    pub fn pass(&mut self, now: u64) {
        if now >= self.ends() {
            self.lasted = now - self.began;
            self.before = std::mem::take(&mut self.now);
            self.began = now;
        }
    }

    /// For how long nobody writes to an open band that another stream takes over.
    pub fn rest(&self) -> u64 {
        self.period / 2
    }

    /// Before how many of its next blocks a stream would take longer than two periods to fill a band: what lies there
    /// would be mostly room. Before none until half a period has passed.
    pub fn slow_for(&self, stream: u8, now: u64, band_blocks: u32, writer: Writer) -> u64 {
        let (stream, band) = (usize::from(stream), u64::from(band_blocks));
        let (came, time) = (self.now[stream] + self.before[stream], now - self.began + self.lasted);
        if 2 * time < self.period {
            return 0;
        }
        let passes = if writer == Writer::Host { band } else { 0 };
        let nearer = (2 * self.period).saturating_sub(passes).max(1);
        (band * time).saturating_sub(2 * self.period * came).div_ceil(nearer)
    }
}

/// The nearest of some streams to one.
pub(in super::super) fn nearest(stream: u8, others: impl Iterator<Item = usize>) -> Option<usize> {
    others.min_by_key(|other| other.abs_diff(stream.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_slow_that_would_take_two_periods_for_a_band() {
        let mut flow = Flow::new(1000);
        flow.add(0, 51);
        flow.add(1, 49);
        let is_slow = |flow: &Flow, stream, now| flow.slow_for(stream, now, 200, Writer::Host) > 0;
        assert!(!is_slow(&flow, 1, 499), "it is too early to say");
        let are_slow = |flow: &Flow, now| [0, 1, 2].map(|stream| is_slow(flow, stream, now));
        assert_eq!(are_slow(&flow, 500), [false, true, true]);
        flow.pass(999);
        flow.pass(1000);
        assert_eq!(are_slow(&flow, 1000), [true, true, true]);
        flow.add(2, 400);
        assert_eq!(are_slow(&flow, 1500), [true, true, false]);
        flow.pass(2000);
        flow.pass(3000);
        assert_eq!(are_slow(&flow, 3000), [true, true, true], "only the last periods count");
    }

    #[test]
    fn it_is_known_before_how_many_blocks_a_stream_is_slow() {
        for (writer, passes) in [(Writer::Host, 1), (Writer::Compaction, 0)] {
            for came in [0, 1, 30, 60, 89, 90, 91] {
                let mut flow = Flow::new(1000);
                flow.add(1, came);
                let (blocks, mut now) = (flow.slow_for(1, 900, 200, writer), 900);
                for _ in 0..blocks {
                    assert!(flow.slow_for(1, now, 200, writer) > 0);
                    flow.add(1, 1);
                    now += passes;
                }
                assert_eq!(flow.slow_for(1, now, 200, writer), 0, "{writer:?}, {came}");
            }
        }
    }

    #[test]
    fn the_nearest_stream_is_the_first_of_two() {
        assert_eq!(nearest(4, [0, 3, 5, 9].into_iter()), Some(3));
        assert_eq!(nearest(4, [7, 6].into_iter()), Some(6));
        assert_eq!(nearest(4, [].into_iter()), None);
    }
}
