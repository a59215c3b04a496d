//! What can end a replay.

use std::fmt;

use imbrex_core::block::{Extent, Lba};
use imbrex_core::drive::DriveError;
use imbrex_core::layer::{Corrupt, Violation};
use imbrex_core::media::{Illegal, Tag};
use imbrex_core::plan::Op;
use imbrex_engine::JournalTooShort;
use imbrex_layers::ConfigError;
use imbrex_trace::TraceError;

/// Why a replay cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The workload cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The drive cannot be made.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The layer cannot be made.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The journal is too short for what the layer may write to it.
    #[error(transparent)]
    Journal(#[from] JournalTooShort),
    /// An option has no sensible meaning.
    #[error("{option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A request lies beyond what the layer offers.
    #[error(
        "request {request} ({bytes} bytes at offset {offset_bytes}) ends beyond the layer's capacity of \
         {capacity_bytes} bytes; choose a larger drive, or wrap such requests around"
    )]
    Beyond {
        /// Its number in the trace, from 1.
        request: u64,
        /// Its first byte.
        offset_bytes: u64,
        /// Its length.
        bytes: u32,
        /// What the layer offers.
        capacity_bytes: u64,
    },
    /// The layer, or the drive under it, came to an end.
    #[error("layer {layer}, {moment}: {fault}")]
    Layer {
        /// The layer.
        layer: String,
        /// When.
        moment: Moment,
        /// What happened.
        fault: Box<Fault>,
    },
    /// The observer asked to stop.
    #[error("stopped after {requests} requests")]
    Stopped {
        /// Requests served until then.
        requests: u64,
    },
}

/// When in a replay something happened.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Before the first write.
    Start,
    /// While the disk was filled.
    Prefill,
    /// At this request of the trace, counted from 1, or in the idle time before it.
    Request(u64),
    /// While the layer grew, after the last request.
    Growth,
    /// In idle time after the last request.
    Rest,
    /// While what lay in RAM was written at the end.
    Flush,
    /// While everything was read back at the end.
    ReadBack,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("at the start"),
            Self::Prefill => f.write_str("while the disk was filled"),
            Self::Request(number) => write!(f, "request {number}"),
            Self::Growth => f.write_str("while it grew"),
            Self::Rest => f.write_str("in the idle time at the end"),
            Self::Flush => f.write_str("writing what lay in RAM at the end"),
            Self::ReadBack => f.write_str("reading everything back"),
        }
    }
}

/// What a layer did that it must not do, or what the drive cannot do for it. Boxed wherever it is returned: there is one
/// per replay at most, and all that goes well comes back in a register.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// The media refuses.
    #[error("{0}")]
    Illegal(#[from] Illegal),
    /// An invariant does not hold.
    #[error("{0}")]
    Violation(#[from] Violation),
    /// The layer cannot grow as it was asked to.
    #[error("{0}")]
    CannotGrow(String),
    /// The layer does not accept the drive's report.
    #[error("{0}")]
    Corrupt(#[from] Corrupt),
    /// A block does not hold what was last written to it.
    #[error("{lba:?} must read as {expected:?} and reads as {found:?}")]
    Mismatch {
        /// The block.
        lba: Lba,
        /// What it must hold.
        expected: Tag,
        /// What the plan delivers.
        found: Tag,
    },
    /// What is known of the content of blocks takes more memory than it may.
    #[error("verifying takes more than 4 GiB of memory; replay fewer requests, or on a smaller drive")]
    TooMuchToVerify,
    /// A read's plan names lost content, and nothing was ever lost.
    #[error("{lba:?} is planned as lost")]
    Lost {
        /// The block.
        lba: Lba,
    },
    /// A read's plan does not deliver each of its blocks once.
    #[error("block {block} of the read of {at:?} is delivered never or twice")]
    Undelivered {
        /// The blocks read.
        at: Extent<Lba>,
        /// The first at fault, counted from the front.
        block: u32,
    },
    /// A move names blocks of the request that it does not have.
    #[error("blocks {first} to {first} + {blocks} of the request for {at:?} are moved")]
    Outside {
        /// The blocks of the request.
        at: Extent<Lba>,
        /// The first one named, counted from the front.
        first: u32,
        /// How many are named.
        blocks: u32,
    },
    /// An operation that means nothing where it stands.
    #[error("the operation {op:?} has no meaning here")]
    Meaningless {
        /// The operation.
        op: Op,
    },
    /// The layer took more or fewer blocks than it may.
    #[error("of {at:?} the layer says it took {took} blocks")]
    Took {
        /// The blocks offered.
        at: Extent<Lba>,
        /// The blocks it says it took.
        took: u32,
    },
    /// There is no room and nothing to clean.
    #[error("the device is full: there is no room for {at:?} and nothing left to clean")]
    Full {
        /// The blocks to be written.
        at: Extent<Lba>,
    },
    /// The layer waits for space to come back, and none is on its way.
    #[error("the layer waits for freed space, but has freed none")]
    Stuck,
    /// The layer of a device below came to an end.
    #[error("below, layer {layer}: {fault}")]
    Below {
        /// The layer.
        layer: String,
        /// What happened there.
        fault: Box<Fault>,
    },
    /// Cleaning goes on without end.
    #[error("{steps} cleaning steps made no progress")]
    Endless {
        /// Steps taken.
        steps: u32,
    },
}

/// What others refuse becomes a fault in a box.
macro_rules! boxed {
    ($($cause:ty),*) => {
        $(impl From<$cause> for Box<Fault> {
            fn from(cause: $cause) -> Self {
                Self::new(cause.into())
            }
        })*
    };
}

boxed!(Illegal, Violation, Corrupt);
