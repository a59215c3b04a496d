//! Moving what lies in a conventional zone to a sequential one.
//!
//! A stretch of the zone is read into RAM and then written, again and again. No map changes until the last write; then
//! one record says where the zone lies. Meanwhile the host writes in place what has not been read yet, and to the buffer
//! what has: it stays buffered, as an update of the sequential zone that there will be.

use super::ZoneAlloy;
use crate::zone_buffer::Policy;
use imbrex_core::block::Pba;
use imbrex_core::plan::{Place, Plan, Why};

/// A zone on its way.
#[derive(Clone, Debug)]
pub(super) struct Relocation {
    /// The native zone.
    pub native: u32,
    /// The empty sequential zone that it goes to.
    target: u32,
    /// Whether another zone is to have its place.
    pub for_swap: bool,
    /// The offset of what lies in the first block of RAM.
    batch: u32,
    /// Offset up to which it has been read.
    pub read: u32,
    /// Offset up to which it has been written.
    written: u32,
    is_writing: bool,
}

impl Relocation {
    pub fn new(native: u32, target: u32, for_swap: bool) -> Self {
        Self { native, target, for_swap, batch: 0, read: 0, written: 0, is_writing: false }
    }
}

impl<P: Policy> ZoneAlloy<P> {
    /// Plans one access of at most `most` blocks, and says whether the zone has moved.
    pub(super) fn relocate(&mut self, most: u32, plan: &mut Plan) -> bool {
        let Some(mut moving) = self.relocation.take() else { unreachable!("a zone is moving") };
        self.head.leave();
        if moving.is_writing {
            self.write_on(&mut moving, most, plan);
        } else {
            self.read_on(&mut moving, most, plan);
        }
        let zones = &mut self.buffer.zones;
        if moving.written < zones.zone_blocks() {
            self.relocation = Some(moving);
            return false;
        }
        self.buffer.apart.remove(&moving.native);
        let from = zones.physical(moving.native);
        zones.put(moving.native, moving.target, plan);
        if moving.for_swap {
            zones.abandon(from, plan);
        }
        true
    }

    fn read_on(&mut self, moving: &mut Relocation, most: u32, plan: &mut Plan) {
        let zones = &self.buffer.zones;
        let end = zones.zone_blocks().min(moving.batch.saturating_add(self.batch_blocks));
        let blocks = most.min(end - moving.read);
        let run = zones.blocks_of(moving.native).skip(moving.read).first(blocks);
        let place = zones.block(zones.physical(moving.native), moving.read);
        self.buffer.blocks.lost.collect(run, place, self.ram(moving.read - moving.batch), plan);
        moving.read += blocks;
        moving.is_writing = moving.read == end;
    }

    fn write_on(&mut self, moving: &mut Relocation, most: u32, plan: &mut Plan) {
        let blocks = most.min(moving.read - moving.written);
        let from = self.ram(moving.written - moving.batch);
        let zones = &mut self.buffer.zones;
        let to = zones.block(moving.target, moving.written);
        plan.copy(Place::At(from), Place::At(to), blocks, Why::Migrate);
        zones.advance(moving.target, blocks);
        moving.written += blocks;
        if moving.written == moving.read {
            (moving.batch, moving.is_writing) = (moving.read, false);
        }
    }

    /// A block of the RAM that only moving zones use.
    pub(super) fn ram(&self, offset: u32) -> Pba {
        Pba::ram(u64::from(self.buffer_ram) + u64::from(offset))
    }

    /// How many blocks from the front of `rest`, which is within a native zone in a conventional one and begins at
    /// `offset` there, are written alike, and whether that is in place.
    pub(super) fn alike(&self, native: u32, offset: u32, rest: u32) -> (u32, bool) {
        match self.relocation.as_ref().filter(|moving| moving.native == native) {
            Some(moving) if offset < moving.read => (rest.min(moving.read - offset), false),
            _ => (rest, true),
        }
    }
}
