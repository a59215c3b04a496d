//! A store: one drive, real or emulated, as the live runner uses it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layer::UnitReport;
use imbrex::media::{Illegal, Media};
use imbrex::perform::{IoKind, IoResult};
use imbrex::plan::Unit;
use imbrex::recording::Recording;

/// A drive. Its device number is [`Pba::DISK`]. Operations may be called from any number of threads; the runner keeps
/// those in order that need it.
pub trait Store: Send + Sync {
    /// Bytes of a block.
    fn block_bytes(&self) -> u32;

    /// What it records like: which layers it is for.
    fn recording(&self) -> Recording;

    /// The rules of its recording, in its present state.
    fn media(&self) -> Box<dyn Media>;

    /// The drive that it emulates, if it does.
    fn drive(&self) -> Option<&DrivePreset> {
        None
    }

    /// Whether what is written stays in the host's memory until a flush, so that a write takes no time of a drive.
    fn is_cached(&self) -> bool {
        false
    }

    /// Reads blocks.
    ///
    /// # Errors
    /// When the recording forbids it, or reading fails.
    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError>;

    /// Writes blocks; durable after a later flush only.
    ///
    /// # Errors
    /// When the recording forbids it, or writing fails.
    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError>;

    /// Empties a unit.
    ///
    /// # Errors
    /// When the recording forbids it, or it fails.
    fn reset(&self, unit: Unit) -> Result<(), StoreError>;

    /// Makes everything durable that was done before.
    ///
    /// # Errors
    /// When that fails; what was done since the last flush may then be lost.
    fn flush(&self) -> Result<(), StoreError>;

    /// The state of every unit.
    ///
    /// # Errors
    /// When the drive does not say.
    fn report(&self) -> Result<UnitReport, StoreError>;

    /// Keeps room for some blocks, so that a full host does not keep them from being written.
    ///
    /// # Errors
    /// When there is none.
    fn reserve(&self, _at: Extent<Pba>) -> Result<(), StoreError> {
        Ok(())
    }

    /// The blocks of `at` that will never be written again before their unit is emptied, as far as they have been
    /// written, for [`Store::forget`].
    fn written(&self, _at: Extent<Pba>) -> Vec<Written> {
        Vec::new()
    }

    /// Gives back the room of blocks that are not needed any more. Blocks whose unit has been emptied since are left
    /// alone.
    fn forget(&self, _blocks: &[Written]) {}

    /// How many bytes the host has left for this store, where that limits it.
    fn available(&self) -> Option<u64> {
        None
    }

    /// What this store says about itself that is damaged or old in one of its copies.
    fn stale(&self) -> Vec<String> {
        Vec::new()
    }

    /// Writes every copy of that anew.
    ///
    /// # Errors
    /// When that fails.
    fn mend(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Puts on record that nothing will be written for a while.
    ///
    /// # Errors
    /// When that fails.
    fn rest(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The checksums of what it holds, if it keeps any.
    fn summed(&self) -> Option<&dyn Summed> {
        None
    }

    /// Carries an operation of the runner out.
    ///
    /// # Errors
    /// When it cannot be carried out.
    fn perform(&self, kind: &IoKind) -> Result<IoResult, StoreError> {
        match kind {
            IoKind::Read(at) => self.read(*at).map(IoResult::Data),
            IoKind::Write(at, content) => self.write(*at, content).map(|()| IoResult::Done),
            IoKind::Reset(unit) => self.reset(*unit).map(|()| IoResult::Done),
            IoKind::Flush => self.flush().map(|()| IoResult::Done),
            IoKind::Report => self.report().map(IoResult::Report),
        }
    }
}

/// Blocks of a unit that have been written once since it was emptied.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The blocks.
    pub at: Extent<Pba>,
    /// How often their unit had been emptied.
    pub emptied: u64,
}

/// Checksums of what a store holds.
pub trait Summed {
    /// Reads blocks while others may be written: how many of them have a checksum, and those that do not match it or
    /// cannot be read.
    fn verify(&self, at: Extent<Pba>) -> (u64, Vec<Pba>);

    /// Whether a block may have been written when the store was last in use, and is not checked before something is.
    fn is_unsettled(&self, block: Pba) -> bool;

    /// What has come of them since the store was opened.
    fn counts(&self) -> SumCounts;

    /// How many blocks should be verified at a time.
    fn step(&self) -> u32;
}

/// What has come of checksums since a store was opened.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct SumCounts {
    /// Blocks that were read and have a checksum.
    pub verified: u64,
    /// How many of these did not match it.
    pub damaged: u64,
    /// Blocks that were being written when the store was last in use and do not match the checksum from before.
    pub resummed: u64,
    /// Regions that are marked as being written.
    pub regions_dirty: u64,
    /// Blocks that were being written then and are not checked before something is written.
    pub unsettled_blocks: u64,
    /// Sectors of checksums that are damaged: what they were of is not checked.
    pub sums_lost: u64,
}

/// Stores that are one volume, by device number from 1.
pub type Members = Vec<Arc<dyn Store>>;

/// Why an operation of a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The recording forbids it: a unit is worn out, or Imbrex has a bug.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// The operating system or the drive reported an error.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// The error.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether the host has no room for it.
    pub(crate) fn is_no_room(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// The error of an operation on blocks.
    pub(crate) fn of(doing: &str, at: Extent<Pba>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: format!("{doing} {at:?}"), source }
    }
}
