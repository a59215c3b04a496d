//! The frontier for people: the answers first, then a table for each kind of disk, with a row for each workload.

use imbrex_runs::row::called;
use imbrex_terminal::table::{Sheet, count, milliseconds};

use super::answers;
use super::line::{Line, Of, Tried};
use super::measuring::Extent;
use super::tables::{Counted, Table};
use crate::report::Report;

/// All of it; of one workload only its rows.
pub fn of(lines: &[Line], tried: &[Tried], extent: &Extent<'_>) -> Report {
    let mut report = Report::default();
    let of_table = |table: &Table| lines.iter().filter(|line| line.table == table.name).collect::<Vec<_>>();
    if extent.is_of_several {
        let said: Vec<_> = extent.tables.iter().map(|table| answers::sentences(table, &of_table(table))).collect();
        report.list("answers", &said);
    }
    report.say(&format!(
        "\nThe others: the best of at most {} settings of each layer on each workload, its defaults first, searched with \
         seed {}. With further seeds of a workload the defaults and the best are tried again.",
        extent.trials, extent.seed
    ));
    report.table("workloads", "Workloads", workloads(lines));
    for table in extent.tables {
        report.table(table.name, table.title, rows(table, &of_table(table)));
        if extent.is_of_several {
            report.table(&format!("{}-layers", table.name), "", answers::layers(table, tried));
        }
    }
    report
}

/// The workloads, with the most requests that any table has of each: some leave out those for unwritten blocks.
fn workloads(lines: &[Line]) -> Sheet {
    let mut most: Vec<(String, u64)> = Vec::new();
    for line in lines {
        let name = called(&line.workload, line.synthetic);
        match most.iter_mut().find(|(known, _)| *known == name) {
            Some((_, requests)) => *requests = line.requests.max(*requests),
            None => most.push((name, line.requests)),
        }
    }
    Sheet::new(["workload", ">requests"], most.into_iter().map(|(name, requests)| [name, count(requests)]))
}

fn rows(table: &Table, lines: &[&Line]) -> Sheet {
    let has_bound = lines.iter().any(|line| line.bound.is_some());
    let has_schedule = lines.iter().any(|line| line.schedule.is_some());
    let all = answers::by_workload(lines);
    let has_seeds = answers::has_seeds(&all) && table.ours.is_some();
    let mut headings = vec!["workload".to_owned()];
    headings.extend(has_bound.then(|| ">bound".to_owned()));
    headings.extend(has_schedule.then(|| ">schedule".to_owned()));
    headings.extend(["best other", "its settings", ">of it"].map(str::to_owned));
    headings.extend(table.ours.into_iter().flat_map(|ours| [format!(">{ours}"), ">ours / other".to_owned()]));
    headings.extend(has_seeds.then(|| ">over all seeds".to_owned()));
    let least = |least: Option<u64>| least.map_or("-".to_owned(), count);
    let row = |of_workload: &Vec<&Line>| {
        let line = of_workload[0];
        let mut cells = vec![called(&line.workload, line.synthetic)];
        cells.extend(has_bound.then(|| least(line.bound)));
        cells.extend(has_schedule.then(|| least(line.schedule)));
        let settings = if line.other.settings.is_empty() { "none" } else { &line.other.settings };
        cells.extend([line.other.layer.to_owned(), settings.to_owned(), shown(table, &line.other)]);
        cells.extend(line.ours.iter().flat_map(|ours| [shown(table, ours), ratio(line)]));
        cells.extend(has_seeds.then(|| answers::over_seeds(of_workload)));
        cells
    };
    Sheet::new(headings, all.iter().map(row))
}

fn ratio(line: &Line) -> String {
    let ratio = line.ratio.map_or("-".to_owned(), answers::times);
    if line.is_lost() { format!("{ratio}, loses") } else { ratio }
}

fn shown(table: &Table, of: &Of) -> String {
    let value = match table.counted {
        Counted::Response => milliseconds(of.value),
        _ => count(of.value as u64),
    };
    if of.times_of_workload.is_some() { format!("{value}, cannot keep up") } else { value }
}
