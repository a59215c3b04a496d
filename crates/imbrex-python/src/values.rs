//! Values between Python and serde: what a user gives, and what comes of it.

use std::fmt;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::error::Error;

/// A dictionary as the configuration of a layer.
pub fn table_of(dict: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    dict.iter().map(|(key, value)| Ok((key.extract()?, value_of(&value)?))).collect()
}

/// A value of a field, as it would be written in TOML.
pub fn value_of(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    toml::Value::try_from(Given { value, is_field: true }).map_err(|e| PyTypeError::new_err(e.to_string()))
}

/// A dictionary as an object of JSON.
pub fn map_of(dict: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    match json_of(dict)? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

/// A value as JSON.
pub fn json_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    serde_json::to_value(Given { value, is_field: false }).map_err(|e| PyTypeError::new_err(e.to_string()))
}

/// A value of Python's.
struct Given<'a, 'py> {
    value: &'a Bound<'py, PyAny>,
    /// Whether it is for a field of a layer, which is never nothing.
    is_field: bool,
}

impl<'py> Given<'_, 'py> {
    /// A value in this one.
    fn inner<'b>(&self, value: &'b Bound<'py, PyAny>) -> Given<'b, 'py> {
        Given { value, is_field: self.is_field }
    }
}

impl Serialize for Given<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        let wrong = |e: PyErr| S::Error::custom(e.value(value.py()));
        // A truth is an integer to Python.
        if value.is_instance_of::<PyBool>() {
            serializer.serialize_bool(value.extract().map_err(wrong)?)
        } else if value.is_instance_of::<PyInt>() {
            whole(value, serializer)
        } else if value.is_instance_of::<PyFloat>() {
            serializer.serialize_f64(value.extract().map_err(wrong)?)
        } else if value.is_instance_of::<PyString>() {
            serializer.serialize_str(&value.extract::<String>().map_err(wrong)?)
        } else if let Ok(dict) = value.cast::<PyDict>() {
            let mut map = serializer.serialize_map(Some(dict.len()))?;
            for (key, value) in dict.iter() {
                map.serialize_entry(&key.extract::<String>().map_err(wrong)?, &self.inner(&value))?;
            }
            map.end()
        } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            let items = value.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>).map_err(wrong)?;
            serializer.collect_seq(items.iter().map(|item| self.inner(item)))
        } else if value.is_none() && !self.is_field {
            serializer.serialize_unit()
        } else if let Ok(index) = value.call_method0("__index__") {
            // NumPy's integers.
            whole(&index, serializer)
        } else if let Ok(number) = value.call_method0("__float__").and_then(|number| number.extract()) {
            // Its other numbers.
            serializer.serialize_f64(number)
        } else {
            let (kind, shown) = (value.get_type().name().map_err(wrong)?, value.repr().map_err(wrong)?);
            let takes = "a field takes bool, int, float, str, list or dict";
            Err(S::Error::custom(format_args!("{shown} is of type {kind}; {takes}")))
        }
    }
}

fn whole<S: Serializer>(value: &Bound<'_, PyAny>, serializer: S) -> Result<S::Ok, S::Error> {
    match (value.extract(), value.extract()) {
        (Ok(number), _) => serializer.serialize_i64(number),
        (_, Ok(number)) => serializer.serialize_u64(number),
        _ => Err(S::Error::custom(format_args!("{value} has more than 64 bits"))),
    }
}

/// A table for Python.
pub fn dict<'py>(py: Python<'py>, table: &toml::Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in table {
        dict.set_item(key, object(py, value.clone())?)?;
    }
    Ok(dict)
}

/// A result for Python.
pub fn result<'py>(py: Python<'py>, result: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(result).map_err(|e| Error::new_err(e.to_string()))?;
    object(py, value)
}

/// What a format of serde holds, for Python.
pub fn object<'de, 'py, D: Deserializer<'de>>(py: Python<'py>, value: D) -> PyResult<Bound<'py, PyAny>> {
    Made(py).deserialize(value).map_err(|e| Error::new_err(e.to_string()))
}

/// Makes objects of Python.
#[derive(Copy, Clone)]
struct Made<'py>(Python<'py>);

impl<'de, 'py> DeserializeSeed<'de> for Made<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for Made<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.0, value).to_owned().into_any())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(PyInt::new(self.0, value).into_any())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(PyFloat::new(self.0, value).into_any())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.0, value).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0);
        while let Some(item) = items.next_element_seed(self)? {
            list.append(item).map_err(de::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.0);
        while let Some(key) = entries.next_key::<String>()? {
            dict.set_item(key, entries.next_value_seed(self)?).map_err(de::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}
