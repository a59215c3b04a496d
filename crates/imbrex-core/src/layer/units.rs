//! What drives report about their units.

use crate::plan::Unit;

/// The state a drive reports for one of its units.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct UnitState {
    /// What may be done with it.
    pub condition: Condition,
    /// Blocks from the unit's start that have been written; the unit's whole length where no pointer rules.
    pub pointer: u32,
}

/// What may be done with a unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Written anywhere, in place.
    Conventional,
    /// Sequential and readable up to its pointer, writable at it.
    Sequential,
    /// Readable up to its pointer; no write and no reset succeeds.
    ReadOnly,
    /// Nothing succeeds.
    Offline,
    /// A zone of a realm whose other span is active: nothing succeeds until its own is activated.
    Inactive,
}

/// The state of every unit of every device, as the drives report it. A layer only mirrors it.
#[derive(Clone, Debug, Default)]
pub struct UnitReport {
    /// One list for each device, by device number; RAM's is empty.
    pub devices: Vec<Vec<UnitState>>,
}

impl UnitReport {
    /// The state of `unit`, if the drives know it.
    #[must_use]
    pub fn unit(&self, unit: Unit) -> Option<UnitState> {
        self.devices.get(usize::from(unit.device))?.get(unit.index as usize).copied()
    }
}
