//! Cleaning that no write waits for, and how large its steps may be.

use super::defect::{Defect, Stuck};
use super::run::{Run, STUCK};
use imbrex_core::layer::Outlook;
use imbrex_engine::Offered;

impl Run {
    /// Offers a step of cleaning that no write waits for.
    pub(super) fn clean_ahead(&mut self) {
        if self.dice.one_in(3) {
            self.performer.clean_asked();
        } else if self.performer.idle(1_000_000_000) == Offered::Declined
            && let Some(Outlook { room, .. }) = self.performer.standing().outlook
        {
            self.performer.clean_ahead(room + 1);
        }
    }

    /// Now and then asks for cleaning until there is nothing left to clean, on a disk without faults. Nothing is newer in a
    /// cache then.
    pub(super) fn clean_all(&mut self) -> Result<(), Defect> {
        if self.fault_rate > 0 || !self.dice.one_in(10) {
            return Ok(());
        }
        for _ in 0..STUCK {
            let offered = self.performer.clean_asked();
            if !self.step()? && offered != Offered::Taken {
                let is_left =
                    offered == Offered::Declined && self.performer.standing().dirty.is_some_and(|dirty| dirty > 0);
                return if is_left { Err(Defect::Stuck(Stuck::Cleaning)) } else { Ok(()) };
            }
        }
        Err(Defect::Stuck(Stuck::Cleaning))
    }

    /// Bounds steps of cleaning anew, also in the middle of a job.
    pub(super) fn bound_steps(&mut self) {
        let blocks = *self.dice.pick(&[1, 2, 3, 5, 16, u32::MAX]);
        self.performer.bound_step(blocks);
    }
}
