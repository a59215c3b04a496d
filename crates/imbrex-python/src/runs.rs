//! Replays and comparisons.

use std::sync::Arc;

use imbrex::trace::Workload;
use imbrex_cli::runs::{Configured, Run, Words};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::layer::{self, Raised};
use crate::page::Drawn;
use crate::requests::PyRequests;
use crate::table::Table;
use crate::values::table_of;
use crate::waiting::Work;

/// What one run came to: the row as JSON, its series and its contents, and what only a page draws.
pub type Came = (String, Option<Table>, Option<Table>, Drawn);

/// Replays every workload on every layer. `words` are options of the program; layers come with their configurations.
#[pyfunction]
#[pyo3(signature = (words, workloads, layers, progress = None))]
pub fn run(
    py: Python<'_>,
    words: Vec<String>,
    workloads: Vec<Bound<'_, PyAny>>,
    layers: Vec<(Bound<'_, PyAny>, Bound<'_, PyDict>)>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Came>> {
    let words = Words::read(&words).map_err(|e| error::ConfigError::new_err(e.to_string()))?;
    let workloads = workloads_of(&words, &workloads)?;
    let (layers, raised) = configured(&layers)?;
    let work = Work::new(&["reading", "replaying"], raised);
    let runs = work.run(py, progress, || words.runs(&workloads, &layers, [work.phase(0), work.phase(1)]))?;
    runs.into_iter().map(came).collect()
}

/// Workloads: each a name, the path of a file, or requests.
pub fn workloads_of(words: &Words, given: &[Bound<'_, PyAny>]) -> PyResult<Vec<Workload>> {
    let is_named = |one: &&Bound<'_, PyAny>| !one.is_instance_of::<PyRequests>();
    let names = given.iter().filter(is_named).map(|one| one.extract()).collect::<PyResult<Vec<String>>>()?;
    let mut named = words.named(&names).map_err(|e| error::of(&e))?.into_iter();
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

fn came(run: Run) -> PyResult<Came> {
    let row = serde_json::to_string(&run.row).map_err(|e| error::Error::new_err(e.to_string()))?;
    let table = |rows: &[serde_json::Value]| (!rows.is_empty()).then(|| Table::of(rows)).transpose();
    let (series, contents) = (table(&run.series)?, table(&run.contents)?);
    Ok((row, series, contents, Drawn { series: run.series, units: run.units }))
}
