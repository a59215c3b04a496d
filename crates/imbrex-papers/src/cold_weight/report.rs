//! The reproduction for people: the set-up, the tables, the claims.

use imbrex_runs::row::{Row, called};
use imbrex_terminal::table::{Sheet, bytes, count};

use super::TITLE;
use super::beyond;
use super::paper::WORKLOADS;
use super::results::{Cell, End, Results};
use super::runs::READINGS;
use super::tables;
use crate::claim::Finding;
use crate::report::Report;

/// All of it.
pub fn of(results: &Results, findings: &[Finding]) -> Report {
    let mut report = Report::default();
    report.say(TITLE);
    if let Some(end) = results.ends().next() {
        report.say(&readings(&end.row));
    }
    report.table("workloads", "", workloads(results));
    for aged in results.aged() {
        if let Some((title, table)) = tables::shown(results, aged) {
            report.table(&tables::file(aged), &title, table);
        }
    }
    report.say(&format!("\n{LEGEND}"));
    for (name, title, table) in (0..WORKLOADS.len()).filter_map(|workload| tables::short(results, workload)) {
        report.table(&name, &title, table);
    }
    let title = "Bands of the paper's length and of twice that: the best of the weights up to 0.5, and what it saves";
    report.table("wide", title, tables::wide(results));
    for (name, title, table) in beyond::tables(results) {
        report.table(&name, &title, table);
    }
    report.claims(findings);
    report
}

/// What the columns mean.
const LEGEND: &str = "Moved: blocks that compaction wrote, first those of the prepopulation and of the trace together, \
    then those that the trace alone moved; saved is against Empty. Mixed: bands with at least one hot, one cold and \
    one free block at the end, of all; hot left: hot blocks then. A run with ≥ was stopped, since it had moved many \
    times as many blocks as Empty. In Table IV the paper prints for Source 1 and weight 0.7 the \
    count of Table V; its percentage is of about 2,123,382 blocks.";

/// Every interpretation of the paper's text that moves a count.
fn readings(row: &Row) -> String {
    let fields: Vec<_> = READINGS.iter().map(|(field, value)| format!("{field} = {value}")).collect();
    let zone = u64::from(row.zone_blocks.unwrap_or(0)) * u64::from(row.block_bytes);
    format!(
        "Readings: blocks of {} bytes, bands of {} bytes, as many as 85 % of them hold what is written; {}; of bands \
         that count alike the one with the fewest live blocks, then of the lowest number; written blocks side by side; reads left out; the buffer \
         written at the end.",
        row.block_bytes,
        count(zone),
        fields.join(", "),
    )
}

fn workloads(results: &Results) -> Sheet {
    let row = |cell: &Cell| {
        let End { row, sums, .. } = cell.end.as_ref()?;
        let outcome = &row.outcome;
        Some([
            called(WORKLOADS[cell.workload].volume, row.synthetic),
            WORKLOADS[cell.workload].printed.to_owned(),
            format!("{} %", cell.level),
            count(outcome.write_requests),
            bytes(outcome.host_write_bytes),
            bytes(row.range_bytes),
            count(sums.bands),
        ])
    };
    let headings = ["workload", "in the paper", ">before it", ">writes", ">written", ">footprint", ">bands"];
    Sheet::new(headings, results.cells().iter().filter(|cell| cell.variant == 0).filter_map(row))
}
