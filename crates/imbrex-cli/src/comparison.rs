//! Runs beside each other: one table, in groups of one workload on one drive.

use imbrex::plan::Why;
use imbrex_runs::row::Row;
use imbrex_terminal::table::{Cell, count, grid, milliseconds, number, percent};

/// All columns behind the first one.
const COLUMNS: [&str; 10] =
    [">mean", ">p50", ">p99", ">longest", ">vs conv.", ">WA", ">write hits", ">RMW", ">RMW-free", ">moved"];
/// Those that are shown of a replay, and those that are where nothing takes time.
const TIMED: &[&str] = COLUMNS.split_at(9).0;
const UNTIMED: &[&str] = COLUMNS.split_at(5).1;

const LATENCIES: &str = "Latency from arrival to completion of reads and writes; vs conv.: mean over that of the \
    conventional layer on the same drive. A layer cannot keep up if it took more than 1.1 × the time over which the \
    requests arrived, and 10 s more, to serve them.";
const COUNTS: &str = "WA: blocks written to the media for each the host wrote. RMW: zones, bands or bottom tracks \
    rewritten; RMW-free: zones appended to.";
const MOVED: &str = "Moved: blocks that compaction wrote elsewhere.";

/// The columns to show, and what their headings mean.
pub fn columns(untimed: bool) -> (&'static [&'static str], String) {
    if untimed { (UNTIMED, format!("{COUNTS} {MOVED}")) } else { (TIMED, format!("{LATENCIES} {COUNTS}")) }
}

/// A run and what it is called.
pub struct Named<'a> {
    pub row: &'a Row,
    pub name: String,
    /// The line that it stands under, with others beside it.
    pub under: String,
}

/// The table, with some of the columns.
pub fn shown(runs: &[Named<'_>], columns: &[&str]) -> String {
    let is_shown = |at: usize| at == 0 || columns.contains(&COLUMNS[at - 1]);
    let headings = ["layer"].into_iter().chain(COLUMNS).enumerate().filter(|(at, _)| is_shown(*at));
    let headings: Vec<_> = headings.map(|(_, heading)| heading).collect();
    let mut lines = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        if at == 0 || runs[at - 1].under != run.under {
            lines.push(heading(&run.under, headings.len()));
        }
        let cells = cells(run, runs).into_iter().enumerate().filter(|(at, _)| is_shown(*at));
        lines.push(cells.map(|(_, cell)| cell).collect::<Vec<_>>());
    }
    grid(&headings, lines)
}

/// A line over all columns.
fn heading(said: &str, columns: usize) -> Vec<Cell> {
    (0..columns).map(|at| if at == 0 { Cell::Text(said.to_owned()) } else { Cell::Continued }).collect()
}

/// Whether two runs can be held against each other.
fn is_same_disk(a: &Row, b: &Row) -> bool {
    (&a.trace, a.on_drive()) == (&b.trace, b.on_drive())
}

fn cells(run: &Named<'_>, runs: &[Named<'_>]) -> [Cell; 11] {
    let outcome = &run.row.outcome;
    let [mean, p50, p99, longest, times] = latencies(run.row, runs);
    let counts = [
        number(outcome.write_amplification),
        percent(outcome.write_hit_ratio),
        count(outcome.rmw),
        count(outcome.rmw_free),
        count(outcome.media_write_blocks.get(Why::Migrate)),
    ];
    let [amplification, hits, rmw, rmw_free, moved] = counts.map(Cell::Text);
    [Cell::Text(format!("  {}", run.name)), mean, p50, p99, longest, times, amplification, hits, rmw, rmw_free, moved]
}

/// Mean, median, 99th percentile, maximum, and the mean over that of the baseline; or that they mean nothing.
fn latencies(row: &Row, runs: &[Named<'_>]) -> [Cell; 5] {
    if let Some(behind) = row.behind() {
        return [Cell::Text(behind), Cell::Continued, Cell::Continued, Cell::Continued, Cell::Continued];
    }
    let latency = &row.outcome.latency_ms.all;
    let is_yardstick = |other: &&Row| other.layer == "conventional" && is_same_disk(other, row);
    let yardstick = runs.iter().map(|run| run.row).find(is_yardstick).filter(|yardstick| yardstick.behind().is_none());
    let times = yardstick.map(|yardstick| latency.mean / yardstick.outcome.latency_ms.all.mean);
    let times = times.filter(|times| times.is_finite()).map_or("-".to_owned(), |times| format!("{}×", number(times)));
    let [mean, p50, p99, longest] = [latency.mean, latency.p50, latency.p99, latency.max].map(milliseconds);
    [mean, p50, p99, longest, times].map(Cell::Text)
}
