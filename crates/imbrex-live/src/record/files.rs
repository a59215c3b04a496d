//! The files of a recording. One that is being written has a name of its own, and gets that of a complete one when it is
//! complete and durable.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbrex::trace::TraceRequest;
use imbrex::trace::parquet::RecordingNames;
use imbrex::trace::write::{RecordingFile, RecordingOrigin, WriteError};

/// Bytes that a request takes in a file at most: what decides when one is full that is still in memory.
const ROW_BYTES: u64 = 28;

/// A file that counts what is written to it.
struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let written = self.file.write(content)?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is being written. Dropped before it is complete, it is taken away.
pub(super) struct Part {
    writer: Option<RecordingFile<Counted>>,
    /// The same file, to be made durable.
    file: File,
    bytes: Arc<AtomicU64>,
    path: PathBuf,
    complete: PathBuf,
    pub rows: u64,
}

impl Part {
    /// Begins file `number`, which is not there.
    pub fn begin(names: &RecordingNames, number: u32, origin: &RecordingOrigin) -> Result<Self, WriteError> {
        let (path, complete) = (names.part(number), names.complete(number));
        if complete.exists() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let bytes = Arc::new(AtomicU64::new(0));
        let mut origin = origin.clone();
        origin.notes.push(("file".to_owned(), number.to_string()));
        let mut part =
            Self { writer: None, file: file.try_clone()?, bytes: Arc::clone(&bytes), path, complete, rows: 0 };
        part.writer = Some(RecordingFile::begin(&origin, Counted { file, bytes })?);
        Ok(part)
    }

    pub fn write(&mut self, rows: &[TraceRequest]) -> Result<(), WriteError> {
        if let Some(writer) = &mut self.writer {
            writer.write(rows)?;
            self.rows += rows.len() as u64;
        }
        Ok(())
    }

    /// Bytes of the file when it is completed now, at most.
    pub fn bytes(&self) -> u64 {
        let pending = self.writer.as_ref().map_or(0, |writer| writer.pending() as u64);
        self.bytes.load(Ordering::Relaxed) + pending * ROW_BYTES
    }

    /// Bytes that are free where it lies.
    pub fn free(&self) -> Option<u64> {
        let host = rustix::fs::fstatvfs(&self.file).ok()?;
        Some(host.f_bavail.saturating_mul(host.f_frsize))
    }

    /// Completes the file and makes it durable; says how it is called and how long it is.
    pub fn complete(mut self, notes: &[(&str, String)]) -> Result<(PathBuf, u64), WriteError> {
        if let Some(writer) = self.writer.take() {
            writer.finish(notes)?;
        }
        self.file.sync_all()?;
        fs::rename(&self.path, &self.complete)?;
        if let Some(folder) = self.complete.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok((self.complete.clone(), self.bytes.load(Ordering::Relaxed)))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Not there where it was completed.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use imbrex::block::Access;
    use imbrex::random::Random;

    use super::*;

    #[test]
    fn a_file_is_no_longer_than_foreseen() {
        let folder = tempfile::tempdir().unwrap();
        let names = RecordingNames::of(&folder.path().join("load.parquet")).unwrap();
        let mut part = Part::begin(&names, 1, &RecordingOrigin::default()).unwrap();
        // Nothing is like what was before, so that no encoding makes it short.
        let mut random = Random::new(5);
        let row = |i: u64| TraceRequest {
            arrival_ns: (i << 47) + random.below(1 << 47),
            offset_bytes: random.below(1 << 63),
            bytes: 1 + random.below(u32::MAX.into()) as u32,
            access: if random.below(2) == 0 { Access::Write } else { Access::Trim },
        };
        part.write(&(0..20_000).map(row).collect::<Vec<_>>()).unwrap();
        let most = part.bytes();
        let bytes = part.complete(&[]).unwrap().1;
        assert!(bytes <= most, "{bytes} bytes, foreseen were {most}");
        assert!(bytes > most / 2, "{bytes} bytes, foreseen were {most}");
    }
}
