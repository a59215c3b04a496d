//! `imbrex reproduce`: the evaluation of a paper, run again, and its claims held against it; and the frontier, on which
//! the layers of all papers are held against what is possible.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod amphisbaena;
mod claim;
mod cold_weight;
mod figures;
mod frontier;
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
mod replaying;
mod report;
mod results;
mod search;
mod sweep;
#[cfg(test)]
mod tests;
mod tracklace;
mod turnover;
mod volumes;
mod zonealloy;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use imbrex::trace::Workload;
use imbrex_runs::page::{Page, PageArgument};
use imbrex_runs::parallel;
use imbrex_runs::saved;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::{Format, Output, csv};
use imbrex_terminal::say::note;
use imbrex_terminal::stop;
use imbrex_terminal::table::paragraphs;
use serde::Serialize;

use claim::{Finding, over_seeds};
use cold_weight::ColdWeightArguments;
use frontier::{Extent, FrontierArguments, Line};
use paper::Paper;
use replaying::Replaying;
use results::Results;

/// What can be reproduced.
#[derive(Copy, Clone)]
enum Reproduced {
    /// One whose evaluation is studies: variants side by side.
    Studies(&'static Paper),
    /// One with tables and set-up of its own.
    ColdWeight,
    /// No paper, but the layers of all of them.
    Frontier,
}

/// All of them.
const PAPERS: [Reproduced; 6] = [
    Reproduced::Studies(&amphisbaena::PAPER),
    Reproduced::ColdWeight,
    Reproduced::Frontier,
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
    /// The paper: amphisbaena, cold-weight, pore, tracklace or zonealloy; or frontier, the layers of all of them against
    /// what is possible
    #[arg(value_name = "PAPER", value_parser = paper)]
    paper: Reproduced,
    /// A folder with traces of the paper's volumes, called hm_0.csv.gz and so on; what it lacks is generated from
    /// profiles
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Use the first N requests of a trace and let a profile have N requests; otherwise all, or with pore and zonealloy
    /// a million of most profiles, and with frontier 100000 of each
    #[arg(long, value_name = "N", value_parser = imbrex_runs::values::requests)]
    requests: Option<NonZeroU64>,
    /// Only this volume of the paper's; may be given several times. What is not of a volume is left out. Frontier takes
    /// any workload, also a trace file
    #[arg(long = "workload", value_name = "NAME")]
    workloads: Vec<String>,
    /// The first seed of profiles and shuffles, and that of a search
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Judge claims and the frontier over N seeds, that one and those after it; figures and tables are of the first
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
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
    #[command(flatten)]
    frontier: FrontierArguments,
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
            Self::Frontier => frontier::NAME,
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
        if !matches!(self.paper, Reproduced::ColdWeight) {
            self.cold_weight.refuse(self.paper.name())?;
        }
        if !matches!(self.paper, Reproduced::Frontier) {
            self.frontier.refuse(self.paper.name())?;
        }
        let path = self.output.clone().unwrap_or_else(|| PathBuf::from("reproduction").join(self.paper.name()));
        let (mark, title) = match self.paper {
            Reproduced::Frontier => (frontier::LINES, "The frontier".to_owned()),
            _ => (CLAIMS, format!("The claims of {}", self.paper.name())),
        };
        let folder = NewFolder::create(&path, mark)?;
        let page = self.page.open(&title)?;
        let (findings, text) = match self.paper {
            Reproduced::Studies(paper) => self.studies(paper, &folder)?,
            Reproduced::ColdWeight => self.cold_weight(&folder)?,
            Reproduced::Frontier => {
                let (lines, text) = self.frontier(&folder)?;
                return self.finish(folder, page, &path, (&lines, "the rows"), &text);
            }
        };
        folder.write(CLAIMS, &csv(&findings)?)?;
        let summary = format!("{}; figures", report::summary(&findings));
        self.finish(folder, page, &path, (&findings, &summary), &text)
    }

    /// Gives the folder its name, writes the page of it, and prints the rows or the text.
    fn finish(
        &self,
        folder: NewFolder,
        page: Option<Page>,
        path: &Path,
        (rows, summary): (&[impl Serialize], &str),
        text: &str,
    ) -> Result<()> {
        folder.finish()?;
        if let Some(mut page) = page {
            saved::add(&mut page, &[path.to_owned()])?;
            page.finish()?;
        }
        let summary = format!("{summary} are in {}", path.display());
        if self.format != Format::Table {
            note(&summary);
        }
        Output::standard(self.format).write(rows, || format!("{text}\n{}", paragraphs(&summary)))
    }

    fn jobs(&self) -> usize {
        self.jobs.map_or_else(parallel::cores, NonZeroUsize::get)
    }

    /// The volumes that are asked for, of those that a paper has.
    fn named(&self, known: &[&'static str]) -> Result<Vec<&'static str>> {
        if let Some(unknown) = self.workloads.iter().find(|name| !known.contains(&name.as_str())) {
            bail!("--workload: {} has no volume {unknown}; it has {}", self.paper.name(), known.join(", "));
        }
        let is_asked_for = |name: &&str| self.workloads.is_empty() || self.workloads.iter().any(|asked| asked == name);
        Ok(known.iter().copied().filter(is_asked_for).collect())
    }

    /// The seeds, the first one first.
    fn all_seeds(&self) -> impl Iterator<Item = u64> {
        (0..self.seeds).map(|nth| self.seed.wrapping_add(nth))
    }

    /// Says how many volumes are real if a folder was named.
    fn tell(&self, workloads: &[Workload]) {
        if let Some(folder) = &self.traces {
            let found = workloads.iter().filter(|workload| matches!(workload, Workload::File(_))).count();
            let folder = folder.display();
            note(format_args!("{found} of {} volumes are in {folder}; the others are generated", workloads.len()));
        }
    }

    /// Runs the studies of a paper, and with further seeds what its claims look at.
    fn studies(&self, paper: &'static Paper, folder: &NewFolder) -> Result<(Vec<Finding>, String)> {
        let only = self.named(paper.workloads)?;
        let (requests, jobs) = (self.requests, self.jobs());
        let replaying = Replaying { paper, traces: self.traces.as_deref(), requests, only: &only, jobs };
        self.tell(&replaying.volumes(&only, self.seed)?);
        let first = replaying.first(self.seed)?;
        let mut of_seeds = vec![first.findings()];
        if replaying.has_seeds(self.seed)? {
            for seed in self.all_seeds().skip(1) {
                of_seeds.push(replaying.again(&first, seed)?.findings());
            }
        }
        let findings = over_seeds(of_seeds);
        let report = report::of(&first, &findings);
        write_studies(&first, folder)?;
        report.write(&findings, folder)?;
        Ok((findings, report.into_text()))
    }

    /// Runs the tables of the paper that has a set-up of its own, with each seed.
    fn cold_weight(&self, folder: &NewFolder) -> Result<(Vec<Finding>, String)> {
        let only = self.named(&cold_weight::volumes())?;
        let extent = |seed| cold_weight::Extent {
            arguments: &self.cold_weight,
            requests: self.requests,
            is_first: seed == self.seed,
            jobs: self.jobs(),
        };
        let replay = |seed| {
            let workloads = volumes::find(&only, self.traces.as_deref(), self.requests, seed)?;
            if seed == self.seed {
                self.tell(&workloads);
            }
            let places = only.iter().map(|volume| cold_weight::place(volume));
            let workloads: Vec<_> = places.zip(workloads).collect();
            cold_weight::replay(&workloads, seed, &extent(seed))
        };
        let first = replay(self.seed)?;
        let mut of_seeds = vec![cold_weight::findings(&first)];
        for seed in self.all_seeds().skip(1) {
            of_seeds.push(cold_weight::findings(&replay(seed)?));
        }
        let findings = over_seeds(of_seeds);
        let report = cold_weight::report(&first, &findings);
        cold_weight::write(&first, folder)?;
        report.write(&findings, folder)?;
        Ok((findings, report.into_text()))
    }

    /// Searches the settings of all layers, and holds the best of them against what is possible, with each seed.
    fn frontier(&self, folder: &NewFolder) -> Result<(Vec<Line>, String)> {
        let (names, tables) = (self.any_workloads(), self.frontier.tables());
        let requests = self.requests.unwrap_or(frontier::REQUESTS);
        let (trials, seed, jobs) = (self.frontier.trials(), self.seed, self.jobs());
        let extent =
            Extent { tables: &tables, is_of_several: names.len() > 1, requests, trials, seed, searched: &[], jobs };
        let find = |seed| volumes::find(&names, self.traces.as_deref(), Some(requests), seed);
        let first = find(self.seed)?;
        self.tell(&first);
        let (mut lines, mut tried) = frontier::frontier(&first, &extent)?;
        let searched = tried.clone();
        for seed in self.all_seeds().skip(1) {
            // A trace has none.
            let drawn: Vec<_> = find(seed)?.into_iter().filter(|workload| workload.seed().is_some()).collect();
            if drawn.is_empty() {
                break;
            }
            let (further, of_layers) = frontier::frontier(&drawn, &Extent { searched: &searched, ..extent })?;
            lines.extend(further);
            tried.extend(of_layers);
        }
        let report = frontier::report(&lines, &tried, &extent);
        frontier::write(&lines, &tried, &report, folder)?;
        Ok((lines, report.into_text()))
    }

    /// The workloads of the frontier that are asked for, each of them once.
    fn any_workloads(&self) -> Vec<&str> {
        let asked: Vec<_> = self.workloads.iter().map(String::as_str).collect();
        let all = if asked.is_empty() { frontier::WORKLOADS.to_vec() } else { asked };
        let is_first = |&(at, name): &(usize, &&str)| !all[..at].contains(name);
        all.iter().enumerate().filter(is_first).map(|(_, name)| *name).collect()
    }
}

/// Fills the folder with the data of the figures, and with the figures.
fn write_studies(results: &Results, folder: &NewFolder) -> Result<()> {
    folder.write("runs.csv", &csv(&results.rows().collect::<Vec<_>>())?)?;
    figures::write(results, folder)?;
    if let Some(search) = results.paper.search {
        search::write(search, results, folder)?;
    }
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
    Ok(())
}
