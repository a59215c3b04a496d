//! Tracks that do not overlap: written anywhere, in place.

use super::{Illegal, Media, within};
use crate::block::{Extent, Pba};
use crate::layer::{Condition, UnitState};
use crate::plan::Unit;

/// A conventional disk: one unit, no rule but its length.
#[derive(Clone, Debug)]
pub struct Conventional {
    device: u8,
    blocks: u64,
    condition: Condition,
}

impl Conventional {
    /// A disk of `blocks` blocks that is device `device`.
    #[must_use]
    pub fn new(device: u8, blocks: u64) -> Self {
        Self { device, blocks, condition: Condition::Conventional }
    }

    fn unit(&self) -> Unit {
        Unit { device: self.device, index: 0 }
    }
}

impl Media for Conventional {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        if self.condition == Condition::Offline {
            return Err(Illegal::Bad { unit: self.unit(), condition: self.condition });
        }
        within(at, self.blocks)
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        if self.condition != Condition::Conventional {
            return Err(Illegal::Bad { unit: self.unit(), condition: self.condition });
        }
        within(at, self.blocks)
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        Err(Illegal::NoReset { unit })
    }

    fn destroys(&self, _write: Extent<Pba>, _destroyed: &mut dyn FnMut(Extent<Pba>)) {}

    fn unit_of(&self, _block: Pba) -> Unit {
        self.unit()
    }

    fn extent_of(&self, _unit: Unit) -> Extent<Pba> {
        // A unit's length is an extent's; a disk beyond 16 TiB of 4 KiB blocks has no unit worth the name.
        Extent::new(Pba::new(self.device, 0), u32::try_from(self.blocks).unwrap_or(u32::MAX))
    }

    fn has_pointer(&self, _unit: Unit) -> bool {
        false
    }

    fn report(&self) -> Vec<UnitState> {
        vec![UnitState { condition: self.condition, pointer: u32::try_from(self.blocks).unwrap_or(u32::MAX) }]
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, _unit: Unit, condition: Condition) {
        self.condition = condition;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_length_limits_it() {
        let mut disk = Conventional::new(1, 100);
        let whole = Extent::new(Pba::disk(0), 100);
        assert_eq!(disk.write(whole), Ok(()));
        assert_eq!(disk.read(whole), Ok(()));
        let beyond = Extent::new(Pba::disk(99), 2);
        assert_eq!(disk.write(beyond), Err(Illegal::Beyond { at: beyond, blocks: 100 }));
        assert!(disk.reset(Unit::disk(0)).is_err());
        disk.fail(Unit::disk(0), Condition::ReadOnly);
        assert!(disk.write(whole).is_err() && disk.read(whole).is_ok());
    }
}
