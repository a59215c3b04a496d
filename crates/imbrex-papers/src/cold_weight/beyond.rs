//! Beyond the paper: what it names as future work, and others' rules, on the same aged disks.

use imbrex_terminal::table::{Sheet, count};
use serde::Serialize;

use super::paper::{COLD_WEIGHT, EMPTY, TABLES, WEIGHTS, WORKLOADS};
use super::results::{Cell, Counted, Results};

/// The version of [`Line`].
const SCHEMA: &str = "imbrex.beyond/2";

/// A layer with settings beside those of the paper's set-up.
pub struct Beyond {
    pub name: &'static str,
    pub layer: &'static str,
    pub fields: &'static [(&'static str, &'static str)],
}

/// As many bands compacted together, where the paper has two. Which is better differs from rule to rule.
const FOUR: (&str, &str) = ("compact_bands", "4");

/// What is run.
pub const BEYOND: [Beyond; 15] = [
    Beyond { name: "Empty, four bands at once", layer: EMPTY, fields: &[FOUR, ("equal", "lowest")] },
    Beyond {
        name: "0.3, hot from two overwrites",
        layer: COLD_WEIGHT,
        fields: &[("cold_weight", "0.3"), ("hot_from", "2")],
    },
    Beyond {
        name: "0.5, hot from two overwrites",
        layer: COLD_WEIGHT,
        fields: &[("cold_weight", "0.5"), ("hot_from", "2")],
    },
    Beyond {
        name: "0.5, hot from two overwrites, four bands at once",
        layer: COLD_WEIGHT,
        fields: &[("cold_weight", "0.5"), ("hot_from", "2"), FOUR],
    },
    Beyond { name: "cost-benefit", layer: "log-cost-benefit", fields: &[] },
    Beyond { name: "cost-benefit, four bands at once", layer: "log-cost-benefit", fields: &[FOUR] },
    Beyond { name: "tuned", layer: "tuned-weight", fields: &[] },
    Beyond { name: "tuned, four bands at once", layer: "tuned-weight", fields: &[FOUR] },
    Beyond { name: "tuned, hot apart", layer: "tuned-weight", fields: &[("open_bands", "2")] },
    Beyond { name: "tuned, hot and once hot apart", layer: "tuned-weight", fields: &[("open_bands", "3")] },
    Beyond { name: "tuned, decay", layer: "tuned-weight", fields: &[("cooling", "halve")] },
    Beyond {
        name: "tuned, hot apart, decay",
        layer: "tuned-weight",
        fields: &[("open_bands", "2"), ("cooling", "halve")],
    },
    Beyond {
        name: "tuned, hot apart, decay, four bands at once",
        layer: "tuned-weight",
        fields: &[("open_bands", "2"), ("cooling", "halve"), FOUR],
    },
    Beyond { name: "SepBIT", layer: "sepbit", fields: &[] },
    Beyond { name: "SepBIT, four bands at once", layer: "sepbit", fields: &[FOUR] },
];

/// What a variant is, if it is none of the paper's.
pub fn of(variant: usize) -> Option<&'static Beyond> {
    BEYOND.get(variant.checked_sub(1 + WEIGHTS.len())?)
}

/// A run beside Empty and the best weight of the paper's.
#[derive(Serialize)]
pub struct Line {
    schema: &'static str,
    workload: &'static str,
    synthetic: bool,
    prepopulation_percent: u32,
    name: &'static str,
    layer: &'static str,
    fields: String,
    stopped: bool,
    moved_blocks: u64,
    moved_by_trace_blocks: u64,
    of_empty: Option<f64>,
    of_best_weight: Option<f64>,
}

/// All that were run.
pub fn lines(results: &Results) -> Vec<Line> {
    let all = results.beyond().iter().filter_map(|cell| Some((cell, of(cell.variant)?)));
    let line = |(cell, beyond): (&Cell, &'static Beyond)| {
        let fields: Vec<_> = beyond.fields.iter().map(|(field, value)| format!("{field}={value}")).collect();
        let (of_empty, of_best_weight) = ratios(results, cell);
        Line {
            schema: SCHEMA,
            workload: WORKLOADS[cell.workload].volume,
            synthetic: cell.end.as_ref().is_some_and(|end| end.row.synthetic),
            prepopulation_percent: cell.level,
            name: beyond.name,
            layer: beyond.layer,
            fields: fields.join(" "),
            stopped: cell.end.is_none(),
            moved_blocks: cell.moved(Counted::All),
            moved_by_trace_blocks: cell.moved(Counted::Trace),
            of_empty,
            of_best_weight,
        }
    };
    all.map(line).collect()
}

/// The blocks that a run moves over those of Empty, and over those of the best of Empty and the paper's weights.
fn ratios(results: &Results, cell: &Cell) -> (Option<f64>, Option<f64>) {
    let papers = results.variants(cell.aged());
    let moved = |cell: &Cell| cell.moved(Counted::All);
    let over = |blocks: Option<u64>| blocks.filter(|blocks| *blocks > 0).map(|of| moved(cell) as f64 / of as f64);
    (over(papers.first().map(moved)), over(papers.iter().map(moved).min()))
}

/// A table for each workload, of what was moved and of its ratios to Empty and to the best weight, with its name and its
/// title.
pub fn tables(results: &Results) -> Vec<(String, String, Sheet)> {
    let mut tables = Vec::new();
    for (workload, named) in WORKLOADS.iter().enumerate() {
        let is_run = |level: &u32| !of_level(results, workload, *level).is_empty();
        let levels: Vec<u32> = TABLES.iter().map(|table| table.level).filter(is_run).collect();
        if levels.is_empty() {
            continue;
        }
        let headings = levels.iter().map(|level| format!(">{level} %"));
        let row = |(at, beyond): (usize, &Beyond)| {
            let cell = |&level: &u32| {
                of_level(results, workload, level).get(at).map_or("-".to_owned(), |cell| told(results, cell))
            };
            std::iter::once(beyond.name.to_owned()).chain(levels.iter().map(cell)).collect::<Vec<_>>()
        };
        let table = Sheet::new(std::iter::once(String::new()).chain(headings), BEYOND.iter().enumerate().map(row));
        let title = "moved, over Empty, over the best of Empty and the weights";
        tables.push((
            format!("beyond-{}", named.volume),
            format!("Beyond the paper, {}: {title}", named.volume),
            table,
        ));
    }
    tables
}

fn of_level(results: &Results, workload: usize, level: u32) -> Vec<&Cell> {
    results.beyond().iter().filter(|cell| cell.workload == workload && cell.level == level).collect()
}

fn told(results: &Results, cell: &Cell) -> String {
    let number = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let (of_empty, of_best) = ratios(results, cell);
    format!("{}{} {} {}", cell.at_least(), count(cell.moved(Counted::All)), number(of_empty), number(of_best))
}
