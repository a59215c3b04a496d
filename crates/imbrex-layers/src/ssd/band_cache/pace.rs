//! How many blocks leave together.

/// What leaves while the cache keeps up.
const FEWEST: u32 = 64;
/// The part of the frames that leaves where it does not.
const MOST: u32 = 4;

/// The more often writes wait without idle time between them, the more leaves each time: a disk that has fallen behind
/// writes many blocks in less time for each of them, and goes on by itself while the flash takes what waited.
pub(super) struct Pace {
    together: u32,
    most: u32,
    /// Whether idle time came since a write last waited.
    rested: bool,
}

impl Pace {
    /// For a cache of `frames` frames.
    pub fn new(frames: u32) -> Self {
        Self { together: FEWEST, most: (frames / MOST).max(FEWEST), rested: true }
    }

    /// Blocks that are to leave together.
    pub fn together(&self) -> u32 {
        self.together
    }

    /// The most that ever are.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Whether no more can leave at a time than do.
    pub fn is_behind(&self) -> bool {
        self.together == self.most
    }

    /// A write waits for blocks to leave.
    pub fn waits(&mut self) {
        if !self.rested {
            self.together = self.together.saturating_mul(2).min(self.most);
        }
        self.rested = false;
    }

    /// There is idle time, and nothing is leaving.
    pub fn rests(&mut self) {
        (self.together, self.rested) = (FEWEST, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_many_leave_for_each_write_that_waits_until_there_is_idle_time() {
        let mut pace = Pace::new(1000);
        let mut waits = || {
            pace.waits();
            (pace.together(), pace.is_behind())
        };
        assert_eq!([waits(), waits(), waits(), waits()], [(64, false), (128, false), (250, true), (250, true)]);
        pace.rests();
        assert_eq!(pace.together(), 64);
        pace.waits();
        assert_eq!((pace.together(), pace.is_behind()), (64, false));
        assert!(Pace::new(10).is_behind(), "so few frames are always given up in the same way");
    }
}
