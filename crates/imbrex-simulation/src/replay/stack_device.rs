//! What the device of a stack is asked: a simulation answers, of which a device must not know more.

use super::error::Fault;
use super::metrics::Totals;
use super::outcome::Below;
use imbrex_core::block::{Extent, Lba, Request};

/// A device of a stack, a layer on a drive of its own.
pub(super) trait StackDevice: Send {
    /// Blocks that it offers.
    fn capacity(&self) -> u64;

    /// Bytes of a block.
    fn block_bytes(&self) -> u32;

    /// Prefetches for requests that will probably come.
    fn prefetch(&mut self, ahead: &[Request]);

    /// Serves a request of the layer above that comes at `now_ns`; when it is complete.
    fn serve_above(&mut self, request: Request, now_ns: u64) -> Result<u64, Box<Fault>>;

    /// The layer above writes `at` from `from_ns` on, which may be later than what it asks next. Nobody waits for that.
    fn write_later(&mut self, at: Extent<Lba>, from_ns: u64);

    /// Serves such writes that are there by `now_ns`.
    fn catch_up(&mut self, now_ns: u64) -> Result<(), Box<Fault>>;

    /// Writes what its layer, and those below, have in RAM to the media, from `now_ns` on; when that is done.
    fn flush_above(&mut self, now_ns: u64) -> Result<u64, Box<Fault>>;

    /// Lets its layer, and those below, have idle time until nothing is left to clean; when that is done.
    fn rest(&mut self) -> Result<u64, Box<Fault>>;

    /// How long its drive has been busy since that was last forgotten.
    fn busy_ns(&self) -> u64;

    /// Whether accesses from now on cost nothing.
    fn set_free_of_charge(&mut self, free: bool);

    /// Counts from `now_ns` on.
    fn measure_from(&mut self, now_ns: u64);

    /// Everything counted so far.
    fn totals(&self) -> Totals;

    /// What was measured.
    fn measured(&self) -> Below;

    /// When verifying, reads everything back.
    fn read_back(&mut self) -> Result<(), Box<Fault>>;
}
