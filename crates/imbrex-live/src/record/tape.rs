//! What connects the engine with the thread that writes: rows in memory, of which there are never more than so many.
//!
//! Who has the engine's lock puts a row here and goes on, however long the recording's disk takes. The thread is not
//! woken for each row, which would cost more than the row: it looks from time to time, and is woken where half of the
//! room is taken.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use imbrex::block::{Access, Extent, Lba};
use imbrex::perform::Request;
use imbrex::trace::TraceRequest;

/// Rows that wait to be written at most: 6 MiB of them. As many again are with the thread that writes.
pub(super) const MOST_ROWS: usize = 1 << 18;

/// How often the thread looks.
const OFTEN: Duration = Duration::from_millis(200);

/// Requests on their way to a recording.
pub(crate) struct Tape {
    begun: Instant,
    block_bytes: u32,
    most_rows: usize,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// What waits to be written.
#[derive(Default)]
struct Waiting {
    rows: Vec<TraceRequest>,
    /// Requests since the last look for which there was no room.
    lost: u64,
    flushes: u64,
    ended: bool,
    /// Nothing is written any more.
    closed: bool,
}

/// What has come since the last look.
#[derive(Default)]
pub(crate) struct Taken {
    pub rows: Vec<TraceRequest>,
    /// Requests that are missing behind these.
    pub lost: u64,
    pub flushes: u64,
    /// Whether nothing comes any more.
    pub ended: bool,
}

impl Tape {
    pub fn new(begun: Instant, block_bytes: u32, most_rows: usize) -> Self {
        Self { begun, block_bytes, most_rows, waiting: Mutex::default(), changed: Condvar::new() }
    }

    /// Takes note of a request as the layer gets it. Those who call take turns, so that rows are in the layer's order.
    pub fn note(&self, request: &Request, at: Instant) {
        let row = match request {
            Request::Read(blocks) => self.row(Access::Read, *blocks, at),
            Request::Write(blocks, _) | Request::Batched { at: blocks, .. } => self.row(Access::Write, *blocks, at),
            Request::Merged { at: blocks, skipped_bytes, given_bytes, .. } => {
                // The layer knows how much was given.
                self.row(Access::Write, *blocks, at).and_then(|row| {
                    let (offset_bytes, bytes) = (row.offset_bytes + skipped_bytes, u32::try_from(*given_bytes).ok()?);
                    Some(TraceRequest { offset_bytes, bytes, ..row })
                })
            }
            Request::Trim(blocks) | Request::Zero(blocks) => self.row(Access::Trim, *blocks, at),
            Request::Flush | Request::Fua { .. } => {
                self.waiting().flushes += 1;
                return;
            }
        };
        let mut waiting = self.waiting();
        match row {
            Some(row) if !waiting.closed && waiting.rows.len() < self.most_rows => waiting.rows.push(row),
            _ => waiting.lost += 1,
        }
        if waiting.rows.len() == self.most_rows / 2 {
            self.changed.notify_one();
        }
    }

    /// The row of a request; none of one that no trace holds.
    fn row(&self, access: Access, blocks: Extent<Lba>, at: Instant) -> Option<TraceRequest> {
        let block_bytes = u64::from(self.block_bytes);
        let arrival_ns = u64::try_from(at.saturating_duration_since(self.begun).as_nanos()).ok()?;
        let offset_bytes = blocks.start.0.checked_mul(block_bytes)?;
        let bytes = u32::try_from(u64::from(blocks.blocks) * block_bytes).ok().filter(|bytes| *bytes > 0)?;
        Some(TraceRequest { arrival_ns, offset_bytes, bytes, access })
    }

    /// Waits a little for rows, and takes those that are there. `empty` comes in their place.
    pub fn take(&self, mut empty: Vec<TraceRequest>) -> Taken {
        empty.clear();
        let mut waiting = self.waiting();
        if !waiting.ended && waiting.rows.len() < self.most_rows / 2 {
            let waited = self.changed.wait_timeout(waiting, OFTEN);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Taken {
            rows: std::mem::replace(&mut waiting.rows, empty),
            lost: std::mem::take(&mut waiting.lost),
            flushes: std::mem::take(&mut waiting.flushes),
            ended: waiting.ended,
        }
    }

    /// Nothing comes any more.
    pub fn end(&self) {
        self.waiting().ended = true;
        self.changed.notify_one();
    }

    /// Nothing is written any more: what comes is counted and not kept.
    pub fn close(&self) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        let rows = std::mem::take(&mut waiting.rows);
        waiting.lost += rows.len() as u64;
    }

    /// Requests that were lost since the last look.
    pub fn lost(&self) -> u64 {
        self.waiting().lost
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_nobody_waits() {
        let begun = Instant::now();
        let tape = Tape::new(begun, 4096, 4);
        let read = |block| Request::Read(Extent::new(Lba(block), 2));
        (0..6).for_each(|block| tape.note(&read(block), begun + Duration::from_nanos(block)));
        tape.note(&Request::Flush, begun);
        let taken = tape.take(Vec::new());
        let rows: Vec<_> = taken.rows.iter().map(|row| (row.arrival_ns, row.offset_bytes, row.bytes)).collect();
        assert_eq!(rows, [(0, 0, 8192), (1, 4096, 8192), (2, 8192, 8192), (3, 12_288, 8192)]);
        assert_eq!((taken.lost, taken.flushes, taken.ended), (2, 1, false));
        tape.note(&read(7), begun);
        tape.close();
        tape.note(&read(8), begun);
        assert_eq!(tape.lost(), 2);
        tape.end();
        assert!(tape.take(taken.rows).ended);
    }
}
