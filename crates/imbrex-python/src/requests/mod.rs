//! Requests of the user's own, as Arrow or as columns in memory: taken without copying, and read where they lie.

mod accesses;
mod columns;
mod names;
mod source;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use imbrex::trace::provided::Provided;
use imbrex::trace::{TraceError, Workload};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};

use crate::error;
use accesses::Accesses;
use columns::{Batch, Numbers};
use names::NAMES;
use source::{Shared, Table};

/// Requests of your own, as a workload.
///
/// `data` is anything that gives Arrow (`__arrow_c_stream__` or `__arrow_c_array__`), such as a Polars or pandas data
/// frame or a table of PyArrow, or a mapping from names to columns: NumPy arrays, other buffers, Arrow arrays. Columns
/// are read where they lie; nothing is copied, so do not change them while they are in use.
///
/// One column of each of these pairs is needed, and others do not matter:
///
/// | column | type | meaning |
/// |---|---|---|
/// | `arrival_ns` | integers (ns), timestamps or durations of any unit | when a request arrives; never decreases |
/// | `arrival_s` | numbers, in seconds | the same |
/// | `offset_bytes` | integers | its first byte |
/// | `lba` | integers | its first block, of `block_bytes` bytes |
/// | `bytes` | integers | its length, less than 4 GiB |
/// | `blocks` | integers | its length in such blocks |
/// | `write` | booleans | true for a write, false for a read |
/// | `operation` | strings or categories | `read`, `write` or `trim` |
///
/// Results call the workload `name`, and say that it is synthetic where `synthetic` is true.
///
/// >>> import imbrex
/// >>> from array import array
/// >>> columns = {"arrival_s": array("d", [0, 0.5]), "lba": array("q", [8, 0]), "blocks": array("q", [1, 2]),
/// ...            "write": array("B", [1, 0])}
/// >>> requests = imbrex.Requests(columns, name="two")
/// >>> len(requests), requests.name
/// (2, 'two')
#[pyclass(module = "imbrex", frozen, name = "Requests")]
pub struct PyRequests {
    table: Arc<Table>,
}

#[pymethods]
impl PyRequests {
    #[new]
    #[pyo3(signature = (data, *, name = "requests", synthetic = false, block_bytes = 4096))]
    fn new(data: &Bound<'_, PyAny>, name: &str, synthetic: bool, block_bytes: u64) -> PyResult<Self> {
        if block_bytes == 0 {
            return Err(PyValueError::new_err("block_bytes must be at least 1"));
        }
        let batches = if data.hasattr("__arrow_c_stream__")? || data.hasattr("__arrow_c_array__")? {
            of_table(data, name, block_bytes)?
        } else if let Ok(mapping) = data.cast::<PyMapping>() {
            vec![of_mapping(mapping, name, block_bytes)?]
        } else {
            let kind = data.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "requests are a table that gives Arrow (__arrow_c_stream__) or a mapping from names to columns, not {kind}"
            )));
        };
        Ok(Self { table: Arc::new(Table { name: name.to_owned(), synthetic, batches }) })
    }

    fn __len__(&self) -> usize {
        self.table.rows() as usize
    }

    fn __repr__(&self) -> String {
        format!("Requests(name={:?}, {} rows)", self.table.name, self.table.rows())
    }

    /// What results call the workload.
    #[getter]
    fn name(&self) -> &str {
        &self.table.name
    }

    /// Whether results say that it is synthetic.
    #[getter]
    fn synthetic(&self) -> bool {
        self.table.synthetic
    }

    /// Where the values lie that are read, in memory: for each record batch the address of each column's buffers.
    #[getter]
    fn addresses(&self) -> Vec<Vec<(&'static str, Vec<usize>)>> {
        let of = |(name, array): (&'static str, &ArrayRef)| {
            let data = array.to_data();
            (name, data.buffers().iter().map(|buffer| buffer.as_ptr() as usize).collect())
        };
        self.table.batches.iter().map(|batch| batch.arrays().map(of).into()).collect()
    }
}

impl PyRequests {
    /// The workload that they are.
    pub fn workload(&self) -> Workload {
        Workload::Provided(Provided::new(Arc::new(Shared(Arc::clone(&self.table)))))
    }
}

/// The record batches of something that gives Arrow.
fn of_table(data: &Bound<'_, PyAny>, name: &str, block_bytes: u64) -> PyResult<Vec<Batch>> {
    let reader = data.extract::<AnyRecordBatch>()?.into_reader()?;
    let mut batches = Vec::new();
    for batch in reader {
        let batch: RecordBatch = batch.map_err(|e| PyValueError::new_err(e.to_string()))?;
        if batch.num_rows() > 0 || batches.is_empty() {
            let column = |column: &str| Ok(batch.column_by_name(column).cloned());
            let names = batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
            batches.push(batch_of(name, &names, column, block_bytes)?);
        }
    }
    Ok(batches)
}

/// The one batch that columns make.
fn of_mapping(data: &Bound<'_, PyMapping>, name: &str, block_bytes: u64) -> PyResult<Batch> {
    let names = data.keys()?.iter().map(|key| key.extract::<String>()).collect::<PyResult<Vec<_>>>()?;
    let column = |column: &str| {
        let said = |e: PyErr| e.value(data.py()).to_string();
        let of = |data: Bound<'_, PyAny>| array_of(&data).map_err(|e| unfit(name, column, &said(e)));
        if names.iter().any(|name| name == column) { of(data.get_item(column)?).map(Some) } else { Ok(None) }
    };
    batch_of(name, &names, column, block_bytes)
}

fn unfit(name: &str, column: &str, problem: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: column {column} {problem}"))
}

/// A column in memory. NumPy's flags and times are integers to the buffer protocol when they are looked at so.
fn array_of(column: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let is_contiguous = column.getattr("flags").and_then(|flags| flags.getattr("c_contiguous")?.extract());
    if !is_contiguous.unwrap_or(true) {
        return Err(PyValueError::new_err("is not contiguous; numpy.ascontiguousarray makes a copy that is"));
    }
    let kind = column.getattr("dtype").and_then(|dtype| dtype.getattr("str")).and_then(|kind| kind.extract::<String>());
    let viewed = match kind.as_deref().unwrap_or_default() {
        "|b1" => column.call_method1("view", ("uint8",))?,
        "<M8[ns]" | "<m8[ns]" => column.call_method1("view", ("int64",))?,
        times if times.starts_with("<M8") || times.starts_with("<m8") => {
            return Err(PyValueError::new_err(format!("is of type {times}; cast it to nanoseconds, [ns]")));
        }
        _ => column.clone(),
    };
    match viewed.extract::<AnyArray>()? {
        AnyArray::Array(array) => Ok(array.into_inner().0),
        AnyArray::Stream(_) => {
            Err(PyValueError::new_err("is in several chunks; combine them, or pass the whole table instead"))
        }
    }
}

/// The columns that are needed, found by their names.
fn batch_of(
    name: &str,
    names: &[String],
    column: impl Fn(&str) -> PyResult<Option<ArrayRef>>,
    block_bytes: u64,
) -> PyResult<Batch> {
    let mut found = Vec::with_capacity(NAMES.len());
    for either in NAMES {
        found.push(one_of(name, names, either, &column)?);
    }
    let fits = |column: &'static str, problem: String| {
        error::program(&TraceError::Column { file: name.to_owned(), column, problem })
    };
    let lengths = |(column, array): &(&'static str, ArrayRef), own: &str| {
        let scale = if *column == own { 1 } else { block_bytes };
        Numbers::lengths(column, array.clone(), scale).map_err(|problem| fits(column, problem))
    };
    let (arrivals, accesses) = (&found[0], &found[3]);
    let rows = arrivals.1.len();
    if let Some((column, array)) = found.iter().find(|(_, array)| array.len() != rows) {
        let problem = format!("has {} rows and {} has {rows}; they must have as many", array.len(), arrivals.0);
        return Err(fits(column, problem));
    }
    Ok(Batch {
        arrivals: Numbers::arrivals(arrivals.0, arrivals.1.clone()).map_err(|problem| fits(arrivals.0, problem))?,
        offsets: lengths(&found[1], NAMES[1][0])?,
        sizes: lengths(&found[2], NAMES[2][0])?,
        accesses: Accesses::new(accesses.0, accesses.1.clone()).map_err(|problem| fits(accesses.0, problem))?,
        rows,
    })
}

/// That column of two which is there.
fn one_of(
    name: &str,
    names: &[String],
    either: [&'static str; 2],
    column: impl Fn(&str) -> PyResult<Option<ArrayRef>>,
) -> PyResult<(&'static str, ArrayRef)> {
    let wrong =
        |problem: String| error::program(&TraceError::Column { file: name.to_owned(), column: either[0], problem });
    match (column(either[0])?, column(either[1])?) {
        (Some(_), Some(_)) => Err(wrong(format!("stands beside {}; drop one of them", either[1]))),
        (Some(array), None) => Ok((either[0], array)),
        (None, Some(array)) => Ok((either[1], array)),
        (None, None) => {
            let found = names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
            Err(wrong(format!("or {} is missing; rename the one that holds it, among {found}", either[1])))
        }
    }
}
