//! The numbers of runs as a plain table, for who reads a page without JavaScript.

use std::fmt::Write;

use serde_json::Value;

use crate::html::escaped;
use crate::rows::Row;

const HEAD: [&str; 8] = [
    "workload",
    "layer",
    "drive",
    "mean latency (ms)",
    "over conventional",
    "p99 latency (ms)",
    "write amplification",
    "rewrites (RMW)",
];

/// The table, or nothing where there are no runs.
pub(crate) fn of_runs(runs: &[Row]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    // End tags of cells and lines may be left out, and a page of many runs stays small.
    let head: String = HEAD.iter().map(|name| format!("<th>{name}")).collect();
    let mut table = format!("<table><thead><tr>{head}<tbody>");
    for run in runs {
        let cells: String = cells(run, runs).iter().map(|cell| format!("<td>{}", escaped(cell))).collect();
        // Writing to a string cannot fail.
        let _ = write!(table, "<tr>{cells}");
    }
    table + "</table>"
}

fn cells(run: &Row, runs: &[Row]) -> [String; 8] {
    let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
    let latency = |which: &str| match behind(run) {
        Some(times) => format!("cannot keep up: {} × the time", digits(times)),
        None => run["latency_ms"][which].as_f64().map_or_else(String::new, digits),
    };
    let number = |name: &str| run[name].as_f64().map_or_else(String::new, digits);
    let synthetic = if run["synthetic"] == Value::Bool(true) { " (synthetic)" } else { "" };
    [
        text("trace") + synthetic,
        text("layer"),
        text("drive"),
        latency("mean"),
        over_conventional(run, runs).map_or_else(String::new, |times| format!("{} ×", digits(times))),
        latency("p99"),
        number("write_amplification"),
        number("rmw"),
    ]
}

/// The mean latency over that of the conventional layer on the same disk, where both keep up.
fn over_conventional(run: &Row, runs: &[Row]) -> Option<f64> {
    let is_same = |other: &&Row| {
        other["layer"] == "conventional"
            && ["trace", "drive", "drive_blocks"].iter().all(|name| other[*name] == run[*name])
    };
    let mean = |row: &Row| row["latency_ms"]["mean"].as_f64().filter(|mean| *mean > 0.0 && behind(row).is_none());
    Some(mean(run)? / mean(runs.iter().find(is_same)?)?)
}

/// How many times the time of the arrivals a run took that cannot keep up with them, as docs/json.md has it.
fn behind(run: &Row) -> Option<f64> {
    let arrived = run["arrival_seconds"].as_f64().filter(|seconds| *seconds > 0.0)?;
    let took = run["simulated_seconds"].as_f64()?;
    (took > 1.1 * arrived && took > arrived + 10.0).then(|| took / arrived)
}

/// A number to three digits, or whole where it is large.
fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || size == 0.0 {
        return format!("{value:.0}");
    }
    format!("{value:.0$}", if size >= 10.0 { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(layer: &str, mean: f64, took: f64) -> Row {
        json!({
            "trace": "<t>", "synthetic": true, "layer": layer, "drive": "d", "drive_blocks": 8, "latency_ms": { "mean": mean, "p99": 20.5 },
            "write_amplification": 1234.5, "rmw": 3, "arrival_seconds": 100.0, "simulated_seconds": took,
        })
    }

    #[test]
    fn a_table_has_each_run_beside_the_conventional_one() {
        let table = of_runs(&[run("conventional", 2.0, 100.0), run("a", 5.0, 105.0), run("b", 9e9, 300.0)]);
        assert_eq!(table.matches("<tr>").count(), 4, "a heading and three runs");
        assert!(
            table.contains("<tr><td>&lt;t&gt; (synthetic)<td>a<td>d<td>5.00<td>2.50 ×<td>20.5<td>1234<td>3"),
            "{table}"
        );
        assert!(table.contains("<td>b<td>d<td>cannot keep up: 3.00 × the time<td><td>"), "{table}");
    }

    #[test]
    fn nothing_is_shown_of_no_runs() {
        assert_eq!(of_runs(&[]), "");
    }
}
