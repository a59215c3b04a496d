//! The drive of a simulation: what the media allows, and how long it takes.

use super::scheduler::Access;
use crate::block::{Extent, Pba};
use crate::media::{Illegal, Media};
use crate::plan::Unit;

/// Bytes of a sector, the unit in which mechanics count.
const SECTOR_BYTES: u32 = 512;

/// How long accesses take.
pub trait Timing: Send {
    /// When an access completes that begins at `now_ns`. Accesses come one after the other.
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64;

    /// How long after `now_ns` an access would begin to transfer. Changes nothing.
    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64;

    /// When a unit of these sectors is empty that is reset from `now_ns` on. At once, for a disk: that moves a pointer.
    fn reset(&mut self, now_ns: u64, _first_sector: u64, _sectors: u64) -> u64 {
        now_ns
    }
}

/// Accesses take no time: for counting.
#[derive(Copy, Clone, Debug)]
pub struct NoTime;

impl Timing for NoTime {
    fn access(&mut self, now_ns: u64, _first_sector: u64, _sectors: u64, _write: bool) -> u64 {
        now_ns
    }

    fn positioning_ns(&self, _now_ns: u64, _first_sector: u64, _write: bool) -> u64 {
        0
    }
}

/// A drive: media and timing.
pub struct Device {
    media: Box<dyn Media>,
    timing: Box<dyn Timing>,
    block_bytes: u32,
    sectors_per_block: u64,
    busy_ns: u64,
    /// How long units have been emptied since the last access or the beginning of the last request.
    emptying_ns: u64,
    /// The block at which the last access began.
    position: u64,
    /// Whether accesses take no time and leave the head where it is.
    free_of_charge: bool,
}

impl Device {
    /// A disk of blocks of `block_bytes`, a multiple of 512.
    #[must_use]
    pub fn new(media: Box<dyn Media>, timing: Box<dyn Timing>, block_bytes: u32) -> Self {
        debug_assert!(block_bytes > 0 && block_bytes.is_multiple_of(SECTOR_BYTES));
        let sectors_per_block = u64::from(block_bytes / SECTOR_BYTES);
        Self {
            media,
            timing,
            block_bytes,
            sectors_per_block,
            busy_ns: 0,
            emptying_ns: 0,
            position: 0,
            free_of_charge: false,
        }
    }

    /// The media.
    #[must_use]
    pub fn media(&self) -> &dyn Media {
        &*self.media
    }

    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// How long the disk has been busy in all.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// How long units have been emptied since the last access or the beginning of the last request.
    pub(super) fn emptying_ns(&self) -> u64 {
        self.emptying_ns
    }

    /// What is emptied from now on comes after nothing that the next request has asked for.
    pub(super) fn request_begins(&mut self) {
        self.emptying_ns = 0;
    }

    /// The block at which the last access began.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// How long an access that begins at `now_ns` would take to begin its transfer.
    pub(super) fn positioning_ns(&self, access: &Access, now_ns: u64) -> u64 {
        self.timing.positioning_ns(now_ns, access.at.start.block() * self.sectors_per_block, access.write)
    }

    /// Whether accesses from now on cost nothing.
    pub fn set_free_of_charge(&mut self, free: bool) {
        self.free_of_charge = free;
    }

    /// Reads blocks and says when that is done.
    ///
    /// # Errors
    /// When the media refuses.
    pub fn read(&mut self, at: Extent<Pba>, now_ns: u64) -> Result<u64, Illegal> {
        self.media.read(at)?;
        Ok(self.access(at, now_ns, false))
    }

    /// Writes blocks and says when that is done.
    ///
    /// # Errors
    /// When the media refuses.
    pub fn write(&mut self, at: Extent<Pba>, now_ns: u64) -> Result<u64, Illegal> {
        self.media.write(at)?;
        Ok(self.access(at, now_ns, true))
    }

    /// The blocks of a unit of the disk.
    pub(super) fn unit(&self, unit: Unit) -> Result<Extent<Pba>, Illegal> {
        if unit.device == Pba::DISK { Ok(self.media.extent_of(unit)) } else { Err(Illegal::NoReset { unit }) }
    }

    /// Empties a unit; returns its blocks and when that is done.
    ///
    /// # Errors
    /// When the media refuses.
    pub fn reset(&mut self, unit: Unit, now_ns: u64) -> Result<(Extent<Pba>, u64), Illegal> {
        let space = self.unit(unit)?;
        self.media.reset(unit)?;
        if self.free_of_charge {
            return Ok((space, now_ns));
        }
        let (first, sectors) = self.sectors(space);
        let done = self.timing.reset(now_ns, first, sectors);
        debug_assert!(done >= now_ns);
        self.busy_ns += done - now_ns;
        self.emptying_ns += done - now_ns;
        Ok((space, done))
    }

    fn sectors(&self, at: Extent<Pba>) -> (u64, u64) {
        (at.start.block() * self.sectors_per_block, u64::from(at.blocks) * self.sectors_per_block)
    }

    fn access(&mut self, at: Extent<Pba>, now_ns: u64, write: bool) -> u64 {
        if self.free_of_charge {
            return now_ns;
        }
        let (first, sectors) = self.sectors(at);
        let done = self.timing.access(now_ns, first, sectors, write);
        debug_assert!(done >= now_ns);
        self.busy_ns += done - now_ns;
        self.emptying_ns = 0;
        self.position = at.start.block();
        done
    }
}
