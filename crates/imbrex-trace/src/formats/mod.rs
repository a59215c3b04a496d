//! Trace files. Formats and compressions are told by content; a file's name means nothing.
//!
//! A `Format` takes one line or record at a time from the `Input`; what is the same for every format (arrivals,
//! requests of no bytes, errors with their place) is done once, by `FileTrace`, and what is the same for every format
//! of text (counting lines, choosing a volume) by `Lines`. `docs/traces.md` describes the formats for their users.

mod alibaba;
mod blkparse;
mod disksim;
mod fields;
mod file_trace;
mod fio;
mod input;
mod label;
mod lines;
mod measured;
mod msr;
mod recognise;
mod spc;
mod systor17;
mod tencent;
#[cfg(test)]
mod tests;
mod vscsi;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use file_trace::FileTrace;
pub use file_trace::SORT_WINDOW;
use input::Input;
use lines::{LineFormat, Lines};
use measured::Counted;
use vscsi::Vscsi;

#[cfg(feature = "parquet")]
use super::parquet;
use super::{Compression, FileOptions, Position, Problem, TraceError, TraceFile, TraceFormat, TraceInfo, TraceSource};
use imbrex_core::block::Access;

/// Bytes in which a format shows itself: a line, or two records.
const HEAD_BYTES: usize = 4096;

/// The volume, or its host, of requests that were generated.
pub(super) const SYNTHETIC_VOLUME: &str = "synthetic";

/// Opens the trace file at `path`.
pub fn open(path: &Path) -> Result<Box<dyn TraceSource>, TraceError> {
    open_file(&path.to_path_buf().into())
}

/// Opens a trace file.
pub fn open_file(file: &TraceFile) -> Result<Box<dyn TraceSource>, TraceError> {
    let TraceFile { name, path, options } = file;
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        Ok((is, _)) if is.is_dir() => Err(TraceError::Directory { file: name.clone() }),
        Ok((is, file)) if is.is_file() => open_regular(name, file, is.len(), options),
        Ok((is, file)) => open_stream(name, file, is.len(), options),
        Err(cause) => Err(TraceError::Open { file: name.clone(), cause }),
    }
}

#[cfg(feature = "parquet")]
fn open_regular(
    name: &str,
    mut file: File,
    bytes: u64,
    options: &FileOptions,
) -> Result<Box<dyn TraceSource>, TraceError> {
    let is_parquet = match options.format {
        Some(format) => format == TraceFormat::Parquet,
        None => parquet::begins(&mut file).map_err(|cause| stream_error(name, Compression::None, cause))?,
    };
    if is_parquet {
        check(name, TraceFormat::Parquet, options)?;
        return parquet::open(name, file);
    }
    open_stream(name, file, bytes, options)
}

#[cfg(not(feature = "parquet"))]
use open_stream as open_regular;

/// Reads a file of `bytes` bytes from its beginning to its end.
fn open_stream(name: &str, file: File, bytes: u64, options: &FileOptions) -> Result<Box<dyn TraceSource>, TraceError> {
    let file = Counted::new(file);
    let measure = file.measure(bytes);
    read_with(name, file, options).map(measure)
}

/// Why Parquet in a stream is not read.
fn parquet_in_stream(name: &str) -> TraceError {
    let file = name.into();
    if cfg!(feature = "parquet") { TraceError::Stream { file } } else { TraceError::NotBuilt { file } }
}

/// Reads a trace from `reader`; errors call it `name`.
pub fn read(name: &str, reader: impl Read + Send + 'static) -> Result<Box<dyn TraceSource>, TraceError> {
    read_with(name, reader, &FileOptions::default())
}

/// Reads a trace from `reader` as `options` say; errors call it `name`.
pub fn read_with(
    name: &str,
    reader: impl Read + Send + 'static,
    options: &FileOptions,
) -> Result<Box<dyn TraceSource>, TraceError> {
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
    let Some(format) = options.format.or_else(|| recognise::recognise(head)) else {
        return Err(TraceError::UnknownFormat { file: name.into() });
    };
    check(name, format, options)?;
    let synthetic = label::is_synthetic(format, head, options.volume.as_deref());
    in_format(TraceInfo { name: name.into(), format, compression, synthetic }, input, options)
}

/// Reads the format that `info` names.
fn in_format(info: TraceInfo, input: Input, options: &FileOptions) -> Result<Box<dyn TraceSource>, TraceError> {
    Ok(match info.format {
        TraceFormat::Vscsi1 | TraceFormat::Vscsi2 => {
            let vscsi = Vscsi::new(info.format);
            FileTrace::boxed(info, input, vscsi)
        }
        TraceFormat::Msr => lines(info, input, options, msr::Msr),
        TraceFormat::DiskSim => lines(info, input, options, disksim::DiskSim),
        TraceFormat::Spc => lines(info, input, options, spc::Spc),
        TraceFormat::Systor17 => lines(info, input, options, systor17::Systor17),
        TraceFormat::Alibaba => lines(info, input, options, alibaba::Alibaba),
        TraceFormat::Tencent => lines(info, input, options, tencent::Tencent),
        TraceFormat::Fio => lines(info, input, options, fio::Fio::default()),
        TraceFormat::Blkparse => {
            let blkparse = blkparse::Blkparse::new(options.event.unwrap_or_default());
            lines(info, input, options, blkparse)
        }
        TraceFormat::Parquet => return Err(parquet_in_stream(&info.name)),
        TraceFormat::Arrow | TraceFormat::Synthetic => return Err(TraceError::UnknownFormat { file: info.name }),
    })
}

fn lines<L: LineFormat + 'static>(
    info: TraceInfo,
    input: Input,
    options: &FileOptions,
    format: L,
) -> Box<dyn TraceSource> {
    FileTrace::boxed(info, input, Lines::new(format, options.volume.as_deref()))
}

/// Whether the format offers what was chosen.
fn check(name: &str, format: TraceFormat, options: &FileOptions) -> Result<(), TraceError> {
    let nameless = matches!(format, TraceFormat::Vscsi1 | TraceFormat::Vscsi2 | TraceFormat::Parquet);
    let refused = [
        (nameless && options.volume.is_some(), "volume", "--volume"),
        (format != TraceFormat::Blkparse && options.event.is_some(), "event", "--event"),
    ];
    match refused.into_iter().find(|(is, ..)| *is) {
        None => Ok(()),
        Some((_, what, option)) => Err(TraceError::NoChoice { file: name.into(), format, what, option }),
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
    /// Whether it is written in order of completion, and so has to be put in order of arrival.
    const BY_COMPLETION: bool = false;

    /// Takes the next line or record.
    fn next(&mut self, input: &mut Input) -> Result<Record, Fault>;

    /// Where the line or record taken last stands.
    fn position(&self) -> Position;

    /// The volume that is read, if the format names volumes and one was met or chosen.
    fn volume(&self) -> Option<String> {
        None
    }

    /// Why `file` holds no request, if there is more to say than that.
    fn nothing(&self, _file: &str) -> Option<TraceError> {
        None
    }
}

/// A line or record.
enum Record {
    Request {
        ticks: u64,
        access: Access,
        offset_bytes: u64,
        bytes: u32,
    },
    /// A command that neither reads nor writes.
    WithoutData,
    /// A request of a volume that is not read.
    OtherVolume,
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

#[cold]
fn too_large(field: &'static str, value: impl ToString) -> Fault {
    Problem::TooLarge { field, value: value.to_string() }.into()
}
