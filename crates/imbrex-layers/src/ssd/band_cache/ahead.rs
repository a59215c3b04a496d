//! How much room idle time makes, and how it is used.

/// The part of the frames that idle time keeps without dirty blocks: flash has to copy less the fewer of its pages
/// change.
const PART: u32 = 2;
/// How long the disk has to be idle before that is used while there is enough room.
const LONGEST_WAIT_NS: f64 = 500_000_000.0;

/// What idle time is used for. The less room there is, the shorter are the gaps that are used.
pub(super) struct Ahead {
    reserve: u32,
}

impl Ahead {
    /// For a cache of `frames` frames.
    pub fn new(frames: u32) -> Self {
        Self { reserve: (frames / PART).max(1) }
    }

    /// Whether idle time makes room where this is there.
    pub fn is_short(&self, room: u32) -> bool {
        room < self.reserve
    }

    /// How long the disk has to be idle for a step when this room is there.
    pub fn wait_ns(&self, room: u32) -> u64 {
        let part = f64::from(room.min(self.reserve)) / f64::from(self.reserve);
        (LONGEST_WAIT_NS * part.powi(3)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_room_the_shorter_the_gaps() {
        let ahead = Ahead::new(400);
        assert_eq!([0, 50, 200, 300].map(|room| ahead.wait_ns(room)), [0, 7_812_500, 500_000_000, 500_000_000]);
        assert_eq!([0, 199, 200, 400].map(|room| ahead.is_short(room)), [true, true, false, false]);
        assert!(Ahead::new(1).is_short(0) && !Ahead::new(1).is_short(1));
    }
}
