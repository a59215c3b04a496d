//! A trace file that tells how much of it has been read.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::trace::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource};

/// A source over a file of known length.
pub(super) struct Measured {
    source: Box<dyn TraceSource>,
    read: Arc<AtomicU64>,
    bytes: u64,
}

/// A file whose bytes are counted as they are read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Measured {
    /// Reads a trace from `file`, which is `bytes` long.
    pub(super) fn open(name: &str, file: File, bytes: u64) -> Result<Box<dyn TraceSource>, TraceError> {
        let read = Arc::new(AtomicU64::new(0));
        let source = super::read(name, Counted { file, read: Arc::clone(&read) })?;
        Ok(Box::new(Self { source, read, bytes }))
    }
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl TraceSource for Measured {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        self.source.fill(batch, limit)
    }

    fn irregularities(&self) -> Irregularities {
        self.source.irregularities()
    }

    fn share_done(&self) -> Option<f64> {
        // A file that grows while it is read has no end to speak of.
        Some((self.read.load(Ordering::Relaxed) as f64 / self.bytes as f64).min(1.0))
    }
}
