//! Flash: erase blocks of pages. A page is a block, programmed once after an erase and in order within its erase block.
//!
//! So an erase block obeys the rule of a sequential zone — a write pointer, and a reset that empties it — and the zones
//! of [`Shingled`] enforce it. What flash has of its own is that an erase takes time, which the drive prices, and that
//! one which the power cuts short leaves garbage on every page.
//!
//! The first erase blocks may be *rewritable*: a small region of another memory that the drive keeps for maps and
//! journal, written in place. Without one a drive cannot hold a journal.

use super::{Illegal, Media, Shingled, ZonedSpec};
use crate::block::{Extent, Pba};
use crate::layer::{Condition, UnitState};
use crate::plan::Unit;

/// The shape of a flash drive.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct FlashShape {
    /// Erase blocks in all, rewritable ones included.
    pub erase_blocks: u32,
    /// Pages of an erase block.
    pub pages: u32,
    /// How many erase blocks from the front can be rewritten in place.
    pub rewritable_erase_blocks: u32,
}

/// Raw flash.
#[derive(Clone, Debug)]
pub struct Flash {
    erase_blocks: Shingled,
}

impl Flash {
    /// Erased flash of that shape that is device `device`.
    #[must_use]
    pub fn new(device: u8, shape: FlashShape) -> Self {
        let FlashShape { erase_blocks, pages, rewritable_erase_blocks } = shape;
        let spec = ZonedSpec {
            zones: erase_blocks,
            zone_blocks: pages,
            conventional_zones: rewritable_erase_blocks,
            max_open: 0,
            max_active: 0,
        };
        Self { erase_blocks: Shingled::new(device, spec) }
    }
}

impl Media for Flash {
    fn blocks(&self) -> u64 {
        self.erase_blocks.blocks()
    }

    fn read(&self, at: Extent<Pba>) -> Result<(), Illegal> {
        self.erase_blocks.read(at)
    }

    fn write(&mut self, at: Extent<Pba>) -> Result<(), Illegal> {
        self.erase_blocks.write(at)
    }

    fn reset(&mut self, unit: Unit) -> Result<(), Illegal> {
        self.erase_blocks.reset(unit)
    }

    fn destroys(&self, write: Extent<Pba>, destroyed: &mut dyn FnMut(Extent<Pba>)) {
        self.erase_blocks.destroys(write, destroyed);
    }

    fn unit_of(&self, block: Pba) -> Unit {
        self.erase_blocks.unit_of(block)
    }

    fn extent_of(&self, unit: Unit) -> Extent<Pba> {
        self.erase_blocks.extent_of(unit)
    }

    fn has_pointer(&self, unit: Unit) -> bool {
        self.erase_blocks.has_pointer(unit)
    }

    fn report(&self) -> Vec<UnitState> {
        self.erase_blocks.report()
    }

    fn interrupted_erase_corrupts(&self) -> bool {
        true
    }

    fn set_pointer(&mut self, unit: Unit, pointer: u32) {
        self.erase_blocks.set_pointer(unit, pointer);
    }

    fn copy(&self) -> Box<dyn Media> {
        Box::new(self.clone())
    }

    fn fail(&mut self, unit: Unit, condition: Condition) {
        self.erase_blocks.fail(unit, condition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page: u64, pages: u32) -> Extent<Pba> {
        Extent::new(Pba::disk(page), pages)
    }

    #[test]
    fn pages_are_programmed_once_and_in_order() {
        let mut flash = Flash::new(1, FlashShape { erase_blocks: 4, pages: 8, rewritable_erase_blocks: 1 });
        assert_eq!(flash.write(at(8, 1)), Ok(()));
        assert_eq!(flash.write(at(9, 3)), Ok(()));
        assert!(matches!(flash.write(at(8, 1)), Err(Illegal::OffPointer { pointer: 4, .. })), "programmed already");
        assert!(matches!(flash.write(at(13, 1)), Err(Illegal::OffPointer { pointer: 4, .. })), "out of order");
        assert!(matches!(flash.write(at(12, 5)), Err(Illegal::Crosses { .. })));
        assert!(matches!(flash.read(at(12, 1)), Err(Illegal::Unwritten { .. })), "erased pages hold nothing");
        assert_eq!(flash.read(at(8, 4)), Ok(()));
        assert_eq!(flash.reset(Unit::disk(1)), Ok(()));
        assert!(flash.read(at(8, 1)).is_err());
        assert_eq!(flash.write(at(8, 8)), Ok(()));
    }

    #[test]
    fn the_first_erase_blocks_are_rewritten_in_place() {
        let mut flash = Flash::new(1, FlashShape { erase_blocks: 4, pages: 8, rewritable_erase_blocks: 1 });
        assert_eq!(flash.write(at(5, 1)), Ok(()));
        assert_eq!(flash.write(at(5, 1)), Ok(()));
        assert!(flash.reset(Unit::disk(0)).is_err());
        assert_eq!(flash.report()[0].condition, Condition::Conventional);
    }
}
