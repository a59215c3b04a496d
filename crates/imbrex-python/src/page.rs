//! The page that shows results.

use imbrex::replay::QUANTILES;
use imbrex_page::{Report, RowError};
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::Error;
use crate::values::json_of;

/// What only a page draws of a run.
#[pyclass(module = "imbrex._native", frozen)]
pub struct Drawn {
    pub series: Vec<Value>,
    pub units: Option<Value>,
}

/// A page of these rows, each with what was seen of it if it is a run.
#[pyfunction]
#[pyo3(signature = (title, made_by, rows))]
pub fn page(title: &str, made_by: &str, rows: Vec<(Bound<'_, PyAny>, Option<Bound<'_, Drawn>>)>) -> PyResult<String> {
    let mut report = Report::new(title, concat!("imbrex ", env!("CARGO_PKG_VERSION")), &QUANTILES);
    report.made_by(made_by.to_owned());
    for (row, drawn) in rows {
        add(&mut report, json_of(&row)?, drawn.as_ref().map(Bound::get)).map_err(|e| Error::new_err(e.to_string()))?;
    }
    Ok(report.html())
}

fn add(report: &mut Report, row: Value, drawn: Option<&Drawn>) -> Result<(), RowError> {
    report.add(vec![row])?;
    let Some(drawn) = drawn else { return Ok(()) };
    let run = Some(report.runs() - 1);
    report.add_of(drawn.series.clone(), run)?;
    drawn.units.iter().for_each(|units| report.add_units(units.clone(), run));
    Ok(())
}
