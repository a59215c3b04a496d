//! `imbrex reproduce`: the evaluation of a paper, run again, and its claims held against it.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod amphisbaena;
mod claim;
mod cold_weight;
mod figures;
mod growth;
mod locality;
mod measure;
mod measured;
mod metric;
mod mix;
mod paper;
#[cfg(feature = "pictures")]
mod pictures;
mod pore;
mod report;
mod results;
mod sweep;
#[cfg(test)]
mod tests;
mod tracklace;
mod turnover;
mod volumes;
mod zonealloy;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use imbrex::buffer_size::BufferSize;
use imbrex::drive::Shape;
use imbrex::layers;
use imbrex::replay::ReplayOptions;
use imbrex::trace::Workload;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::page::PageArgument;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::saved;
use imbrex_runs::workload::Known;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::{Format, Output, csv};
use imbrex_terminal::progress::Progress;
use imbrex_terminal::say::note;
use imbrex_terminal::stop;
use imbrex_terminal::table::paragraphs;

use claim::Finding;
use cold_weight::ColdWeightArguments;
use locality::Locality;
use paper::{Load, Paper, Turnover, Variant};
use results::Results;

/// A paper that can be reproduced.
#[derive(Copy, Clone)]
enum Reproduced {
    /// One whose evaluation is studies: variants side by side.
    Studies(&'static Paper),
    /// One with tables and set-up of its own.
    ColdWeight,
}

/// All of them.
const PAPERS: [Reproduced; 5] = [
    Reproduced::Studies(&amphisbaena::PAPER),
    Reproduced::ColdWeight,
    Reproduced::Studies(&pore::PAPER),
    Reproduced::Studies(&tracklace::PAPER),
    Reproduced::Studies(&zonealloy::PAPER),
];

/// The file by which a folder of results is known.
const CLAIMS: &str = "claims.csv";

/// Run a paper's evaluation again and hold its claims against it
///
/// Figures go to a folder as data and pictures; docs/reproduction tells what was found.
#[derive(Args)]
pub struct Reproduce {
    /// The paper: amphisbaena, cold-weight, pore, tracklace or zonealloy
    #[arg(value_name = "PAPER", value_parser = paper)]
    paper: Reproduced,
    /// A folder with traces of the paper's volumes, called hm_0.csv.gz and so on; what it lacks is generated from
    /// profiles
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Use the first N requests of a trace and let a profile have N requests; otherwise all
    #[arg(long, value_name = "N")]
    requests: Option<NonZeroU64>,
    /// The seed of profiles, instead of their own
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Runs at a time; the default is the number of cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// How to print the claims
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The folder for the figures, which appears when it is complete; otherwise reproduction/PAPER
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgument,
    #[command(flatten)]
    cold_weight: ColdWeightArguments,
}

fn paper(name: &str) -> Result<Reproduced, String> {
    let known = || PAPERS.map(Reproduced::name).join(", ");
    PAPERS.into_iter().find(|paper| paper.name() == name).ok_or_else(|| format!("known papers are: {}", known()))
}

impl Reproduced {
    /// The name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Studies(paper) => paper.name,
            Self::ColdWeight => cold_weight::NAME,
        }
    }
}

impl Reproduce {
    /// Runs the evaluation, and prints the claims.
    ///
    /// # Errors
    /// What is wrong with the traces or the folder; or that the work was to stop.
    pub fn run(self) -> Result<()> {
        stop::on_ctrl_c();
        if let Reproduced::Studies(paper) = self.paper {
            self.cold_weight.refuse(paper.name)?;
        }
        let path = self.output.clone().unwrap_or_else(|| PathBuf::from("reproduction").join(self.paper.name()));
        let folder = NewFolder::create(&path, CLAIMS)?;
        let page = self.page.open(&format!("The claims of {}", self.paper.name()))?;
        let (findings, text) = match self.paper {
            Reproduced::Studies(paper) => write_studies(&self.replay(paper)?, &folder)?,
            Reproduced::ColdWeight => {
                let workloads = self.volumes(&cold_weight::volumes())?;
                let results = cold_weight::replay(&workloads, self.requests, &self.cold_weight, self.jobs())?;
                cold_weight::write(&results, &folder)?
            }
        };
        folder.write(CLAIMS, &csv(&findings)?)?;
        folder.write("report.txt", text.as_bytes())?;
        folder.finish()?;
        if let Some(mut page) = page {
            saved::add(&mut page, std::slice::from_ref(&path))?;
            page.finish()?;
        }
        let summary = format!("{}; figures are in {}", report::summary(&findings), path.display());
        if self.format != Format::Table {
            note(&summary);
        }
        Output::standard(self.format).write(&findings, || format!("{text}\n{}", paragraphs(&summary)))
    }

    fn jobs(&self) -> usize {
        self.jobs.map_or_else(parallel::cores, NonZeroUsize::get)
    }

    /// The volumes of a paper, of which it says how many are real if a folder was named.
    fn volumes(&self, names: &[&str]) -> Result<Vec<Workload>> {
        let workloads = volumes::find(names, self.traces.as_deref(), self.requests, self.seed)?;
        if let Some(folder) = &self.traces {
            let found = workloads.iter().filter(|workload| matches!(workload, Workload::File(_))).count();
            let folder = folder.display();
            note(format_args!("{found} of {} volumes are in {folder}; the others are generated", workloads.len()));
        }
        Ok(workloads)
    }

    /// Every variant of the paper on every workload.
    fn replay(&self, paper: &'static Paper) -> Result<Results> {
        let jobs = self.jobs();
        let workloads = self.volumes(paper.workloads)?;
        let (known, localities) = self.read(paper, &workloads, jobs)?;
        let run = |(workload, variant): (usize, usize)| -> Result<_> {
            let known = &known[workload];
            Ok((known, configured(paper, &paper.variants[variant], known.range.range_bytes)?))
        };
        let runs = paper.runs().into_iter().map(run).collect::<Result<Vec<_>>>()?;
        let requests = runs.iter().map(|(known, _)| known.range.requests).sum();
        let progress = Progress::new("replaying", requests);
        let rows = parallel::each(jobs, &runs, |(workload, (chosen, case))| -> Result<Row> {
            let mut row = chosen.replay(workload, case, &progress, &mut ())?;
            // How fast this machine is does not belong to the paper.
            row.outcome = row.outcome.timed(0.0);
            Ok(row)
        })?;
        drop((runs, progress));
        let mut results = Results::new(paper, rows);
        if let Some(figure) = paper.turnover {
            results.turnover = self.turnover(paper, figure, known, jobs)?;
        }
        if let Some(mix) = paper.mix {
            let halves = self.volumes(&mix.halves)?;
            let configured = |variant: &Variant, range| configured(paper, variant, range);
            results.mix = mix::points(mix, &halves, self.requests, configured, jobs)?;
        }
        if let Some(growth) = paper.growth {
            let workload = self.volumes(&[growth.workload])?.remove(0);
            results.growth = growth::runs(paper, growth, workload, self.requests, jobs)?;
        }
        results.sweeps = sweep::points(paper.sweeps, paper.drive, self.requests, self.seed, jobs)?;
        results.localities = localities;
        Ok(results)
    }

    /// The points of a figure over turnovers: on the paper's workloads, and on further traces that the folder has.
    fn turnover(
        &self,
        paper: &'static Paper,
        figure: &'static Turnover,
        known: Vec<Known>,
        jobs: usize,
    ) -> Result<Vec<turnover::Point>> {
        let all = paper.workloads.iter().copied().zip(known);
        let mut named: Vec<_> = all.filter(|(name, _)| figure.workloads.contains(name)).collect();
        let further = volumes::present(figure.further, self.traces.as_deref(), self.requests)?;
        let progress = Progress::of_pieces("reading", further.len());
        for (name, workload) in further {
            named.push((name, Known::survey(workload, self.requests, None, &progress)?));
        }
        let drive = named_drive(paper.drive)?;
        turnover::points(figure, &named, &drive, paper.prefill, jobs)
    }

    /// The workloads, and how they write if the paper shows it.
    fn read(&self, paper: &Paper, workloads: &[Workload], jobs: usize) -> Result<(Vec<Known>, Vec<Locality>)> {
        let shows_locality = paper.locality.is_some();
        let passes = if shows_locality { 1 + Locality::PASSES } else { 1 };
        let progress = Progress::of_pieces("reading", passes * workloads.len());
        let known = parallel::each(jobs, workloads, |workload| {
            Known::survey(workload.clone(), self.requests, None, &progress)
        })?;
        if !shows_locality {
            return Ok((known, Vec::new()));
        }
        let buffer = buffer(paper)?;
        let named: Vec<_> = workloads.iter().zip(paper.workloads).collect();
        let localities = parallel::each(jobs, &named, |(workload, name)| {
            Locality::of(workload, name, buffer, self.requests, &progress)
        })?;
        Ok((known, localities))
    }
}

/// Fills the folder; the claims beside what was measured, and the report.
fn write_studies(results: &Results, folder: &NewFolder) -> Result<(Vec<Finding>, String)> {
    let findings = results.findings();
    let text = report::shown(results, &findings);
    folder.write("runs.csv", &csv(&results.rows().collect::<Vec<_>>())?)?;
    figures::write(results, folder)?;
    if results.paper.turnover.is_some() {
        turnover::write(&results.turnover, folder)?;
    }
    if results.paper.mix.is_some() {
        mix::write(&results.mix, folder)?;
    }
    if let Some(growth) = results.paper.growth {
        growth::write(growth, &results.growth, folder)?;
    }
    if !results.paper.sweeps.is_empty() {
        sweep::write(&results.sweeps, folder)?;
    }
    if let Some(figures) = results.paper.locality {
        locality::write(&results.localities, figures, folder)?;
    }
    #[cfg(feature = "pictures")]
    pictures::write(results, folder)?;
    Ok((findings, text))
}

fn buffer(paper: &Paper) -> Result<BufferSize> {
    paper.buffer.parse().map_err(|e| anyhow!("{e}"))
}

/// A variant of a paper on its drive, for a workload of this range.
fn configured(paper: &Paper, variant: &Variant, range_bytes: u64) -> Result<(Chosen, Case)> {
    let capacity_bytes = variant.disk.map(|disk| disk.bytes);
    let drive = named_drive(paper.drive)?.shaped(&Shape { capacity_bytes, ..Shape::default() })?;
    let buffer = variant.buffer.map_or_else(|| buffer(paper), |text| text.parse().map_err(|e| anyhow!("{e}")))?;
    let blocks = |percent: f64| BufferSize::Percent(percent).blocks(range_bytes, drive.block_bytes);
    let disk = paper.disk_buffer.map(|percent| sweep::disk_config(variant.layer, blocks(percent)));
    let sized = variant.sized.iter().map(|(field, percent)| format!("{field}={}", blocks(*percent)));
    let own = variant.settings.iter().map(|setting| (*setting).to_owned());
    let settings: Vec<_> = disk.into_iter().chain(sized).chain(own).collect();
    let queue_depth = (variant.load == Load::OneOutstanding).then_some(1);
    let options = ReplayOptions { prefill: paper.prefill, queue_depth, ..ReplayOptions::default() };
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let fit = variant.disk.map_or(paper.fit, |_| Fit::Given);
    let case = Case { layer: layers::find(variant.layer)?, drive, fit };
    let mut chosen = Chosen::new(buffer, options, &settings)?;
    chosen.stretch = variant.disk.is_some_and(|disk| disk.is_stretched_over);
    Ok((chosen, case))
}
