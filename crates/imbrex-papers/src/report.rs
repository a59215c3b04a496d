//! A reproduction for people: the workloads, a table for each figure, the claims.

use imbrex_runs::case::Fit;
use imbrex_runs::row::{Row, called};
use imbrex_terminal::names::Names;
use imbrex_terminal::table::{bytes, count, grid, number, paragraphs, percent, table};

use super::claim::{Finding, Verdict};
use super::figures::relative;
use super::metric::Metric;
use super::paper::{Figure, Study};
use super::results::Results;
use super::{growth, mix, sweep, turnover};

/// More variants than these go below each other.
const MOST_COLUMNS: usize = 8;

/// All of it.
pub fn shown(results: &Results, findings: &[Finding]) -> String {
    let paper = results.paper;
    let mut text = format!("{}\n", paragraphs(paper.title));
    if let Some(row) = results.rows().next() {
        let drive = match paper.fit {
            Fit::Workload => format!("drive {}, as large as the workload", row.drive),
            _ => row.on_drive(),
        };
        let said = format!("{drive}; {}; buffer {}", row.circumstances(), paper.buffer);
        text += &format!("{}\n", paragraphs(&said));
        text += &paper.readings.map_or(String::new(), |readings| format!("{}\n", paragraphs(readings)));
    }
    text += &format!("\n{}\n", workloads(results));
    for study in paper.studies {
        text += &format!("\n{}\n", paragraphs(study.title));
        for figure in study.figures {
            text += &format!("\n{}\n{}\n", paragraphs(&figure.title()), bars(results, study, figure));
            if !figure.says.is_empty() {
                text += &format!("{}\n", paragraphs(&format!("The paper: {}", figure.says)));
            }
        }
    }
    if let Some(turnover) = paper.turnover {
        text += &format!("\n{}\n\n{}\n", paragraphs(turnover.title), turnover::shown(&results.turnover));
    }
    if let Some(mix) = paper.mix {
        text += &format!("\n{}\n\n{}\n", paragraphs(mix.title), mix::shown(mix, &results.mix));
    }
    if let Some(growth) = paper.growth {
        text += &format!("\n{}\n\n{}\n", paragraphs(growth.title), growth::shown(&results.growth));
    }
    for sweep in paper.sweeps {
        text += &format!("\n{}\n\n{}\n", paragraphs(sweep.title), sweep::shown(sweep, &results.sweeps));
    }
    text += &format!("\nClaims\n\n{}\n{}", claims(findings), notes(findings));
    text
}

/// What stands behind the numbers, a paragraph for each.
pub fn notes(findings: &[Finding]) -> String {
    let noted = findings.iter().filter(|finding| !finding.note.is_empty());
    noted.map(|Finding { id, note, .. }| format!("{}\n", paragraphs(&format!("{id}: {note}")))).collect()
}

/// How many claims are met.
pub fn summary(findings: &[Finding]) -> String {
    let of = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let [met, exceeded] = [Verdict::Met, Verdict::Exceeded].map(of);
    let [not_met, not_measured] = [Verdict::NotMet, Verdict::NotMeasured].map(of);
    let data = findings.iter().map(|finding| finding.data.name()).collect::<Vec<_>>();
    let data = if data.windows(2).all(|pair| pair[0] == pair[1]) { data.first().copied() } else { Some("mixed") };
    format!(
        "{} claims on {} data: {met} met, {exceeded} exceeded, {not_met} not met, {not_measured} not measured",
        findings.len(),
        data.unwrap_or("no")
    )
}

fn workloads(results: &Results) -> String {
    let names = Names::of(results.rows().map(|row| row.trace.as_str()));
    let row = |workload: &&str| {
        let row = results.row(workload, results.subject())?;
        let outcome = &row.outcome;
        Some([
            (*workload).to_owned(),
            if row.synthetic { "synthetic".to_owned() } else { names.name(&row.trace).to_owned() },
            count(outcome.requests),
            percent(outcome.write_requests as f64 / outcome.requests.max(1) as f64),
            bytes(outcome.host_write_bytes),
            bytes(row.range_bytes),
            bytes(row.buffer_blocks * u64::from(row.block_bytes)),
        ])
    };
    let headings = ["workload", "data", ">requests", ">writes", ">written", ">range", ">buffer"];
    table(headings, results.paper.workloads.iter().filter_map(row))
}

fn bars(results: &Results, study: &Study, figure: &Figure) -> String {
    let workloads = study.workloads(results.paper);
    let cell = |workload: &str, variant: &str| bar(results, study, figure, workload, variant);
    if study.variants.len() > MOST_COLUMNS {
        let headings: Vec<_> = workloads.iter().map(|workload| format!(">{}", named(results, workload))).collect();
        let rows = study.variants.iter().map(|variant| {
            let cells = workloads.iter().map(|workload| cell(workload, variant));
            std::iter::once((*variant).to_owned()).chain(cells).collect::<Vec<_>>()
        });
        return grid(&headed("variant", &headings), rows);
    }
    let headings: Vec<_> = study.variants.iter().map(|variant| format!(">{variant}")).collect();
    let rows = workloads.iter().map(|workload| {
        let cells = study.variants.iter().map(|variant| cell(workload, variant));
        std::iter::once(named(results, workload)).chain(cells).collect::<Vec<_>>()
    });
    grid(&headed("workload", &headings), rows)
}

fn headed<'a>(first: &'a str, others: &'a [String]) -> Vec<&'a str> {
    std::iter::once(first).chain(others.iter().map(String::as_str)).collect()
}

fn named(results: &Results, workload: &str) -> String {
    results.row(workload, results.subject()).map_or_else(|| workload.to_owned(), |row| called(workload, row.synthetic))
}

/// A bar in numbers: its parts from the bottom, or what it is and over what the first variant's is.
fn bar(results: &Results, study: &Study, figure: &Figure, workload: &str, variant: &str) -> String {
    let behind = results.row(workload, variant).and_then(Row::behind);
    if let (Some(behind), [metric]) = (behind, figure.metrics)
        && metric.is_latency()
    {
        return behind;
    }
    if results.is_unreached(workload, variant) {
        return "not reached".to_owned();
    }
    let part = |metric: &Metric| metric.shown(results.value(workload, variant, *metric));
    let shown = figure.metrics.iter().map(part).collect::<Vec<_>>().join(" + ");
    match figure.metrics {
        [metric] if figure.is_relative => {
            let value = results.value(workload, variant, *metric);
            let times = relative(results, study, workload, value, *metric);
            times.map_or(shown.clone(), |times| format!("{shown} ({}×)", number(times)))
        }
        _ => shown,
    }
}

/// The claims and what was measured.
pub fn claims(findings: &[Finding]) -> String {
    let cells = |finding: &Finding| {
        [
            finding.id.to_owned(),
            finding.says.to_owned(),
            format!("{} {}", finding.claimed, finding.unit),
            finding.measured.map_or("-".to_owned(), |measured| format!("{measured:.1}")),
            finding.verdict.name().to_owned(),
            finding.data.name().to_owned(),
        ]
    };
    table(["claim", "the paper says", ">number", ">measured", "verdict", "data"], findings.iter().map(cells))
}
