//! Every run of a paper: first all that it shows, and with further seeds what its claims look at.

use std::num::NonZeroU64;
use std::path::Path;

use anyhow::{Result, anyhow};
use imbrex::buffer_size::BufferSize;
use imbrex::drive::{ConventionalZones, Shape};
use imbrex::layers;
use imbrex::replay::ReplayOptions;
use imbrex::trace::Workload;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::workload::Known;
use imbrex_terminal::progress::Progress;

use super::locality::Locality;
use super::measure::Measure;
use super::paper::{Disk, Load, Paper, Turnover, Variant};
use super::results::Results;
use super::{growth, mix, sweep, turnover, volumes};

/// What is run of a paper, and on what.
pub struct Replaying<'a> {
    pub paper: &'static Paper,
    /// A folder with traces.
    pub traces: Option<&'a Path>,
    /// Requests of each workload, at most.
    pub requests: Option<NonZeroU64>,
    /// The workloads; of some alone nothing is run that is not of a workload.
    pub only: &'a [&'static str],
    /// Runs at a time.
    pub jobs: usize,
}

/// The places of a workload and of a variant in the paper.
type Run = (usize, usize);

impl Replaying<'_> {
    /// All that the paper shows.
    pub fn first(&self, seed: u64) -> Result<Results> {
        let mut results = self.replayed(self.paper.runs(), seed, None)?;
        if let Some(figure) = self.paper.turnover {
            results.turnover = self.turnover(figure, seed)?;
        }
        Ok(results)
    }

    /// With another seed, what the claims look at. What has none is as in the first.
    pub fn again(&self, first: &Results, seed: u64) -> Result<Results> {
        self.replayed(self.paper.claimed_runs(), seed, Some(first))
    }

    /// Whether another seed makes a difference.
    pub fn has_seeds(&self, seed: u64) -> Result<bool> {
        let is_generated = |workload: &Workload| !matches!(workload, Workload::File(_));
        let of_all = self.is_of_all() && (!self.paper.sweeps.is_empty() || self.paper.mix.is_some());
        Ok(of_all || self.volumes(self.only, seed)?.iter().any(is_generated))
    }

    /// Whether no workload is left out.
    fn is_of_all(&self) -> bool {
        self.only.len() == self.paper.workloads.len()
    }

    /// Volumes by their names.
    pub fn volumes(&self, names: &[&str], seed: u64) -> Result<Vec<Workload>> {
        let mut workloads = volumes::find(names, self.traces, self.requests, seed)?;
        if let Some(requests) = self.paper.requests.filter(|_| self.requests.is_none()) {
            names.iter().zip(&mut workloads).for_each(|(name, workload)| volumes::shorten(workload, requests.of(name)));
        }
        Ok(workloads)
    }

    /// The runs, beside those of the `first` seed.
    fn replayed(&self, runs: Vec<Run>, seed: u64, first: Option<&Results>) -> Result<Results> {
        let paper = self.paper;
        let claims =
            |is_of: fn(&Measure) -> bool| first.is_none() || paper.claims.iter().any(|claim| is_of(&claim.measure));
        let workloads = self.volumes(self.only, seed)?;
        let shows_locality = paper.locality.is_some() && claims(|measure| !measure.is_of_runs());
        let (known, localities) = self.read(&workloads, shows_locality)?;
        let mut results = Results::new(paper, self.rows(&workloads, &known, runs, first)?);
        results.localities = localities;
        if let Some(mix) = paper.mix.filter(|_| self.is_of_all() && claims(Measure::is_of_the_mix)) {
            let halves = self.volumes(&mix.halves, seed)?;
            let configured = |variant: &Variant, range| configured(paper, variant, range);
            results.mix = mix::points(mix, &halves, self.requests, configured, self.jobs)?;
        }
        let growth = paper.growth.filter(|growth| self.only.contains(&growth.workload));
        if let Some(growth) = growth.filter(|_| claims(Measure::is_of_the_growth)) {
            let workload = self.volumes(&[growth.workload], seed)?.remove(0);
            results.growth = growth::runs(paper, growth, workload, self.requests, self.jobs)?;
        }
        if self.is_of_all() {
            results.sweeps = sweep::points(paper.sweeps, paper.drive, self.requests, seed, self.jobs)?;
        }
        Ok(results)
    }

    /// Those of the runs whose workload is known. A trace in a file has no seed: its rows are those of the first.
    fn rows(
        &self,
        workloads: &[Workload],
        known: &[Known],
        runs: Vec<Run>,
        first: Option<&Results>,
    ) -> Result<Vec<(Run, Row)>> {
        let paper = self.paper;
        let mut rows: Vec<(Run, Row)> = Vec::new();
        let mut left: Vec<(Run, &Known)> = Vec::new();
        for run @ (workload, variant) in runs {
            let Some(at) = self.only.iter().position(|name| *name == paper.workloads[workload]) else { continue };
            let named = first.map(|first| first.row(paper.workloads[workload], paper.variants[variant].name));
            match named.flatten().filter(|_| matches!(workloads[at], Workload::File(_))) {
                Some(row) => rows.push((run, row.clone())),
                None => left.push((run, &known[at])),
            }
        }
        let configured = |&((_, variant), known): &(Run, &Known)| {
            configured(paper, &paper.variants[variant], known.range.range_bytes)
        };
        let chosen = left.iter().map(configured).collect::<Result<Vec<_>>>()?;
        let requests = left.iter().map(|(_, known)| known.range.requests).sum();
        let progress = Progress::new("replaying", requests);
        let cases: Vec<_> = left.into_iter().zip(chosen).collect();
        rows.extend(parallel::each(self.jobs, &cases, |((run, workload), (chosen, case))| {
            let mut row = chosen.replay(workload, case, &progress, &mut ())?;
            // How fast this machine is does not belong to the paper.
            row.outcome = row.outcome.timed(0.0);
            Ok((*run, row))
        })?);
        Ok(rows)
    }

    /// The points of a figure over turnovers: on the paper's workloads, and on further traces that the folder has.
    fn turnover(&self, figure: &'static Turnover, seed: u64) -> Result<Vec<turnover::Point>> {
        let named: Vec<_> = self.only.iter().copied().filter(|name| figure.workloads.contains(name)).collect();
        let workloads = self.volumes(&named, seed)?;
        let further = volumes::present(figure.further, self.traces, self.requests)?;
        let named = named.into_iter().zip(workloads).chain(further.into_iter().filter(|_| self.is_of_all()));
        let named: Vec<_> = named.collect();
        let progress = Progress::of_pieces("reading", named.len());
        let known = parallel::each(self.jobs, &named, |(name, workload)| {
            Ok((*name, Known::survey(workload.clone(), self.requests, None, &progress)?))
        })?;
        drop(progress);
        turnover::points(figure, &known, &named_drive(self.paper.drive)?, self.paper.prefill, self.jobs)
    }

    /// The workloads, and how they write if that is shown.
    fn read(&self, workloads: &[Workload], shows_locality: bool) -> Result<(Vec<Known>, Vec<Locality>)> {
        let passes = if shows_locality { 1 + Locality::PASSES } else { 1 };
        let progress = Progress::of_pieces("reading", passes * workloads.len());
        let known = parallel::each(self.jobs, workloads, |workload| {
            Known::survey(workload.clone(), self.requests, None, &progress)
        })?;
        if !shows_locality {
            return Ok((known, Vec::new()));
        }
        let buffer = buffer(self.paper)?;
        let named: Vec<_> = workloads.iter().zip(self.only).collect();
        let localities = parallel::each(self.jobs, &named, |(workload, name)| {
            Locality::of(workload, name, buffer, self.requests, &progress)
        })?;
        Ok((known, localities))
    }
}

fn buffer(paper: &Paper) -> Result<BufferSize> {
    paper.buffer.parse().map_err(|e| anyhow!("{e}"))
}

/// A variant of a paper on its drive, for a workload of this range.
pub fn configured(paper: &Paper, variant: &Variant, range_bytes: u64) -> Result<(Chosen, Case)> {
    let (named, shape, fit) = match variant.disk {
        None => (paper.drive, Shape::default(), paper.fit),
        Some(Disk::Sized { bytes, .. }) => {
            (paper.drive, Shape { capacity_bytes: Some(bytes), ..Shape::default() }, Fit::Given)
        }
        Some(Disk::Zones { drive, bytes }) => {
            let conventional_zones = Some(ConventionalZones::Count(0));
            (drive, Shape { zone_bytes: Some(bytes), conventional_zones, ..Shape::default() }, paper.fit)
        }
    };
    let drive = named_drive(named)?.shaped(&shape)?;
    let buffer = variant.buffer.map_or_else(|| buffer(paper), |text| text.parse().map_err(|e| anyhow!("{e}")))?;
    let blocks = |percent: f64| BufferSize::Percent(percent).blocks(range_bytes, drive.block_bytes);
    let is_buffered = !matches!(variant.disk, Some(Disk::Zones { .. }));
    let disk_buffer = paper.disk_buffer.filter(|_| is_buffered);
    let disk = disk_buffer.map(|percent| sweep::disk_config(variant.layer, blocks(percent)));
    let sized = variant.sized.iter().map(|(field, percent)| format!("{field}={}", blocks(*percent)));
    let own = variant.settings.iter().map(|setting| (*setting).to_owned());
    let settings: Vec<_> = disk.into_iter().chain(sized).chain(own).collect();
    let queue_depth = (variant.load == Load::OneOutstanding).then_some(1);
    let options = ReplayOptions { prefill: paper.prefill, queue_depth, ..ReplayOptions::default() };
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let case = Case { layer: layers::find(variant.layer)?, drive, fit };
    let mut chosen = Chosen::new(buffer, options, &settings)?;
    chosen.stretch = matches!(variant.disk, Some(Disk::Sized { is_stretched_over: true, .. }));
    Ok((chosen, case))
}
