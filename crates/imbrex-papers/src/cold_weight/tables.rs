//! The tables of the paper beside the runs, as data and for people.

use imbrex_runs::row::called;
use imbrex_terminal::table::{Sheet, count};
use serde::Serialize;

use super::paper::{Table, WORKLOADS};
use super::results::{Aged, Cell, Counted, Results};

/// The version of [`Line`].
const SCHEMA: &str = "imbrex.moved/1";

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

/// Every cell that was run.
pub fn lines(results: &Results, paper: &'static str) -> Vec<Line> {
    results.cells().iter().filter_map(|cell| line(results, cell, paper)).collect()
}

fn line(results: &Results, cell: &Cell, paper: &'static str) -> Option<Line> {
    let table = Table::of(cell.level)?;
    let aged = Aged { workload: cell.workload, level: cell.level };
    Some(Line {
        schema: SCHEMA,
        paper,
        table: table.number,
        workload: WORKLOADS[cell.workload].volume,
        synthetic: cell.row.synthetic,
        prepopulation_percent: cell.level,
        layer: cell.row.layer,
        cold_weight: cell.weight().map(|weight| f64::from(weight) / 100.0),
        block_bytes: cell.row.block_bytes,
        bands: cell.sums.bands,
        host_write_blocks: cell.row.outcome.host_write_blocks,
        paper_moved_blocks: table.moved[cell.workload][cell.variant],
        paper_saved_percent: table.saved(cell.workload, cell.variant),
        moved_before_blocks: cell.moved_before,
        moved_by_trace_blocks: cell.moved,
        moved_blocks: cell.moved(Counted::All),
        saved_percent: results.saved(aged, cell.variant, Counted::All),
        saved_by_trace_percent: results.saved(aged, cell.variant, Counted::Trace),
        mixed: cell.sums.mixed,
        hot_blocks: cell.sums.hot_blocks,
    })
}

/// The columns of a table for people.
const HEADINGS: [&str; 10] = [
    "weight",
    ">paper: moved",
    ">saved",
    ">moved",
    ">saved",
    ">by the trace",
    ">saved",
    ">mixed",
    ">hot left",
    ">bands",
];

/// The name of its files, without their extension.
pub fn file(aged: Aged) -> String {
    let number = Table::of(aged.level).map_or("", |table| table.number);
    format!("table-{number}-{}", WORKLOADS[aged.workload].volume)
}

/// A half of a table of the paper: what is above it, and the lines.
pub fn shown(results: &Results, aged: Aged) -> Option<(String, Sheet)> {
    let (table, cells) = (Table::of(aged.level)?, results.variants(aged));
    let named = &WORKLOADS[aged.workload];
    let workload = called(named.volume, cells.first()?.row.synthetic);
    let title = format!("Table {}, {} ({workload}), {} % prepopulation", table.number, named.printed, aged.level);
    let row = |cell: &Cell| {
        let signed = |percent: Option<f64>| percent.map_or("-".to_owned(), |percent| format!("{percent:+.2} %"));
        let saved = |counted| if cell.variant == 0 { None } else { results.saved(aged, cell.variant, counted) };
        let paper = (cell.variant > 0).then(|| table.saved(aged.workload, cell.variant));
        [
            cell.weight().map_or("Empty".to_owned(), |weight| format!("0.{}", weight / 10)),
            count(table.moved[aged.workload][cell.variant]),
            signed(paper),
            count(cell.moved(Counted::All)),
            signed(saved(Counted::All)),
            count(cell.moved),
            signed(saved(Counted::Trace)),
            cell.sums.mixed.map_or("-".to_owned(), count),
            cell.sums.hot_blocks.map_or("-".to_owned(), count),
            count(cell.sums.bands),
        ]
    };
    Some((title, Sheet::new(HEADINGS, cells.iter().map(row))))
}
