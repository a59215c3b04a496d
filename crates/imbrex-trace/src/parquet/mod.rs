//! Parquet traces: columns that decode fast, compress well, and that pandas, polars and their kind read.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `arrival_ns` | INT64 | when the request arrives; never decreases |
//! | `offset_bytes` | INT64 | its first byte |
//! | `bytes` | INT64 | its length |
//! | `write` | BOOLEAN | whether it writes; otherwise it reads |
//! | `trim` | BOOLEAN | whether it trims; the column is left out where nothing does |
//!
//! A file that Imbrex wrote also says where its requests come from, above all whether they are synthetic, and carries a
//! checksum of all of it: the format itself protects neither its headers nor its footer. The key-value metadata and its
//! checksum are in `label.rs`. Files of other writers are read when they have the columns, in any order and of any
//! integer type; see `columns.rs`. `docs/parquet.md` describes all of it for users.
//!
//! Pages are decoded a batch at a time, so that memory depends on the size of a page and not on that of the file. What
//! a decoder must be able to rely on is checked in `pages.rs`, page by page.

mod columns;
pub(super) mod label;
mod names;
mod pages;
mod reader;
mod recording;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read, Seek};

use bytes::Bytes;
pub use names::RecordingNames;
use reader::ParquetTrace;
pub(super) use recording::{open_folder, open_named, recording_with};

use super::format::PARQUET_MAGIC;
use super::{TraceError, TraceSource};

/// The columns, in the order in which they are written.
pub(super) const COLUMNS: [&str; 4] = ["arrival_ns", "offset_bytes", "bytes", "write"];

/// The column that a file has only if requests of it may be trims.
pub(super) const TRIM: &str = "trim";

/// The name of the schema of files that Imbrex writes.
pub(super) const SCHEMA_NAME: &str = "imbrex_trace";

/// What `created_by` begins with in files that Imbrex writes.
pub(super) const CREATOR: &str = "imbrex ";

/// Rows of a row group, which is what the writer keeps in memory: 6 MiB of requests.
pub const GROUP_ROWS: usize = 1 << 18;

/// Rows of a row group of a recording: 1.5 MiB of requests.
pub(super) const RECORDING_GROUP_ROWS: usize = 1 << 16;

/// Whether the file begins as Parquet does. It is at its beginning before and after.
pub(super) fn begins(file: &mut File) -> io::Result<bool> {
    let mut magic = Vec::with_capacity(PARQUET_MAGIC.len());
    file.by_ref().take(PARQUET_MAGIC.len() as u64).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(magic == PARQUET_MAGIC)
}

/// Opens a Parquet file; errors call it `name`.
pub(super) fn open(name: &str, file: File) -> Result<Box<dyn TraceSource>, TraceError> {
    Ok(Box::new(ParquetTrace::open(name, file)?))
}

/// Reads Parquet that lies in memory; errors call it `name`.
pub fn read(name: &str, content: Vec<u8>) -> Result<Box<dyn TraceSource>, TraceError> {
    Ok(Box::new(ParquetTrace::open(name, Bytes::from(content))?))
}
