//! Asking a layer for more space, and time to make it.

use super::defect::Defect;
use super::run::Run;

/// Steps of a growth that are offered in a row.
const STEPS: u64 = 12;
/// Operations carried out between two of them.
const OPERATIONS: u64 = 4;

impl Run {
    /// Asks for a little more space, if none is being made, and offers time for some steps.
    pub(super) fn grow(&mut self) -> Result<(), Defect> {
        let is_growing = self.performer.standing().growth.is_some();
        if !is_growing {
            let blocks = self.dice.between(1, 40);
            // All of the disk may be sequential by now.
            let _ = self.performer.grow(blocks);
        }
        for _ in 0..self.dice.between(1, STEPS) {
            self.performer.go_on_growing();
            for _ in 0..self.dice.between(0, OPERATIONS) {
                self.step()?;
            }
        }
        Ok(())
    }

    /// Blocks that the host sees now.
    pub(super) fn seen_capacity(&mut self) -> u64 {
        self.performer.top().layer().map_or(0, |layer| layer.capacity())
    }
}
