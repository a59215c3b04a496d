//! Writing traces.
//!
//! A [`TraceWriter`] takes requests in order of arrival and lays them down in a [`WriteFormat`]. What a format cannot
//! hold is an error, except fractions of its unit of time: these are cut off and counted.

#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod recording;
mod text;

use std::fmt;
use std::io::{self, Write};

#[cfg(feature = "parquet")]
use parquet::{ParquetWriter, Purpose};
#[cfg(feature = "parquet")]
pub use recording::{RecordingFile, RecordingOrigin};
use text::{Line, TextWriter};

use super::{Compression, TraceInfo, TraceRequest};
use imbrex_core::block::Access;

/// The formats that can be written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum WriteFormat {
    /// Parquet, see `docs/parquet.md`.
    Parquet,
    /// MSR Cambridge CSV, whose arrivals are multiples of 100 ns.
    Msr,
    /// SYSTOR '17 CSV, whose arrivals are seconds with nine decimals.
    Systor17,
}

impl WriteFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Parquet, Self::Msr, Self::Systor17];

    /// The name by which it is asked for.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Msr => "msr",
            Self::Systor17 => "systor17",
        }
    }
}

impl fmt::Display for WriteFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "Parquet",
            Self::Msr => "MSR CSV",
            Self::Systor17 => "SYSTOR'17 CSV",
        })
    }
}

/// Why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// What takes the bytes refuses them.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A number that the format has no room for.
    #[error("{field} {value} of request {request} is more than {format} holds; write another format")]
    TooLarge {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Counted from 0.
        request: u64,
        /// The format.
        format: WriteFormat,
    },
    /// A request that neither reads nor writes.
    #[error("request {request} is a trim, which {format} cannot hold; leave trims out of the trace")]
    Trim {
        /// Counted from 0.
        request: u64,
        /// The format.
        format: WriteFormat,
    },
    /// A compressed Parquet file.
    #[error("Parquet compresses its columns itself; leave the {compression} ending off")]
    Compressed {
        /// The compression asked for.
        compression: Compression,
    },
    /// Parquet, in a build that does not write it.
    #[error("this build does not write Parquet; build Imbrex with its feature parquet")]
    NotBuilt,
}

/// What was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// How many requests.
    pub requests: u64,
    /// How many of these arrive at a time that the format cannot hold; the fraction of its unit is cut off.
    pub rounded: u64,
}

/// Takes the requests of a trace.
pub trait TraceWriter {
    /// Writes requests, none of which arrives before its predecessor.
    fn write(&mut self, requests: &[TraceRequest]) -> Result<(), WriteError>;

    /// Writes what is still held back. Only then is the trace complete.
    fn finish(self: Box<Self>) -> Result<Written, WriteError>;
}

/// Refuses trims: no format here has a word for them. `first` is the number of the first of `requests`.
fn refuse_trims(format: WriteFormat, first: u64, requests: &[TraceRequest]) -> Result<(), WriteError> {
    match requests.iter().position(|request| request.access == Access::Trim) {
        Some(at) => Err(WriteError::Trim { request: first + at as u64, format }),
        None => Ok(()),
    }
}

/// Begins a trace of the requests of `source`.
pub fn begin<'a>(
    format: WriteFormat,
    compression: Compression,
    source: &TraceInfo,
    sink: impl Write + Send + 'a,
) -> Result<Box<dyn TraceWriter + 'a>, WriteError> {
    let synthetic = source.is_synthetic();
    match format {
        WriteFormat::Parquet if compression != Compression::None => Err(WriteError::Compressed { compression }),
        WriteFormat::Parquet => begin_parquet(source, sink),
        WriteFormat::Msr => Ok(Box::new(TextWriter::begin(Line::msr(synthetic), compression.encode(sink)?)?)),
        WriteFormat::Systor17 => Ok(Box::new(TextWriter::begin(Line::systor17(synthetic), compression.encode(sink)?)?)),
    }
}

#[cfg(feature = "parquet")]
fn begin_parquet<'a>(
    source: &TraceInfo,
    sink: impl Write + Send + 'a,
) -> Result<Box<dyn TraceWriter + 'a>, WriteError> {
    Ok(Box::new(ParquetWriter::begin(Purpose::Archive, source.into(), sink)?))
}

#[cfg(not(feature = "parquet"))]
fn begin_parquet<'a>(_: &TraceInfo, _: impl Write + Send + 'a) -> Result<Box<dyn TraceWriter + 'a>, WriteError> {
    Err(WriteError::NotBuilt)
}
