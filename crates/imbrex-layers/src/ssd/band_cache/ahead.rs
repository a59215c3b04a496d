//! How much room idle time makes, and how it is used.

use imbrex_core::space::HomeCosts;

/// Idle time leaves as large a part of the frames dirty as a seek has pages, over this.
const DIRTY: u64 = 220;
/// The largest part that it leaves dirty.
const MOST_DIRTY: u64 = 5;
/// The part that it makes room in before a disk that rewrites.
const BARE: u64 = 10;
/// How long the disk has to be idle before that is used while there is enough room.
const LONGEST_WAIT_NS: f64 = 1_000_000_000.0;

/// What idle time is used for. The less room there is, the shorter are the gaps that are used.
pub(super) struct Ahead {
    reserve: u32,
}

impl Ahead {
    /// For a cache of `frames` frames. The slower flash is, the fewer of its pages may change: it copies fewer then. Where
    /// each write home rewrites a zone, much is to be gathered for one.
    pub fn new(frames: u32, costs: HomeCosts) -> Self {
        let all = u64::from(frames);
        let dirty = if costs.rewrites {
            all * (BARE - 1) / BARE
        } else {
            (all * u64::from(costs.seek_pages) / DIRTY).min(all / MOST_DIRTY)
        };
        Self { reserve: (frames - dirty as u32).max(1) }
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

    fn ahead(frames: u32, seek_pages: u32, rewrites: bool) -> Ahead {
        Ahead::new(frames, HomeCosts { seek_pages, rewrites })
    }

    #[test]
    fn the_less_room_the_shorter_the_gaps() {
        let ahead = ahead(500, 500, false);
        assert_eq!(
            [0, 50, 200, 400, 500].map(|room| ahead.wait_ns(room)),
            [0, 1_953_125, 125_000_000, 1_000_000_000, 1_000_000_000]
        );
        assert_eq!([0, 399, 400, 500].map(|room| ahead.is_short(room)), [true, true, false, false]);
    }

    #[test]
    fn slow_flash_keeps_few_dirty_blocks_and_a_disk_that_rewrites_many() {
        let reserve = |seek_pages, rewrites| ahead(1000, seek_pages, rewrites).reserve;
        assert_eq!([reserve(11, false), reserve(44, false), reserve(500, false)], [950, 800, 800]);
        assert_eq!([reserve(11, true), reserve(500, true)], [100, 100]);
        let small = ahead(1, 11, false);
        assert!(small.is_short(0) && !small.is_short(1));
        assert!(!ahead(1, u32::MAX, true).is_short(1));
    }
}
