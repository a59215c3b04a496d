//! Trace files. Formats and compressions are told by content; a file's name means nothing.
//!
//! A `Format` takes one line or record at a time from the `Input`; what is the same for every format (arrivals, requests
//! of no bytes, errors with their place) is done once, by `FileTrace`.

mod compression;
mod input;
mod measured;
mod msr;
#[cfg(test)]
mod tests;
mod vscsi;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use compression::Compression;
pub(super) use compression::Encoder;
use input::Input;
use measured::Measured;
use msr::Msr;
pub(super) use msr::SYNTHETIC_HOST;
use vscsi::Vscsi;

#[cfg(feature = "parquet")]
use super::parquet;
use super::{Irregularities, Position, Problem, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};
use crate::block::Access;

/// Bytes in which a format shows itself: a line, or two records.
const HEAD_BYTES: usize = 4096;

/// What a Parquet file begins with.
pub(super) const PARQUET_MAGIC: &[u8] = b"PAR1";

/// Opens the trace file at `path`.
pub fn open(path: &Path) -> Result<Box<dyn TraceSource>, TraceError> {
    let name = path.display().to_string();
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        Ok((is, _)) if is.is_dir() => Err(TraceError::Directory { file: name }),
        Ok((is, file)) if is.is_file() => open_regular(&name, file, is.len()),
        Ok((_, file)) => read(&name, file),
        Err(cause) => Err(TraceError::Open { file: name, cause }),
    }
}

#[cfg(feature = "parquet")]
fn open_regular(name: &str, mut file: File, bytes: u64) -> Result<Box<dyn TraceSource>, TraceError> {
    match parquet::begins(&mut file) {
        Ok(true) => parquet::open(name, file),
        Ok(false) => Measured::open(name, file, bytes),
        Err(cause) => Err(TraceError::Read { file: name.into(), cause }),
    }
}

#[cfg(not(feature = "parquet"))]
fn open_regular(name: &str, file: File, bytes: u64) -> Result<Box<dyn TraceSource>, TraceError> {
    Measured::open(name, file, bytes)
}

/// Why Parquet in a stream is not read.
fn parquet_in_stream(name: &str) -> TraceError {
    let file = name.into();
    if cfg!(feature = "parquet") { TraceError::Stream { file } } else { TraceError::NotBuilt { file } }
}

/// Reads a trace from `reader`; errors call it `name`.
pub fn read(name: &str, reader: impl Read + Send + 'static) -> Result<Box<dyn TraceSource>, TraceError> {
    let fail = |compression, cause| stream_error(name, compression, cause);
    let mut file = Input::new(Box::new(reader));
    let magic = file.peek(Compression::MAGIC_BYTES).map_err(|cause| fail(Compression::None, cause))?;
    let compression = Compression::of(magic);
    let mut input = match compression {
        Compression::None => file,
        _ => Input::new(compression.decode(file).map_err(|cause| fail(compression, cause))?),
    };
    let head = input.peek(HEAD_BYTES).map_err(|cause| fail(compression, cause))?;
    if head.is_empty() {
        return Err(TraceError::Empty { file: name.into() });
    }
    if head.starts_with(PARQUET_MAGIC) {
        return Err(parquet_in_stream(name));
    }
    let info = |format| TraceInfo { name: name.into(), format, compression, synthetic: false };
    if let Some(vscsi) = Vscsi::recognise(head) {
        Ok(FileTrace::boxed(info(vscsi.format()), input, vscsi))
    } else if Msr::recognises(head) {
        let info = TraceInfo { synthetic: msr::is_synthetic(head), ..info(TraceFormat::Msr) };
        Ok(FileTrace::boxed(info, input, Msr::default()))
    } else {
        Err(TraceError::UnknownFormat { file: name.into() })
    }
}

/// A failed read is the disk's fault where the operating system says so, and the compressed stream's where it does not.
fn stream_error(name: &str, compression: Compression, cause: io::Error) -> TraceError {
    let file = name.into();
    if compression == Compression::None || cause.raw_os_error().is_some() {
        TraceError::Read { file, cause }
    } else {
        TraceError::Damaged { file, compression, cause }
    }
}

/// How one format is read.
trait Format: Send {
    /// Nanoseconds of its unit of time.
    const TICK_NS: u64;

    /// Takes the next line or record.
    fn next(&mut self, input: &mut Input) -> Result<Record, Fault>;

    /// Where the line or record taken last stands.
    fn position(&self) -> Position;
}

/// A line or record.
enum Record {
    Request { ticks: u64, access: Access, offset_bytes: u64, bytes: u32 },
    WithoutData,
    End,
}

/// Why there is no next one. Boxed, so that the path without faults carries one word.
enum Fault {
    Stream(io::Error),
    Problem(Box<Problem>),
}

impl From<io::Error> for Fault {
    fn from(cause: io::Error) -> Self {
        Self::Stream(cause)
    }
}

impl From<Problem> for Fault {
    #[cold]
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

struct FileTrace<F> {
    info: TraceInfo,
    input: Input,
    format: F,
    first_ticks: Option<u64>,
    last_ns: u64,
    irregularities: Irregularities,
}

impl<F: Format + 'static> FileTrace<F> {
    fn boxed(info: TraceInfo, input: Input, format: F) -> Box<dyn TraceSource> {
        let irregularities = Irregularities::default();
        Box::new(Self { info, input, format, first_ticks: None, last_ns: 0, irregularities })
    }

    /// The next request that carries data.
    #[inline]
    fn next(&mut self) -> Result<Option<TraceRequest>, Fault> {
        loop {
            match self.format.next(&mut self.input)? {
                Record::Request { bytes: 0, .. } => self.irregularities.zero_size += 1,
                Record::WithoutData => self.irregularities.without_data += 1,
                Record::End => return Ok(None),
                Record::Request { ticks, access, offset_bytes, bytes } => {
                    if offset_bytes.checked_add(u64::from(bytes)).is_none() {
                        return Err(too_large("offset + size", format!("{offset_bytes} + {bytes}")));
                    }
                    let arrival_ns = self.arrive(ticks)?;
                    return Ok(Some(TraceRequest { arrival_ns, offset_bytes, bytes, access }));
                }
            }
        }
    }

    /// When a request stamped `ticks` arrives, see the module [`trace`](crate::trace).
    #[inline]
    fn arrive(&mut self, ticks: u64) -> Result<u64, Fault> {
        let first = *self.first_ticks.get_or_insert(ticks);
        let Some(arrival_ns) = ticks.saturating_sub(first).checked_mul(F::TICK_NS) else {
            return Err(too_large("timestamp", ticks));
        };
        if ticks < first || arrival_ns < self.last_ns {
            self.irregularities.out_of_order += 1;
        } else {
            self.last_ns = arrival_ns;
        }
        Ok(self.last_ns)
    }

    #[cold]
    fn error(&self, fault: Fault) -> TraceError {
        match fault {
            Fault::Stream(cause) => stream_error(&self.info.name, self.info.compression, cause),
            Fault::Problem(problem) => {
                TraceError::Malformed { file: self.info.name.clone(), at: self.format.position(), problem: *problem }
            }
        }
    }
}

impl<F: Format + 'static> TraceSource for FileTrace<F> {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        debug_assert!(limit > 0);
        batch.clear();
        while batch.len() < limit {
            match self.next() {
                Ok(Some(request)) => batch.push(request),
                Ok(None) => break,
                Err(fault) => return Err(self.error(fault)),
            }
        }
        if self.first_ticks.is_none() {
            return Err(TraceError::Empty { file: self.info.name.clone() });
        }
        Ok(())
    }

    fn irregularities(&self) -> Irregularities {
        self.irregularities
    }
}

#[cold]
fn too_large(field: &'static str, value: impl ToString) -> Fault {
    Problem::TooLarge { field, value: value.to_string() }.into()
}
