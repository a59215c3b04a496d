//! What can be wrong with a workload, and what to do about it.

use std::fmt;
use std::io;

use super::{Compression, TraceFormat};

/// Why a workload cannot be used. The message names the file, the place in it and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened.
    #[error("cannot open {file}: {cause}")]
    Open {
        /// The file as it was named.
        file: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A directory was named.
    #[error("{file} is a directory; name one of the trace files in it")]
    Directory {
        /// The directory as it was named.
        file: String,
    },
    /// The file was opened but cannot be read.
    #[error("cannot read {file}: {cause}")]
    Read {
        /// The file as it was named.
        file: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The file's compressed stream does not decode.
    #[error(
        "the {compression} stream of {file} does not decode ({cause}): it is damaged, cut short or needs over {} MiB; \
         fetch the file again or decompress it first", Compression::MEMORY_BYTES >> 20
    )]
    Damaged {
        /// The file as it was named.
        file: String,
        /// How it is compressed.
        compression: Compression,
        /// What the decoder said.
        cause: io::Error,
    },
    /// Nothing to replay.
    #[error("{file} holds no requests; name a trace that has some")]
    Empty {
        /// The file as it was named.
        file: String,
    },
    /// Nothing is written.
    #[error("{file} writes nothing, so no block of it has a place on a dense disk; name a trace with writes")]
    NothingWritten {
        /// The workload as it was named.
        file: String,
    },
    /// The content is none of the known formats.
    #[error(
        "{file} is in no trace format that can be told by its content; name the format (`imbrex list formats`) with \
         --trace-format, or convert the file to one of them"
    )]
    UnknownFormat {
        /// The file as it was named.
        file: String,
    },
    /// Lines that follow two formats with different units of time.
    #[error(
        "{file} has five whole numbers a line, times in nanoseconds (SSDsim, MQSim) or in milliseconds (DiskSim), and \
         does not tell which; say --trace-format ssdsim or --trace-format disksim"
    )]
    UnclearUnit {
        /// The file as it was named.
        file: String,
    },
    /// No request is of the volume that was chosen.
    #[error("{file} holds no request of volume {volume}; choose one it has with --volume, such as {present}")]
    NoSuchVolume {
        /// The file as it was named.
        file: String,
        /// The volume that was chosen.
        volume: String,
        /// Volumes that there are; not necessarily all.
        present: String,
    },
    /// No event of the chosen kind is a request.
    #[error(
        "{file} holds no {event} event of a read or write; count another event with --event, or name another trace"
    )]
    NoEvents {
        /// The file as it was named.
        file: String,
        /// The event's letter.
        event: char,
    },
    /// A choice was made that the format does not offer.
    #[error("{file} is {format}, which has no {what} to choose; leave out {option}")]
    NoChoice {
        /// The file as it was named.
        file: String,
        /// Its format.
        format: TraceFormat,
        /// What cannot be chosen.
        what: &'static str,
        /// The option that chooses it.
        option: &'static str,
    },
    /// A letter that is no event's.
    #[error("{name:?} is no event that can be counted; write Q (queued) or D (issued)")]
    NoSuchEvent {
        /// What was asked for.
        name: String,
    },
    /// Parquet that cannot be read from its end.
    #[error(
        "{file} is Parquet in a stream, and Parquet is read from its end; decompress it, or save it to a file first"
    )]
    Stream {
        /// The file as it was named.
        file: String,
    },
    /// Parquet, in a build that does not read it.
    #[error("{file} is Parquet, which this build does not read; build Imbrex with its feature parquet")]
    NotBuilt {
        /// The file as it was named.
        file: String,
    },
    /// A column is not what a trace needs.
    #[error("{file}: column {column} {problem}")]
    Column {
        /// The file as it was named.
        file: String,
        /// The column's name.
        column: &'static str,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A Parquet file, or a part of it, cannot be decoded.
    #[error("{file}: {place} does not decode ({cause}); the file is damaged, or must be rewritten with zstd or snappy")]
    Undecodable {
        /// The file as it was named.
        file: String,
        /// The part.
        place: String,
        /// What the decoder said.
        cause: String,
    },
    /// The files of a recording are not one trace.
    #[error("{file}: {problem}")]
    Recording {
        /// The recording as it was named.
        file: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A file is no longer what Imbrex wrote.
    #[error("{file} is not as Imbrex wrote it: {what}; convert or generate it again")]
    Changed {
        /// The file as it was named.
        file: String,
        /// What shows it.
        what: &'static str,
    },
    /// A line or record is wrong.
    #[error("{file}, {at}: {problem}")]
    Malformed {
        /// The file as it was named.
        file: String,
        /// Where in it.
        at: Position,
        /// What is wrong there.
        problem: Problem,
    },
    /// A synthetic workload's text does not follow the specification's form.
    #[error("synthetic workload {file}: {cause}")]
    SpecSyntax {
        /// The file or built-in workload.
        file: String,
        /// Line, column and what is wrong there.
        cause: Box<toml::de::Error>,
    },
    /// A synthetic workload asks for what cannot be generated.
    #[error("synthetic workload {name}: {field} {must}")]
    Spec {
        /// The workload's name.
        name: String,
        /// The field at fault.
        field: String,
        /// What the field must be, and what it is.
        must: String,
    },
    /// More of something than statistics number.
    #[error("{file} has more than {most} {what}, the most that statistics are made of; use fewer requests of it")]
    TooMany {
        /// The trace as it was named.
        file: String,
        /// What there is too much of.
        what: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// A name that is neither a built-in workload nor a file.
    #[error("there is no file and no built-in workload {name}; the built-in workloads are {built_in}")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// What there is.
        built_in: String,
    },
}

/// A place in a trace, counted in its decompressed content.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Position {
    /// A line of text; the first is 1.
    Line(u64),
    /// A binary record's first byte; the first is 0.
    Byte(u64),
    /// A row of a table; the first is 0.
    Row(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// What is wrong with a line or record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// Too few or too many fields.
    #[error("expected {expected} fields, found {found}; restore or delete the line")]
    Fields {
        /// How many there must be, and what is between them.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A field that must be a number is not.
    #[error("{field} is {text:?}, not {must}; correct or delete the line")]
    Number {
        /// The field's name.
        field: &'static str,
        /// What stands there.
        text: String,
        /// The kind of number it must be.
        must: &'static str,
    },
    /// A number that is too large for what it means.
    #[error("{field} {value} is too large; correct or delete this request")]
    TooLarge {
        /// The field's name.
        field: &'static str,
        /// What stands there.
        value: String,
    },
    /// A row without a value.
    #[error("{column} is null; fill it in or drop the row")]
    Null {
        /// The column.
        column: &'static str,
    },
    /// A value below 0.
    #[error("{column} is {value}; correct the value, which cannot be below 0, or drop the row")]
    Negative {
        /// The column.
        column: &'static str,
        /// What stands there.
        value: i64,
    },
    /// An arrival before that of the row before.
    #[error("{column} is {value} after {before} in the row before; sort the rows by {column}")]
    Decreasing {
        /// The column.
        column: &'static str,
        /// What stands there.
        value: u64,
        /// What stands in the row before.
        before: u64,
    },
    /// A word that is none of those that may stand there.
    #[error("{field} is {text:?}, {must}; correct or delete the line")]
    Word {
        /// The field's name.
        field: &'static str,
        /// What stands there.
        text: String,
        /// What it should be, or is not.
        must: &'static str,
    },
    /// A first line that does not begin a log of a known version.
    #[error(
        "the first line is {text:?}, not 'fio version 2 iolog' or 'fio version 3 iolog'; restore it or write the log anew"
    )]
    IologVersion {
        /// What stands there.
        text: String,
    },
    /// Text without line ends.
    #[error("the line is longer than {limit} bytes; this is no trace, or its line ends are lost")]
    LongLine {
        /// The longest line that is read.
        limit: usize,
    },
    /// The file ends inside a record.
    #[error("the file ends {found} bytes into a record of {record}; fetch it again or cut these bytes off")]
    Truncated {
        /// Bytes that are there.
        found: usize,
        /// Bytes of a record.
        record: usize,
    },
    /// A record whose version is not that of the first.
    #[error(
        "the record says version {found:#06x}, but the trace is read as version {expected}; the file is damaged here"
    )]
    Version {
        /// The version field.
        found: u16,
        /// The version that is read.
        expected: u8,
    },
    /// The text before the records of HP's SRT is not there.
    #[error(
        "no text that begins with $$TR_IOREC and ends with a form feed stands before the records; fetch the file again"
    )]
    SrtHeader,
    /// A record of HP's SRT that is none of a known kind.
    #[error(
        "a record of {size} bytes with the type {id:#010x} is none of an SRT request; cut the file off here, or fetch it \
         again"
    )]
    SrtRecord {
        /// Its length as it says.
        size: u32,
        /// Its version and type.
        id: u32,
    },
    /// A request to a disk whose sectors have no known length.
    #[error("the request is for disk {disk}, whose sectorsize the text before the records does not say; add it there")]
    SrtDisk {
        /// The disk's number.
        disk: u64,
    },
    /// A SCSI command whose effect on the blocks is not known.
    #[error("SCSI command {code:#04x} is neither a read nor a write nor free of data; filter it out of the trace")]
    Command {
        /// The command's operation code.
        code: u16,
    },
}
