//! Which blocks take frames and which leave: what makes one flash cache different from another.

use super::FlashCache;
use super::frames::Frames;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;
use imbrex_core::plan::Plan;

/// Which frames blocks take, and which blocks leave.
pub trait Policy: Sized + Send {
    /// The memory that it takes.
    fn memory(&self) -> Memory;

    /// Neighbouring free frames for as many blocks from the front of `run`, at least one, as find them: the first frame
    /// and how many.
    fn free_for(&self, run: Extent<Lba>) -> Option<(u32, u32)>;

    /// The frame of the clean block that leaves so that `lba` finds one, if that is whose turn it is.
    fn gives_way(&mut self, lba: Lba, frames: &Frames) -> Option<u32>;

    /// `lba`, whose frame the policy named, gives way.
    fn gave_way(&mut self, _frame: u32, _lba: Lba) {}

    /// The frames whose blocks will probably leave next, in order, if that is known at little cost: for
    /// prefetching only.
    fn next_to_leave(&self) -> impl Iterator<Item = u32> {
        std::iter::empty()
    }

    /// Whether a frame that `lba` could take is pending.
    fn is_coming(&self, lba: Lba, frames: &Frames) -> bool;

    /// How many blocks from the front of `run` find no frame if the first finds none.
    fn siblings(&self, run: Extent<Lba>) -> u32;

    /// Whether `lba` may lie in `frame` at all.
    fn may_hold(&self, _frame: u32, _lba: Lba) -> bool {
        true
    }

    /// A frame without a block now holds `lba`, which is clean.
    fn hold(&mut self, frame: u32, lba: Lba);

    /// `lba` in `frame` has become dirty.
    fn dirtied(&mut self, _frame: u32, _lba: Lba) {}

    /// The host has read `lba` in `frame`.
    fn read(&mut self, _frame: u32, _lba: Lba) {}

    /// The host has written `lba`, which was in `frame`, again.
    fn updated(&mut self, _frame: u32, _lba: Lba) {}

    /// The host has written `blocks` blocks into frames.
    fn written(&mut self, _blocks: u32) {}

    /// The host reads blocks from home that find no frame.
    fn read_past(&mut self, _at: Extent<Lba>) {}

    /// Whether a write goes past the cache that finds no frame, since nothing is left that could make room for it.
    fn is_passed(&self, _frames: &Frames) -> bool {
        false
    }

    /// The host writes blocks home that find no frame.
    fn written_past(&mut self, _at: Extent<Lba>) {}

    /// `frame`, in which `lba` was, dirty or not, holds no block any more.
    fn gone(&mut self, frame: u32, lba: Lba, was_dirty: bool);

    /// `frame`, which holds no block, may be taken.
    fn freed(&mut self, frame: u32);

    /// After a crash: the frames are as they are, and nothing else is known.
    fn recovered(&mut self, frames: &Frames);

    /// Verifies the invariants, while some blocks are on their way out.
    fn check(&self, frames: &Frames, leaving: &[(Lba, u32)]) -> Result<(), Violation>;

    /// Lets dirty blocks leave so that the first block of a write of `at`, which finds no frame, will.
    fn make_room(cache: &mut FlashCache<Self>, at: Extent<Lba>);

    /// These dirty blocks are to leave whose turn it may not be: cleaning was asked for.
    fn all_leave(&mut self, _leaving: &[(Lba, u32)]) {}

    /// Evicts blocks, in one step at most, so that writes find `room` frames before one of them waits, where that can
    /// be said of all of them alike.
    fn make_room_ahead(_cache: &mut FlashCache<Self>, _room: u64) {}

    /// Frames that the next writes find, or are about to, where that can be said.
    fn room(&self, _frames: &Frames) -> Option<u32> {
        None
    }

    /// Whether blocks that the host reads from home, none of which is cached, take frames.
    fn is_admitted(&mut self, _run: Extent<Lba>) -> bool {
        true
    }

    /// Whether the host writes these blocks home, none of which is cached.
    fn goes_past(&self, _run: Extent<Lba>) -> bool {
        false
    }

    /// The host writes these blocks, or the rest of those that it was writing.
    fn before_write(_cache: &mut FlashCache<Self>, _at: Extent<Lba>) {}

    /// The most of the blocks in `frames` frames that are chosen to leave together.
    fn most_together(frames: u32) -> u32 {
        frames
    }

    /// The most blocks that leave in a step.
    fn most_leaving(&self) -> u32 {
        u32::MAX
    }

    /// Whether a write goes on that finds a frame while others are still leaving.
    fn goes_on(&self) -> bool {
        false
    }

    /// How long the disk has to be idle before blocks leave without need.
    fn idle_after_ns(&self, _frames: &Frames) -> u64 {
        0
    }

    /// Lets blocks leave in idle time.
    fn make_room_idly(_cache: &mut FlashCache<Self>) {}

    /// Plans what is due after a read that was not all in the cache.
    fn after_read(_cache: &mut FlashCache<Self>, _plan: &mut Plan) {}
}
