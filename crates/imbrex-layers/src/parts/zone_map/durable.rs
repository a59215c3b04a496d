//! What is durable of the places of zones: how it is applied, taken up at recovery, given for a checkpoint and
//! verified.

use std::ops::ControlFlow;

use super::{NOBODY, ZoneMap};
use imbrex_core::block::Lba;
use imbrex_core::layer::{Condition, Corrupt, REGION_RECORDS, UnitReport, Violation};
use imbrex_core::plan::{Plan, Record, Unit};

impl ZoneMap {
    /// Applies a [`Record::Unit`].
    ///
    /// # Errors
    /// [`Corrupt`] when it names a zone that does not exist.
    pub fn apply(&mut self, unit: Unit, is: u32) -> Result<(), Corrupt> {
        match self.zones.index(unit) {
            Some(physical) if is < self.most => {
                self.assign(is, physical);
                Ok(())
            }
            _ => Err(Corrupt(format!("a record puts native zone {is} in {unit:?}; one of the two does not exist"))),
        }
    }

    /// Mirrors what the drive reports, and plans the reset of zones that a crash left behind.
    ///
    /// # Errors
    /// [`Corrupt`] when two native zones claim a physical zone or the report lacks a zone.
    pub fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.check_owners()?;
        self.spare.clear();
        self.vacant.clear();
        self.given_up.clear();
        self.activating = 0;
        for z in 0..self.zones.count {
            let unit = self.zones.unit(z);
            let state = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            let (usable, pointer) = match state.condition {
                _ if self.is_conventional(z) => (Condition::Conventional, self.zones.zone_blocks),
                _ => (Condition::Sequential, state.pointer),
            };
            self.pointer[z as usize] = pointer;
            self.writable[z as usize] = state.condition == usable;
        }
        let used = self.natives().min(self.at_first.split);
        for z in (0..self.zones.count).rev() {
            if self.owner[z as usize] != NOBODY || !self.writable[z as usize] {
                continue;
            }
            match self.pointer(z) {
                _ if self.is_conventional(z) => self.vacant.extend((z < used).then_some(z)),
                0 => self.spare.push(z),
                _ => self.abandon(z, plan),
            }
        }
        Ok(())
    }

    fn check_owners(&self) -> Result<(), Corrupt> {
        for (native, &physical) in self.place.iter().enumerate() {
            if physical == NOBODY {
                return Err(Corrupt(format!("no record says where native zone {native} lies")));
            }
            if self.owner[physical as usize] != native as u32 {
                return Err(Corrupt(format!(
                    "native zone {native} lies in {:?}, which holds another",
                    self.zones.unit(physical)
                )));
            }
        }
        Ok(())
    }

    /// Restates a region of zones, if the cursor `from` is among them: breaks with the next cursor. Cursors of regions
    /// of logical blocks follow; there it continues with the region's first block.
    pub fn checkpoint(&self, from: u64, plan: &mut Plan) -> ControlFlow<u64, Lba> {
        let most = u64::from(self.most);
        if from >= most {
            return ControlFlow::Continue(Lba(from - most));
        }
        let end = most.min(from + REGION_RECORDS as u64);
        for native in from as u32..self.natives().min(end as u32) {
            let physical = self.physical(native);
            if native >= self.at_first.natives || physical != self.at_first.place(native) {
                plan.record(Record::Unit { unit: self.zones.unit(physical), is: native });
            }
        }
        ControlFlow::Break(end)
    }

    /// The cursor after that of the region of logical blocks that ends with `end`.
    #[must_use]
    pub fn cursor_after(&self, end: Lba) -> Option<u64> {
        (end.0 < self.most_capacity()).then_some(u64::from(self.most) + end.0)
    }

    /// Verifies the invariants.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        self.check_owners().map_err(|e| Violation(e.0))?;
        for &z in &self.spare {
            if self.owner[z as usize] != NOBODY || self.pointer(z) != 0 || !self.writable[z as usize] {
                return Err(Violation(format!("spare zone {z} is owned, written or bad")));
            }
        }
        if let Some(z) = self.vacant.iter().find(|z| self.owner[**z as usize] != NOBODY || !self.is_conventional(**z)) {
            return Err(Violation(format!("vacant zone {z} is owned or not conventional")));
        }
        Ok(())
    }
}
