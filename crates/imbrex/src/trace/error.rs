//! What can be wrong with a workload, and what to do about it.

use std::fmt;
use std::io;

use super::Compression;

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
    /// The content is none of the known formats.
    #[error(
        "{file} is in no trace format Imbrex reads; convert it to MSR Cambridge CSV or CloudPhysics VSCSI, plain or \
         compressed with zstd, gzip or xz, or to Parquet"
    )]
    UnknownFormat {
        /// The file as it was named.
        file: String,
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
    #[error("expected 7 comma-separated fields, found {found}; restore or delete the line")]
    Fields {
        /// How many there are.
        found: usize,
    },
    /// A field that must be a number is not.
    #[error("{field} is {text:?}, not a whole number from 0; correct or delete the line")]
    Number {
        /// The field's name.
        field: &'static str,
        /// What stands there.
        text: String,
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
    /// A type that is neither Read nor Write.
    #[error("type is {text:?}, neither Read nor Write; correct or delete the line")]
    Access {
        /// What stands there.
        text: String,
    },
    /// A line of another volume, whose addresses would fall on those of the first.
    #[error("volume is {found}, but the trace began with {first}; split the trace into one file per volume")]
    Volume {
        /// Host and disk of this line.
        found: String,
        /// Host and disk of the first request.
        first: String,
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
    #[error("the record says version {found:#06x}, the first one version {expected}; the file is damaged here")]
    Version {
        /// The version field.
        found: u16,
        /// The version of the first record.
        expected: u8,
    },
    /// A SCSI command whose effect on the blocks is not known.
    #[error("SCSI command {code:#04x} is neither a read nor a write nor free of data; filter it out of the trace")]
    Command {
        /// The command's operation code.
        code: u16,
    },
}
