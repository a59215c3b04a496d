//! Trace files. Formats and compressions are told by content; a file's name means nothing.
//!
//! A `Format` takes one line or record at a time from the `Input`; what is the same for every format (arrivals,
//! requests of no bytes, errors with their place) is done once, by `FileTrace`, and what is the same for every format
//! of text (counting lines) by `Lines`. `volumes` chooses a volume. `docs/traces.md` describes the formats for their users.

mod alibaba;
mod blkparse;
mod disksim;
mod fields;
mod file_trace;
mod fio;
mod fiu;
mod input;
mod label;
mod lines;
mod measured;
mod msr;
mod recognise;
mod sac;
mod spc;
mod srt;
mod ssdsim;
mod systor17;
mod tencent;
#[cfg(test)]
mod tests;
mod volumes;
mod vscsi;

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use file_trace::FileTrace;
pub use file_trace::SORT_WINDOW;
use input::Input;
use lines::{LineFormat, Lines};
use measured::Counted;
use recognise::Told;
use srt::Srt;
use volumes::Volume;
use vscsi::Vscsi;

#[cfg(feature = "parquet")]
use super::parquet;
use super::{
    BlockEvent, Compression, FileOptions, Position, Problem, TraceError, TraceFile, TraceFormat, TraceInfo, TraceSource,
};
use imbrex_core::block::Access;

/// Bytes in which a format shows itself: a line, or two records.
const HEAD_BYTES: usize = 4096;
/// Bytes from the beginning by which it is decided what of a trace is read, where nobody says it.
pub const LOOK_BYTES: usize = 1 << 20;

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
        Ok((is, _)) if is.is_dir() => {
            recording(file).unwrap_or_else(|| Err(TraceError::Directory { file: name.clone() }))
        }
        Ok((is, file)) if is.is_file() => open_regular(name, file, is.len(), options),
        Ok((is, file)) => open_stream(name, file, is.len(), options),
        Err(cause) => recording(file).unwrap_or_else(|| Err(TraceError::Open { file: name.clone(), cause })),
    }
}

/// Opens the recording that lies in a folder, or was begun under the name of a file that is not there.
#[cfg(feature = "parquet")]
fn recording(file: &TraceFile) -> Option<Result<Box<dyn TraceSource>, TraceError>> {
    let TraceFile { name, path, options } = file;
    options.format.is_none_or(|format| format == TraceFormat::Parquet).then_some(())?;
    let opened = if path.is_dir() { parquet::open_folder(name, path) } else { parquet::open_named(name, path) }?;
    Some(check(name, TraceFormat::Parquet, options).and(opened))
}

#[cfg(not(feature = "parquet"))]
fn recording(_: &TraceFile) -> Option<Result<Box<dyn TraceSource>, TraceError>> {
    None
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
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let failed = (&mut input).take(LOOK_BYTES as u64).read_to_end(&mut head).err();
    let failed = match failed {
        Some(cause) if head.len() < HEAD_BYTES => return Err(fail(compression, cause)),
        failed => failed,
    };
    if head.is_empty() {
        return Err(TraceError::Empty { file: name.into() });
    }
    let begins = &head[..head.len().min(HEAD_BYTES)];
    let told = match options.format {
        Some(format) => Told::Format(format),
        None => recognise::recognise(begins),
    };
    let format = match told {
        Told::Format(format) => format,
        Told::Unclear => return Err(TraceError::UnclearUnit { file: name.into() }),
        Told::Nothing => return Err(TraceError::UnknownFormat { file: name.into() }),
    };
    check(name, format, options)?;
    let remarks = recognise::remarks(begins, format, options.format.is_some());
    let head: Arc<[u8]> = head.into();
    let again = Cursor::new(Arc::clone(&head)).chain(Failed(failed)).chain(input);
    let info = TraceInfo { name: name.into(), format, compression, synthetic: false };
    Opening { info, head, input: Input::new(Box::new(again)), options, remarks }.in_format()
}

/// The error that ended the look at the beginning, where it stood.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A trace that is about to be read.
struct Opening<'a> {
    info: TraceInfo,
    /// Its beginning; all of it, if it is shorter than [`LOOK_BYTES`].
    head: Arc<[u8]>,
    /// All of it.
    input: Input,
    options: &'a FileOptions,
    /// What was decided about it.
    remarks: Vec<String>,
}

impl Opening<'_> {
    /// Reads the format that `info` names.
    fn in_format(self) -> Result<Box<dyn TraceSource>, TraceError> {
        Ok(match self.info.format {
            TraceFormat::Vscsi1 | TraceFormat::Vscsi2 => {
                let vscsi = Vscsi::new(self.info.format);
                FileTrace::boxed(self.info, self.input, vscsi, self.remarks)
            }
            TraceFormat::Srt => self.of_a_volume(Srt::new),
            TraceFormat::Msr => self.lines(|| msr::Msr),
            TraceFormat::DiskSim => self.lines(|| disksim::DiskSim),
            TraceFormat::SsdSim => self.lines(|| ssdsim::SsdSim),
            TraceFormat::Spc => self.lines(|| spc::Spc),
            TraceFormat::Systor17 => self.lines(|| systor17::Systor17),
            TraceFormat::Alibaba => self.lines(|| alibaba::Alibaba),
            TraceFormat::Tencent => self.lines(|| tencent::Tencent),
            TraceFormat::Fio => self.lines(fio::Fio::default),
            TraceFormat::Fiu => self.lines(|| fiu::Fiu),
            TraceFormat::Sac => self.lines(|| sac::Sac),
            TraceFormat::Blkparse => self.blkparse(),
            TraceFormat::Parquet => return Err(parquet_in_stream(&self.info.name)),
            TraceFormat::Arrow | TraceFormat::Synthetic => {
                return Err(TraceError::UnknownFormat { file: self.info.name });
            }
        })
    }

    fn lines<L: LineFormat + 'static>(mut self, format: impl Fn() -> L) -> Box<dyn TraceSource> {
        // The last line of a part may be a part of a line.
        if self.head.len() == LOOK_BYTES {
            let whole = memchr::memrchr(b'\n', &self.head).map_or(0, |end| end + 1);
            self.head = self.head[..whole].into();
        }
        self.of_a_volume(|volume| Lines::new(format(), volume))
    }

    /// Queued events are requests, unless the beginning has only issued ones.
    fn blkparse(mut self) -> Box<dyn TraceSource> {
        let has = |event| {
            let lines = Lines::new(blkparse::Blkparse::new(event), Volume::counting());
            volumes::busiest(lines, &self.head).is_some()
        };
        let event = self.options.event.unwrap_or_else(|| match has(BlockEvent::Queued) || !has(BlockEvent::Issued) {
            true => BlockEvent::Queued,
            false => BlockEvent::Issued,
        });
        if self.options.event.is_none() && event == BlockEvent::Issued {
            let why = "no request is queued (Q) at its beginning, so those issued to the drive (D) are taken; --event \
                       chooses";
            self.remarks.push(why.into());
        }
        self.lines(|| blkparse::Blkparse::new(event))
    }

    /// Reads the volume that was chosen, or else the busiest of the beginning.
    fn of_a_volume<F: Format + 'static>(mut self, format: impl Fn(Volume) -> F) -> Box<dyn TraceSource> {
        let chosen = self.options.volume.as_ref().map(|name| name.as_bytes().into());
        let volume: Option<Box<[u8]>> = chosen.or_else(|| volumes::busiest(format(Volume::counting()), &self.head));
        self.info.synthetic = label::is_synthetic(self.info.format, volume.as_deref());
        FileTrace::boxed(self.info, self.input, format(Volume::new(volume.as_deref())), self.remarks)
    }
}

/// Whether the format offers what was chosen.
fn check(name: &str, format: TraceFormat, options: &FileOptions) -> Result<(), TraceError> {
    let nameless =
        matches!(format, TraceFormat::Vscsi1 | TraceFormat::Vscsi2 | TraceFormat::Sac | TraceFormat::Parquet);
    let refused = [
        (nameless && options.volume.is_some(), "volume", "--volume"),
        (format != TraceFormat::Blkparse && options.event.is_some(), "event", "--event"),
    ];
    match refused.into_iter().find(|(is, ..)| *is) {
        None => Ok(()),
        Some((_, what, option)) => Err(TraceError::NoChoice { file: name.into(), format, what, option }),
    }
}

/// A failed read is the disk's fault where the operating system says so, and the compressed stream's where it does not;
/// unless this build cannot decode it at all.
fn stream_error(name: &str, compression: Compression, cause: io::Error) -> TraceError {
    let file = name.into();
    let is_not_built = cause.kind() == io::ErrorKind::Unsupported;
    if compression == Compression::None || is_not_built || cause.raw_os_error().is_some() {
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

    /// What it knows of volumes.
    fn into_volume(self) -> Volume
    where
        Self: Sized,
    {
        Volume::default()
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
