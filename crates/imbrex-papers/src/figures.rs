//! The data of a paper's figures.

use anyhow::Result;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use serde::Serialize;

use super::metric::Metric;
use super::paper::{Figure, Study};
use super::results::Results;

/// The version of [`Bar`].
const SCHEMA: &str = "imbrex.figure/1";

/// A bar of a figure, or a part of one.
#[derive(Serialize)]
struct Bar {
    schema: &'static str,
    paper: &'static str,
    figure: &'static str,
    study: &'static str,
    workload: &'static str,
    synthetic: bool,
    requests: u64,
    variant: &'static str,
    metric: &'static str,
    unit: &'static str,
    value: Option<f64>,
    /// Over the value of the study's first variant.
    relative: Option<f64>,
}

/// Writes a file for each figure.
pub fn write(results: &Results, folder: &NewFolder) -> Result<()> {
    for study in results.paper.studies {
        for figure in study.figures {
            folder.write(&format!("{}.csv", figure.file(study)), &csv(&bars(results, study, figure))?)?;
        }
    }
    Ok(())
}

fn bars(results: &Results, study: &Study, figure: &Figure) -> Vec<Bar> {
    let mut bars = Vec::new();
    for workload in study.workloads(results.paper) {
        for (variant, metric) in study.variants.iter().flat_map(|name| figure.metrics.iter().map(move |m| (*name, *m)))
        {
            bars.extend(bar(results, study, figure, workload, variant, metric));
        }
    }
    bars
}

fn bar(
    results: &Results,
    study: &Study,
    figure: &Figure,
    workload: &'static str,
    variant: &'static str,
    metric: Metric,
) -> Option<Bar> {
    let row = results.row(workload, variant)?;
    let value = results.value(workload, variant, metric);
    Some(Bar {
        schema: SCHEMA,
        paper: results.paper.name,
        figure: figure.number,
        study: study.name,
        workload,
        synthetic: row.synthetic,
        requests: row.outcome.requests,
        variant,
        metric: metric.name(),
        unit: metric.unit(),
        value,
        relative: relative(results, study, workload, value, metric),
    })
}

/// A value over that of the study's first variant.
pub fn relative(results: &Results, study: &Study, workload: &str, value: Option<f64>, metric: Metric) -> Option<f64> {
    let yardstick = results.value(workload, study.variants.first()?, metric)?;
    value.map(|value| value / yardstick).filter(|relative| relative.is_finite())
}
