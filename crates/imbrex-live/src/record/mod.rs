//! Recording what a layer is asked for while it is served, as a trace in Parquet.
//!
//! `tape` takes requests from the engine, in the order in which the layer gets them; a thread, the `writer`, lays them
//! down in `files`. The engine never waits for it: what finds no room in memory is counted and left out.

#[cfg(feature = "recording")]
mod files;
mod status;
pub(crate) mod tape;
#[cfg(feature = "recording")]
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "recording")]
use imbrex::trace::parquet::RecordingNames;
#[cfg(feature = "recording")]
use imbrex::trace::write::RecordingOrigin;

pub use status::{RecordingState, RecordingStatus};
use tape::Tape;

/// Bytes of a file if nothing else is said.
pub const FILE_BYTES: u64 = 1 << 30;

/// The fewest bytes of a file.
pub const LEAST_FILE_BYTES: u64 = 1 << 16;

/// Bytes that a recording leaves to others where its files lie: a volume whose image lies there needs room, too.
pub const LEAST_FREE: u64 = 256 << 20;

/// Memory that a recording takes at most: rows on both sides of the tape, those of a row group, its columns as they are
/// encoded, and the result.
pub const MEMORY: u64 = 32 << 20;

/// How long the end of a server waits for the last file to be complete.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is recorded where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordOptions {
    /// What the files' names are made of: `NAME.parquet` gives `NAME-0001.parquet`.
    pub file: PathBuf,
    /// Bytes of a file, nearly.
    pub file_bytes: u64,
    /// Bytes that are left free where the files lie.
    pub least_free: u64,
}

impl RecordOptions {
    /// A recording under that name, in files of [`FILE_BYTES`].
    #[must_use]
    pub fn to(file: PathBuf) -> Self {
        Self { file, file_bytes: FILE_BYTES, least_free: LEAST_FREE }
    }
}

/// Why a recording cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The path ends in no name.
    #[error("--record (record=): {}: that is no name for files", .file.display())]
    Name {
        /// The path.
        file: PathBuf,
    },
    /// A file of that name is there.
    #[error("--record (record=): {} is there and is not overwritten; choose another name, or take it away", .file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// A file cannot be made.
    #[error("--record (record=): {}: {cause}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// This build records nothing.
    #[error("--record (record=): this build records nothing; build it with the feature `recording` of imbrex-live")]
    NotBuilt,
}

/// What is known of what is recorded: the volume's name, and pairs for the files' metadata.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub name: String,
    pub notes: Vec<(String, String)>,
}

/// A recording that is under way.
pub(crate) struct Recorder {
    tape: Arc<Tape>,
    status: Arc<Mutex<RecordingStatus>>,
    /// Ends when everything is written.
    done: Mutex<Receiver<()>>,
}

impl Recorder {
    /// Begins the first file, or the next of one that goes on if it `resumes`.
    #[cfg(feature = "recording")]
    pub fn start(
        options: &RecordOptions,
        origin: Origin,
        block_bytes: u32,
        resumes: bool,
    ) -> Result<Self, RecordError> {
        let names =
            RecordingNames::of(&options.file).ok_or_else(|| RecordError::Name { file: options.file.clone() })?;
        let failed = |cause| RecordError::Io { path: options.file.clone(), cause };
        let next = match names.files().map_err(failed)?.pop_last() {
            Some((_, file)) if !resumes => return Err(RecordError::Exists { file }),
            last => last.map_or(0, |(number, _)| number) + 1,
        };
        let origin = RecordingOrigin { name: origin.name, notes: origin.notes };
        let part = files::Part::begin(&names, next, &origin).map_err(|cause| failed(io::Error::other(cause)))?;
        let begun = Instant::now();
        let tape = Arc::new(Tape::new(begun, block_bytes, tape::MOST_ROWS));
        let status = Arc::default();
        let writer = writer::Writer {
            tape: Arc::clone(&tape),
            status: Arc::clone(&status),
            names,
            origin,
            part: Some((part, begun)),
            next,
            file_bytes: options.file_bytes.max(LEAST_FILE_BYTES),
            least_free: options.least_free,
            lost: 0,
            flushes: 0,
        };
        let (tell, done) = channel();
        let run = move || {
            writer.run();
            drop(tell);
        };
        crate::threads::own("recorder").spawn(run).map_err(failed)?;
        Ok(Self { tape, status, done: Mutex::new(done) })
    }

    /// Refuses to begin.
    #[cfg(not(feature = "recording"))]
    pub fn start(_: &RecordOptions, _: Origin, _: u32, _: bool) -> Result<Self, RecordError> {
        Err(RecordError::NotBuilt)
    }

    /// Where requests go.
    pub fn tape(&self) -> &Arc<Tape> {
        &self.tape
    }

    /// How it stands.
    pub fn status(&self) -> RecordingStatus {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        status.lost += self.tape.lost();
        status
    }

    /// Completes the last file. A disk that takes too long for that keeps nobody waiting for ever.
    pub fn end(&self) {
        self.tape.end();
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        // It sends nothing: that it has gone is the message.
        if done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            tracing::error!("the last file of the recording is not complete: its disk takes too long");
        }
    }
}
