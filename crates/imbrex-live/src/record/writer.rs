//! The thread that writes a recording.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use imbrex::trace::TraceRequest;
use imbrex::trace::parquet::RecordingNames;
use imbrex::trace::write::{RecordingOrigin, WriteError};

use super::files::Part;
use super::status::{RecordingState, RecordingStatus};
use super::tape::{Taken, Tape};

/// A file is completed after so long, so that a crash loses no more.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Requests that are written between two looks at the file's length.
const AT_A_TIME: usize = 1024;

/// Why a recording ends before it is told to.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("{}: {cause}", .path.display())]
    Write { path: PathBuf, cause: WriteError },
    #[error("{} has {free} bytes left, and {least} are kept free", .folder.display())]
    Full { folder: PathBuf, free: u64, least: u64 },
    #[error("the thread that writes it failed")]
    Panicked,
}

/// What the thread has.
pub(super) struct Writer {
    pub tape: Arc<Tape>,
    pub status: Arc<Mutex<RecordingStatus>>,
    pub names: RecordingNames,
    pub origin: RecordingOrigin,
    /// The file that is being written, and since when.
    pub part: Option<(Part, Instant)>,
    /// The number of the file that comes next.
    pub next: u32,
    /// Bytes of a file.
    pub file_bytes: u64,
    /// Bytes that are left to others where the files lie.
    pub least_free: u64,
    /// Requests that are missing in the file that is being written, and flushes beside it.
    pub lost: u64,
    pub flushes: u64,
}

impl Writer {
    /// Writes until nothing comes any more, or nothing can be written.
    pub fn run(mut self) {
        let ran = crate::panics::contained(|| self.write_all());
        let stopped = ran.unwrap_or(Err(Stopped::Panicked));
        self.tape.close();
        let mut status = self.status();
        if let Err(why) = stopped {
            // They were in no file that is complete.
            let begun = self.part.as_ref().map_or(0, |(part, _)| part.rows);
            status.requests -= begun;
            status.lost += begun;
            status.state = RecordingState::Failed;
            status.error = Some(why.to_string());
            tracing::error!(%why, lost = status.lost, "the recording has ended; the volume is served on");
        } else {
            status.state = RecordingState::Ended;
        }
        drop(status);
        // What cannot be read takes no room.
        self.part = None;
    }

    fn write_all(&mut self) -> Result<(), Stopped> {
        let mut empty = Vec::new();
        loop {
            let Taken { rows, lost, flushes, ended } = self.tape.take(std::mem::take(&mut empty));
            self.flushes += flushes;
            for (done, some) in rows.chunks(AT_A_TIME).enumerate() {
                let before = done * AT_A_TIME;
                let written = self.write(some).map_err(|why| (before, why));
                let written = written.and_then(|()| self.complete_if_full().map_err(|why| (before + some.len(), why)));
                if let Err((kept, why)) = written {
                    self.status().lost += (rows.len() - kept) as u64 + lost;
                    return Err(why);
                }
            }
            if lost > 0 {
                self.lost += lost;
                self.status().lost += lost;
                tracing::warn!(lost, "the recording cannot follow: requests are missing in it");
            }
            if ended || self.part.as_ref().is_some_and(|(part, since)| part.rows > 0 && since.elapsed() > LONGEST) {
                self.complete()?;
            }
            if ended {
                return Ok(());
            }
            empty = rows;
        }
    }

    /// Writes some requests.
    fn write(&mut self, rows: &[TraceRequest]) -> Result<(), Stopped> {
        let (mut part, since) = match self.part.take() {
            Some(begun) => begun,
            None => self.begin()?,
        };
        let since = if part.rows == 0 { Instant::now() } else { since };
        let least = self.least_free;
        if let Some(free) = part.free().filter(|free| *free < least) {
            self.part = Some((part, since));
            // While there is still room for what it holds.
            self.complete()?;
            return Err(Stopped::Full { folder: self.names.folder().to_owned(), free, least });
        }
        let written = part.write(rows).map_err(|cause| self.failed(self.next, cause));
        self.part = Some((part, since));
        written?;
        self.status().requests += rows.len() as u64;
        Ok(())
    }

    fn complete_if_full(&mut self) -> Result<(), Stopped> {
        let is_full = self.part.as_ref().is_some_and(|(part, _)| part.bytes() >= self.file_bytes);
        if is_full { self.complete() } else { Ok(()) }
    }

    fn begin(&self) -> Result<(Part, Instant), Stopped> {
        let part = Part::begin(&self.names, self.next, &self.origin);
        Ok((part.map_err(|cause| self.failed(self.next, cause))?, Instant::now()))
    }

    /// Completes the file, unless no request is in it.
    fn complete(&mut self) -> Result<(), Stopped> {
        let Some((part, since)) = self.part.take() else { return Ok(()) };
        let rows = part.rows;
        if rows == 0 {
            return Ok(());
        }
        let notes = [("lost", self.lost.to_string()), ("flushes", self.flushes.to_string())];
        match part.complete(&notes) {
            Ok((file, bytes)) => {
                tracing::info!(file = %file.display(), requests = rows, lost = self.lost, ?since, "recorded");
                let mut status = self.status();
                status.files += 1;
                status.bytes += bytes;
                status.last_file = Some(file);
            }
            Err(cause) => {
                let mut status = self.status();
                status.requests -= rows;
                status.lost += rows;
                drop(status);
                return Err(self.failed(self.next, cause));
            }
        }
        (self.lost, self.flushes) = (0, 0);
        self.next += 1;
        Ok(())
    }

    fn failed(&self, number: u32, cause: WriteError) -> Stopped {
        Stopped::Write { path: self.names.complete(number), cause }
    }

    fn status(&self) -> MutexGuard<'_, RecordingStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
