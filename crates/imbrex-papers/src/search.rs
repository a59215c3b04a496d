//! What is saved at every one of the settings that a paper leaves open.

use anyhow::Result;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
use imbrex_terminal::table::Sheet;
use serde::Serialize;

use super::metric::Metric;
use super::paper::Search;
use super::results::Results;

/// The version of [`Cell`].
const SCHEMA: &str = "imbrex.search/1";

/// What a variant saves against a baseline on the workloads of the search.
#[derive(Serialize)]
struct Cell {
    schema: &'static str,
    baseline: &'static str,
    variant: &'static str,
    metric: &'static str,
    /// Those that give a number.
    workloads: usize,
    /// On how many of them the metric is smaller.
    smaller: usize,
    /// By how many percent it is, on average over all, where it is least and where it is most.
    saved: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
}

impl Cell {
    fn of(results: &Results, search: &Search, metric: Metric, baseline: &'static str, variant: &'static str) -> Self {
        let study = results.paper.studies.iter().find(|study| study.name == search.study);
        let workloads = study.map_or(&[][..], |study| study.workloads(results.paper));
        let saved = |workload: &&str| results.reduction_of(metric, workload, variant, baseline);
        let mut all: Vec<_> = workloads.iter().filter_map(saved).collect();
        all.sort_by(f64::total_cmp);
        Self {
            schema: SCHEMA,
            baseline,
            variant,
            metric: metric.name(),
            workloads: all.len(),
            smaller: all.iter().filter(|saved| **saved > 0.0).count(),
            // Known when it is known of all, as everywhere.
            saved: (all.len() == workloads.len()).then(|| all.iter().sum::<f64>() / all.len() as f64),
            least: all.first().copied(),
            most: all.last().copied(),
        }
    }

    fn shown(&self) -> String {
        let Self { saved: Some(saved), smaller, workloads, .. } = self else { return "-".to_owned() };
        if smaller == workloads { format!("{saved:.0}") } else { format!("{saved:.0} ({smaller} of {workloads})") }
    }
}

/// The name of a metric's files, without their extension.
pub fn file(metric: Metric) -> String {
    format!("search-{}", metric.name().replace([' ', '\''], "-"))
}

/// What is saved of a metric, a row for each baseline.
pub fn table(search: &Search, metric: Metric, results: &Results) -> Sheet {
    let headings = std::iter::once("against".to_owned()).chain(search.columns.iter().map(|name| format!(">{name}")));
    let rows = search.rows.iter().map(|(baseline, variants)| {
        let cells = variants.iter().map(|variant| Cell::of(results, search, metric, baseline, variant).shown());
        std::iter::once((*baseline).to_owned()).chain(cells).collect::<Vec<_>>()
    });
    Sheet::new(headings, rows)
}

/// Writes all that was found.
pub fn write(search: &Search, results: &Results, folder: &NewFolder) -> Result<()> {
    let pairs = search.rows.iter().flat_map(|(baseline, variants)| variants.iter().map(move |name| (*baseline, *name)));
    let cells = pairs.flat_map(|(baseline, variant)| {
        search.metrics.iter().map(move |metric| Cell::of(results, search, *metric, baseline, variant))
    });
    folder.write("search.csv", &csv(&cells.collect::<Vec<_>>())?)
}
