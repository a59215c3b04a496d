//! A row of the frontier as it is written. `docs/json.md` describes every field; the versions change with them.

use imbrex_runs::row::Row;
use serde::Serialize;

use super::tables::Table;

/// The version of [`Line`].
const FRONTIER: &str = "imbrex.frontier/1";
/// The version of [`Tried`].
const SEARCH: &str = "imbrex.frontier-search/1";

/// What a layer came to on a workload.
#[derive(Clone, Serialize)]
pub struct Of {
    /// Its name.
    pub layer: &'static str,
    /// Its settings, `FIELD=VALUE` with spaces between; nothing for the defaults.
    pub settings: String,
    /// What is counted, or the mean response in milliseconds.
    pub value: f64,
    /// The same with its defaults.
    pub by_default: f64,
    /// How many times the time of the workload it took, if it did not keep up.
    pub times_of_workload: Option<f64>,
    /// The run as a command.
    pub command: String,
}

/// A workload in a table: what is possible, the best of the others and this project's layer.
#[derive(Clone, Serialize)]
pub struct Line {
    schema: &'static str,
    pub table: &'static str,
    pub workload: String,
    pub synthetic: bool,
    seed: Option<u64>,
    pub requests: u64,
    drive: String,
    drive_blocks: u64,
    buffer_blocks: u64,
    counted: &'static str,
    /// What no layer can beat, where something is known.
    pub bound: Option<u64>,
    /// What the best schedule reaches that knows all requests.
    pub schedule: Option<u64>,
    pub other: Of,
    pub ours: Option<Of>,
    /// That of `ours` over that of `other`; nothing where that is 0.
    pub ratio: Option<f64>,
}

impl Line {
    pub fn new(
        table: &'static Table,
        row: &Row,
        (bound, schedule): (Option<u64>, Option<u64>),
        other: Of,
        ours: Option<Of>,
    ) -> Self {
        let ratio = ours.as_ref().filter(|_| other.value > 0.0).map(|ours| ours.value / other.value);
        Self {
            schema: FRONTIER,
            table: table.name,
            workload: row.trace.clone(),
            synthetic: row.synthetic,
            seed: row.seed,
            requests: row.outcome.requests,
            drive: row.drive.clone(),
            drive_blocks: row.drive_blocks,
            buffer_blocks: row.buffer_blocks,
            counted: table.counted.name(),
            bound,
            schedule,
            other,
            ours,
            ratio,
        }
    }

    /// The ratio, if it says something: a layer that cannot keep up has the mean response that the length of the workload
    /// gives it, and of nothing there is no ratio.
    pub fn counted_ratio(&self) -> Option<f64> {
        let keeps_up = |of: &Of| of.times_of_workload.is_none();
        let both = keeps_up(&self.other) && self.ours.as_ref().is_some_and(keeps_up);
        self.ratio.filter(|ratio| both && *ratio > 0.0)
    }

    /// Whether this project's layer is worse than the best of the others.
    pub fn is_lost(&self) -> bool {
        self.ours.as_ref().is_some_and(|ours| ours.value > self.other.value)
    }
}

/// A layer on a workload: its best setting.
#[derive(Clone, Serialize)]
pub struct Tried {
    schema: &'static str,
    pub table: &'static str,
    pub workload: String,
    pub seed: Option<u64>,
    /// Whether it is this project's, of which only the defaults were run.
    pub is_ours: bool,
    trials: u32,
    #[serde(flatten)]
    pub of: Of,
}

impl Tried {
    pub fn new(
        table: &'static Table,
        (workload, seed): (&str, Option<u64>),
        is_ours: bool,
        trials: u32,
        of: Of,
    ) -> Self {
        Self { schema: SEARCH, table: table.name, workload: workload.to_owned(), seed, is_ours, trials, of }
    }

    /// Whether it is what a layer of a table came to on a workload of this name.
    pub fn is_of(&self, table: &Table, workload: &str, layer: &str) -> bool {
        self.table == table.name && self.workload == workload && self.of.layer == layer
    }

    /// Its settings, `FIELD=VALUE` each.
    pub fn settings(&self) -> Vec<String> {
        self.of.settings.split_whitespace().map(str::to_owned).collect()
    }
}
