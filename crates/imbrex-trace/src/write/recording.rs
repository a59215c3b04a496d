//! Parquet files of requests that a volume was asked for while it was served.
//!
//! They have the column `trim`, and say in their metadata what was recorded.

use std::io::Write;

use super::parquet::{ParquetWriter, Purpose};
use super::{TraceWriter, WriteError, Written};
use crate::TraceRequest;
use crate::parquet::label::Origin;

/// What was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingOrigin {
    /// The volume, or a path of which the last part is its name.
    pub name: String,
    /// What else is known of it: pairs of a key, which the file has behind `imbrex.recording.`, and a value.
    pub notes: Vec<(String, String)>,
}

/// A file of a recording that is being written.
pub struct RecordingFile<W: Write + Send>(Box<ParquetWriter<W>>);

impl<W: Write + Send> RecordingFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `sink` takes no bytes.
    pub fn begin(origin: &RecordingOrigin, sink: W) -> Result<Self, WriteError> {
        let RecordingOrigin { name, notes } = origin.clone();
        let origin = Origin { name, notes, format: "served volume".to_owned(), synthetic: false, trims: true };
        Ok(Self(Box::new(ParquetWriter::begin(Purpose::Recording, origin, sink)?)))
    }

    /// Writes requests, none of which arrives before its predecessor. Up to 65 536 of them are kept in memory.
    ///
    /// # Errors
    /// When the bytes are refused, or a number is too large; the file is then of no use.
    pub fn write(&mut self, requests: &[TraceRequest]) -> Result<(), WriteError> {
        self.0.write(requests)
    }

    /// Requests that are still kept in memory.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.0.pending()
    }

    /// Completes the file, with what is only known now.
    ///
    /// # Errors
    /// As for [`RecordingFile::write`].
    pub fn finish(mut self, notes: &[(&str, String)]) -> Result<Written, WriteError> {
        notes.iter().for_each(|(key, value)| self.0.note(key, value.clone()));
        self.0.finish()
    }
}
