//! Runs beside each other: one table, in groups of one workload on one drive.

use imbrex::plan::Why;
use imbrex::replay::MapOutcome;
use imbrex_runs::row::Row;
use imbrex_terminal::duration;
use imbrex_terminal::table::{Cell, bytes, count, grid, milliseconds, number, percent};

use crate::baselines::{BASELINE, is_same_disk};

/// All columns behind the first one.
const COLUMNS: [&str; 14] = [
    ">buffer",
    ">mean",
    ">p99",
    ">longest",
    OVER,
    VERSUS,
    ">WA",
    ">hits",
    ">RMW",
    ">RMW-free",
    MOVED_BLOCKS,
    MAP_READS,
    MAP_WRITES,
    STEADY,
];
/// After how many rounds a layer was steady.
const STEADY: &str = ">steady";
/// How many requests took longer than the limit.
const OVER: &str = ">over";
/// What says how much slower a layer is than a conventional disk.
const VERSUS: &str = ">vs conv";
/// Pages of a map in bounded memory that were read and written, in place of what is counted of zones.
const MAP_READS: &str = ">map reads";
const MAP_WRITES: &str = ">map writes";
const MOVED_BLOCKS: &str = ">moved";
const OF_ZONES: [&str; 2] = [">RMW", ">RMW-free"];
/// The columns that are shown of replays, and those that are where nothing takes time.
const TIMED: [&str; 10] = [">buffer", ">mean", ">p99", ">longest", OVER, VERSUS, ">WA", ">hits", ">RMW", ">RMW-free"];
const UNTIMED: [&str; 6] = [">buffer", ">WA", ">hits", ">RMW", ">RMW-free", MOVED_BLOCKS];

const LATENCIES: &str = "Latency from arrival to completion of reads and writes. A layer cannot keep up if it took more \
    than 1.1 × the time over which the requests arrived, and 10 s more, to serve them.";
const VERSUS_IS: &str = "Vs conv: mean over that of the conventional layer on the same drive.";
const COUNTS: &str = "WA: blocks written to the media for each the host wrote. RMW: zones, bands or bottom tracks \
    rewritten; RMW-free: zones appended to.";
const MAP_IS: &str = "Map reads and writes: pages of a map for which the memory was too small, for each 1000 \
    requests; they are in latency and WA.";
const STEADY_IS: &str = "Steady: rounds until write amplification, or what is rewritten of zones, stood still; all figures \
    are of the last five.";
const MOVED: &str = "Moved: blocks that compaction wrote elsewhere.";

const POSSIBLE: &str = "No layer can beat: with such a buffer, cache or spare space. Offline: schedules that know all \
    requests.";
const FIXED: &str = "Of bottom tracks the bound is for layers whose blocks have fixed places.";

/// What is possible, beside the runs on a disk: what no layer can beat, or what a schedule reaches.
pub struct Possible {
    /// The line that it stands under.
    pub under: String,
    /// What it is called.
    pub name: String,
    /// What is counted, as `imbrex bound` has it.
    pub counted: &'static str,
    /// How many there are.
    pub count: u64,
}

impl Possible {
    /// The column that it stands in, if there is one.
    fn column(&self) -> Option<&'static str> {
        match self.counted {
            "zone_rewrites" | "band_rewrites" | "bottom_track_updates" => Some(">RMW"),
            "moved_blocks" => Some(MOVED_BLOCKS),
            _ => None,
        }
    }
}

/// The columns to show of rows, and what their headings mean.
pub fn columns(rows: &[Row], possible: &[Possible]) -> (Vec<&'static str>, String) {
    let (mut shown, mut legend) = of_rows(rows);
    let of = |column| possible.iter().any(|possible| possible.column() == Some(column));
    if of(MOVED_BLOCKS) && !shown.contains(&MOVED_BLOCKS) {
        shown.push(MOVED_BLOCKS);
        legend = format!("{legend} {MOVED}");
    }
    let is_fixed = |possible: &Possible| possible.counted == "bottom_track_updates";
    let more = [(!possible.is_empty(), POSSIBLE), (possible.iter().any(is_fixed), FIXED)];
    more.into_iter().filter(|(is, _)| *is).for_each(|(_, said)| legend = format!("{legend} {said}"));
    (shown, legend)
}

fn of_rows(rows: &[Row]) -> (Vec<&'static str>, String) {
    let steady = rows.iter().any(|row| row.steady.is_some()).then_some((STEADY, STEADY_IS));
    if rows.iter().all(|row| row.options.untimed) {
        let said = [COUNTS, MOVED].into_iter().chain(steady.map(|(_, is)| is)).collect::<Vec<_>>().join(" ");
        return (UNTIMED.into_iter().chain(steady.map(|(column, _)| column)).collect(), said);
    }
    let has_baseline = rows.iter().any(|row| row.layer == BASELINE);
    let over = over(rows);
    let is_shown = |column: &&str| (has_baseline || *column != VERSUS) && (over.is_some() || *column != OVER);
    let mut shown: Vec<_> = TIMED.into_iter().filter(is_shown).collect();
    let over = over.as_deref();
    let mut legend: Vec<_> =
        [Some(LATENCIES), over, has_baseline.then_some(VERSUS_IS), Some(COUNTS)].into_iter().flatten().collect();
    if rows.iter().any(|row| row.outcome.map.is_some()) {
        shown.retain(|column| !OF_ZONES.contains(column) || rows.iter().any(|row| row.outcome.rmw > 0));
        shown.extend([MAP_READS, MAP_WRITES]);
        legend.push(MAP_IS);
    }
    if let Some((column, is)) = steady {
        shown.push(column);
        legend.push(is);
    }
    (shown, legend.join(" "))
}

/// What the column of requests over the limit means, if some were, or if the limit was chosen.
fn over(rows: &[Row]) -> Option<String> {
    let row = rows.iter().find(|row| row.shows_limit())?;
    Some(format!("Over: reads and writes that took longer than {}.", duration::shown(row.options.limit_ns)))
}

/// A run and what it is called.
pub struct Named<'a> {
    pub row: &'a Row,
    pub name: String,
    /// The line that it stands under, with others beside it.
    pub under: String,
}

/// The table, with some of the columns. What is possible stands behind the runs on the same disk.
pub fn shown(runs: &[Named<'_>], possible: &[Possible], columns: &[&str]) -> String {
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
        if runs.get(at + 1).is_none_or(|next| next.under != run.under) {
            let own = possible.iter().filter(|possible| possible.under == run.under);
            lines.extend(own.filter_map(|possible| line(possible, &headings)));
        }
    }
    grid(&headings, lines)
}

/// A line over all columns.
fn heading(said: &str, columns: usize) -> Vec<Cell> {
    (0..columns).map(|at| if at == 0 { Cell::Text(said.to_owned()) } else { Cell::Continued }).collect()
}

/// What is possible, in its column.
fn line(possible: &Possible, headings: &[&str]) -> Option<Vec<Cell>> {
    let column = possible.column()?;
    let cells = headings.iter().enumerate().map(|(at, heading)| match at {
        0 => format!("  {}", possible.name),
        _ if *heading == column => count(possible.count),
        _ => "-".to_owned(),
    });
    Some(cells.map(Cell::Text).collect())
}

fn cells(run: &Named<'_>, runs: &[Named<'_>]) -> [Cell; 15] {
    let outcome = &run.row.outcome;
    let buffer_bytes = run.row.buffer_blocks * u64::from(run.row.block_bytes);
    let buffer = Cell::Text(if buffer_bytes == 0 { "-".to_owned() } else { bytes(buffer_bytes) });
    let [mean, p99, longest, over, times] = latencies(run.row, runs);
    let counts = [
        number(outcome.write_amplification),
        percent(outcome.write_hit_ratio),
        count(outcome.rmw),
        count(outcome.rmw_free),
        count(outcome.media_write_blocks.get(Why::Migrate)),
    ];
    let [amplification, hits, rmw, rmw_free, moved] = counts.map(Cell::Text);
    let of_map = |pages: fn(&MapOutcome) -> u64| {
        let of_1000 = |map| number(pages(map) as f64 * 1000.0 / outcome.requests as f64);
        Cell::Text(outcome.map.as_ref().map_or("-".to_owned(), of_1000))
    };
    let [map_reads, map_writes] = [of_map(|map| map.read_pages), of_map(|map| map.written_pages)];
    let steady = run.row.steady.as_ref().map_or("-".to_owned(), |steady| match steady.is_steady {
        true => count(steady.rounds.into()),
        false => format!("not in {}", count(steady.rounds.into())),
    });
    [
        Cell::Text(format!("  {}", run.name)),
        buffer,
        mean,
        p99,
        longest,
        over,
        times,
        amplification,
        hits,
        rmw,
        rmw_free,
        moved,
        map_reads,
        map_writes,
        Cell::Text(steady),
    ]
}

/// Mean, 99th percentile, maximum, how many were over the limit, and the mean over that of the baseline; or that they
/// mean nothing.
fn latencies(row: &Row, runs: &[Named<'_>]) -> [Cell; 5] {
    if let Some(behind) = row.behind() {
        return [Cell::Text(behind), Cell::Continued, Cell::Continued, Cell::Continued, Cell::Continued];
    }
    let latency = &row.outcome.latency_ms.all;
    let is_yardstick = |other: &&Row| other.layer == BASELINE && is_same_disk(other, row);
    let yardstick = runs.iter().map(|run| run.row).find(is_yardstick).filter(|yardstick| yardstick.behind().is_none());
    let times = yardstick.map(|yardstick| latency.mean / yardstick.outcome.latency_ms.all.mean);
    let times = times.filter(|times| times.is_finite()).map_or("-".to_owned(), |times| format!("{}×", number(times)));
    let [mean, p99, longest] = [latency.mean, latency.p99, latency.max].map(milliseconds);
    [mean, p99, longest, count(row.outcome.requests_over_limit), times].map(Cell::Text)
}
