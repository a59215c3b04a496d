//! The command: what is asked, and the answer.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::ptr;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use imbrex::trace::traces_in;
use imbrex_runs::page::PageArgument;
use imbrex_runs::parallel;
use imbrex_runs::plan::held_bytes;
use imbrex_runs::trace_files::TraceFiles;
use imbrex_runs::values::requests;
use imbrex_runs::workload::{self, Known};
use imbrex_runs::written::Written;
use imbrex_terminal::duration::nanoseconds;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;

use crate::bound::Bound;
use crate::choice::{Choice, Judge};
use crate::demand::Demand;
use crate::kinds::{Disk, disks};
use crate::pages::shown;
use crate::prices::{Budget, Price, Prices};
use crate::row::{AdviceRow, Is};
use crate::stages::{Measured, Stages, best_of};
use crate::trial::{Measure, Point};
use crate::words;

/// Say which kind of disk, which layer and which settings serve workloads, at what cost, and what would break it
///
/// Every layer is tried on a disk of its kind that is as large as the workload and full, with its defaults and with other
/// settings, and the best of each kind with other sizes of what a buyer may vary. The cheapest disk is recommended that
/// keeps what is demanded: without --keep-mean, --keep-p99 and --keep-p999 at most 1.1 times the mean latency of a
/// conventional disk, and 99.9 % of the requests within a second.
#[derive(Args)]
pub struct Advise {
    /// Trace files, folders of them, synthetic workloads ending in .toml, or names from `imbrex list workloads`; one disk
    /// is to serve each of them
    #[arg(value_name = "WORKLOAD", required = true)]
    workloads: Vec<String>,
    /// Choose among what this drive can be: a name from `imbrex list drives`, or a preset ending in .toml; may be repeated
    #[arg(long = "disk", value_name = "NAME|FILE.toml")]
    disks: Vec<String>,
    /// Buy no more than this: flash=SIZE, conventional=SIZE (space in conventional zones) or memory=SIZE, such as flash=64GiB;
    /// may be repeated
    #[arg(long = "budget", value_name = "GOODS=SIZE", value_parser = Budget::read)]
    budgets: Vec<Budget>,
    /// What a byte costs over one of a conventional disk: conventional, shingled, interlaced, hybrid, flash or memory, such as
    /// flash=5; may be repeated
    #[arg(long = "price", value_name = "GOODS=RATIO", value_parser = Price::read)]
    prices: Vec<Price>,
    /// Keep the mean latency below TIME, such as 20ms
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep_mean: Option<u64>,
    /// Keep 99 % of the requests below TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep_p99: Option<u64>,
    /// Keep 99.9 % of the requests below TIME
    #[arg(long, value_name = "TIME", value_parser = time)]
    keep_p999: Option<u64>,
    /// Use the first N requests of a trace; let a synthetic workload have N requests; such as 20000, 20k or 1.5M
    #[arg(long, value_name = "N", value_parser = requests)]
    requests: Option<NonZeroU64>,
    /// The seed of synthetic workloads, instead of their own
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    #[command(flatten)]
    traces: TraceFiles,
    /// Settings of each layer that are tried, its defaults first, half of them where that makes no difference, and three times
    /// as many of the best two of each kind; otherwise 8, and 4 where 6 GiB are read and written, and 2 where 32 GiB are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,
    /// Runs at a time; the default is the number of cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroU32>,
    #[command(flatten)]
    page: PageArgument,
    #[command(flatten)]
    output: OutputArguments,
}

fn time(text: &str) -> Result<u64, String> {
    let remedy = || "write a time such as 50ms or 2s".to_owned();
    nanoseconds(text).filter(|ns| *ns > 0).ok_or_else(remedy)
}

/// The seed of the search for settings.
const SEARCH: u64 = 1;

impl Advise {
    /// Finds out and says it.
    ///
    /// # Errors
    /// When a workload or a drive cannot be read, nothing may be bought, or a file cannot be written.
    pub fn run(self) -> Result<()> {
        stop::on_ctrl_c();
        let disks = disks(&self.disks)?;
        self.check_budgets(&disks)?;
        let output = self.output.open()?;
        let page = self.page.open("Which disk, and which layer")?;
        let jobs = self.jobs.map_or_else(parallel::cores, |jobs| jobs.get() as usize);
        let known = self.known(jobs)?;
        let measure = Measure { known: &known, demand: self.demand(), prices: Prices::with(&self.prices) };
        let budgets = self.budgets.as_slice();
        let stages = Stages { disks: &disks, measure: &measure, budgets, trials: self.trials, seed: SEARCH, jobs };
        let baselines = stages.baselines()?;
        let mut measured = stages.run(&baselines)?;
        let judge = Judge { budgets, is_named: !self.disks.is_empty() };
        let recommended = |measured: &_| judge.choose(measured).map(|choice| choice.best.trial.clone());
        stages.refine(&mut measured, recommended, &baselines)?;
        let Some(choice) = judge.choose(&measured) else {
            bail!("--budget: nothing that serves the workload keeps within it; allow more memory");
        };
        let leading: Vec<_> = [Some(choice.best), choice.runner_up].into_iter().flatten().collect();
        let faster = stages.hastened(&leading, &baselines)?;
        let bound = Bound::of(choice.best, &known)?;
        let (measure, measured, choice, faster) = (&measure, &measured, &choice, faster.as_slice());
        let told = words::Told { measure, measured, choice, faster, bound: bound.as_ref() };
        let said = told.answer(&baselines);
        if let Some(mut page) = page {
            page.say(&said);
            let seen: Vec<_> = shown(measured, choice, &baselines, &disks, &known);
            page.of_told(seen.iter().map(|(row, seen, about)| (*row, seen, about.clone())))?;
        }
        let mut rows = self.rows(measured, choice, faster);
        rows.first_mut().into_iter().for_each(|row| row.bound = bound.clone());
        output.write(&rows, || told.shown(&said, &rows))
    }

    /// Refuses a buffer that would be rounded up to a block.
    fn check_budgets(&self, disks: &[Disk]) -> Result<()> {
        for Budget { goods, bytes } in &self.budgets {
            let of = disks.iter().filter(|disk| disk.kind.buffer == Some(*goods));
            if let Some(block) = of.map(|disk| disk.drive.block_bytes).max().filter(|block| *bytes < u64::from(*block))
            {
                bail!("--budget {}={bytes}B: that is less than a block, which has {block} bytes here", goods.name());
            }
        }
        Ok(())
    }

    fn demand(&self) -> Demand {
        Demand { mean_ns: self.keep_mean, p99_ns: self.keep_p99, p999_ns: self.keep_p999 }
    }

    /// Reads every workload once.
    fn known(&self, jobs: usize) -> Result<Vec<Known>> {
        let names = self.workloads.iter().map(|name| traces(name)).collect::<Result<Vec<_>>>()?.concat();
        let workloads = workload::named(&names, self.requests, self.seed, &self.traces.options())?;
        let reading = Progress::of_pieces("reading", workloads.len());
        let known = parallel::each(jobs, &workloads, |workload| {
            Known::survey_and_hold(workload.clone(), self.requests, None, held_bytes(workloads.len()), &reading)
        })?;
        match known.iter().find(|known| known.range.requests == 0) {
            Some(known) => bail!("{}: it has no requests", known.info.name),
            None => Ok(known),
        }
    }

    /// The options that say which requests a workload has.
    fn asked(&self) -> Vec<(&'static str, String)> {
        let asked = [
            ("--requests", self.requests.map(|requests| requests.to_string())),
            ("--seed", self.seed.map(|seed| seed.to_string())),
            ("--trace-format", self.traces.trace_format.map(|format| format.text())),
            ("--volume", self.traces.volume.clone()),
            ("--event", self.traces.event.map(|event| event.text())),
        ];
        asked.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }

    fn rows(&self, measured: &Measured<'_>, choice: &Choice<'_, '_>, faster: &[Point<'_>]) -> Vec<AdviceRow> {
        let is_best =
            |point: &Point<'_>| best_of(&measured.layers, point.trial.disk).is_some_and(|own| ptr::eq(own, point));
        let of = |point: &Point<'_>, otherwise: Is| match () {
            () if ptr::eq(point, choice.best) => Is::Recommended,
            () if choice.runner_up.is_some_and(|own| ptr::eq(own, point)) => Is::RunnerUp,
            () if is_best(point) => Is::BestOfKind,
            () => otherwise,
        };
        let layers = measured.layers.iter().map(|point| (point, of(point, Is::Layer)));
        let varied = measured.varied.iter().map(|point| (point, of(point, Is::Varied)));
        let faster = faster.iter().map(|point| (point, Is::Faster));
        let mut all: Vec<_> = layers.chain(varied).chain(faster).collect();
        all.sort_by_key(|(_, is)| *is as u8);
        let asked = self.asked();
        all.into_iter().flat_map(|(point, is)| AdviceRow::of(point, is, &asked)).collect()
    }
}

/// The traces in a folder; anything else is itself.
fn traces(name: &str) -> Result<Vec<String>> {
    let folder = Path::new(name);
    if !folder.is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let traces = traces_in(folder).map_err(|cause| anyhow!("cannot read folder {name}: {cause}"))?;
    if traces.is_empty() {
        bail!("{name}: there is no file in this folder");
    }
    Ok(traces.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
}
