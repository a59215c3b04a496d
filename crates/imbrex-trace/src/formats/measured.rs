//! How much of a trace file has been read, so that a user who waits can be told how long.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource};

/// A reader that counts its bytes.
pub struct Counted<R> {
    reader: R,
    read: Arc<AtomicU64>,
}

/// A source whose file is counted.
pub struct Measured {
    source: Box<dyn TraceSource>,
    read: Arc<AtomicU64>,
    bytes: u64,
}

impl<R> Counted<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, read: Arc::default() }
    }

    /// What measures the source that is made of the file of `bytes` bytes.
    pub fn measure(&self, bytes: u64) -> impl FnOnce(Box<dyn TraceSource>) -> Box<dyn TraceSource> + use<R> {
        let read = Arc::clone(&self.read);
        move |source| Box::new(Measured { source, read, bytes })
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl TraceSource for Measured {
    fn info(&self) -> &TraceInfo {
        self.source.info()
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        self.source.fill(batch, limit)
    }

    fn volume(&self) -> Option<String> {
        self.source.volume()
    }

    fn irregularities(&self) -> Irregularities {
        self.source.irregularities()
    }

    fn remarks(&self) -> &[String] {
        self.source.remarks()
    }

    fn share_done(&self) -> Option<f64> {
        let read = self.read.load(Ordering::Relaxed) as f64;
        // A pipe has no length.
        (self.bytes > 0).then(|| (read / self.bytes as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::open;

    #[test]
    fn the_share_grows_to_all_of_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: String = (0..200_000).map(|i| format!("{i},h,0,Write,{},512,0\n", i * 512)).collect();
        std::fs::write(file.path(), lines).unwrap();
        let mut source = open(file.path()).unwrap();
        let (mut batch, mut shares) = (Vec::new(), Vec::new());
        loop {
            source.fill(&mut batch, 50_000).unwrap();
            shares.push(source.share_done().unwrap());
            if batch.is_empty() {
                break;
            }
        }
        assert!(shares.is_sorted() && shares[0] < 0.5 && shares[4] == 1.0, "{shares:?}");
    }
}
