//! A reproduction for people: the workloads, a table for each figure, the claims.

use std::fmt::Write;

use anyhow::Result;
use imbrex_runs::case::Fit;
use imbrex_runs::row::{Row, called};
use imbrex_terminal::names::Names;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::table::{Sheet, bytes, count, number, paragraphs, percent};

use super::claim::{Data, Finding, Verdict};
use super::figures::relative;
use super::metric::Metric;
use super::paper::{Figure, Study};
use super::results::Results;
use super::{growth, mix, search, sweep, turnover};

/// More variants than these go below each other.
const MOST_COLUMNS: usize = 8;

/// What is said, and tables with names.
#[derive(Default)]
pub struct Report {
    text: String,
    tables: Vec<(String, Sheet)>,
    lists: Vec<(&'static str, String)>,
}

impl Report {
    /// A paragraph that begins on the next line.
    pub fn say(&mut self, text: &str) {
        self.text += &format!("{}\n", paragraphs(text));
    }

    /// A table below its title, if it has one.
    pub fn table(&mut self, name: &str, title: &str, table: Sheet) {
        if !title.is_empty() {
            self.text += &format!("\n{}\n", paragraphs(title));
        }
        self.text += &format!("\n{}\n", table.text());
        self.tables.push((name.to_owned(), table));
    }

    /// Paragraphs one by one, and for a document as a list.
    pub fn list(&mut self, name: &'static str, items: &[String]) {
        items.iter().for_each(|item| self.say(&item.replace(['*', '`'], "")));
        self.lists.push((name, items.iter().map(|item| format!("- {item}\n")).collect()));
    }

    /// The claims, with what stands behind their numbers.
    pub fn claims(&mut self, findings: &[Finding]) {
        self.table("claims", "Claims", claims(findings));
        self.text += &notes(findings);
    }

    /// Writes the report, each of its tables for a document, and how many of the claims are met.
    pub fn write(&self, findings: &[Finding], folder: &NewFolder) -> Result<()> {
        folder.write("verdicts.md", format!("{}.\n", summary(findings)).as_bytes())?;
        self.files(folder)
    }

    /// Writes the report, and each of its tables and lists for a document.
    pub fn files(&self, folder: &NewFolder) -> Result<()> {
        folder.write("report.txt", self.text.as_bytes())?;
        let file = |name: &str| format!("{name}.md");
        self.lists.iter().try_for_each(|(name, list)| folder.write(&file(name), list.as_bytes()))?;
        self.tables.iter().try_for_each(|(name, table)| folder.write(&file(name), table.markdown().as_bytes()))
    }

    /// All of it, for people.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// The report of a paper whose evaluation is studies.
pub fn of(results: &Results, findings: &[Finding]) -> Report {
    let paper = results.paper;
    let mut report = Report::default();
    report.say(paper.title);
    if let Some(row) = results.rows().next() {
        let drive = match paper.fit {
            Fit::Workload => format!("drive {}, as large as the workload", row.drive),
            _ => row.on_drive(),
        };
        report.say(&format!("{drive}; {}; buffer {}", row.circumstances(), paper.buffer));
        paper.readings.into_iter().for_each(|readings| report.say(readings));
    }
    report.table("workloads", "", workloads(results));
    for study in paper.studies.iter().filter(|study| results.has_any(study.workloads(paper))) {
        report.say(&format!("\n{}", study.title));
        for figure in study.figures {
            report.table(&figure.file(study), &figure.title(), bars(results, study, figure));
            if !figure.says.is_empty() {
                report.say(&format!("The paper: {}", figure.says));
            }
        }
    }
    if let Some(search) = paper.search {
        report.say(&format!("\n{}", search.title));
        for metric in search.metrics {
            let title =
                format!("Percent of {} saved on average, and on how many workloads if not on all", metric.name());
            report.table(&search::file(*metric), &title, search::table(search, *metric, results));
        }
    }
    if let Some(turnover) = paper.turnover {
        report.table(turnover::FILE, turnover.title, turnover::table(&results.turnover));
    }
    if let Some(mix) = paper.mix {
        report.table(mix::FILE, mix.title, mix::table(mix, &results.mix));
    }
    if let Some(growth) = paper.growth {
        report.table(&growth.file(), growth.title, growth::table(&results.growth));
    }
    for sweep in paper.sweeps {
        report.table(&sweep.file(), sweep.title, sweep::table(sweep, &results.sweeps));
    }
    report.claims(findings);
    report
}

/// What stands behind the numbers, a paragraph for each.
fn notes(findings: &[Finding]) -> String {
    let noted = findings.iter().filter(|finding| !finding.note.is_empty());
    noted.map(|Finding { id, note, .. }| format!("{}\n", paragraphs(&format!("{id}: {note}")))).collect()
}

/// How many claims are met.
pub fn summary(findings: &[Finding]) -> String {
    let mut text = format!("{} claims on {} data:", findings.len(), data(findings).map_or("no", Data::name));
    let (all, mut comma) = (&Verdict::ALL, "");
    for verdict in all {
        let times = findings.iter().filter(|finding| finding.verdict == *verdict).count();
        let _ = write!(text, "{comma} {times} {}", verdict.counted());
        comma = ",";
    }
    text
}

fn workloads(results: &Results) -> Sheet {
    let names = Names::of(results.rows().map(|row| row.trace.as_str()));
    let row = |workload: &&str| {
        let row = results.row(workload, results.paper.subject())?;
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
    Sheet::new(headings, results.paper.workloads.iter().filter_map(row))
}

fn bars(results: &Results, study: &Study, figure: &Figure) -> Sheet {
    let workloads = study.workloads(results.paper).iter().copied().filter(|workload| results.has_any(&[workload]));
    let cell = |workload: &str, variant: &str| bar(results, study, figure, workload, variant);
    if study.variants.len() > MOST_COLUMNS {
        let headings = workloads.clone().map(|workload| format!(">{}", named(results, workload)));
        let rows = study.variants.iter().map(|variant| {
            let cells = workloads.clone().map(|workload| cell(workload, variant));
            std::iter::once((*variant).to_owned()).chain(cells).collect::<Vec<_>>()
        });
        return Sheet::new(std::iter::once("variant".to_owned()).chain(headings), rows);
    }
    let headings = study.variants.iter().map(|variant| format!(">{variant}"));
    let rows = workloads.map(|workload| {
        let cells = study.variants.iter().map(|variant| cell(workload, variant));
        std::iter::once(named(results, workload)).chain(cells).collect::<Vec<_>>()
    });
    Sheet::new(std::iter::once("workload".to_owned()).chain(headings), rows)
}

fn named(results: &Results, workload: &str) -> String {
    results
        .row(workload, results.paper.subject())
        .map_or_else(|| workload.to_owned(), |row| called(workload, row.synthetic))
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

/// What the claims rest on, those for which anything was replayed.
fn data(findings: &[Finding]) -> Option<Data> {
    let mut replayed = findings.iter().filter(|finding| finding.requests > 0).map(|finding| finding.data);
    let first = replayed.next()?;
    Some(if replayed.all(|data| data == first) { first } else { Data::Mixed })
}

/// The claims and what was measured; on what data, where not all of it is of one kind.
fn claims(findings: &[Finding]) -> Sheet {
    let is_mixed = data(findings) == Some(Data::Mixed);
    let cells = |finding: &Finding| {
        let is_of_seeds = finding.seeds > 1;
        let mut cells = vec![
            finding.id.to_owned(),
            finding.says.to_owned(),
            format!("{} {}", finding.claimed, finding.unit),
            measured(finding),
            if is_of_seeds { range(finding) } else { String::new() },
            if is_of_seeds { format!("{} of {}", finding.seeds_met, finding.seeds) } else { String::new() },
            finding.verdict.name().to_owned(),
        ];
        let data = if finding.requests > 0 { finding.data.name() } else { "-" };
        cells.extend(is_mixed.then(|| data.to_owned()));
        cells
    };
    let mut headings = vec!["claim", "the paper says", ">number", ">measured", ">over seeds", ">seeds met", "verdict"];
    headings.extend(is_mixed.then_some("data"));
    Sheet::new(headings, findings.iter().map(cells))
}

/// The number, or what is known of it.
fn measured(finding: &Finding) -> String {
    match (finding.measured, finding.low, finding.high) {
        (Some(measured), ..) => number(measured),
        (None, Some(low), None) => format!("≥ {}", number(low)),
        (None, None, Some(high)) => format!("≤ {}", number(high)),
        (None, Some(_), Some(_)) => range(finding),
        (None, None, None) => "-".to_owned(),
    }
}

fn range(finding: &Finding) -> String {
    let shown = |bound: Option<f64>| bound.map_or("?".to_owned(), number);
    format!("{} … {}", shown(finding.low), shown(finding.high))
}
