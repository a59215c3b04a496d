//! Which of the dirty blocks of a cache may leave.

use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Says which dirty blocks may leave. Clean ones always may.
pub trait Division: Send {
    /// Whether there are ever blocks that may not.
    const HOLDS: bool;

    /// The memory that it takes.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// Whether there is to be a new division before the next block leaves.
    fn is_due(&self) -> bool;

    /// Divides anew by what was learnt since it was done last.
    fn divide(&mut self);

    /// Whether `lba` may leave if it is dirty.
    fn may_leave(&self, lba: Lba) -> bool;

    /// Whether all dirty blocks that may leave do so together.
    fn is_flushed_whole(&self) -> bool;

    /// The first stretch behind `from` whose dirty blocks may leave.
    fn open_from(&self, from: Lba) -> Option<Extent<Lba>>;

    /// The block in `frame` is used: for the first time there, or again.
    fn used(&mut self, lba: Lba, frame: u32, is_new: bool);

    /// Blocks are read or written past the cache.
    fn passed(&mut self, at: Extent<Lba>);

    /// The host has written `blocks` blocks into the cache.
    fn written(&mut self, blocks: u32);

    /// A cached block has become dirty.
    fn dirtied(&mut self, lba: Lba);

    /// A dirty block was chosen to leave.
    fn chosen(&mut self, lba: Lba);

    /// A dirty block is gone that was not chosen.
    fn gone(&mut self, lba: Lba);

    /// Forgets everything.
    fn clear(&mut self);

    /// Verifies the invariants, given the dirty blocks that were not chosen to leave.
    fn check(&self, dirty: &mut dyn Iterator<Item = Lba>) -> Result<(), Violation>;
}

/// Any block may leave.
pub struct Undivided;

impl Division for Undivided {
    const HOLDS: bool = false;

    fn is_due(&self) -> bool {
        false
    }

    fn divide(&mut self) {}

    fn may_leave(&self, _lba: Lba) -> bool {
        true
    }

    fn is_flushed_whole(&self) -> bool {
        false
    }

    fn open_from(&self, _from: Lba) -> Option<Extent<Lba>> {
        None
    }

    fn used(&mut self, _lba: Lba, _frame: u32, _is_new: bool) {}

    fn passed(&mut self, _at: Extent<Lba>) {}

    fn written(&mut self, _blocks: u32) {}

    fn dirtied(&mut self, _lba: Lba) {}

    fn chosen(&mut self, _lba: Lba) {}

    fn gone(&mut self, _lba: Lba) {}

    fn clear(&mut self) {}

    fn check(&self, _dirty: &mut dyn Iterator<Item = Lba>) -> Result<(), Violation> {
        Ok(())
    }
}
