//! A store: one drive, real or emulated, as the live runner uses it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
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

    /// Carries an operation of the runner out.
    ///
    /// # Errors
    /// Those of the operation; to the runner it has then failed.
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
    /// The error of an operation on blocks.
    pub(crate) fn of(doing: &str, at: Extent<Pba>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing: format!("{doing} {at:?}"), source }
    }
}
