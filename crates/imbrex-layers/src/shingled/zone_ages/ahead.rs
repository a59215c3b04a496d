//! How much room idle time makes, and how it is used.

/// The part of the slots that idle time keeps free, and the part of the blocks of a zone that it keeps free at most: more
/// than a rewrite lasts is of no use, and takes room from the buffer.
const PART: u32 = 16;
/// How long the disk has to be idle before that is used while there is enough room.
const LONGEST_WAIT_NS: f64 = 500_000_000.0;
/// The most blocks of a step then: requests that come meanwhile wait for it.
const SHORT_STEP: f64 = 1024.0;

/// What idle time is used for. The less room there is, the shorter are the gaps that are used, and the longer the steps.
pub(super) struct Ahead {
    reserve: u32,
}

impl Ahead {
    /// For a buffer of `slots` slots before zones of `zone_blocks` blocks.
    pub fn new(slots: u32, zone_blocks: u32) -> Self {
        Self { reserve: (slots.min(zone_blocks) / PART).max(1) }
    }

    /// Slots that idle time keeps free.
    pub fn reserve(&self) -> u32 {
        self.reserve
    }

    /// How much of the reserve is there when so many slots are free.
    fn part(&self, free: u32) -> f64 {
        f64::from(free.min(self.reserve)) / f64::from(self.reserve)
    }

    /// How long the disk has to be idle for a step when so many slots are free.
    pub fn wait_ns(&self, free: u32) -> u64 {
        (LONGEST_WAIT_NS * self.part(free).powi(3)) as u64
    }

    /// The most blocks that a step moves then.
    pub fn step(&self, free: u32) -> u32 {
        (SHORT_STEP / self.part(free)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_room_the_shorter_the_gaps_and_the_longer_the_steps() {
        let ahead = Ahead::new(3200, 65_536);
        assert_eq!(ahead.reserve(), 200);
        assert_eq!([0, 50, 200, 900].map(|free| ahead.wait_ns(free)), [0, 7_812_500, 500_000_000, 500_000_000]);
        assert_eq!([0, 50, 200, 900].map(|free| ahead.step(free)), [u32::MAX, 4096, 1024, 1024]);
        assert_eq!(Ahead::new(1 << 20, 65_536).reserve(), 4096, "a part of a zone");
        assert_eq!(Ahead::new(3, 64).reserve(), 1);
    }
}
