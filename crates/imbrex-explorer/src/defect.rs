//! What a run can find, in kinds that a caller can tell apart.

use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_engine::{Failure, Fatal};

use super::devices::DevicesError;

/// Something that a run found and that must not be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Defect {
    /// Devices cannot be made, formatted or opened: their own words.
    #[error("{0}")]
    Devices(String),
    /// The engine asked for an operation that the recording forbids: what forbids it.
    #[error("illegal operation: {0}")]
    Illegal(String),
    /// The engine gave the store up.
    #[error("the store was given up: {0}")]
    GivenUp(Fatal),
    /// The engine goes on for ever, or does not go on: in which way.
    #[error("{0}")]
    Stuck(Stuck),
    /// An invariant of the layer does not hold.
    #[error(transparent)]
    Invariant(#[from] Violation),
    /// A request was answered that had been answered before.
    #[error("request {id} was answered twice")]
    AnsweredTwice {
        /// Its number.
        id: u64,
    },
    /// A request failed in a way that is never right.
    #[error("a request failed: {0}")]
    Request(Failure),
    /// A write was refused for want of room on a disk that is not worn out.
    #[error("the device is full")]
    Full,
    /// A read failed, and nothing had failed below.
    #[error("a read failed on a disk without faults: {0}")]
    Read(Failure),
    /// A flush succeeded that had to report a loss.
    #[error("a flush succeeded after the layer's epoch had ended")]
    FlushSucceeded,
    /// A flush failed, and nothing had failed before it.
    #[error("a flush failed without a failure before it: {0}")]
    FlushFailed(Failure),
    /// A block reads as an error, and no place has failed.
    #[error("{0:?} cannot be read, yet no place failed")]
    Unreadable(Lba),
    /// A sector holds something else than what was written, or no longer what it held.
    #[error("{lba:?} sector {sector} holds {holds}")]
    Content {
        /// The block.
        lba: Lba,
        /// Its sector.
        sector: usize,
        /// What it holds, and what would be right.
        holds: String,
    },
}

impl From<DevicesError> for Defect {
    fn from(why: DevicesError) -> Self {
        Self::Devices(why.to_string())
    }
}

/// How an engine does not come to an end.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stuck {
    /// Requests wait for operations that the engine does not ask for.
    #[error("requests wait and no device operation is under way")]
    Requests,
    /// Recovery asks for nothing more and does not serve.
    #[error("recovery stands still")]
    Recovery,
    /// Cleaning that was asked for goes on without an end.
    #[error("cleaning that was asked for has no end")]
    Cleaning,
    /// A read that nothing else goes on beside has no answer.
    #[error("a read of {0:?} is never answered")]
    Read(Lba),
}
