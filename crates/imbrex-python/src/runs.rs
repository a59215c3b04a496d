//! Replays and comparisons.

use std::sync::Arc;

use imbrex::layers::LayerInfo;
use imbrex::trace::Workload;
use imbrex_runs::run::{Run, runs};
use imbrex_runs::settings::Setting;
use imbrex_runs::specification::Specification;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{self, ConfigError};
use crate::layer::{self, Raised};
use crate::page::Drawn;
use crate::requests::PyRequests;
use crate::table::Table;
use crate::values::{map_of, result, table_of};
use crate::waiting::Work;

/// What one run came to: the row, its series and its contents, and what only a page draws.
pub type Came<'py> = (Bound<'py, PyAny>, Option<Table>, Option<Table>, Drawn);

/// A layer, and values of its fields.
type Configured = (&'static LayerInfo, toml::Table);

/// Replays every workload on every layer: of those given, or else of the family, or else those that `compare` takes.
/// Workloads and layers may be objects, and so they are no fields of the specification.
#[pyfunction]
#[pyo3(signature = (specification, workloads, layers, progress = None))]
pub fn run<'py>(
    py: Python<'py>,
    specification: &Bound<'_, PyDict>,
    workloads: Vec<Bound<'_, PyAny>>,
    layers: Vec<(Bound<'_, PyAny>, Bound<'_, PyDict>)>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Came<'py>>> {
    let mut specification = specified(specification)?;
    let workloads = workloads_of(&mut specification, &workloads)?;
    let (layers, raised) = configured(&layers)?;
    if specification.family.is_none() && !layers.is_empty() {
        specification.layers = Some(layers.iter().map(|(layer, _)| *layer).collect());
    }
    specification.setup.settings = layers.into_iter().flat_map(|(layer, config)| Setting::of(layer, config)).collect();
    let work = Work::new(&["reading", "replaying"], raised);
    let phases = || [work.phase(0), work.phase(1)].map(|phase| phase as Arc<_>);
    let runs = work.run(py, progress, || runs(&specification, &workloads, phases()))?;
    runs.into_iter().map(|run| came(py, run)).collect()
}

/// The specification that a dictionary is.
pub fn specified(fields: &Bound<'_, PyDict>) -> PyResult<Specification> {
    Specification::read(map_of(fields)?).map_err(|e| ConfigError::new_err(e.to_string()))
}

/// Workloads: each a name, the path of a file, or requests.
pub fn workloads_of(specification: &mut Specification, given: &[Bound<'_, PyAny>]) -> PyResult<Vec<Workload>> {
    let is_named = |one: &&Bound<'_, PyAny>| !one.is_instance_of::<PyRequests>();
    specification.workloads = given.iter().filter(is_named).map(|one| one.extract()).collect::<PyResult<_>>()?;
    let mut named = specification.named().map_err(|e| error::of(&e))?.into_iter();
    let workload = |one: &Bound<'_, PyAny>| match one.cast::<PyRequests>() {
        Ok(requests) => Some(requests.get().workload()),
        Err(_) => named.next(),
    };
    Ok(given.iter().filter_map(workload).collect())
}

/// Layers, with whatever those in Python raise.
fn configured(layers: &[(Bound<'_, PyAny>, Bound<'_, PyDict>)]) -> PyResult<(Vec<Configured>, Vec<Arc<Raised>>)> {
    let (mut all, mut raised) = (Vec::new(), Vec::new());
    for (layer, config) in layers {
        let (info, own) = layer::find(layer)?;
        all.push((info, table_of(config)?));
        raised.extend(own);
    }
    Ok((all, raised))
}

fn came(py: Python<'_>, run: Run) -> PyResult<Came<'_>> {
    let table = |rows: &[serde_json::Value]| (!rows.is_empty()).then(|| Table::of(rows)).transpose();
    let (series, contents) = (table(&run.series)?, table(&run.contents)?);
    Ok((result(py, &run.row)?, series, contents, Drawn { series: run.series, units: run.units }))
}
