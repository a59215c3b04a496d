//! Operations that fail, and how.

use super::run::Run;
use super::shape::BLOCK;
use crate::perform::{IoKind, IoResult};

impl Run {
    /// Carries an operation out on its drive, or lets it fail.
    pub(super) fn carry_out(&mut self, drive: usize, kind: &IoKind) -> Result<IoResult, String> {
        let fails = self.fault_rate > 0 && self.performer.is_serving() && self.dice.one_in(self.fault_rate);
        if fails && self.fault(drive, kind) {
            self.tally.faults += 1;
            return Ok(IoResult::Failed);
        }
        self.stores[drive].perform(kind).map_err(|e| format!("illegal operation: {e}"))
    }

    /// Makes an operation fail in one of the ways it can; false when it cannot.
    fn fault(&mut self, drive: usize, kind: &IoKind) -> bool {
        let (store, journal) = (&mut self.stores[drive], &self.drives[drive].journal);
        match kind {
            IoKind::Read(at) => {
                let block = at.iter().nth(self.dice.below(u64::from(at.blocks)) as usize);
                if let Some(block) =
                    block.filter(|_| !journal.iter().any(|copy| at.overlaps(copy)) && self.dice.one_in(2))
                    && let Some(lba) = store.spoil(block)
                {
                    self.model.spoiled(lba, self.next_id + 1);
                }
                // Otherwise it fails this once. The client of a read may see that.
                true
            }
            IoKind::Write(at, data) => {
                let kept = self.dice.below(u64::from(at.blocks) + 1) as u32;
                let unit = store.media.unit_of(at.start);
                if kept > 0 {
                    let part = IoKind::Write(at.first(kept), data.slice(..kept as usize * BLOCK));
                    if store.perform(&part).is_err() {
                        return false;
                    }
                }
                // A device of a stack that is full for good leaves the layer above nothing to do.
                let may_wear_out = !self.worn_out && self.drives.len() == 1;
                if may_wear_out && store.media.has_pointer(unit) && self.dice.one_in(8) {
                    self.worn_out = true;
                    store.wear_out(unit);
                }
                true
            }
            IoKind::Reset(_) | IoKind::Flush => true,
            IoKind::Report => false,
        }
    }
}
