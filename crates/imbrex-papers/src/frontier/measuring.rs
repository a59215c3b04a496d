//! The runs: every layer on every workload, the others in the best of the settings that are tried, and the bounds.

use std::num::NonZeroU64;

use anyhow::{Error, Result, anyhow};
use imbrex::replay::ReplayError;
use imbrex::trace::Workload;
use imbrex_runs::bounds::{Answer, Count, counts, of_run};
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::search::spaces::Other;
use imbrex_runs::search::{Found, best_of, search, size};
use imbrex_runs::workload::Known;
use imbrex_terminal::progress::Progress;

use super::line::{Line, Of, Tried};
use super::tables::{Counted, Table};

/// A layer that has no buffer of a size that is asked for.
const DM_ZONED: &str = "dm-zoned";

/// What is run.
pub struct Extent<'a> {
    pub tables: &'a [&'static Table],
    /// Whether there are several workloads, so that something can be said of all.
    pub is_of_several: bool,
    /// Requests of each workload, at most.
    pub requests: NonZeroU64,
    /// Settings of each layer that are tried on each workload.
    pub trials: u32,
    /// Of the search.
    pub seed: u64,
    /// What a search found before on workloads of the same names. There its settings are tried, and the defaults.
    pub searched: &'a [Tried],
    /// Runs at a time.
    pub jobs: usize,
}

/// A workload as it is, and with its written blocks side by side.
struct Read {
    plain: Known,
    dense: Option<Known>,
}

/// A layer on a workload: this project's, or one of the others with its settings.
struct Entrant<'a> {
    table: &'static Table,
    known: &'a Known,
    /// Requests that were asked for; beside each other, those for blocks that are never written are left out of them.
    asked: NonZeroU64,
    other: Option<&'static Other>,
    /// The best of its settings, where a search was made before.
    found: Option<Vec<String>>,
}

/// What a run gave.
struct Measured {
    row: Row,
    /// How many times the time of the workload it took, if it did not keep up.
    behind: Option<f64>,
}

/// The rows of all tables, and what each of the other layers came to.
pub fn frontier(workloads: &[Workload], extent: &Extent<'_>) -> Result<(Vec<Line>, Vec<Tried>)> {
    let read = read(workloads, extent)?;
    let entrants: Vec<_> = extent.tables.iter().flat_map(|table| entrants(table, &read, extent)).collect();
    let progress = Progress::new("searching", entrants.iter().map(|entrant| entrant.requests(extent)).sum());
    let found = parallel::each(extent.jobs, &entrants, |entrant| entrant.best(extent, &progress))?;
    drop(progress);
    let mut found = entrants.iter().zip(found);
    let mut groups: Vec<Vec<(&Entrant<'_>, Found<Measured>)>> = Vec::new();
    for table in extent.tables {
        let layers = table.others.len() + usize::from(table.ours.is_some());
        groups.extend(
            read.iter().map(|_| found.by_ref().take(layers).filter_map(|(who, of)| Some((who, of?))).collect()),
        );
    }
    let asked: u64 = groups.iter().filter_map(|group| Some(group.first()?.0.known.range.requests)).sum();
    let progress = Progress::new("bounding", asked);
    let answers = parallel::each(extent.jobs, &groups, |group| answer(group, &progress))?;
    drop(progress);
    let all = groups.iter().zip(&answers).filter_map(|(group, answer)| line(group, answer.as_ref()));
    Ok((all.collect(), groups.iter().flatten().map(tried).collect()))
}

fn read(workloads: &[Workload], extent: &Extent<'_>) -> Result<Vec<Read>> {
    let dense = extent.tables.iter().find(|table| table.is_dense).map(|table| table.block_bytes()).transpose()?;
    let progress = Progress::of_pieces("reading", workloads.len() * (1 + dense.map_or(0, |_| Known::passes(dense))));
    let survey = |workload: &Workload, dense| Known::survey(workload.clone(), Some(extent.requests), dense, &progress);
    parallel::each(extent.jobs, workloads, |workload| {
        let dense = dense.map(|block_bytes| survey(workload, Some(block_bytes))).transpose()?;
        Ok(Read { plain: survey(workload, None)?, dense })
    })
}

/// The entrants of a table, those of a workload together.
fn entrants<'a>(table: &'static Table, read: &'a [Read], extent: &Extent<'a>) -> impl Iterator<Item = Entrant<'a>> {
    let (asked, searched) = (extent.requests, extent.searched);
    read.iter().flat_map(move |read| {
        let known = read.dense.as_ref().filter(|_| table.is_dense).unwrap_or(&read.plain);
        let others = table.others.iter().map(Some);
        others.chain(table.ours.map(|_| None)).map(move |other| {
            let entrant = Entrant { table, known, asked, other, found: None };
            let before = searched.iter().find(|tried| tried.is_of(table, &known.info.name, entrant.layer()));
            Entrant { found: before.map(Tried::settings), ..entrant }
        })
    })
}

impl Entrant<'_> {
    fn layer(&self) -> &'static str {
        self.other.map_or_else(|| self.table.ours.unwrap_or_default(), |other| other.layer)
    }

    /// Requests that are served in all trials.
    fn requests(&self, extent: &Extent<'_>) -> u64 {
        let all = self.other.map_or(1, |other| size(other.space).min(extent.trials.into()));
        let trials = self.found.as_ref().map_or(all, |found| if found.is_empty() { 1 } else { 2 });
        trials * self.known.range.requests
    }

    /// The best of its settings. Those that the layer refuses, such as parts that are larger than the whole, and those
    /// that need a larger disk than its defaults do, count as trials and give nothing.
    fn best(&self, extent: &Extent<'_>, progress: &Progress) -> Result<Option<Found<Measured>>> {
        let mut most_blocks = None;
        let run = |settings: &[String]| match self.run(settings, progress) {
            Err(e) if is_refused(&e) => {
                progress.add(self.known.range.requests);
                Ok(None)
            }
            Ok(Some(run)) => {
                let blocks = run.1.row.drive_blocks;
                Ok(Some(run).filter(|_| blocks <= *most_blocks.get_or_insert(blocks)))
            }
            other => other,
        };
        match &self.found {
            Some(found) if found.is_empty() => best_of(&[Vec::new()], run),
            Some(found) => best_of(&[Vec::new(), found.clone()], run),
            None => search(self.other.map_or(&[][..], |other| other.space), extent.trials, extent.seed, run),
        }
    }

    fn run(&self, settings: &[String], progress: &Progress) -> Result<Option<(f64, Measured)>> {
        let (chosen, case) = self.table.configured(self.layer(), settings)?;
        let row = chosen.replay(self.known, &case, progress, &mut ())?;
        let behind = row.outcome.falls_behind().filter(|_| !self.table.is_untimed());
        let value = match self.table.counted {
            Counted::Response => Some(row.outcome.latency_ms.all.mean),
            counted => {
                let drive = case.drive.with_capacity(row.drive_blocks * u64::from(row.block_bytes))?;
                let all = counts(&row, case.layer, &drive);
                all.iter().find(|count| count.question.counted() == counted.name()).map(|count| count.count as f64)
            }
        };
        Ok(value.map(|value| (value, Measured { row, behind })))
    }
}

/// Whether a layer cannot be made so.
fn is_refused(error: &Error) -> bool {
    matches!(error.downcast_ref::<ReplayError>(), Some(ReplayError::Config(_)))
}

/// What is possible for the workload of a group, if anything is known: for a buffer of the size that all have but
/// `dm-zoned`.
fn answer(group: &[(&Entrant<'_>, Found<Measured>)], progress: &Progress) -> Result<Option<Answer>> {
    let sized = group.iter().rfind(|(entrant, _)| entrant.layer() != DM_ZONED);
    let Some((entrant, found)) = sized.filter(|(entrant, _)| entrant.table.is_untimed()) else {
        return Ok(None);
    };
    let (_, case) = entrant.table.configured(entrant.layer(), &found.settings)?;
    let row = &found.best.1.row;
    let is_counted = |count: &Count| count.question.counted() == entrant.table.counted.name();
    let of_run = of_run(row, &case, entrant.known, is_counted, progress)?;
    let (_, answer) = of_run.ok_or_else(|| anyhow!("nothing bounds the layer {}", entrant.layer()))?;
    Ok(Some(answer))
}

/// The row of a workload: the best of the others and this project's layer. No row if no other could be run. Who needs a
/// larger disk than this project's layer does is not among them, but for `dm-zoned`, which has whole zones to buffer in.
fn line(group: &[(&Entrant<'_>, Found<Measured>)], answer: Option<&Answer>) -> Option<Line> {
    let ours = group.iter().find(|(entrant, _)| entrant.other.is_none());
    let most_blocks = ours.map_or(u64::MAX, |(_, found)| found.best.1.row.drive_blocks);
    let takes_part = |(entrant, found): &&(&Entrant<'_>, Found<Measured>)| {
        let fits = found.best.1.row.drive_blocks <= most_blocks || entrant.layer() == DM_ZONED;
        entrant.other.is_some() && fits
    };
    let others = group.iter().filter(takes_part);
    let (entrant, other) = others.min_by(|(_, one), (_, other)| one.best.0.total_cmp(&other.best.0))?;
    let row = &ours.map_or(other, |(_, found)| found).best.1.row;
    // Of moved blocks no bound is known.
    let bound = answer.map(|answer| answer.least).filter(|_| entrant.table.counted != Counted::Moved);
    Some(Line::new(
        entrant.table,
        row,
        (bound, answer.and_then(Answer::reached)),
        of(entrant, other),
        ours.map(|(entrant, found)| of(entrant, found)),
    ))
}

fn of(entrant: &Entrant<'_>, found: &Found<Measured>) -> Of {
    let (layer, row) = (entrant.layer(), &found.best.1.row);
    let seed = row.seed.map_or(String::new(), |seed| format!(" --seed {seed}"));
    let workload = format!("{} --requests {}{seed}", row.trace, entrant.asked);
    Of {
        layer,
        settings: found.settings.join(" "),
        value: found.best.0,
        by_default: found.by_default,
        times_of_workload: found.best.1.behind,
        command: entrant.table.command(&workload, layer, &found.settings),
    }
}

fn tried((entrant, found): &(&Entrant<'_>, Found<Measured>)) -> Tried {
    let row = &found.best.1.row;
    Tried::new(entrant.table, (&row.trace, row.seed), entrant.other.is_none(), found.trials, of(entrant, found))
}
