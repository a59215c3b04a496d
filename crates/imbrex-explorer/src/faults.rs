//! Operations that fail, and how.

use bytes::Bytes;

use super::content::{self, BLOCK};
use super::defect::Defect;
use super::run::Run;
use imbrex_core::block::{Extent, Pba};
use imbrex_engine::{IoKind, IoResult};

impl Run {
    /// Carries an operation out on its drive, or lets it fail.
    pub(super) fn carry_out(&mut self, drive: usize, kind: &IoKind) -> Result<IoResult, Defect> {
        let is_serving = self.performer.is_serving();
        // One failure below may cost recovery above two tries.
        let most = if self.journals.len() > 1 { 2 } else { 4 };
        if is_serving {
            self.recovery_faults = most;
        }
        // In recovery faults come in bursts, as of a drive that is away for a moment.
        let rate = if (1..most).contains(&self.recovery_faults) { 2 } else { self.fault_rate };
        let may_fail = self.fault_rate > 0 && (is_serving || self.recovery_faults > 0);
        if may_fail && self.dice.one_in(rate) {
            let fails = if is_serving { self.fault(drive, kind) } else { self.transient_fault(drive, kind) };
            if fails {
                self.tally.faults += 1;
                return Ok(IoResult::Failed);
            }
        }
        self.perform(drive, kind)
    }

    /// Makes an operation of recovery fail for once.
    fn transient_fault(&mut self, drive: usize, kind: &IoKind) -> bool {
        self.recovery_faults -= 1;
        match kind {
            IoKind::Write(at, data) => self.partial_write(drive, *at, data),
            _ => true,
        }
    }

    /// Carries an operation out.
    pub(super) fn perform(&mut self, drive: usize, kind: &IoKind) -> Result<IoResult, Defect> {
        self.devices.perform(drive, kind).map_err(|e| Defect::Illegal(e.to_string()))
    }

    /// Makes an operation fail in one of the ways it can; false when it cannot.
    fn fault(&mut self, drive: usize, kind: &IoKind) -> bool {
        match kind {
            IoKind::Read(at) => {
                let block = at.iter().nth(self.dice.below(u64::from(at.blocks)) as usize);
                if let Some(block) = block.filter(|_| !self.is_journal(drive, *at) && self.dice.one_in(2)) {
                    self.make_unreadable(drive, block);
                }
                // Otherwise it fails this once. The client of a read may see that.
                true
            }
            IoKind::Write(at, data) => {
                if self.devices.partial_fault(drive, kind, &mut self.dice) {
                    return true;
                }
                if !self.partial_write(drive, *at, data) {
                    return false;
                }
                // Nothing can take the place of a journal's zone.
                if !self.is_journal(drive, *at) {
                    self.wear_out(drive, at.start);
                }
                true
            }
            IoKind::Reset(_) | IoKind::Flush => true,
            IoKind::Report => false,
        }
    }

    /// Carries a part of a write out, or nothing or all of it; false when it cannot be.
    fn partial_write(&mut self, drive: usize, at: Extent<Pba>, data: &Bytes) -> bool {
        let kept = self.dice.below(u64::from(at.blocks) + 1) as u32;
        let part = IoKind::Write(at.first(kept), data.slice(..kept as usize * BLOCK));
        kept == 0 || self.devices.perform(drive, &part).is_ok()
    }

    fn is_journal(&self, drive: usize, at: Extent<Pba>) -> bool {
        self.journals[drive].iter().any(|copy| at.overlaps(copy))
    }

    /// Makes a block unreadable whose content is durable and names a logical block: of any other it could not be said what
    /// may be lost.
    fn make_unreadable(&mut self, drive: usize, block: Pba) {
        if let Some(lba) = self.devices.settled(drive, block).and_then(|content| content::lba(&content)) {
            self.devices.make_unreadable(drive, block);
            self.spoilt.insert((drive, block), lba);
            self.model.unreadable(lba, self.next_id + 1);
        }
    }

    /// Perhaps makes the zone that a block lies in read-only.
    fn wear_out(&mut self, drive: usize, block: Pba) {
        // A device of a stack that is full for good leaves the layer above nothing to do.
        if self.worn_out || self.journals.len() > 1 {
            return;
        }
        let media = self.devices.media(drive);
        let unit = media.unit_of(block);
        if media.has_pointer(unit) && self.dice.one_in(8) {
            self.worn_out = true;
            self.devices.wear_out(drive, unit);
        }
    }
}
