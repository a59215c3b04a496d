//! Runs for a program that has the options of `replay` and `compare` as words, and takes results instead of printing
//! them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::Parser;
use imbrex::layers::{self, LayerInfo};
use imbrex::replay::{BandsLook, Observer, Window, WindowOutcome};
use imbrex::trace::{FileOptions, Workload};
use imbrex_terminal::progress::{Listener, Progress};
use serde_json::Value;

use crate::bands::BandMap;
use crate::compare;
use crate::extension::{ExtensionArgument, extension};
use crate::families::Families;
use crate::moment::{Moment, moment};
use crate::page::{self, Seen};
use crate::parallel;
use crate::row::Row;
use crate::series::{self, window};
use crate::setup::{Case, Chosen, SetupArguments};
use crate::trace_file::TraceFileArguments;
use crate::values::Setting;
use crate::workload::{self, Known};

/// What is chosen about runs: the options of `replay` and `compare`, and what is to be seen of them.
#[derive(Parser)]
#[command(name = "imbrex", no_binary_name = true, disable_help_flag = true)]
pub struct Words {
    /// All layers of a family of disks, each on a drive of its kind that is as large as the workload needs
    #[arg(long, value_enum, conflicts_with_all = ["drive", "zone_size", "conventional_zones"])]
    family: Option<Families>,
    /// Runs at a time; the default is the number of cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Rows of a series: simulated time in ms, s, min or h, or a number of requests such as 1000req
    #[arg(long, value_name = "WINDOW", value_parser = window)]
    window: Option<Window>,
    /// Ask the layers for SIZE more space after PERCENT of the requests, after N of them or at a TIME
    #[arg(long, value_name = "SIZE@PERCENT|N|TIME", value_parser = extension)]
    extend: Option<ExtensionArgument>,
    /// Look at what lies where, at the end
    #[arg(long)]
    contents: bool,
    /// At these moments too
    #[arg(long, value_name = "PERCENT|N|TIME", value_delimiter = ',', value_parser = moment, requires = "contents")]
    contents_at: Vec<Moment>,
    /// See as much as a page shows
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    traces: TraceFileArguments,
    #[command(flatten)]
    setup: SetupArguments,
}

/// One run.
pub struct Run {
    /// What came of it.
    pub row: Row,
    /// What happened over time, if a series was wanted, as `--series` writes it.
    pub series: Vec<Value>,
    /// What lay where, if that was wanted, as `--bands` writes it.
    pub contents: Vec<Value>,
    /// What lay where, as a page draws it.
    pub units: Option<Value>,
}

/// A layer, and values of its fields.
pub type Configured = (&'static LayerInfo, toml::Table);

impl Words {
    /// Reads the words: options as on the command line, each with two hyphens, and their values.
    ///
    /// # Errors
    /// What is wrong with one, in a line.
    pub fn read(words: &[String]) -> Result<Self> {
        Self::try_parse_from(words).map_err(|e| {
            let text = e.to_string();
            let line = text.lines().next().unwrap_or_default();
            anyhow!("{}", line.strip_prefix("error: ").unwrap_or(line))
        })
    }

    /// The workloads called `names`, read or drawn as these words say.
    ///
    /// # Errors
    /// When there is none of such a name, or the words do not fit any of them.
    pub fn named(&self, names: &[String]) -> Result<Vec<Workload>> {
        let options = self.traces.options();
        if names.is_empty() {
            match (self.setup.seed, options == FileOptions::default()) {
                (Some(_), _) => bail!("--seed: no workload is synthetic; only those are drawn from a seed"),
                (None, false) => bail!("--trace-format, --volume, --event: no workload is a trace file"),
                (None, true) => return Ok(Vec::new()),
            }
        }
        workload::named(names, self.setup.requests, self.setup.seed, &options)
    }

    /// Replays every workload on every layer: of those named, or else of the family, or else those that `compare`
    /// takes. Workloads stand in the outer loop. The listener is told of reading, and then of replaying.
    ///
    /// # Errors
    /// What the program would say.
    pub fn runs(
        &self,
        workloads: &[Workload],
        layers: &[Configured],
        [reading, replaying]: [Arc<dyn Listener>; 2],
    ) -> Result<Vec<Run>> {
        let cases = self.cases(layers)?;
        let chosen = self.setup.choose_with(settings(layers), &cases, (None, self.contents.then(Vec::new)))?;
        let jobs = self.jobs.map_or_else(parallel::cores, NonZeroUsize::get);
        let (requests, dense) = (self.setup.requests, self.setup.dense(&cases)?);
        let reading = Progress::told_of_pieces(reading, workloads.len() * Known::passes(dense));
        let survey = |workload: &Workload| Known::survey(workload.clone(), requests, dense, &reading);
        let known = parallel::each(jobs, workloads, survey)?;
        let requests: u64 = known.iter().map(|workload| workload.range.requests).sum();
        let progress = Progress::told(replaying, requests * cases.len() as u64);
        let pairs: Vec<_> = known.iter().flat_map(|workload| cases.iter().map(move |case| (workload, case))).collect();
        parallel::each(jobs, &pairs, |(workload, case)| self.run(&chosen, workload, case, &progress))
    }

    fn cases(&self, layers: &[Configured]) -> Result<Vec<Case>> {
        match self.family {
            Some(family) => family.cases(self.setup.capacity),
            None if layers.is_empty() => {
                self.setup.cases(&compare::LAYERS.map(layers::find).into_iter().collect::<Result<Vec<_>, _>>()?)
            }
            None => self.setup.cases(&layers.iter().map(|(layer, _)| *layer).collect::<Vec<_>>()),
        }
    }

    fn run(&self, chosen: &Chosen, workload: &Known, case: &Case, progress: &Progress) -> Result<Run> {
        let mut options = chosen.options.clone();
        options.window = self.window;
        options.bands = self.contents.then(|| self.contents_at.iter().map(|at| at.of(&workload.range)).collect());
        options.check_bands(&workload.range)?;
        options.extend = self.extend.map(|extend| extend.of(&workload.range));
        options.check_extension(&workload.range)?;
        if self.watch {
            options = page::watched(&options, &workload.range, chosen.says_contents(case));
        }
        let bands = BandMap::in_memory(&workload.info, case.layer.name, case.drive.block_bytes);
        let seen = Seen::new(&workload.info, case.layer);
        let mut watched = Watching { windows: Vec::new(), bands: self.contents.then_some(bands), seen };
        let row = chosen.with(options).replay(workload, case, progress, &mut watched)?;
        let point = |row| serde_json::to_value(series::point(&workload.info, case.layer.name, row));
        Ok(Run {
            row,
            series: watched.windows.iter().map(point).collect::<Result<_, _>>()?,
            contents: watched.bands.map_or_else(|| Ok(Vec::new()), |bands| bands.values())?,
            units: watched.seen.units(),
        })
    }
}

/// The settings that configurations are.
fn settings(layers: &[Configured]) -> Vec<Setting> {
    let of = |(layer, config): &Configured| {
        let layer = *layer;
        config.iter().map(move |(field, value)| Setting::new(layer, field.clone(), value.clone())).collect::<Vec<_>>()
    };
    layers.iter().flat_map(of).collect()
}

struct Watching<'a> {
    windows: Vec<WindowOutcome>,
    /// Every part of it, which is much more than a page draws.
    bands: Option<BandMap<'a>>,
    seen: Seen<'a>,
}

impl Observer for Watching<'_> {
    fn row(&mut self, row: &WindowOutcome) {
        self.windows.push(row.clone());
    }

    fn bands(&mut self, look: &BandsLook) {
        self.bands.iter_mut().for_each(|bands| bands.add(look));
        self.seen.bands(look);
    }
}
