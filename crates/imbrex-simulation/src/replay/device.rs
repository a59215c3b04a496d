//! The drive of a simulation: what the media allows, and how long it takes. Or, in a stack, several devices that are
//! simulations themselves.

use super::error::Fault;
use super::scheduler::Access;
use super::stack_device::StackDevice;
use imbrex_core::block::{self, Extent, Pba};
use imbrex_core::media::{Illegal, Joined, Media};
use imbrex_core::plan::Unit;
use imbrex_core::space::HomeCosts;

/// Bytes of a sector, the unit in which mechanics count.
const SECTOR_BYTES: u32 = 512;

/// How long accesses take.
pub trait Timing: Send {
    /// When an access completes that begins at `now_ns`. Accesses come one after the other.
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64;

    /// How long after `now_ns` an access would begin to transfer. Changes nothing.
    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64;

    /// How many cylinders the head has travelled; none where there is no head.
    fn travelled(&self) -> u64 {
        0
    }

    /// When a unit of these sectors is empty that is reset from `now_ns` on. At once, for a disk: that moves a pointer.
    fn reset(&mut self, now_ns: u64, _first_sector: u64, _sectors: u64) -> u64 {
        now_ns
    }

    /// When a span of a realm is active whose activation begins at `now_ns`, on a drive that says how long one takes.
    fn activate(&mut self, now_ns: u64, _activation_ns: u64) -> u64 {
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

/// A drive, media and timing; or the devices of a stack, on each of which a layer runs on a drive of its own.
pub struct Device {
    media: Box<dyn Media>,
    work: Work,
    block_bytes: u32,
    sectors_per_block: u64,
    busy_ns: u64,
    /// How far the head had travelled when that was last forgotten.
    travelled_before: u64,
    /// How long units have been emptied, and spans activated, since the last access or the beginning of the last request.
    emptying_ns: u64,
    /// The block at which the last access began.
    position: u64,
    /// Whether accesses take no time and leave the head where it is.
    free_of_charge: bool,
    /// What it costs a cache to write to the second device of a stack.
    pub(super) costs: HomeCosts,
}

/// What an access comes to.
enum Work {
    Drive(Box<dyn Timing>),
    /// Requests of the devices, numbered from [`Pba::DISK`].
    Stack(Vec<Box<dyn StackDevice>>),
}

impl Device {
    /// A disk of blocks of `block_bytes`, a multiple of 512.
    #[must_use]
    pub fn new(media: Box<dyn Media>, timing: Box<dyn Timing>, block_bytes: u32) -> Self {
        Self::with(media, Work::Drive(timing), block_bytes)
    }

    /// A stack of these devices, numbered from [`Pba::DISK`]. Their blocks are equally long; there is at least one.
    pub(super) fn of(below: Vec<Box<dyn StackDevice>>) -> Self {
        let media = Joined::new(below.iter().map(|device| device.capacity()));
        let block_bytes = below.first().map_or(SECTOR_BYTES, |device| device.block_bytes());
        debug_assert!(below.iter().all(|device| device.block_bytes() == block_bytes));
        Self::with(Box::new(media), Work::Stack(below), block_bytes)
    }

    fn with(media: Box<dyn Media>, work: Work, block_bytes: u32) -> Self {
        debug_assert!(block_bytes > 0 && block_bytes.is_multiple_of(SECTOR_BYTES));
        let sectors_per_block = u64::from(block_bytes / SECTOR_BYTES);
        Self {
            media,
            work,
            block_bytes,
            sectors_per_block,
            busy_ns: 0,
            travelled_before: 0,
            emptying_ns: 0,
            position: 0,
            free_of_charge: false,
            costs: HomeCosts::default(),
        }
    }

    /// The media.
    #[must_use]
    pub fn media(&self) -> &dyn Media {
        &*self.media
    }

    /// The devices below, if this is a stack.
    pub(super) fn below(&self) -> &[Box<dyn StackDevice>] {
        match &self.work {
            Work::Drive(_) => &[],
            Work::Stack(below) => below,
        }
    }

    /// The devices below, if this is a stack.
    pub(super) fn below_mut(&mut self) -> &mut [Box<dyn StackDevice>] {
        match &mut self.work {
            Work::Drive(_) => &mut [],
            Work::Stack(below) => below,
        }
    }

    /// Whether its devices are simulations themselves.
    #[inline]
    pub(super) fn is_stack(&self) -> bool {
        matches!(self.work, Work::Stack(_))
    }

    /// The number of the last device.
    #[inline]
    pub(super) fn last(&self) -> u8 {
        match &self.work {
            Work::Drive(_) => Pba::DISK,
            Work::Stack(below) => below.len() as u8,
        }
    }

    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// How long the disk, or the busiest device of a stack, has been busy since that was last forgotten.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.below().iter().map(|device| device.busy_ns()).fold(self.busy_ns, u64::max)
    }

    /// How many cylinders the disk's head has travelled since that was last forgotten; none of a stack's own.
    pub(super) fn travelled(&self) -> u64 {
        self.all_travelled() - self.travelled_before
    }

    fn all_travelled(&self) -> u64 {
        match &self.work {
            Work::Drive(timing) => timing.travelled(),
            Work::Stack(_) => 0,
        }
    }

    /// Counts anew how long the disk is busy and how far its head travels. In a stack the devices below count that for
    /// themselves.
    pub(super) fn forget_work(&mut self) {
        (self.busy_ns, self.travelled_before) = (0, self.all_travelled());
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
        match &self.work {
            Work::Drive(timing) => {
                timing.positioning_ns(now_ns, access.at.start.block() * self.sectors_per_block, access.write)
            }
            // Its devices have no common queue.
            Work::Stack(_) => 0,
        }
    }

    /// Whether accesses from now on cost nothing.
    pub fn set_free_of_charge(&mut self, free: bool) {
        self.free_of_charge = free;
        self.below_mut().iter_mut().for_each(|device| device.set_free_of_charge(free));
    }

    /// Reads blocks and says when that is done.
    ///
    /// # Errors
    /// When the media refuses, or a layer of a stack comes to an end.
    #[inline]
    pub fn read(&mut self, at: Extent<Pba>, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.media.read(at)?;
        self.access(at, now_ns, false)
    }

    /// Writes blocks and says when that is done.
    ///
    /// # Errors
    /// When the media refuses, or a layer of a stack comes to an end.
    #[inline]
    pub fn write(&mut self, at: Extent<Pba>, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.media.write(at)?;
        self.access(at, now_ns, true)
    }

    /// Writes blocks of a stack from `from_ns` on, for which nobody waits. A device that is asked for something else before
    /// that is not held up.
    ///
    /// # Errors
    /// When the media refuses.
    pub(super) fn write_later(&mut self, at: Extent<Pba>, from_ns: u64) -> Result<(), Illegal> {
        self.media.write(at)?;
        let (index, at) = below(at);
        if let Some(device) = self.below_mut().get_mut(index) {
            device.write_later(at, from_ns);
        }
        Ok(())
    }

    /// Lets the devices of a stack serve such writes that are there by `now_ns`.
    #[inline]
    pub(super) fn catch_up(&mut self, now_ns: u64) -> Result<(), Box<Fault>> {
        self.below_mut().iter_mut().try_for_each(|device| device.catch_up(now_ns))
    }

    /// The blocks of a unit of the disk, or the span that is active after its reset.
    pub(super) fn unit(&self, unit: Unit) -> Result<Extent<Pba>, Illegal> {
        if unit.device == Pba::DISK { Ok(self.media.extent_of(unit)) } else { Err(Illegal::NoReset { unit }) }
    }

    /// Empties a unit, or activates a span of a realm; returns when that is done.
    ///
    /// # Errors
    /// When the media refuses.
    pub fn reset(&mut self, unit: Unit, now_ns: u64) -> Result<u64, Illegal> {
        let (first, sectors) = self.sectors(self.unit(unit)?);
        self.media.reset(unit)?;
        let realms = self.media.realms().filter(|realms| realms.activated_by(unit).is_some());
        let done = match (&mut self.work, realms) {
            (Work::Drive(timing), Some(realms)) if !self.free_of_charge => {
                timing.activate(now_ns, realms.times.activation_ns)
            }
            (Work::Drive(timing), None) if !self.free_of_charge => timing.reset(now_ns, first, sectors),
            _ => return Ok(now_ns),
        };
        debug_assert!(done >= now_ns);
        self.busy_ns += done - now_ns;
        self.emptying_ns += done - now_ns;
        Ok(done)
    }

    /// Has the devices of a stack write what lies in their RAM to the media; when that is done.
    pub(super) fn flush(&mut self, now_ns: u64) -> Result<u64, Box<Fault>> {
        self.below_mut().iter_mut().try_fold(now_ns, |done, device| Ok(done.max(device.flush_above(now_ns)?)))
    }

    fn sectors(&self, at: Extent<Pba>) -> (u64, u64) {
        (at.start.block() * self.sectors_per_block, u64::from(at.blocks) * self.sectors_per_block)
    }

    #[inline]
    fn access(&mut self, at: Extent<Pba>, now_ns: u64, write: bool) -> Result<u64, Box<Fault>> {
        let (first, sectors) = self.sectors(at);
        let done = match &mut self.work {
            Work::Stack(below) => return ask(below, at, now_ns, write),
            Work::Drive(_) if self.free_of_charge => return Ok(now_ns),
            Work::Drive(timing) => timing.access(now_ns, first, sectors, write),
        };
        debug_assert!(done >= now_ns);
        self.busy_ns += done - now_ns;
        self.emptying_ns = 0;
        self.position = at.start.block();
        Ok(done)
    }
}

/// Which device of a stack blocks are of, and where they are there.
fn below(at: Extent<Pba>) -> (usize, Extent<block::Lba>) {
    (usize::from(at.start.device() - Pba::DISK), Extent::new(block::Lba(at.start.block()), at.blocks))
}

/// Lets a device of a stack serve an access as a request.
fn ask(below: &mut [Box<dyn StackDevice>], at: Extent<Pba>, now_ns: u64, write: bool) -> Result<u64, Box<Fault>> {
    let (index, at) = self::below(at);
    let access = if write { block::Access::Write } else { block::Access::Read };
    below[index].serve_above(block::Request { access, at }, now_ns)
}
