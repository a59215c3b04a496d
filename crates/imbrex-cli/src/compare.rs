//! `imbrex compare`: every workload on every layer.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use imbrex::layers::{self, LayerInfo};
use imbrex::trace::Workload;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::paragraphs;

use crate::comparison::{self, Named};
use crate::families::Families;
use crate::page::{self, PageArgument};
use crate::parallel;
use crate::row::Row;
use crate::setup::SetupArguments;
use crate::story;
use crate::trace_file::TraceFileArguments;
use crate::values::layer;
use crate::workload::{self, Known};

/// The layers that are compared when none are named.
pub const LAYERS: [&str; 3] = ["conventional", "in-place", "fifo-log"];

/// Replay workloads on several layers and compare them
///
/// Without a workload, layers, a family or a drive: a naive and the best layer for each kind of disk on one workload.
/// That workload is also what layers or a family are compared on when none is named.
#[derive(Args)]
pub struct Compare {
    /// Trace files, synthetic workloads ending in .toml, or names from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD")]
    workloads: Vec<String>,
    /// The layers, in the order in which they are shown; otherwise conventional, in-place and fifo-log
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = layer)]
    layers: Option<Vec<&'static LayerInfo>>,
    /// All layers of a family of disks instead, each on a drive of its kind that is as large as the workload needs
    #[arg(long, value_enum, conflicts_with_all = ["layers", "drive", "zone_size", "conventional_zones"])]
    family: Option<Families>,
    /// Runs at a time; the default is the number of cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    traces: TraceFileArguments,
    #[command(flatten)]
    setup: SetupArguments,
    #[command(flatten)]
    page: PageArgument,
    #[command(flatten)]
    output: OutputArguments,
}

impl Compare {
    pub fn run(mut self) -> Result<()> {
        stop::on_ctrl_c();
        let jobs = self.jobs.map_or_else(parallel::cores, NonZeroUsize::get);
        if self.workloads.is_empty() {
            self.workloads.push(story::WORKLOAD.to_owned());
            self.setup.requests.get_or_insert(story::REQUESTS);
            if self.layers.is_none() && self.family.is_none() && !self.setup.is_about_a_disk() {
                return self.story(jobs);
            }
        }
        let pairs = match (self.family, &self.layers) {
            (Some(family), _) => family.cases(self.setup.capacity)?,
            (None, Some(layers)) => self.setup.cases(layers)?,
            (None, None) => self.setup.cases(&LAYERS.map(layers::find).into_iter().collect::<Result<Vec<_>, _>>()?)?,
        };
        let chosen = self.setup.choose(&pairs, (None, None))?;
        let workloads = workload::named(&self.workloads, self.setup.requests, self.setup.seed, &self.traces.options())?;
        let output = self.output.open()?;
        let page = self.page.open("Layers compared")?;
        let (requests, dense) = (self.setup.requests, self.setup.dense(&pairs)?);
        let reading = Progress::of_pieces("reading", workloads.len() * Known::passes(dense));
        let survey = |workload: &Workload| Known::survey(workload.clone(), requests, dense, &reading);
        let known = parallel::each(jobs, &workloads, survey)?;
        drop(reading);
        let requests: u64 = known.iter().map(|workload| workload.range.requests).sum();
        let progress = Progress::new("replaying", requests * pairs.len() as u64);
        let cases: Vec<_> = known.iter().flat_map(|workload| pairs.iter().map(move |pair| (workload, pair))).collect();
        let is_seen = page.is_some();
        let run = |(workload, pair): &(_, _)| page::replay(is_seen, &chosen, (*workload, *pair), &progress);
        let (rows, seen): (Vec<_>, Vec<_>) = parallel::each(jobs, &cases, run)?.into_iter().unzip();
        drop(progress);
        if let Some(page) = page {
            page.of_runs(rows.iter().zip(&seen))?;
        }
        output.write(&rows, || comparison(&rows))
    }

    /// A naive and the best layer for each kind of disk.
    fn story(self, jobs: usize) -> Result<()> {
        let workload = workload::named(&self.workloads, self.setup.requests, self.setup.seed, &self.traces.options())?;
        let output = self.output.open()?;
        let page = self.page.open("What overlapped tracks cost")?;
        let reading = Progress::of_pieces("reading", 1);
        let known = Known::survey(workload[0].clone(), self.setup.requests, None, &reading)?;
        drop(reading);
        let options = self.setup.options((None, None));
        let runs = story::runs(&known, &options, jobs, page.is_some())?;
        if let Some(page) = page {
            page.of_runs(runs.iter().map(|told| (&told.row, &told.seen)))?;
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
