//! How large a step of cleaning may be so that it takes no longer than it may.
//!
//! A drive's speed is not known beforehand and changes with what else it does, so the size follows the time that steps
//! took. What is aimed at is half of the limit: the next step may be slower.

use std::time::Duration;

/// Blocks of the first step.
const FIRST: u32 = 64;

/// The fewest blocks. Most of the time that so few take is the drive's to get there, and smaller steps would not end
/// sooner.
const LEAST: u32 = 8;

/// Chooses the size of steps by the time that the last one took.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Pace {
    limit: Duration,
    most: u32,
    blocks: u32,
}

impl Pace {
    /// For steps of at most `most` blocks that may take as long as `limit`.
    pub fn new(limit: Duration, most: u32) -> Self {
        Self { limit, most, blocks: FIRST.min(most) }
    }

    /// The most blocks that the next step may move.
    pub fn blocks(self) -> u32 {
        self.blocks
    }

    /// Takes note of a step that moved `moved` blocks.
    pub fn took(&mut self, moved: u64, time: Duration) {
        let size = moved.min(self.blocks.into());
        if time > self.limit {
            let in_time = u128::from(size) * self.limit.as_nanos() / (2 * time.as_nanos());
            self.blocks = (in_time as u32).max(LEAST.min(self.most));
        } else if time * 4 <= self.limit && size * 2 >= u64::from(self.blocks) {
            self.blocks = self.blocks.saturating_mul(2).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);

    /// The sizes of steps on a drive that takes so long for each, whatever its size, and for each block.
    fn sizes(pace: &mut Pace, fixed: Duration, block: Duration, steps: usize) -> Vec<u32> {
        let mut step = || {
            let blocks = pace.blocks();
            pace.took(u64::from(blocks) * 2, fixed + block * blocks);
            blocks
        };
        std::iter::repeat_with(&mut step).take(steps).collect()
    }

    #[test]
    fn steps_grow_until_they_would_take_half_of_what_they_may() {
        let mut pace = Pace::new(LIMIT, 4096);
        let fast = sizes(&mut pace, Duration::ZERO, Duration::from_micros(1), 8);
        assert_eq!(fast, [64, 128, 256, 512, 1024, 2048, 4096, 4096]);
        let mut pace = Pace::new(LIMIT, 4096);
        let slow = sizes(&mut pace, Duration::from_millis(5), Duration::from_micros(100), 5);
        assert_eq!(slow, [64, 128, 256, 256, 256], "30.6 ms, and more than a quarter of the limit");
    }

    #[test]
    fn a_step_that_takes_too_long_makes_the_next_one_smaller() {
        let mut pace = Pace::new(LIMIT, 4096);
        sizes(&mut pace, Duration::ZERO, Duration::ZERO, 8);
        let slower = sizes(&mut pace, Duration::ZERO, Duration::from_millis(1), 3);
        assert_eq!(slower, [4096, 50, 50], "50 ms each from then on");
        pace.took(20, LIMIT * 2);
        assert_eq!(pace.blocks(), 8, "by what was moved, if that was less than was allowed; not below the least");
        pace.took(16, LIMIT);
        assert_eq!(pace.blocks(), 8, "in time, but not early");
        pace.took(16, LIMIT / 4);
        assert_eq!(pace.blocks(), 16);
    }

    #[test]
    fn a_step_that_moved_little_says_nothing_of_larger_ones() {
        let mut pace = Pace::new(LIMIT, 4096);
        pace.took(31, Duration::ZERO);
        assert_eq!(pace.blocks(), 64);
        pace.took(32, Duration::ZERO);
        assert_eq!(pace.blocks(), 128);
    }

    #[test]
    fn bounds_stay_within_what_the_layer_takes() {
        let mut pace = Pace::new(Duration::ZERO, 3);
        assert_eq!(pace.blocks(), 3);
        pace.took(3, LIMIT);
        assert_eq!(pace.blocks(), 3, "too long, whatever its size");
        let mut pace = Pace::new(LIMIT, u32::MAX);
        assert_eq!(sizes(&mut pace, Duration::ZERO, Duration::ZERO, 40).last(), Some(&u32::MAX));
    }
}
