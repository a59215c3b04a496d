//! What goes in and out of the live engine: device operations and their results, requests and their replies.

use bytes::Bytes;

use super::fatal::Fatal;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::UnitReport;
use imbrex_core::plan::Unit;

/// A device operation to carry out at the device boundary. Operations that are out together may be carried out in any
/// order.
#[derive(Clone, Debug)]
pub struct Io {
    /// The number to complete it with.
    pub id: u64,
    /// What to do.
    pub kind: IoKind,
    /// The request that it is for, if it is for one alone; of writes for several, which are behind each other on the
    /// drive, the first.
    pub request: Option<u64>,
}

/// A device operation that has not been fetched.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// As [`Io::request`].
    pub request: Option<u64>,
    /// Whether it reads.
    pub is_read: bool,
}

/// What a device operation does.
#[derive(Clone, Debug)]
pub enum IoKind {
    /// Read blocks.
    Read(Extent<Pba>),
    /// Write blocks.
    Write(Extent<Pba>, Bytes),
    /// Empty a unit.
    Reset(Unit),
    /// Make every operation that has completed durable.
    Flush,
    /// Report the state of every unit.
    Report,
}

/// The result of a device operation.
#[derive(Clone, Debug)]
pub enum IoResult {
    /// Done.
    Done,
    /// The content read.
    Data(Bytes),
    /// The state of every unit.
    Report(UnitReport),
    /// It failed; the target of a write is in an unknown state.
    Failed,
}

/// A request of a client.
#[derive(Clone, Debug)]
pub enum Request {
    /// Read blocks.
    Read(Extent<Lba>),
    /// Write blocks; the content is that many blocks long.
    Write(Extent<Lba>, Bytes),
    /// Write blocks, as one of several requests that came together. Their contents are in the same memory, in order, so
    /// that they are not copied to be written behind each other. One whose content is not all there is out of range.
    Batched {
        /// The blocks.
        at: Extent<Lba>,
        /// The contents of all of them.
        contents: Bytes,
        /// Where in these its own begins.
        from: usize,
    },
    /// Write blocks for a smaller request of a client: the caller has read the rest of the first and the last block.
    Merged {
        /// The blocks.
        at: Extent<Lba>,
        /// All of their content.
        content: Bytes,
        /// Bytes of the first block before what was given.
        skipped_bytes: u64,
        /// How many bytes of it are the client's.
        given_bytes: u64,
    },
    /// Forget blocks.
    Trim(Extent<Lba>),
    /// Write zeros: with a layer of which trimmed blocks read so they are trimmed, and others write them. Promised, and
    /// counted where it is lost, as a write.
    Zero(Extent<Lba>),
    /// Make every write that has been replied to durable.
    Flush,
    /// Flush for the sake of writes that were submitted in an epoch of the layer (FUA), which were lost if that has
    /// ended. [`super::Counts::rebuilds`] is the number of an epoch. What else was lost is left for a flush to report.
    Fua {
        /// The epoch.
        epoch: u64,
    },
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The request's number.
    pub id: u64,
    /// The content for a read, nothing otherwise, or what went wrong.
    pub result: Result<Bytes, Failure>,
}

/// Why a request failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The request names blocks beyond the device, or none.
    #[error("the request lies beyond the device")]
    OutOfRange,
    /// A device operation failed, or the content is known to be lost.
    #[error("input/output error")]
    Io,
    /// No cleaning makes room.
    #[error("no space left on device")]
    Full,
    /// The store cannot be used.
    #[error("the store cannot be used: {0}")]
    Dead(Fatal),
    /// The server ends.
    #[error("the store cannot be used: it is being stopped")]
    Stopped,
}
