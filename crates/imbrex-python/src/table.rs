//! Rows of results as a table that speaks Arrow.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use imbrex_terminal::output::columns;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use pyo3_arrow::PyTable;
use serde_json::Value;

use crate::error::Error;
use crate::values::json_of;

/// Rows of results, in columns named as in JSON, with the levels joined by dots.
///
/// It speaks Arrow: `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)`, `pyarrow.table(table)` and others
/// take it without copying.
///
/// >>> import imbrex
/// >>> table = imbrex.replay("zipf", "fifo-log", requests=3000, window="1000req").series
/// >>> len(table), "mean_read_ms" in table.columns
/// (3, True)
/// >>> table["requests"]
/// [1000, 1000, 1000]
#[pyclass(module = "imbrex", frozen)]
#[derive(Clone)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// The table that rows are.
    pub fn of(rows: &[Value]) -> PyResult<Self> {
        Self::made(rows).map_err(|e| Error::new_err(e.to_string()))
    }

    fn made(rows: &[Value]) -> anyhow::Result<Self> {
        let rows = rows.iter().map(columns).collect::<anyhow::Result<Vec<_>>>()?;
        let mut names: Vec<&String> = Vec::new();
        for name in rows.iter().flat_map(|row| row.keys()) {
            // Rows of a table have the same names, most of them in the same order.
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let column = |name: &&String| rows.iter().map(|row| row.get(*name).unwrap_or(&Value::Null)).collect::<Vec<_>>();
        let arrays: Vec<ArrayRef> = names.iter().map(|name| array(&column(name))).collect();
        let field = |(name, array): (&&String, &ArrayRef)| Field::new(*name, array.data_type().clone(), true);
        let schema = Schema::new(names.iter().zip(&arrays).map(field).collect::<Vec<_>>());
        Ok(Self { batch: RecordBatch::try_new(Arc::new(schema), arrays)? })
    }
}

/// The narrowest type that takes all values; a value of several levels is written as JSON.
fn array(values: &[&Value]) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    if all(Value::is_null) {
        Arc::new(StringArray::new_null(values.len()))
    } else if all(Value::is_boolean) {
        Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>())
    } else if all(Value::is_u64) {
        Arc::new(values.iter().map(|value| value.as_u64()).collect::<UInt64Array>())
    } else if all(Value::is_i64) {
        Arc::new(values.iter().map(|value| value.as_i64()).collect::<Int64Array>())
    } else if all(Value::is_number) {
        Arc::new(values.iter().map(|value| value.as_f64()).collect::<Float64Array>())
    } else {
        let text = |value: &&Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        Arc::new(values.iter().map(text).collect::<StringArray>())
    }
}

#[pymethods]
impl Table {
    /// The table that rows are, given as JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let rows: Vec<Value> = serde_json::from_str(text).map_err(|e| Error::new_err(e.to_string()))?;
        Self::of(&rows)
    }

    /// The table that rows are, given as dictionaries.
    #[staticmethod]
    fn from_rows(rows: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        Self::of(&rows.iter().map(json_of).collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows, {} columns)", self.batch.num_rows(), self.batch.num_columns())
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.batch.column_by_name(column).ok_or_else(|| PyKeyError::new_err(column.to_owned()))?;
        PyList::new(py, (0..array.len()).map(|row| cell(py, array, row)).collect::<PyResult<Vec<_>>>()?)
    }

    /// The rows as dictionaries.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let row = |row| {
            let dict = PyDict::new(py);
            for (field, array) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
                dict.set_item(field.name(), cell(py, array, row)?)?;
            }
            Ok(dict)
        };
        PyList::new(py, (0..self.batch.num_rows()).map(row).collect::<PyResult<Vec<_>>>()?)
    }

    /// The table as a data frame of Polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.getattr("DataFrame")?.call1((slf,))
    }

    /// The table as a data frame of pandas, by way of PyArrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_pyarrow(slf)?.call_method0("to_pandas")
    }

    /// The table as one of PyArrow.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = PyTable::try_new(vec![self.batch.clone()], self.batch.schema())?;
        let stream = Bound::new(py, table)?;
        stream.call_method1("__arrow_c_stream__", (requested_schema,))
    }
}

/// A value for Python.
fn cell<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        _ => array.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
    })
}
