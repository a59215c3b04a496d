//! `imbrex compare`: every workload on every layer.

use std::num::NonZeroU64;

use anyhow::Result;
use clap::Args;
use imbrex_runs::case::Case;
use imbrex_runs::command::Command;
use imbrex_runs::notes;
use imbrex_runs::page::PageArgument;
use imbrex_runs::parallel;
use imbrex_runs::plan::Plan;
use imbrex_runs::row::Row;
use imbrex_runs::seen::{self, Seen};
use imbrex_runs::specification::Specification;
use imbrex_runs::workload::Known;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::paragraphs;

use crate::baselines;
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
        let (rows, seen): (Vec<_>, Vec<_>) =
            runs(&plan, &known, page.is_some(), self.specification.jobs())?.into_iter().unzip();
        let typed = Command::typed();
        let rows = notes::told(rows, &typed);
        if let Some(page) = page {
            page.of_runs(rows.iter().zip(&seen))?;
        }
        output.write(&rows, || comparison(&rows, &typed))
    }

    /// A naive and the best layer for each kind of disk.
    fn story(self) -> Result<()> {
        let (setup, workload) = (&self.specification.setup, self.specification.named()?);
        let output = self.output.open()?;
        let page = self.page.open("What overlapped tracks cost")?;
        let reading = Progress::of_pieces("reading", 1);
        let known = Known::survey(workload[0].clone(), setup.requests, None, &reading)?;
        let known = known.repeated(setup.repeat.map_or(1, NonZeroU64::get));
        drop(reading);
        let runs = story::runs(&known, &setup.options(), self.specification.jobs(), page.is_some())?;
        if let Some(page) = page {
            page.of_told(runs.iter().map(|told| (&told.row, &told.seen, told.about())))?;
        }
        let rows: Vec<_> = runs.iter().map(|run| &run.row).collect();
        output.write(&rows, || story::shown(&runs))
    }
}

/// Every workload on every layer, and on a conventional disk of each size that they took. `is_seen` if a page shows them.
fn runs<'w>(plan: &Plan<'_>, known: &'w [Known], is_seen: bool, jobs: usize) -> Result<Vec<(Row, Seen<'w>)>> {
    let progress = Progress::new("replaying", plan.requests(known));
    let mut runs = plan.each(known, |workload, case| seen::replay(is_seen, &plan.chosen, workload, case, &progress))?;
    drop(progress);
    let rows: Vec<_> = runs.iter().map(|(row, _)| row).collect();
    let missing = baselines::missing(plan, &rows)?;
    let requests = missing.iter().map(|(at, _)| known[*at].range.requests).sum();
    let progress = Progress::new("replaying on conventional disks", plan.chosen.shown(requests));
    let more = |(at, case): &(usize, Case)| seen::replay(is_seen, &plan.chosen, &known[*at], case, &progress);
    runs.extend(parallel::each(jobs, &missing, more)?);
    Ok(baselines::arranged(runs, !missing.is_empty()))
}

fn comparison(rows: &[Row], typed: &Command) -> String {
    let head = rows.first().map(Row::circumstances).unwrap_or_default();
    let names = Names::of(rows.iter().map(|row| row.trace.as_str()));
    let under = |row: &Row| format!("{} on {} of {}", row.called(&names), row.drive, row.drive_size());
    let runs = rows.iter().map(|row| Named { row, name: row.layer.to_owned(), under: under(row) });
    let runs: Vec<_> = runs.collect();
    let (columns, legend) = comparison::columns(rows);
    let foot = [paragraphs(&legend), notes::shown(rows, &names, typed)];
    let foot = foot.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    format!("{}\n\n{}\n\n{foot}\n", paragraphs(&head), comparison::shown(&runs, &columns))
}
