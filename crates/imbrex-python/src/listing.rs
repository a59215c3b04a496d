//! What there is to choose from.

use imbrex::drive::DrivePreset;
use imbrex::layers::{self, LayerInfo};
use imbrex::trace::profiles::Profile;
use imbrex::trace::workloads::built_in;
use imbrex_runs::case::{named_drive, recording_of};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::values::object;

/// Every layer with its fields, as dictionaries.
#[pyfunction]
pub fn layers_known(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    layers::known().map(|info| layer(py, info)).collect()
}

fn layer<'py>(py: Python<'py>, info: &LayerInfo) -> PyResult<Bound<'py, PyDict>> {
    let fields = info.fields.iter().map(|field| {
        let dict = PyDict::new(py);
        let value = |text: &str| text.parse().unwrap_or_else(|_| toml::Value::String(text.to_owned()));
        let default: toml::Value = value(field.default);
        dict.set_item("key", field.key)?;
        dict.set_item("type", default.type_str())?;
        dict.set_item("default", object(py, default)?)?;
        dict.set_item("paper", field.paper.map(|paper| object(py, value(paper))).transpose()?)?;
        dict.set_item("meaning", field.meaning)?;
        Ok(dict)
    });
    let dict = PyDict::new(py);
    dict.set_item("name", info.name)?;
    dict.set_item("family", info.family.map(layers::Family::name))?;
    dict.set_item("source", info.source)?;
    dict.set_item("summary", info.summary)?;
    dict.set_item("buffered", info.buffered)?;
    let counters = info.counters().iter().map(|counter| (counter.key, counter.unit, counter.meaning));
    dict.set_item("counters", counters.collect::<Vec<_>>())?;
    dict.set_item("fields", fields.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

/// Every drive preset, as dictionaries.
#[pyfunction]
pub fn drives_known(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    DrivePreset::built_in().iter().map(|(name, _)| drive(py, name)).collect()
}

fn drive<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let preset = named_drive(name).map_err(|e| error::of(&e))?;
    let (recording, zones, conventional_zones) = recording_of(&preset);
    let dict = PyDict::new(py);
    dict.set_item("name", &preset.name)?;
    dict.set_item("recording", recording)?;
    dict.set_item("bytes", preset.capacity_bytes())?;
    dict.set_item("block_bytes", preset.block_bytes)?;
    dict.set_item("zones", zones)?;
    dict.set_item("conventional_zones", conventional_zones)?;
    dict.set_item("description", &preset.description)?;
    Ok(dict)
}

/// The names and descriptions of the built-in workloads, and those of the profiles.
#[pyfunction]
pub fn workloads_known() -> PyResult<[Vec<(String, String)>; 2]> {
    let spec = |one: &imbrex::trace::workloads::BuiltIn| Ok((one.name.to_owned(), one.spec()?.description));
    let synthetic: Result<Vec<_>, imbrex::trace::TraceError> = built_in().iter().map(spec).collect();
    let profile = |name: &'static str| {
        Ok((name.to_owned(), Profile::named(name).transpose()?.map_or_else(String::new, |p| p.description)))
    };
    let profiles: Result<Vec<_>, imbrex::trace::TraceError> = Profile::names().map(profile).collect();
    Ok([synthetic.map_err(|e| error::program(&e))?, profiles.map_err(|e| error::program(&e))?])
}
