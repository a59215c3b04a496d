//! Traces and what they are like, the simulator against what it has no part in, and layers against power cuts.

use std::path::PathBuf;

use imbrex::buffer_size::BufferSize;
use imbrex::explore::{self as explorer, Finding, Options, Subject, Tally};
use imbrex::perform::rules::{Rule, Rules};
use imbrex::trace::statistics::StatisticsOptions;
use imbrex_runs::checks::Check;
use imbrex_runs::trace_report::TraceReport;
use imbrex_terminal::progress::{Listener, Progress};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::layer;
use crate::runs;
use crate::values::result;
use crate::waiting::Work;

/// What a workload is like.
#[pyfunction]
#[pyo3(signature = (specification, workload, caches, buffer, progress = None))]
pub fn trace_stat<'py>(
    py: Python<'py>,
    specification: &Bound<'_, PyDict>,
    workload: &Bound<'_, PyAny>,
    caches: Vec<f64>,
    buffer: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut specification = runs::specified(specification)?;
    let workload = runs::workloads_of(&mut specification, std::slice::from_ref(workload))?.remove(0);
    if let Some(cache) = caches.iter().find(|cache| !(0.0..=100.0).contains(*cache)) {
        return Err(PyValueError::new_err(format!("caches: {cache} is no percentage of the distinct offsets")));
    }
    let buffer: BufferSize = buffer.parse().map_err(|e| PyValueError::new_err(format!("buffer: {e}")))?;
    let options = StatisticsOptions { caches, buffer };
    let requests = specification.setup.requests;
    let work = Work::new(&["reading and simulating"], Vec::new());
    let report = work.run(py, progress, || {
        let progress = Progress::told_of_pieces(work.phase(0), TraceReport::PIECES);
        TraceReport::of(&workload, requests, options, &progress)
    })?;
    result(py, &report)
}

/// Everything that is checked without a trace.
#[pyfunction]
#[pyo3(signature = (disksim = None, progress = None))]
pub fn validate<'py>(
    py: Python<'py>,
    disksim: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let work = Work::new(&["checking"], Vec::new());
    let checks = work.run(py, progress, || {
        Check::all(disksim.as_deref(), &Progress::told_of_pieces(work.phase(0), Check::PIECES))
    })?;
    result(py, &checks)
}

/// Explores a layer for power cuts; gives what was survived and what was found.
#[pyfunction]
#[pyo3(signature = (layer, cuts, seed, without, progress = None))]
pub fn explore<'py>(
    py: Python<'py>,
    layer: &Bound<'_, PyAny>,
    cuts: u64,
    seed: u64,
    without: Option<u8>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let rule = without.map(rule).transpose()?;
    let (info, raised) = layer::find(layer)?;
    let work = Work::new(&["exploring"], raised.into_iter().collect());
    let rules = rule.map_or(Some(Rules::all()), Rules::without);
    let rules = rules.ok_or_else(|| PyValueError::new_err("without: this package was built to keep every rule"))?;
    let options = Options { cuts, seed, rules };
    let found = work.run(py, progress, || {
        let phase = work.phase(0);
        let mut survived = Tally::default();
        let result = explorer::explore(&Subject::layer(info), &options, |tally| {
            survived = *tally;
            phase.reached(tally.cuts, cuts);
            !phase.wants_to_stop()
        });
        Ok((survived, result.err()))
    })?;
    let (survived, finding) = found;
    if let Some(finding) = &finding
        && let Some(raised) = work.raised(py, &finding.to_string())
    {
        return Err(raised);
    }
    result(py, &Exploration { layer: info.name, without_rule: without, first_seed: seed, survived, finding })
}

/// What an exploration came to, named as in the program's results.
#[derive(Serialize)]
struct Exploration {
    layer: &'static str,
    without_rule: Option<u8>,
    first_seed: u64,
    survived: Tally,
    finding: Option<Finding>,
}

fn rule(number: u8) -> PyResult<Rule> {
    let known = Rule::ALL.iter().find(|rule| rule.number() == number);
    known
        .copied()
        .ok_or_else(|| PyValueError::new_err(format!("without: the rules are numbered from 1 to {}", Rule::ALL.len())))
}
