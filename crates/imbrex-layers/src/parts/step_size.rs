//! How many blocks a step of cleaning moves.

/// What the configuration allows, and less while the runner says so.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StepSize {
    most: u32,
    now: u32,
}

impl StepSize {
    /// What the configuration allows: at least one block.
    #[must_use]
    pub fn new(most: u32) -> Self {
        let most = most.max(1);
        Self { most, now: most }
    }

    /// Limits a step to `blocks` blocks, within what the configuration allows.
    pub fn bound(&mut self, blocks: u32) {
        self.now = blocks.clamp(1, self.most);
    }

    /// The most blocks that a step moves now.
    #[inline]
    #[must_use]
    pub fn blocks(self) -> u32 {
        self.now
    }

    /// The most that the configuration allows, for which there is RAM.
    #[must_use]
    pub fn most(self) -> u32 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_at_least_one_and_at_most_what_was_configured() {
        let mut size = StepSize::new(64);
        assert_eq!(size.blocks(), 64);
        let mut bounded = |blocks| {
            size.bound(blocks);
            (size.blocks(), size.most())
        };
        assert_eq!([0, 1, 63, 64, 65].map(&mut bounded), [(1, 64), (1, 64), (63, 64), (64, 64), (64, 64)]);
    }
}
