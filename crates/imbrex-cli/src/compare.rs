//! `imbrex compare`: every workload on every layer.

use anyhow::Result;
use clap::Args;
use imbrex_runs::page::PageArgument;
use imbrex_runs::plan::Plan;
use imbrex_runs::row::Row;
use imbrex_runs::seen;
use imbrex_runs::specification::Specification;
use imbrex_runs::workload::Known;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::paragraphs;

use crate::comparison::{self, Named};
use crate::story;

/// Replay workloads on several layers and compare them
///
/// Without a workload, layers, a family or a drive: a naive and the best layer for each kind of disk on one workload.
/// That workload is also what layers or a family are compared on when none is named.
#[derive(Args)]
pub struct Compare {
    #[command(flatten)]
    specification: Specification,
    #[command(flatten)]
    page: PageArgument,
    #[command(flatten)]
    output: OutputArguments,
}

impl Compare {
    pub fn run(mut self) -> Result<()> {
        stop::on_ctrl_c();
        let chosen = &mut self.specification;
        if chosen.workloads.is_empty() {
            chosen.workloads.push(story::WORKLOAD.to_owned());
            chosen.setup.requests.get_or_insert(story::REQUESTS);
            if chosen.layers.is_none() && chosen.family.is_none() && !chosen.setup.is_about_a_disk() {
                return self.story();
            }
        }
        let plan = Plan::of(&self.specification)?;
        let workloads = self.specification.named()?;
        let output = self.output.open()?;
        let page = self.page.open("Layers compared")?;
        let reading = Progress::of_pieces("reading", plan.pieces(workloads.len()));
        let known = plan.read(&workloads, &reading)?;
        drop(reading);
        let progress = Progress::new("replaying", plan.requests(&known));
        let is_seen = page.is_some();
        let run = |workload, case: &_| seen::replay(is_seen, &plan.chosen, workload, case, &progress);
        let (rows, seen): (Vec<_>, Vec<_>) = plan.each(&known, run)?.into_iter().unzip();
        drop(progress);
        if let Some(page) = page {
            page.of_runs(rows.iter().zip(&seen))?;
        }
        output.write(&rows, || comparison(&rows))
    }

    /// A naive and the best layer for each kind of disk.
    fn story(self) -> Result<()> {
        let (setup, workload) = (&self.specification.setup, self.specification.named()?);
        let output = self.output.open()?;
        let page = self.page.open("What overlapped tracks cost")?;
        let reading = Progress::of_pieces("reading", 1);
        let known = Known::survey(workload[0].clone(), setup.requests, None, &reading)?;
        drop(reading);
        let runs = story::runs(&known, &setup.options(), self.specification.jobs(), page.is_some())?;
        if let Some(page) = page {
            page.of_told(runs.iter().map(|told| (&told.row, &told.seen, told.about())))?;
        }
        let rows: Vec<_> = runs.iter().map(|run| &run.row).collect();
        output.write(&rows, || story::shown(&runs))
    }
}

fn comparison(rows: &[Row]) -> String {
    let mut head = rows.first().map(Row::circumstances).unwrap_or_default();
    if let Some(buffer) = rows.iter().find_map(|row| row.buffer) {
        head += &format!("; buffer {buffer}");
    }
    let names = Names::of(rows.iter().map(|row| row.trace.as_str()));
    let under = |row: &Row| format!("{} on {} of {}", row.called(&names), row.drive, row.drive_size());
    let runs = rows.iter().map(|row| Named { row, name: row.layer.to_owned(), under: under(row) });
    let runs: Vec<_> = runs.collect();
    let (columns, legend) = comparison::columns(rows.iter().all(|row| row.options.untimed));
    let mut foot = vec![legend];
    foot.extend(rows.iter().filter_map(|row| row.mended(&names)));
    foot.dedup();
    format!("{}\n\n{}\n\n{}\n", paragraphs(&head), comparison::shown(&runs, columns), paragraphs(&foot.join("\n")))
}
