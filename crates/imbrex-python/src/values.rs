//! Values of fields, between Python and TOML.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

/// A dictionary as a table.
pub fn table_of(dict: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    dict.iter().map(|(key, value)| Ok((key.extract()?, value_of(&value)?))).collect()
}

/// A value as it would be written.
pub fn value_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A truth is an integer to Python.
    if value.is_instance_of::<PyBool>() {
        Ok(Value::Boolean(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        Ok(Value::Integer(value.extract()?))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(Value::Float(value.extract()?))
    } else if value.is_instance_of::<PyString>() {
        Ok(Value::String(value.extract()?))
    } else if let Ok(dict) = value.cast::<PyDict>() {
        Ok(Value::Table(table_of(dict)?))
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        Ok(Value::Array(value.try_iter()?.map(|item| value_of(&item?)).collect::<PyResult<_>>()?))
    } else if let Ok(whole) = value.call_method0("__index__").and_then(|whole| whole.extract()) {
        // NumPy's integers.
        Ok(Value::Integer(whole))
    } else {
        let (kind, shown) = (value.get_type().name()?, value.repr()?);
        Err(PyTypeError::new_err(format!(
            "{shown} is of type {kind}; a field takes bool, int, float, str, list or dict"
        )))
    }
}

/// A value of TOML for Python.
pub fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Boolean(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Integer(value) => value.into_pyobject(py)?.into_any(),
        Value::Float(value) => value.into_pyobject(py)?.into_any(),
        Value::String(value) => value.into_pyobject(py)?.into_any(),
        Value::Datetime(value) => value.to_string().into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let values = values.iter().map(|value| object(py, value)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any()
        }
        Value::Table(table) => dict(py, table)?.into_any(),
    })
}

/// A table for Python.
pub fn dict<'py>(py: Python<'py>, table: &toml::Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in table {
        dict.set_item(key, object(py, value)?)?;
    }
    Ok(dict)
}
