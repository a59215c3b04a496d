//! The tables of the paper beside the runs, as data and for people.

use imbrex_runs::row::{Row, called};
use imbrex_terminal::table::{Sheet, count};
use serde::Serialize;

use super::paper::{COLD_WEIGHT, EMPTY, Table, WEIGHTS, WORKLOADS};
use super::results::{Aged, Cell, Counted, Results, best};

/// The version of [`Line`].
const SCHEMA: &str = "imbrex.moved/2";

/// A cell of a table of the paper, and the run.
#[derive(Serialize)]
pub struct Line {
    schema: &'static str,
    paper: &'static str,
    table: &'static str,
    workload: &'static str,
    synthetic: bool,
    prepopulation_percent: u32,
    layer: &'static str,
    cold_weight: Option<f64>,
    block_bytes: u32,
    bands: u64,
    host_write_blocks: u64,
    stopped: bool,
    paper_moved_blocks: u64,
    paper_saved_percent: f64,
    moved_before_blocks: u64,
    moved_by_trace_blocks: u64,
    moved_blocks: u64,
    saved_percent: Option<f64>,
    saved_by_trace_percent: Option<f64>,
    mixed: Option<u64>,
    hot_blocks: Option<u64>,
}

#[cfg(test)]
impl Line {
    pub fn is_stopped(&self) -> bool {
        self.stopped && self.mixed.is_none() && self.saved_by_trace_percent.is_none()
    }
}

/// Every cell that was run.
pub fn lines(results: &Results, paper: &'static str) -> Vec<Line> {
    results.cells().iter().filter_map(|cell| line(results, cell, paper)).collect()
}

fn line(results: &Results, cell: &Cell, paper: &'static str) -> Option<Line> {
    let (table, aged) = (Table::of(cell.level)?, cell.aged());
    let Row { synthetic, block_bytes, ref outcome, .. } = results.variants(aged).first()?.end.as_ref()?.row;
    let sums = cell.end.as_ref().map(|end| end.sums);
    Some(Line {
        schema: SCHEMA,
        paper,
        table: table.number,
        workload: WORKLOADS[cell.workload].volume,
        synthetic,
        prepopulation_percent: cell.level,
        layer: if cell.variant == 0 { EMPTY } else { COLD_WEIGHT },
        cold_weight: cell.weight().map(|weight| f64::from(weight) / 100.0),
        block_bytes,
        bands: outcome.bands?.bands,
        host_write_blocks: outcome.host_write_blocks,
        stopped: sums.is_none(),
        paper_moved_blocks: table.moved[cell.workload][cell.variant],
        paper_saved_percent: table.saved(cell.workload, cell.variant),
        moved_before_blocks: cell.moved_before,
        moved_by_trace_blocks: cell.moved,
        moved_blocks: cell.moved(Counted::All),
        saved_percent: results.saved(aged, cell.variant, Counted::All),
        saved_by_trace_percent: results.saved(aged, cell.variant, Counted::Trace),
        mixed: sums.and_then(|sums| sums.mixed),
        hot_blocks: sums.and_then(|sums| sums.hot_blocks),
    })
}

/// The columns of a table for people.
const HEADINGS: [&str; 9] =
    ["weight", ">paper: moved", ">saved", ">moved", ">saved", ">by the trace", ">saved", ">mixed", ">hot left"];

/// The name of its files, without their extension.
pub fn file(aged: Aged) -> String {
    let number = Table::of(aged.level).map_or("", |table| table.number);
    format!("table-{number}-{}", WORKLOADS[aged.workload].volume)
}

/// A half of a table of the paper: what is above it, and the lines.
pub fn shown(results: &Results, aged: Aged) -> Option<(String, Sheet)> {
    let (table, cells) = (Table::of(aged.level)?, results.variants(aged));
    let named = &WORKLOADS[aged.workload];
    let workload = called(named.volume, cells.first()?.end.as_ref()?.row.synthetic);
    let title = format!("Table {}, {} ({workload}), {} % prepopulation", table.number, named.printed, aged.level);
    let row = |cell: &Cell| {
        let own = |counted| if cell.variant == 0 { String::new() } else { saved(results, cell, counted) };
        let paper = (cell.variant > 0).then(|| signed(table.saved(aged.workload, cell.variant)));
        let hot = cell.end.as_ref().and_then(|end| end.sums.hot_blocks);
        [
            cell.weight().map_or("Empty".to_owned(), |weight| format!("0.{}", weight / 10)),
            count(table.moved[aged.workload][cell.variant]),
            paper.unwrap_or_default(),
            format!("{}{}", cell.at_least(), count(cell.moved(Counted::All))),
            own(Counted::All),
            format!("{}{}", cell.at_least(), count(cell.moved)),
            own(Counted::Trace),
            cell.mixed_percent().map_or("-".to_owned(), |percent| format!("{percent:.1} %")),
            hot.map_or("-".to_owned(), count),
        ]
    };
    Some((title, Sheet::new(HEADINGS, cells.iter().map(row))))
}

/// All tables of a workload in short: what each weight saves in the paper and here.
pub fn short(results: &Results, workload: usize) -> Option<(String, String, Sheet)> {
    let levels: Vec<_> = results.aged().into_iter().filter(|aged| aged.workload == workload).collect();
    let named = &WORKLOADS[workload];
    let called = called(named.volume, results.variants(*levels.first()?).first()?.end.as_ref()?.row.synthetic);
    let row = |variant: usize| {
        let cell = |aged: &Aged| match (Table::of(aged.level), results.variants(*aged).get(variant)) {
            (Some(table), Some(cell)) if variant == 0 => {
                format!("{}, {}", count(table.moved[workload][0]), count(cell.moved(Counted::All)))
            }
            (Some(table), Some(cell)) => {
                format!("{}, {}", signed(table.saved(workload, variant)), saved(results, cell, Counted::All))
            }
            _ => "-".to_owned(),
        };
        let name = variant.checked_sub(1).map_or("Empty".to_owned(), |at| format!("0.{}", WEIGHTS[at] / 10));
        std::iter::once(name).chain(levels.iter().map(cell)).collect::<Vec<_>>()
    };
    let headings = levels.iter().map(|aged| format!(">{} %", aged.level));
    let table = Sheet::new(std::iter::once("weight".to_owned()).chain(headings), (0..=WEIGHTS.len()).map(row));
    let title =
        format!("{} ({called}): blocks that Empty moves, and what weights save; in the paper, here", named.printed);
    Some((format!("saved-{}", named.volume), title, table))
}

/// What the best of the small weights saves on bands of the paper's length, and of twice that.
pub fn wide(results: &Results) -> Sheet {
    let row = |aged: Aged| {
        let best = |cells| {
            best(cells, Counted::All).map_or(["-".to_owned(), "-".to_owned()], |(cell, saved)| {
                [cell.weight().map_or("-".to_owned(), |weight| format!("0.{}", weight / 10)), signed(saved)]
            })
        };
        let [narrow, wide] = [results.small(aged), results.wide(aged)].map(best);
        std::iter::once(aged.name()).chain(narrow).chain(wide)
    };
    Sheet::new(
        ["workload", ">best", ">saves", ">best, twice the length", ">saves"],
        results.aged().into_iter().map(row),
    )
}

fn signed(percent: f64) -> String {
    format!("{percent:+.1} %")
}

/// What a weight saves, at most if it was stopped.
fn saved(results: &Results, cell: &Cell, counted: Counted) -> String {
    let at_most = if cell.end.is_none() { "≤ " } else { "" };
    let saved = results.saved(cell.aged(), cell.variant, counted);
    saved.map_or("-".to_owned(), |saved| format!("{at_most}{}", signed(saved)))
}
