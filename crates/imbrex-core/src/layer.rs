//! The translation layer: pure state that decides where blocks live.
//!
//! A layer never does I/O, never reads a clock and never knows which runner drives it. It answers requests by appending
//! to a [`Plan`], and cleans one bounded step at a time.

mod pages;
mod units;

use crate::block::{Extent, Lba, Pba, Request};
use crate::buffer_size::size_as;
use crate::contents::Contents;
use crate::event::Counter;
use crate::memory::Memory;
use crate::plan::{Plan, Record};
pub use pages::{CachedMap, HomePage, MAP_PAGE_BYTES, MAP_PAGE_HEADER, MapCache, MapPages, TooManyLost, Touch};
pub use units::{Condition, UnitReport, UnitState};

/// Why the runner calls [`TranslationLayer::clean`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pressure {
    /// A write of these blocks took none of them.
    Blocked(Extent<Lba>),
    /// The disk has been idle for `ns` nanoseconds.
    Idle {
        /// How long, in nanoseconds.
        ns: u64,
    },
    /// Cleaning was requested: everything that can be cleaned is, even what the layer would leave alone in idle time.
    /// Ends in [`Step::Nothing`] like idle cleaning.
    Asked,
    /// No write waits yet, but writes are expected: this is how many blocks of room there should be, as
    /// [`Standing::outlook`] counts them. Ends in [`Step::Nothing`], at the latest when nothing is gained.
    Ahead {
        /// How many.
        room: u64,
    },
}

/// What a call of [`TranslationLayer::clean`] or [`TranslationLayer::flush`] came to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// What was asked for is there.
    Done,
    /// Call again; others may be served first.
    More,
    /// Call again; a faithful simulation serves no request before (the papers' uninterruptible read-modify-write).
    Hold,
    /// Nothing to plan until space that was reset or freed comes back through `freed`.
    Wait,
    /// Under idle pressure, or when asked: clean enough. Under blocked pressure: the device is full.
    Nothing,
}

/// What a block reads as that the host never wrote. It is the same each time, until the block is written or trimmed,
/// and never what the host wrote to another block.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Unwritten {
    /// Zeros, whatever was on the devices.
    #[default]
    Zeros,
    /// Zeros, or what was on the devices before the first epoch of the layer, which keeps no map that would tell.
    OldContent,
}

impl Unwritten {
    /// Whether such a block may read as zeros, or else as something that was on the devices before the first epoch.
    /// This is what every checker asks.
    #[must_use]
    pub fn allows(self, is_zero: bool, is_old: bool) -> bool {
        is_zero || (is_old && self == Self::OldContent)
    }
}

/// How full the space is that a layer fills and cleans: a persistent buffer, a cache, bands.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Blocks that are taken.
    pub used: u64,
    /// Blocks that there are.
    pub blocks: u64,
}

/// How long a layer that makes room by cleaning can take writes, and what more room costs. A runner with a clock paces
/// writes and cleaning by it; estimates will do, since the caller measures what came of them.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Outlook {
    /// Blocks that writes find room for before one has to wait.
    pub room: u64,
    /// The most room that is worth having ahead: more of it would cost more cleaning.
    pub most: u64,
    /// Blocks that cleaning moves, reads and writes counted, until more room comes.
    pub work: u64,
    /// Blocks of room that come then; 0 where cleaning gains nothing.
    pub gain: u64,
}

/// What is left of a growth that was asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Blocks that the host sees when it is complete.
    pub capacity: u64,
    /// Zones whose space has still to be made into something else.
    pub zones_left: u32,
    /// By how much a step of it delays a request at most, in nanoseconds on a drive as the layer knows it; nothing
    /// where steps have no bound.
    pub bound_ns: Option<u64>,
}

/// Records of a checkpoint that go through the logical blocks in order: `Map`s, each of blocks behind those of the
/// record before, and an `Unmap` of a region before those in it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct InOrder {
    /// How many there are if each `Map` is of a single block.
    pub records: u64,
    /// The places that they name lie on the disk's blocks below this number.
    pub places: u64,
}

/// Why a layer cannot grow as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CannotGrow {
    /// It is a layer without [`TranslationLayer::growing`].
    #[error("the layer has all of the drive's space already; choose one that converts zones, on a hybrid drive")]
    Never,
    /// There is not so much.
    #[error("no more than {most} blocks can be added until {until}; ask for at most those")]
    TooMuch {
        /// Blocks that can be added.
        most: u64,
        /// What is the case then.
        until: &'static str,
    },
}

impl CannotGrow {
    /// The same to somebody who asked for bytes, in the unit that was asked in.
    #[must_use]
    pub fn to_bytes(&self, asked: u64, block_bytes: u32) -> String {
        match self {
            Self::Never => self.to_string(),
            Self::TooMuch { most: 0, until } => format!("nothing can be added any more: {until}"),
            Self::TooMuch { most, until } => {
                let [asked, most] = [asked, most * u64::from(block_bytes)].map(|bytes| size_as(asked, bytes));
                format!("{asked} cannot be added: {most} are left until {until}; ask for at most those")
            }
        }
    }
}

/// A record or a report that contradicts what the layer knows: the journal or the drive is damaged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub String);

/// Why a layer cannot be served live in its configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsafe(pub String);

/// An invariant that does not hold: the layer has a bug.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

/// What a layer states once, when it is made, and does not change for as long as it lives.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// Blocks of RAM (device 0) that its Moves may name.
    pub ram_blocks: u32,
    /// The memory that its maps, lists and jobs take, without the content in RAM.
    pub memory: Memory,
    /// What a block reads as that was never written.
    pub unwritten: Unwritten,
    /// Whether what it trims reads as zeros from then on until it is written, whatever comes of the power once a flush
    /// has covered it: then a runner trims what the host wants to be zeros.
    pub trims_to_zeros: bool,
    /// Whether [`TranslationLayer::clean`] looks at the requests that wait. A runner need not gather them for others.
    pub looks_at_waiting: bool,
    /// The most blocks that one step of cleaning moves by the configuration; nothing where that does not say, because
    /// there are no steps or each of them is a whole unit.
    pub step_blocks: Option<u32>,
    /// Blocks of a persistent buffer that it has of itself, whatever size is asked for; nothing if it has none, or one of
    /// that size.
    pub buffer_blocks: Option<u64>,
    /// The most units that hold data without being full at a time, beside those that the end of an epoch left so;
    /// nothing if there may be any number.
    pub most_active: Option<u32>,
    /// What a journal needs room for.
    pub journal: JournalFacts,
    /// Its own counters, by their numbers: [`crate::counters`] declares them.
    pub counters: &'static [Counter],
    /// Why a power cut may lose what was flushed, if it may. Such a layer is simulated but not served.
    pub loses_flushed: Option<Unsafe>,
    /// Whether the devices of a stack write what lies in their RAM to the media before blocks are given up. Where power
    /// loss matters they always do; without it they do if this says so.
    pub flushes_below: bool,
}

/// What the journal of a layer needs room for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct JournalFacts {
    /// The most records that a checkpoint of the whole state can take.
    pub records: u64,
    /// The most of these that go through the logical blocks in order: they take much less room.
    pub in_order: InOrder,
    /// The most blocks that the redo moves of one plan write.
    pub redo_blocks: u32,
    /// What a user may choose so that the journal can be shorter: what a message ends with that says what takes the room
    /// in it.
    pub remedy: &'static str,
}

impl Default for JournalFacts {
    fn default() -> Self {
        Self { records: 0, in_order: InOrder::default(), redo_blocks: 0, remedy: "a smaller drive or buffer" }
    }
}

/// How a layer stands: what changes while it works and a runner only looks at. Cheap to make.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// How full the space is that it fills and cleans, if it has any.
    pub occupancy: Option<Occupancy>,
    /// How long it can take writes and what more room costs, where it can clean before a write waits.
    pub outlook: Option<Outlook>,
    /// What is left of the growth that was asked for. While something is, a runner offers idle time whether the layer
    /// is to be cleaned in it or not.
    pub growth: Option<Growth>,
    /// Blocks of a cache that are newer than the device behind it, if the layer is a cache. Cleaning that is asked for
    /// leaves none.
    pub dirty: Option<u64>,
    /// Whether plans to come may read what earlier ones have left in RAM. While they do not, and nothing is under way,
    /// a runner may take the memory back.
    pub holds_ram: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Self { occupancy: None, outlook: None, growth: None, dirty: None, holds_ram: true }
    }
}

/// Blocks that the host wants to write: a request, or what is left of one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// Where.
    pub at: Extent<Lba>,
    /// How many bytes the request has, of which the first and the last block may get a part only; nothing if a part of
    /// it has been taken.
    pub request_bytes: Option<u64>,
}

impl From<Extent<Lba>> for Write {
    /// What is left of a request of which a part has been taken.
    fn from(at: Extent<Lba>) -> Self {
        Self { at, request_bytes: None }
    }
}

/// Why space comes back to a layer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Freed {
    /// A Reset or Free of it has taken effect: it may be allocated again.
    GivenUp,
    /// What a read was to leave there beside giving it to the host ([`crate::plan::Why::Promote`]) could not be read, and
    /// is not there. What was planned since may have put something else there.
    Unfilled,
}

/// The part of the contract for layers that can be given more blocks.
pub trait Grow {
    /// Asks for at least `blocks` more blocks at the end of the address space, durably. Where there is no free space the
    /// layer makes some in steps of [`TranslationLayer::clean`], for which [`Standing::growth`] wants idle time; the
    /// capacity changes with the last of them, at once for what is free.
    ///
    /// # Errors
    /// [`CannotGrow`] says why, and what would do; nothing has changed then.
    fn grow(&mut self, blocks: u64, plan: &mut Plan) -> Result<(), CannotGrow>;
}

/// The rules that decide where a block lives.
///
/// The runner keeps the ordering rules (see `docs/architecture.md`), so a layer is single-threaded and plain. Whatever
/// it changes of its durable state goes through a [`Record`] in the plan and through [`TranslationLayer::apply`], in
/// the same order; recovery is the fold of the records and then [`TranslationLayer::recovered`].
pub trait TranslationLayer: Send {
    /// What never changes. A runner asks once, when it has made the layer.
    fn facts(&self) -> Facts;

    /// Blocks the host sees. It changes only when a growth has ended.
    fn capacity(&self) -> u64;

    /// How the layer stands.
    fn standing(&self) -> Standing {
        Standing::default()
    }

    /// How long the disk has to be idle before the layer, as it is now, has any use for that. A runner that offers idle
    /// time after a while of its own waits as long; it may ask before every request.
    fn idle_after_ns(&self) -> u64 {
        0
    }

    /// The part of it that can grow, if it has one.
    fn growing(&mut self) -> Option<&mut dyn Grow> {
        None
    }

    /// Its map as pages, if that may be larger than memory.
    fn map_pages(&mut self) -> Option<&mut dyn MapPages> {
        None
    }

    /// Its map as a cache of pages, if it was made with one: exactly if [`crate::space::Space::map_cache`] asked for it.
    fn cached_map(&self) -> Option<&dyn CachedMap> {
        None
    }

    /// The same, to be changed.
    fn cached_map_mut(&mut self) -> Option<&mut dyn CachedMap> {
        None
    }

    /// Reads the map for a batch of coming requests, so that their cache misses overlap. A layer above others names by
    /// `below` what these requests will probably make it ask of which device before long, as far as it can tell at little
    /// cost, so that the layer there can prefetch too; what is named in vain costs time only. Changes nothing; the result
    /// keeps the compiler from dropping the loads.
    fn prefetch(&self, _ahead: &[Request], _below: &mut dyn FnMut(u8, Request)) -> u64 {
        0
    }

    /// What a read would be now: its Moves say where the blocks lie by the map as planned, so that a write that was
    /// answered is in it. Changes nothing, not even what the layer keeps of reads.
    fn locate(&self, at: Extent<Lba>, plan: &mut Plan);

    /// Plans a read. Never blocks.
    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.locate(at, plan);
    }

    /// Plans a write of the blocks that fit, taken from the front, and says how many. With 0 the runner calls
    /// [`TranslationLayer::clean`] until some fit. It may try the write again between any two steps of that.
    fn write(&mut self, write: Write, plan: &mut Plan) -> u32;

    /// Forgets blocks from the front of `at` and says how many it has dealt with, at least one. A forgotten block reads
    /// as zeros or as its newest content, never as an older one.
    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32;

    /// Moves what lies in RAM to the media, in steps, until [`Step::Done`]. With [`Step::Nothing`] the device is full,
    /// and what is in RAM cannot become durable.
    fn flush(&mut self, _plan: &mut Plan) -> Step {
        Step::Done
    }

    /// Plans one bounded step of cleaning. `waiting` are the requests that wait for the disk, oldest first, so that a
    /// step can end early for them, if the layer says that it looks at them. A finite number of calls under
    /// [`Pressure::Blocked`] lets a write take a block, or the answer is [`Step::Nothing`] and the device is full.
    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step;

    /// Limits one step of cleaning to a number of blocks from now on, at least one, where the configuration allows
    /// more. The layer forgets the limit when its epoch ends; its facts stay those of the configuration. Layers without
    /// [`Facts::step_blocks`] have steps of one size, or none, and go on with them.
    fn bound_step(&mut self, _blocks: u32) {}

    /// Space comes back.
    fn freed(&mut self, space: Extent<Pba>, why: Freed);

    /// Applies a record to the durable state: the only place where that changes. Planning calls it too.
    ///
    /// # Errors
    /// [`Corrupt`] when the record contradicts the state or names what does not exist.
    fn apply(&mut self, record: &Record) -> Result<(), Corrupt>;

    /// Called once before the first request, after the records (if any) were applied, with what the drives report. The
    /// plan may reset or free what a crash left behind.
    ///
    /// # Errors
    /// [`Corrupt`] when the report contradicts the records.
    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt>;

    /// Re-emits the records that describe the region beginning at the opaque cursor `from` (0 is the first) and returns
    /// the next region's cursor. A region of logical blocks starts with its Unmap. At most [`REGION_RECORDS`] records.
    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64>;

    /// What lies on the parts of its device, if it says so: a log of its bands, a layer on interlaced tracks of its
    /// tracks, a layer with a buffer before zones of these. Slow: for looking at now and then.
    fn contents(&self) -> Option<Contents> {
        None
    }

    /// Verifies the invariants. Slow; tests and fuzzers call it after every step.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    fn check(&self) -> Result<(), Violation>;
}

/// Whether the logical blocks that a record names, if any, lie within a layer's capacity.
///
/// # Errors
/// [`Corrupt`] when they do not.
pub fn within(record: &Record, capacity: u64) -> Result<(), Corrupt> {
    match *record {
        Record::Map { at, .. } | Record::Copy { at, .. } | Record::Unmap(at) | Record::Lost(at)
            if !at.is_within(capacity) =>
        {
            Err(Corrupt(format!("a record names {at:?}, beyond the capacity")))
        }
        _ => Ok(()),
    }
}

/// The most records one call of [`TranslationLayer::checkpoint`] emits: a region is in one commit of the journal.
pub const REGION_RECORDS: usize = 512;
