//! Why a store cannot be used.

use super::room::JournalTooShort;
use imbrex_core::layer::{Corrupt, TooManyLost, Unsafe};

/// Why a store cannot be used, or no longer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fatal {
    /// The layer, as it is configured, loses with the power what was flushed.
    #[error(transparent)]
    LosesFlushed(#[from] Unsafe),
    /// The journal has no room for what the layer may write to it.
    #[error(transparent)]
    JournalTooShort(#[from] JournalTooShort),
    /// The journal has no room left.
    #[error("the journal is full; format the store with a larger one")]
    JournalFull,
    /// The store was never formatted.
    #[error("no journal is here; format the store first")]
    NoJournal,
    /// Formatting it did not get so far.
    #[error("the journal was never begun; format the store again")]
    JournalNeverBegun,
    /// What was durable in the journal is damaged, or contradicts itself.
    #[error("{0}")]
    JournalDamaged(String),
    /// A block of the journal cannot be read, and may have held something durable.
    #[error("block {0} of the journal cannot be read in any copy")]
    JournalUnreadable(u64),
    /// What the drives report contradicts the journal.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A drive goes on failing what recovery needs.
    #[error("recovery ended: the drive failed {what}, {times} times; mend it and serve it again")]
    DriveFails {
        /// What it failed to do.
        what: &'static str,
        /// How often.
        times: u32,
    },
    /// A page of the map is damaged where it lies, or cannot be read.
    #[error(
        "page {page} of the map is damaged: blocks {block} and {} do not hold what was written there; what it mapped is lost, so format the volume again and restore it from a copy",
        block + 1
    )]
    PageDamaged {
        /// The page's number.
        page: u64,
        /// The first of its two blocks on the drive.
        block: u64,
    },
    /// More blocks are lost than the journal has room to record.
    #[error(transparent)]
    TooManyLost(#[from] TooManyLost),
    /// The first commit of several epochs in a row failed.
    #[error("the first commit of {times} epochs in a row failed: the journal cannot be written")]
    FirstCommitFails {
        /// How many.
        times: u32,
    },
    /// The layer did what no layer may do: it has a bug.
    #[error("{0}")]
    Breach(String),
}
