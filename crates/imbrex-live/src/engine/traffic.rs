//! What clients read and wrote, and what that came to on the drives.

use std::sync::atomic::{AtomicU64, Ordering};

use imbrex::perform::IoKind;

/// Bytes and operations, since the start.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Traffic {
    /// Bytes that clients read.
    pub host_read: u64,
    /// Bytes that clients wrote.
    pub host_written: u64,
    /// Bytes read from the drives.
    pub media_read: u64,
    /// Bytes written to the drives, journals included.
    pub media_written: u64,
    /// Units emptied.
    pub resets: u64,
    /// Flushes of drives.
    pub flushes: u64,
    /// Operations of drives that failed.
    pub failures: u64,
}

/// [`Traffic`] while it is counted.
#[derive(Default)]
pub(super) struct Counters {
    pub host_read: AtomicU64,
    pub host_written: AtomicU64,
    media_read: AtomicU64,
    media_written: AtomicU64,
    resets: AtomicU64,
    flushes: AtomicU64,
    pub failures: AtomicU64,
}

impl Counters {
    /// Counts an operation.
    pub fn count(&self, kind: &IoKind, block_bytes: u32) {
        let bytes = |blocks: u32| u64::from(blocks) * u64::from(block_bytes);
        let (counter, amount) = match kind {
            IoKind::Read(at) => (&self.media_read, bytes(at.blocks)),
            IoKind::Write(_, content) => (&self.media_written, content.len() as u64),
            IoKind::Reset(_) => (&self.resets, 1),
            IoKind::Flush => (&self.flushes, 1),
            IoKind::Report => return,
        };
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn now(&self) -> Traffic {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            host_read: of(&self.host_read),
            host_written: of(&self.host_written),
            media_read: of(&self.media_read),
            media_written: of(&self.media_written),
            resets: of(&self.resets),
            flushes: of(&self.flushes),
            failures: of(&self.failures),
        }
    }
}
