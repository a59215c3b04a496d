//! Media: what a recording allows and what a write destroys. The media enforces; it knows no layer and no time.
//!
//! Conventional, shingled and interlaced recordings, bands, realms and flash are here. The trait asks what every
//! overlapped recording must answer: which unit a block belongs to, whether a write pointer binds the unit, and which
//! other blocks a write destroys.

mod banded;
mod conventional;
mod flash;
mod hybrid;
mod interlaced;
mod joined;
mod shingled;
mod tags;

pub use banded::Banded;
pub use conventional::Conventional;
pub use flash::{Flash, FlashShape};
pub use hybrid::Hybrid;
pub use interlaced::Interlaced;
pub use joined::Joined;
pub use shingled::{Shingled, ZonedSpec};
pub use tags::{Tag, TagMap};

use crate::bands::Bands;
use crate::block::{Extent, Pba, unit_and_offset};
use crate::layer::{Condition, UnitReport, UnitState};
use crate::plan::Unit;
use crate::tracks::Tracks;
use crate::zones::Realms;

/// An operation the media refuses.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Illegal {
    /// The blocks are not on the device.
    #[error("{at:?} ends beyond the device's {blocks} blocks")]
    Beyond {
        /// The blocks.
        at: Extent<Pba>,
        /// The device's length.
        blocks: u64,
    },
    /// A write that does not begin at the unit's write pointer.
    #[error("write of {at:?} misses the write pointer of {unit:?} at block {pointer} of the unit")]
    OffPointer {
        /// The blocks.
        at: Extent<Pba>,
        /// The unit.
        unit: Unit,
        /// Its write pointer, in blocks from its start.
        pointer: u32,
    },
    /// An operation that crosses into a unit of another kind or past the unit's end where a pointer rules.
    #[error("write of {at:?} crosses the end of {unit:?}")]
    Crosses {
        /// The blocks.
        at: Extent<Pba>,
        /// The unit it starts in.
        unit: Unit,
    },
    /// A read of blocks that hold nothing.
    #[error("read of {at:?} reaches past the write pointer of {unit:?} at block {pointer} of the unit")]
    Unwritten {
        /// The blocks.
        at: Extent<Pba>,
        /// The unit.
        unit: Unit,
        /// Its write pointer, in blocks from its start.
        pointer: u32,
    },
    /// A read-only, offline or inactive unit was asked for something it cannot do.
    #[error("{unit:?} is {condition:?}")]
    Bad {
        /// The unit.
        unit: Unit,
        /// What it is.
        condition: Condition,
    },
    /// More units would hold data without being full than the drive allows.
    #[error("{unit:?} would be active beyond the drive's limit of {limit} active zones")]
    TooManyActive {
        /// The unit.
        unit: Unit,
        /// The limit.
        limit: u32,
    },
    /// An activation of a span that is active.
    #[error("{unit:?} activates a span of realm {realm} that is active")]
    Active {
        /// The unit.
        unit: Unit,
        /// Whose span it is.
        realm: u32,
    },
    /// An activation of a conventional span that would destroy what sequential zones hold.
    #[error("{unit:?} would destroy {zone:?}, a sequential zone of its realm that is not empty; reset that first")]
    NotEmpty {
        /// The unit.
        unit: Unit,
        /// The zone.
        zone: Unit,
    },
    /// A reset of something that has no reset.
    #[error("{unit:?} cannot be reset")]
    NoReset {
        /// The unit.
        unit: Unit,
    },
}

/// The rules of a recording. Addresses are blocks of one device; their device number is carried along.
pub trait Media: Send {
    /// Blocks on the device.
    fn blocks(&self) -> u64;

    /// Whether the blocks can be read.
    ///
    /// # Errors
    /// [`Illegal`] says why not.
    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal>;

    /// Writes the blocks: moves write pointers.
    ///
    /// # Errors
    /// [`Illegal`] says why not; nothing has changed then.
    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal>;

    /// Empties a unit.
    ///
    /// # Errors
    /// [`Illegal`] says why not; nothing has changed then.
    fn reset(&mut self, unit: Unit) -> Result<(), Illegal>;

    /// Calls `destroyed` with every run of blocks whose content a write of `write`, from its first block to its last,
    /// destroys. They lie outside it, unless its later blocks destroy what its earlier ones brought.
    fn destroys(&self, write: Extent<Pba>, destroyed: &mut dyn FnMut(Extent<Pba>));

    /// Calls `emptied` with every run of blocks that a reset of `unit` empties or, of a realm, makes usable or not.
    fn emptied_by(&self, unit: Unit, emptied: &mut dyn FnMut(Extent<Pba>)) {
        emptied(self.extent_of(unit));
    }

    /// The unit the block lies in.
    fn unit_of(&self, block: Pba) -> Unit;

    /// The blocks of a unit.
    fn extent_of(&self, unit: Unit) -> Extent<Pba>;

    /// Whether a write pointer binds the unit, so that writes to it happen in order.
    fn has_pointer(&self, unit: Unit) -> bool;

    /// The tracks, if they are interlaced.
    fn tracks(&self) -> Option<Tracks> {
        None
    }

    /// The realms, if the disk is hybrid.
    fn realms(&self) -> Option<Realms> {
        None
    }

    /// The state of every unit that holds blocks.
    fn report(&self) -> Vec<UnitState>;

    /// The state of every unit that holds blocks, of each device; the default is for [`Pba::DISK`] alone.
    fn unit_report(&self) -> UnitReport {
        UnitReport { devices: vec![Vec::new(), self.report()] }
    }

    /// Whether a power cut while a unit is emptied may leave garbage all over it.
    fn interrupted_erase_corrupts(&self) -> bool {
        false
    }

    /// Sets how much of a unit is written, as a power cut leaves it. Without meaning where no pointer rules.
    fn set_pointer(&mut self, _unit: Unit, _pointer: u32) {}

    /// Makes one span of a realm the active one, empty, whatever either held, as a power cut leaves it. Without meaning
    /// where there are no realms.
    fn set_active(&mut self, _realm: u32, _sequential: bool) {}

    /// A copy of the media in this state.
    fn copy(&self) -> Box<dyn Media>;

    /// Marks a unit read-only or offline, as a failing head would.
    fn fail(&mut self, unit: Unit, condition: Condition);

    /// How many units may hold data without being full; nothing if any number may.
    fn max_active(&self) -> Option<u32> {
        None
    }

    /// The bands, if that is what the disk is made of.
    fn bands(&self) -> Option<&Bands> {
        None
    }
}

/// Refuses the reset of a unit that is not there or in no condition for it.
fn resettable(unit: Unit, condition: Option<Condition>) -> Result<(), Illegal> {
    match condition {
        Some(Condition::Sequential) => Ok(()),
        None | Some(Condition::Conventional) => Err(Illegal::NoReset { unit }),
        Some(condition) => Err(Illegal::Bad { unit, condition }),
    }
}

/// Calls `check` with each unit of `unit_blocks` blocks that `at` touches, where in it that begins, and how many blocks
/// it is.
fn each_unit(
    at: Extent<Pba>,
    unit_blocks: u32,
    mut check: impl FnMut(Unit, u32, u32) -> Result<(), Illegal>,
) -> Result<(), Illegal> {
    let mut rest = at;
    while !rest.is_empty() {
        let (index, offset) = unit_and_offset(rest.start.block(), unit_blocks);
        let part = rest.first(unit_blocks - offset);
        check(Unit { device: at.start.device(), index }, offset, part.blocks)?;
        rest = rest.skip(part.blocks);
    }
    Ok(())
}

/// Refuses a write that begins in a conventional zone and reaches one of another kind.
fn in_place(at: Extent<Pba>, zone_blocks: u32, zones: &[UnitState]) -> Result<(), Illegal> {
    each_unit(at, zone_blocks, |unit, _, _| match zones[unit.index as usize].condition {
        Condition::Conventional => Ok(()),
        Condition::Sequential => Err(Illegal::Crosses { at, unit: Unit { index: unit.index - 1, ..unit } }),
        condition => Err(Illegal::Bad { unit, condition }),
    })
}

/// Refuses a read up to block `end` of a unit that is offline, inactive or not written so far.
fn readable(at: Extent<Pba>, unit: Unit, is: UnitState, end: u32) -> Result<(), Illegal> {
    match is.condition {
        condition @ (Condition::Offline | Condition::Inactive) => Err(Illegal::Bad { unit, condition }),
        _ if end > is.pointer => Err(Illegal::Unwritten { at, unit, pointer: is.pointer }),
        _ => Ok(()),
    }
}

/// Refuses a write at block `offset` of a unit of `blocks` blocks that is not at its `pointer` or passes its end.
fn appends(at: Extent<Pba>, unit: Unit, offset: u32, blocks: u32, pointer: u32) -> Result<(), Illegal> {
    if offset != pointer {
        Err(Illegal::OffPointer { at, unit, pointer })
    } else if at.blocks > blocks - offset {
        Err(Illegal::Crosses { at, unit })
    } else {
        Ok(())
    }
}

/// Refuses blocks beyond the device.
fn within(at: Extent<Pba>, blocks: u64) -> Result<(), Illegal> {
    if at.start.block() + u64::from(at.blocks) <= blocks { Ok(()) } else { Err(Illegal::Beyond { at, blocks }) }
}
