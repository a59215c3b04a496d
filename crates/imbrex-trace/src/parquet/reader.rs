//! Reads a Parquet file as a trace.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result as Decoded};
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::ChunkReader;

use super::COLUMNS;
use super::columns::{Columns, Fault, Group, Rows, Unfit};
use super::label::{self, Checksum, Promise, Recorded};
use super::pages::PageFile;
use crate::{
    Compression, Irregularities, Position, Problem, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource,
};
use imbrex_core::block::Access;

/// Rows that are decoded together, of all columns: 100 KiB of them.
const DECODED_ROWS: usize = 4096;

pub(super) struct ParquetTrace<R> {
    info: TraceInfo,
    file: Arc<PageFile<R>>,
    metadata: ParquetMetaData,
    columns: Columns,
    next_group: usize,
    group: Option<Group>,
    rows: Rows,
    /// How many of `rows` are handed out.
    taken: usize,
    /// The number of the first of `rows` in the file.
    first_row: u64,
    /// The rows of the file, as its footer says.
    all_rows: u64,
    arrivals: Option<Arrivals>,
    irregularities: Irregularities,
    checked: Option<(Promise, Checksum)>,
    /// What it says of the recording that it is of, if it is of one.
    recorded: Option<Recorded>,
    remarks: Vec<String>,
}

/// The first and the last arrival so far, as they stand in the file.
#[derive(Copy, Clone)]
struct Arrivals {
    first: u64,
    last: u64,
}

impl<R: ChunkReader + 'static> ParquetTrace<R> {
    pub(super) fn open(name: &str, file: R) -> Result<Self, TraceError> {
        let metadata = contained(|| ParquetMetaDataReader::new().parse_and_finish(&file))
            .map_err(|cause| undecodable(name, "footer", &cause))?;
        let facts = metadata.file_metadata();
        let (synthetic, promise) = label::read(facts).map_err(|what| changed(name, what))?;
        let recorded = promise.and_then(|_| Recorded::of(facts));
        let columns = Columns::find(facts.schema_descr()).map_err(|Unfit { column, problem }| TraceError::Column {
            file: name.into(),
            column,
            problem,
        })?;
        Ok(Self {
            info: TraceInfo {
                name: name.into(),
                format: TraceFormat::Parquet,
                compression: Compression::None,
                synthetic,
            },
            file: Arc::new(PageFile(file)),
            all_rows: metadata.row_groups().iter().fold(0, |sum, group| sum.saturating_add_signed(group.num_rows())),
            metadata,
            columns,
            next_group: 0,
            group: None,
            rows: Rows::default(),
            taken: 0,
            first_row: 0,
            arrivals: None,
            irregularities: Irregularities::default(),
            checked: promise.map(|promise| (promise, Checksum::default())),
            remarks: recorded.iter().filter_map(|recorded| missing(recorded.lost)).collect(),
            recorded,
        })
    }

    /// What the file says of the recording that it is of; nothing if it is of none, or another program has changed it.
    pub(super) fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_ref()
    }

    /// What the first arrival is in the file, once it has been read.
    pub(super) fn first_ns(&self) -> u64 {
        self.arrivals.map_or(0, |arrivals| arrivals.first)
    }

    /// Replaces the decoded rows by the next ones; false at the end of the file.
    fn decode(&mut self) -> Result<bool, TraceError> {
        self.first_row += self.rows.arrivals.len() as u64;
        self.taken = 0;
        loop {
            if let Some(group) = &mut self.group
                && group.rows_left() > 0
            {
                let (count, rows) = (group.rows_left().min(DECODED_ROWS), &mut self.rows);
                return match contained(|| Ok(group.decode(count, rows))) {
                    Ok(Ok(())) => Ok(true),
                    Ok(Err(fault)) => Err(self.error(fault)),
                    Err(cause) => Err(undecodable(&self.info.name, &self.group_name(), &cause)),
                };
            }
            if self.next_group == self.metadata.num_row_groups() {
                self.rows.clear();
                return Ok(false);
            }
            self.open_group()?;
        }
    }

    fn open_group(&mut self) -> Result<(), TraceError> {
        let group = self.metadata.row_group(self.next_group);
        self.next_group += 1;
        match contained(|| Ok(self.columns.open(&self.file, group))) {
            Ok(Ok(group)) => self.group = Some(group),
            Ok(Err(fault)) => return Err(self.error(fault)),
            Err(cause) => return Err(undecodable(&self.info.name, &self.group_name(), &cause)),
        }
        Ok(())
    }

    /// Hands out decoded rows until `batch` holds `limit` requests or the rows are used up.
    fn take(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        let end = self.rows.arrivals.len().min(self.taken.saturating_add(limit - batch.len()));
        let rows = self.taken..end;
        let Some(&first) = self.rows.arrivals.get(self.taken) else { return Ok(()) };
        let Arrivals { first, mut last } = self.arrivals.unwrap_or(Arrivals { first, last: first });
        let times = self.rows.arrivals[rows.clone()].iter().zip(&self.rows.offsets[rows.clone()]);
        let rest = self.rows.sizes[rows.clone()].iter().zip(&self.rows.writes[rows]);
        for ((&arrival, &offset_bytes), (&size, &write)) in times.zip(rest) {
            let bytes = size as u32;
            if arrival < last || u64::from(bytes) != size || offset_bytes.checked_add(size).is_none() {
                return Err(self.malformed(last));
            }
            let is_trim = self.rows.trims.get(self.taken) == Some(&true);
            (last, self.taken) = (arrival, self.taken + 1);
            if bytes == 0 {
                self.irregularities.zero_size += 1;
                continue;
            }
            let access = match (is_trim, write) {
                (true, _) => Access::Trim,
                (false, true) => Access::Write,
                (false, false) => Access::Read,
            };
            batch.push(TraceRequest { arrival_ns: arrival - first, offset_bytes, bytes, access });
        }
        self.arrivals = Some(Arrivals { first, last });
        Ok(())
    }

    /// What is wrong with the next row, whose predecessor arrived at `last`.
    #[cold]
    fn malformed(&self, last: u64) -> TraceError {
        let row = self.taken;
        let [arrival, offset, size] =
            [&self.rows.arrivals, &self.rows.offsets, &self.rows.sizes].map(|values| values[row]);
        let problem = if arrival < last {
            Problem::Decreasing { column: COLUMNS[0], value: arrival, before: last }
        } else if u32::try_from(size).is_err() {
            Problem::TooLarge { field: COLUMNS[2], value: size.to_string() }
        } else {
            Problem::TooLarge { field: "offset_bytes + bytes", value: format!("{offset} + {size}") }
        };
        self.error(Fault::Value { row, problem })
    }

    #[cold]
    fn error(&self, fault: Fault) -> TraceError {
        match fault {
            Fault::Decoding { column, cause } => {
                undecodable(&self.info.name, &format!("column {column} of {}", self.group_name()), &cause)
            }
            Fault::Value { row, problem } => TraceError::Malformed {
                file: self.info.name.clone(),
                at: Position::Row(self.first_row + row as u64),
                problem,
            },
        }
    }

    fn group_name(&self) -> String {
        format!("row group {}", self.next_group - 1)
    }

    /// At the end: whether there was something, and all of what was promised.
    fn check_end(&self) -> Result<(), TraceError> {
        if self.checked.as_ref().is_some_and(|(promise, sum)| !promise.is_kept_by(sum)) {
            return Err(changed(&self.info.name, "its requests do not match their checksum"));
        }
        if self.first_row == self.irregularities.zero_size {
            return Err(TraceError::Empty { file: self.info.name.clone() });
        }
        Ok(())
    }

    fn next_batch(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        while batch.len() < limit {
            if self.taken == self.rows.arrivals.len() && !self.decode()? {
                break;
            }
            self.take(batch, limit)?;
        }
        if let Some((_, checksum)) = &mut self.checked {
            checksum.base_ns = self.arrivals.map_or(0, |arrivals| arrivals.first);
            checksum.add(batch);
        }
        if batch.is_empty() { self.check_end() } else { Ok(()) }
    }
}

impl<R: ChunkReader + 'static> TraceSource for ParquetTrace<R> {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        debug_assert!(limit > 0);
        batch.clear();
        self.next_batch(batch, limit)
    }

    fn irregularities(&self) -> Irregularities {
        self.irregularities
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn share_done(&self) -> Option<f64> {
        (self.all_rows > 0).then(|| (self.first_row + self.taken as u64) as f64 / self.all_rows as f64)
    }
}

/// What is said of a recording in which requests are missing.
pub(super) fn missing(lost: u64) -> Option<String> {
    (lost > 0).then(|| format!("{lost} requests are missing in it, which could not be recorded"))
}

/// Does what may panic on a damaged file. The decoders check much of what they read, and `pages.rs` more, but they are
/// not ours and not free of assertions; a file must not end the program, be it a server's.
fn contained<T>(decode: impl FnOnce() -> Decoded<T>) -> Decoded<T> {
    // What the closure leaves half done is not looked at again: the source is spent.
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| Err(ParquetError::General(message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder gave up").to_owned()
}

#[cold]
fn undecodable(name: &str, place: &str, cause: &(impl ToString + ?Sized)) -> TraceError {
    TraceError::Undecodable { file: name.into(), place: place.into(), cause: cause.to_string() }
}

#[cold]
fn changed(name: &str, what: &'static str) -> TraceError {
    TraceError::Changed { file: name.into(), what }
}
