//! `imbrex compare`: every workload on every layer.

use std::num::NonZeroU64;

use anyhow::{Result, bail};
use clap::Args;
use imbrex_runs::bounds::{self, BoundRow, Is};
use imbrex_runs::case::Case;
use imbrex_runs::command::Command;
use imbrex_runs::notes;
use imbrex_runs::page::PageArgument;
use imbrex_runs::parallel;
use imbrex_runs::plan::Plan;
use imbrex_runs::row::{Row, called};
use imbrex_runs::seen::{self, Seen};
use imbrex_runs::specification::Specification;
use imbrex_runs::workload::Known;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::paragraphs;
use serde::Serialize;

use crate::baselines;
use crate::comparison::{self, Named, Possible};
use crate::story;

/// Replay workloads on several layers and compare them
///
/// Without a workload, layers, a family or a drive: a naive and the best layer for each kind of disk on one workload.
/// That workload is also what layers or a family are compared on when none is named.
#[derive(Args)]
pub struct Compare {
    #[command(flatten)]
    specification: Specification,
    /// Say too what no layer can beat, and what schedules reach that know all requests, where something is known; with
    /// --queue-depth 1 on a full disk
    #[arg(long)]
    bound: bool,
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
            let has_layers = chosen.layers.is_some() || chosen.family.is_some();
            if !has_layers && !chosen.setup.is_about_a_disk() && !self.bound {
                return self.story();
            }
        }
        if self.bound {
            bounds::check_comparison(&self.specification)?;
        }
        let plan = Plan::of(&self.specification)?;
        if self.bound && !plan.cases.iter().any(|case| bounds::is_known(case.layer)) {
            bail!("--bound: nothing bounds these layers; `imbrex bound` says which there are bounds for");
        }
        let workloads = self.specification.named()?;
        let output = self.output.open()?;
        let page = self.page.open("Layers compared")?;
        let reading = Progress::of_pieces("reading", plan.pieces(workloads.len()));
        let known = plan.read(&workloads, &reading)?;
        drop(reading);
        let (runs, bounds) = self.runs(&plan, &known, page.is_some())?;
        let (rows, seen): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        let typed = Command::typed();
        let rows = notes::told(rows, &typed);
        if let Some(mut page) = page {
            page.add(&bounds)?;
            page.of_runs(rows.iter().zip(&seen))?;
        }
        let written: Vec<_> = rows.iter().map(Written::Run).chain(bounds.iter().map(Written::Bound)).collect();
        output.write(&written, || comparison(&rows, &bounds, &typed))
    }

    /// Every workload on every layer, and on a conventional disk of each size that they took; and their bounds, if these
    /// are wanted. `is_seen` if a page shows the runs.
    fn runs<'w>(&self, plan: &Plan<'_>, known: &'w [Known], is_seen: bool) -> Result<(Runs<'w>, Vec<BoundRow>)> {
        let jobs = self.specification.jobs();
        let progress = Progress::new("replaying", plan.requests(known));
        let mut runs =
            plan.each(known, |workload, case| seen::replay(is_seen, &plan.chosen, workload, case, &progress))?;
        drop(progress);
        let rows: Vec<_> = runs.iter().map(|(row, _)| row).collect();
        let bounds = if self.bound { bounds::of_rows(plan, known, &rows, jobs)? } else { Vec::new() };
        let missing = baselines::missing(plan, &rows)?;
        let requests = missing.iter().map(|(at, _)| known[*at].range.requests).sum();
        let progress = Progress::new("replaying on conventional disks", plan.chosen.shown(requests));
        let more = |(at, case): &(usize, Case)| seen::replay(is_seen, &plan.chosen, &known[*at], case, &progress);
        runs.extend(parallel::each(jobs, &missing, more)?);
        Ok((baselines::arranged(runs, !missing.is_empty()), bounds))
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

type Runs<'w> = Vec<(Row, Seen<'w>)>;

/// A row of a comparison as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Run(&'a Row),
    Bound(&'a BoundRow),
}

fn comparison(rows: &[Row], bounds: &[BoundRow], typed: &Command) -> String {
    let head = rows.first().map(Row::circumstances).unwrap_or_default();
    let names = Names::of(rows.iter().map(|row| row.trace.as_str()));
    let under = |row: &Row| format!("{} on {} of {}", row.called(&names), row.drive, row.drive_size());
    let runs = rows.iter().map(|row| Named { row, name: row.layer.to_owned(), under: under(row) });
    let runs: Vec<_> = runs.collect();
    let possible = possible(bounds, &names);
    let (columns, legend) = comparison::columns(rows, &possible);
    let foot = [paragraphs(&legend), notes::shown(rows, &names, typed)];
    let foot = foot.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    format!("{}\n\n{}\n\n{foot}\n", paragraphs(&head), comparison::shown(&runs, &possible, &columns))
}

/// The bounds and the schedules, with the room that each is for where there are several for a disk.
fn possible(bounds: &[BoundRow], names: &Names) -> Vec<Possible> {
    let under = |row: &BoundRow| {
        format!("{} on {} of {}", called(names.name(&row.trace), row.synthetic), row.drive, row.drive_size())
    };
    let is_alone = |row: &BoundRow| {
        let same = |other: &&BoundRow| other.counted == row.counted && under(other) == under(row);
        bounds.iter().filter(same).all(|other| other.room_blocks == row.room_blocks)
    };
    let not_layers = bounds.iter().filter(|row| row.is != Is::Layer);
    let possible = not_layers.map(|row| {
        let room = if is_alone(row) { String::new() } else { format!(", {}", row.room_size()) };
        Possible { under: under(row), name: format!("{}{room}", row.name), counted: row.counted, count: row.count }
    });
    possible.collect()
}
