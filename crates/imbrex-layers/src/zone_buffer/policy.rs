//! What a layer decides about a buffer before zones: which slots blocks take, and which zone leaves.

use super::ZoneBuffer;
use crate::parts::buffered_blocks::Slots;
use crate::parts::circular_log::Coming;
use crate::parts::zone_map::ZoneMap;
use imbrex_core::block::{Extent, Lba, Request};
use imbrex_core::event::Counter;
use imbrex_core::layer::{Corrupt, Step, Violation};
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;

/// A block of the zone under eviction that was read into RAM: its offset in the zone, and the block of RAM that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    pub offset: u32,
    pub ram: u32,
}

/// Which slots blocks take, and which zone leaves the buffer.
pub trait Policy: Slots + Sized + Send {
    /// The counters that are its own.
    const COUNTERS: &[Counter] = &[];

    /// The host has read the block in `slot`.
    fn read(&mut self, _slot: u32) {}

    /// The host has written the block in `slot` again.
    fn updated(&mut self, _slot: u32) {}

    /// After a crash: nothing is pending, and what is not durable begins anew.
    fn recovered(&mut self);

    /// After [`Policy::recovered`]: where the native zones lie is known too.
    ///
    /// # Errors
    /// [`Corrupt`] when the records contradict each other.
    fn begin(&mut self, _zones: &ZoneMap) -> Result<(), Corrupt> {
        Ok(())
    }

    /// Verifies the invariants.
    fn check(&self) -> Result<(), Violation>;

    /// Verifies what it keeps of the native zones, of which one may be in the middle of an eviction.
    fn check_zones(&self, _zones: &ZoneMap, _evicted: Option<u32>) -> Result<(), Violation> {
        Ok(())
    }

    /// The memory that it takes.
    fn memory(&self) -> Memory;

    /// RAM that it needs for plans of its own.
    fn ram_blocks(&self) -> u32 {
        0
    }

    /// The most blocks of a zone that it collects in RAM before the zone is written; 0 if it collects none.
    fn most_collected(&self) -> u32 {
        0
    }

    /// How long the disk has to be idle before the next step in idle time.
    fn idle_after_ns(&self) -> u64 {
        0
    }

    /// The most blocks that a step in idle time moves.
    fn idle_blocks(&self) -> u32 {
        u32::MAX
    }

    /// The `collected` blocks of a native zone, by offset, and padding wherever nothing was, have been written to
    /// it, whose write pointer is now `pointer`.
    fn destaged(&mut self, _native: u32, _pointer: u32, _collected: &[Collected]) {}

    /// Nothing of a native zone is written or buffered any more.
    fn emptied(&mut self, _native: u32) {}

    /// Applies a [`Record::Note`]; says whether it is one of its own.
    fn apply_note(&mut self, _key: u32, _value: u64) -> bool {
        false
    }

    /// How many keys of notes there are, from 0.
    fn note_keys(&self) -> u32 {
        0
    }

    /// The value under a key, if the layer did not begin with it.
    fn note(&self, _key: u32) -> Option<u64> {
        None
    }

    /// Is told the size of a write request of the host.
    fn announced(&mut self, _at: Extent<Lba>, _bytes: u64) {}

    /// How often the buffer has been gone round since the epoch began, where it is gone round.
    fn laps(&self) -> u64 {
        0
    }

    /// Whether the requests that wait are looked at when room is made.
    fn looks_at_waiting(&self) -> bool {
        false
    }

    /// Plans a write of the blocks that fit.
    fn write(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, plan: &mut Plan) -> u32;

    /// Plans one step towards room for a blocked write of `at`, behind which others are `waiting`.
    fn make_room(buffer: &mut ZoneBuffer<Self>, at: Extent<Lba>, waiting: &[Request], plan: &mut Plan) -> Step;

    /// Plans one step towards so much free space that nothing needs to be cleaned ahead for the goal.
    fn clean_ahead(buffer: &mut ZoneBuffer<Self>, goal: Goal, plan: &mut Plan) -> Step;

    /// Blocks that the next writes find slots for without cleaning, where that can be said of all of them alike.
    fn room(&self) -> Option<u32> {
        None
    }

    /// How many zones have to go, `first` among them, until the next writes find at least `enough` slots more, where zones
    /// go in the order of their oldest blocks.
    fn coming(&self, _first: u32, _enough: u32, _zone_of: impl Fn(Lba) -> u32) -> Option<Coming> {
        None
    }

    /// Blocks that it has room for when it is empty, counted like that.
    fn most_room(&self) -> u32 {
        self.table().slots()
    }
}

/// How much is cleaned before a write waits for room.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Goal {
    /// As much as idle time is used for.
    Idle,
    /// Everything.
    All,
    /// This number of slots for the next writes.
    Room(u64),
}

/// A policy under which all blocks are alike.
pub trait Takes: Policy {
    /// Takes adjacent slots for as many blocks from the front of `run`, at least one, as find them: the first slot and
    /// how many. The blocks are of one zone.
    fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)>;
}

/// A policy under which a block that is buffered is updated in its slot.
pub trait InPlace: Takes {
    /// Whether `slots` slots can be taken now; if there are never that many, whether all that there are can be taken.
    fn ready(&self, slots: u32) -> bool;
}
