//! `imbrex bound`: how far layers are from what is possible.

use anyhow::{Result, bail};
use clap::Args;
use imbrex_runs::bounds::{self, BoundRow, Is};
use imbrex_runs::plan::Plan;
use imbrex_runs::row::called;
use imbrex_runs::specification::Specification;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::{Cell, count, grid, number, paragraphs};

/// Hold layers against what no layer can beat, and against schedules that know all requests beforehand
///
/// Without layers or a family: those for the drive that there is a bound for. Requests are served one at a time, nothing
/// takes time and nothing is cleaned in idle time; the disk is full at the beginning.
#[derive(Args)]
pub struct Bound {
    #[command(flatten)]
    specification: Specification,
    #[command(flatten)]
    output: OutputArguments,
}

impl Bound {
    pub fn run(mut self) -> Result<()> {
        stop::on_ctrl_c();
        if self.specification.workloads.is_empty() {
            bail!("bounds are of a workload; name a trace file or one of `imbrex list workloads`");
        }
        bounds::prepare(&mut self.specification)?;
        let mut plan = Plan::of(&self.specification)?;
        let workloads = self.specification.named()?;
        let output = self.output.open()?;
        let reading = Progress::of_pieces("reading", plan.pieces(workloads.len()));
        let known = plan.read(&workloads, &reading)?;
        drop(reading);
        let rows = bounds::bounds(&mut plan, &known, self.specification.jobs())?;
        output.write(&rows, || shown(&rows))
    }
}

const LEGEND: &str = "× bound: how many times what no layer can beat. × offline: how many times what the best schedule \
    reaches that knows all requests.";
const AMPLIFICATION: &str = "WA: blocks written for each of the host. Of moved blocks no bound is known but 0.";
const FIXED: &str =
    "Of interlaced disks the bound is for fixed places. A layer in brackets moves blocks, and may be below.";

fn shown(rows: &[BoundRow]) -> String {
    let names = Names::of(rows.iter().map(|row| row.trace.as_str()));
    let has_logs = rows.iter().any(|row| row.write_amplification.is_some());
    let headings = ["", ">count", ">× bound", ">× offline", ">WA"];
    let headings = &headings[..if has_logs { 5 } else { 4 }];
    let mut lines: Vec<Vec<Cell>> = Vec::new();
    for row in rows {
        if row.is == Is::Bound {
            let under = Cell::Text(heading(row, &names));
            lines.push([under].into_iter().chain(headings.iter().skip(1).map(|_| Cell::Continued)).collect());
        }
        lines.push(cells(row).into_iter().take(headings.len()).map(Cell::Text).collect());
    }
    let mut foot = vec![LEGEND];
    foot.extend(rows.iter().any(|row| row.counted == "bottom_track_updates").then_some(FIXED));
    foot.extend(has_logs.then_some(AMPLIFICATION));
    format!("{}\n\n{}\n", grid(headings, lines), paragraphs(&foot.join("\n")))
}

/// What rows are about that stand under it.
fn heading(row: &BoundRow, names: &Names) -> String {
    let workload = called(names.name(&row.trace), row.synthetic);
    let counted = row.counted.replace('_', " ");
    let room = if row.room_blocks > 0 { format!(", {} of room", row.room_size()) } else { String::new() };
    format!("{workload} on {} of {}: {counted}{room}", row.drive, row.drive_size())
}

fn cells(row: &BoundRow) -> [String; 5] {
    let name = match row.is {
        Is::Layer if !row.is_bounded => format!("({})", row.name),
        _ => row.name.clone(),
    };
    let times = |times: Option<f64>| times.map_or("-".to_owned(), number);
    [name, count(row.count), times(row.of_bound), times(row.of_schedule), times(row.write_amplification)]
}
