//! Requests in record batches, as a workload that is read where it lies.

use std::sync::Arc;

use imbrex::trace::provided::Requests;
use imbrex::trace::{
    Compression, Irregularities, Position, Problem, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource,
};

use super::columns::{Batch, Rows};
use super::names::Wrong;

/// Rows that are decoded together.
const DECODED_ROWS: usize = 4096;

/// A table of requests.
pub struct Table {
    pub name: String,
    pub synthetic: bool,
    pub batches: Vec<Batch>,
}

impl Table {
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.rows as u64).sum()
    }
}

/// A table, as the workload that it is.
pub struct Shared(pub Arc<Table>);

impl Requests for Shared {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn open(&self) -> Result<Box<dyn TraceSource>, TraceError> {
        let info = TraceInfo {
            name: self.0.name.clone(),
            format: TraceFormat::Arrow,
            compression: Compression::None,
            synthetic: self.0.synthetic,
        };
        Ok(Box::new(Source {
            info,
            all_rows: self.0.rows(),
            table: Arc::clone(&self.0),
            batch: 0,
            next: 0,
            before: 0,
            arrivals: None,
            rows: Rows::default(),
            irregularities: Irregularities::default(),
        }))
    }
}

struct Source {
    info: TraceInfo,
    table: Arc<Table>,
    all_rows: u64,
    /// The batch that is being read, its next row, and the rows of the batches before it.
    batch: usize,
    next: usize,
    before: u64,
    /// The first and the last arrival so far, as they stand in the table.
    arrivals: Option<(u64, u64)>,
    rows: Rows,
    irregularities: Irregularities,
}

impl Source {
    /// Reads the next rows, at most `limit`, and adds their requests; false at the end.
    fn read(&mut self, requests: &mut Vec<TraceRequest>, limit: usize) -> Result<bool, TraceError> {
        let table = Arc::clone(&self.table);
        let Some(batch) = table.batches.get(self.batch) else { return Ok(false) };
        let first = self.next;
        let end = batch.rows.min(first + limit.min(DECODED_ROWS));
        if first == 0
            && let Some((row, column)) = batch.null()
        {
            return Err(self.malformed(Wrong { row, problem: Problem::Null { column } }));
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.read(batch, first..end).map_err(|wrong| self.malformed(wrong))?;
        let added = self.add(&rows, requests, batch.arrivals.name);
        self.rows = rows;
        added.map_err(|wrong| self.malformed(Wrong { row: first + wrong.row, ..wrong }))?;
        self.next = end;
        if end == batch.rows {
            self.before += batch.rows as u64;
            (self.batch, self.next) = (self.batch + 1, 0);
        }
        Ok(true)
    }

    fn add(&mut self, rows: &Rows, requests: &mut Vec<TraceRequest>, column: &'static str) -> Result<(), Wrong> {
        let Some(&first) = rows.arrivals.first() else { return Ok(()) };
        let (first, mut last) = self.arrivals.unwrap_or((first, first));
        let places = rows.offsets.iter().zip(&rows.sizes);
        let all = rows.arrivals.iter().zip(places).zip(&rows.accesses);
        if is_plain(rows, last) {
            let request = |((&arrival, (&offset_bytes, &size)), &access): ((&u64, (&u64, &u64)), &_)| TraceRequest {
                arrival_ns: arrival - first,
                offset_bytes,
                bytes: size as u32,
                access,
            };
            requests.extend(all.map(request));
            self.arrivals = rows.arrivals.last().map(|&last| (first, last));
            return Ok(());
        }
        for (row, ((&arrival, (&offset_bytes, &size)), &access)) in all.enumerate() {
            let bytes = size as u32;
            if arrival < last || u64::from(bytes) != size || offset_bytes.checked_add(size).is_none() {
                return Err(Wrong { row, problem: problem(column, arrival, last, offset_bytes, size) });
            }
            last = arrival;
            if bytes == 0 {
                self.irregularities.zero_size += 1;
                continue;
            }
            requests.push(TraceRequest { arrival_ns: arrival - first, offset_bytes, bytes, access });
        }
        self.arrivals = Some((first, last));
        Ok(())
    }

    #[cold]
    fn malformed(&self, Wrong { row, problem }: Wrong) -> TraceError {
        TraceError::Malformed { file: self.info.name.clone(), at: Position::Row(self.before + row as u64), problem }
    }
}

/// Whether each row is a request, after one that arrived at `last`. Almost always so, and told without a branch a row.
fn is_plain(rows: &Rows, last: u64) -> bool {
    let in_order = |so_far: bool, pair: &[u64]| so_far & (pair[0] <= pair[1]);
    let follows = rows.arrivals.first().is_none_or(|first| last <= *first);
    let is_sorted = rows.arrivals.windows(2).fold(follows, in_order);
    let is_length = |so_far: bool, size: &u64| so_far & (size.wrapping_sub(1) < u64::from(u32::MAX));
    let has_end = |so_far: bool, (offset, size): (&u64, &u64)| so_far & (offset.wrapping_add(*size) >= *size);
    let ends = rows.offsets.iter().zip(&rows.sizes);
    is_sorted & rows.sizes.iter().fold(true, is_length) & ends.fold(true, has_end)
}

/// What is wrong with a request that arrives at `arrival` and after one that did at `last`.
#[cold]
fn problem(column: &'static str, arrival: u64, last: u64, offset: u64, size: u64) -> Problem {
    if arrival < last {
        Problem::Decreasing { column, value: arrival, before: last }
    } else if u32::try_from(size).is_err() {
        Problem::TooLarge { field: "the length in bytes", value: size.to_string() }
    } else {
        Problem::TooLarge { field: "the end in bytes", value: format!("{offset} + {size}") }
    }
}

impl TraceSource for Source {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, requests: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        requests.clear();
        // As many as there are, whatever batches they lie in: how far a replay looks ahead follows from that.
        while requests.len() < limit && self.read(requests, limit - requests.len())? {}
        if requests.is_empty() && self.all_rows == self.irregularities.zero_size {
            return Err(TraceError::Empty { file: self.info.name.clone() });
        }
        Ok(())
    }

    fn share_done(&self) -> Option<f64> {
        (self.all_rows > 0).then(|| (self.before + self.next as u64) as f64 / self.all_rows as f64)
    }

    fn irregularities(&self) -> Irregularities {
        self.irregularities
    }
}
