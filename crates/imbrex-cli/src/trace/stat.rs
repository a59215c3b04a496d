//! `imbrex trace stat`: what a trace is like.

use std::num::{NonZeroU64, NonZeroUsize};

use anyhow::{Result, anyhow};
use clap::Args;
use imbrex::buffer_size::BufferSize;
use imbrex::trace::profiles::Figures;
use imbrex::trace::statistics::updates::period_name;
use imbrex::trace::statistics::{Collection, StatisticsOptions, TraceStatistics};
use imbrex::trace::{TraceSource, Workload};
use serde::Serialize;

use super::published;
use crate::output::OutputArguments;
use crate::parallel;
use crate::progress::Progress;
use crate::stop;
use crate::table::{bytes, count, grid, number, percent};
use crate::trace_file::TraceFileArguments;
use crate::workload::{self, Watched};

/// The version of [`TraceReport`].
const SCHEMA: &str = "imbrex.trace-stat/1";

/// Show what traces are like: volume, footprint, locality, how and when blocks are written again
///
/// docs/trace-stat.md defines every number.
#[derive(Args)]
pub struct Stat {
    /// Trace files, synthetic workloads ending in .toml, or names from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD", required = true)]
    workloads: Vec<String>,
    /// Use the first N requests of a trace; let a synthetic workload have N requests
    #[arg(long, value_name = "N")]
    requests: Option<NonZeroU64>,
    /// The seed of synthetic workloads, instead of their own
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    #[command(flatten)]
    file: TraceFileArguments,
    /// Sizes of the caches whose miss ratios are shown, in percent of the distinct start offsets
    #[arg(long, value_name = "PERCENTS", value_delimiter = ',', value_parser = cache, default_value = "10%")]
    cache: Vec<f64>,
    /// The persistent buffer that update periods are set against: a size, or a percentage of the address range
    #[arg(long, value_name = "SIZE|PERCENT", default_value = "1%")]
    buffer: BufferSize,
    /// Traces at a time, each in memory of its own
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    #[command(flatten)]
    output: OutputArguments,
}

/// One trace.
#[derive(Serialize)]
struct TraceReport {
    schema: &'static str,
    trace: String,
    trace_format: String,
    synthetic: bool,
    seed: Option<u64>,
    volume: Option<String>,
    /// What is published of the volume that a profile is like.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<Figures>,
    buffer: BufferSize,
    #[serde(flatten)]
    statistics: TraceStatistics,
}

fn cache(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(BufferSize::Percent(percent)) if percent <= 100.0 => Ok(percent),
        _ => Err("write a percentage of the distinct offsets, such as 10%".to_owned()),
    }
}

impl Stat {
    pub fn run(self) -> Result<()> {
        stop::on_ctrl_c();
        let workloads = workload::named(&self.workloads, self.requests, self.seed, &self.file.options())?;
        let output = self.output.open()?;
        // Reading a trace is one piece of work, simulating caches on it another.
        let progress = Progress::of_pieces("reading and simulating", 2 * workloads.len());
        let rows = parallel::each(self.jobs.get(), &workloads, |workload| self.row(workload, &progress))?;
        drop(progress);
        output.write(&rows, || shown(&rows))
    }

    fn row(&self, workload: &Workload, progress: &Progress) -> Result<TraceReport> {
        let mut source = Watched::new(workload, self.requests, progress)?;
        let info = source.info().clone();
        let mut caches = self.cache.clone();
        caches.sort_by(f64::total_cmp);
        caches.dedup();
        let options = StatisticsOptions { caches, buffer: self.buffer };
        let collection = Collection::of(&mut source)?;
        let total = collection.cache_requests(&options) as f64;
        let (mut piece, mut done) = (progress.piece(), 0);
        let statistics = collection.statistics(&options, &mut |requests| {
            done += requests;
            piece.reach(done as f64 / total);
            if stop::is_asked_for() { Err(anyhow!("stopped")) } else { Ok(()) }
        })?;
        Ok(TraceReport {
            schema: SCHEMA,
            synthetic: info.is_synthetic(),
            trace: info.name,
            trace_format: info.format.to_string(),
            seed: workload.seed(),
            volume: source.volume(),
            published: published::of(workload),
            buffer: self.buffer,
            statistics,
        })
    }
}

/// A table with a column for each trace, and one more for what is published of it.
fn shown(rows: &[TraceReport]) -> String {
    let classes = rows.iter().map(|row| row.statistics.update_period.distribution.len()).max().unwrap_or(0);
    let mut columns = Vec::new();
    for row in rows {
        let measured = lines(row, classes);
        let published = row.published.as_ref().map(|figures| published::beside(&measured, figures));
        columns.push((format!(">{}{}", row.trace, if row.synthetic { " (synthetic)" } else { "" }), measured));
        columns.extend(published.map(|lines| (">published".to_owned(), lines)));
    }
    let headings: Vec<_> = ["statistic"].into_iter().chain(columns.iter().map(|(name, _)| name.as_str())).collect();
    let names = columns.first().into_iter().flat_map(|(_, column)| column).map(|(name, _)| name.clone());
    let line = |(at, name): (usize, String)| {
        [name].into_iter().chain(columns.iter().map(|(_, column)| column[at].1.clone())).collect::<Vec<_>>()
    };
    let table = grid(&headings, names.enumerate().map(line));
    format!(
        "{table}\n\nBlocks are of 4 KiB. Caches are over start offsets, sizes ignored. An update period is the number of \
         other blocks\nwritten between two writes of a block; of a block, the mean. Long: longer than the buffer has blocks.\n"
    )
}

/// A statistic as it is shown.
pub(super) type Line = (String, String);

pub(super) fn line(name: &str, value: String) -> Line {
    (name.to_owned(), value)
}

/// What is shown of a trace; of all traces the same in the same order.
fn lines(row: &TraceReport, classes: usize) -> Vec<Line> {
    [statistic_lines(&row.statistics), periods(row, classes)].concat()
}

/// All but the update periods.
pub(super) fn statistic_lines(statistics: &TraceStatistics) -> Vec<Line> {
    [volume(statistics), addresses(statistics), rewriting(statistics), locality(statistics)].concat()
}

fn volume(s: &TraceStatistics) -> Vec<Line> {
    let mended = &s.irregularities;
    vec![
        line("requests", count(s.requests)),
        line("reads", count(s.reads)),
        line("writes", count(s.writes)),
        line("trims", count(s.trims)),
        line("write ratio", percent(s.write_ratio)),
        line("read, GiB", number(s.read_gib)),
        line("written, GiB", number(s.written_gib)),
        line("blocks read and written", count(s.blocks_4k)),
        line("mean read, sectors of 512 B", number(s.read_len_sectors)),
        line("mean write, sectors of 512 B", number(s.write_len_sectors)),
        line("aligned to 4 KiB", percent(s.aligned_ratio)),
        line("duration, s", number(s.duration_seconds)),
        line("requests per second", number(s.requests_per_second)),
        line("out of order", count(mended.out_of_order)),
        line("of no bytes, left out", count(mended.zero_size)),
        line("without data, left out", count(mended.without_data)),
        line("put in order of time", count(mended.reordered)),
        line("of other volumes, left out", count(mended.other_volumes)),
    ]
}

fn addresses(s: &TraceStatistics) -> Vec<Line> {
    vec![
        line("address range", bytes(s.range_bytes)),
        line("address range, GB", number(s.range_gb)),
        line("address range, zones of 256 MiB", count(s.range_zones)),
        line("lowest to highest byte", bytes(s.span_bytes)),
        line("distinct blocks", count(s.footprint_blocks)),
        line("distinct blocks read", count(s.footprint_read_blocks)),
        line("distinct blocks written", count(s.footprint_written_blocks)),
        line("distinct blocks written, GB", number(s.footprint_gb)),
        line("distinct start offsets", count(s.unique_offsets)),
    ]
}

fn rewriting(s: &TraceStatistics) -> Vec<Line> {
    vec![
        line("block writes", count(s.written_blocks_4k)),
        line("of blocks written before", percent(s.update_ratio)),
        line("blocks written more than once", percent(s.hot_lba_share)),
        line("block writes to those", percent(s.hot_write_share)),
    ]
}

fn locality(s: &TraceStatistics) -> Vec<Line> {
    let misses = s.miss.iter().flat_map(|miss| {
        let name = |policy| format!("{policy} misses, cache of {}%", miss.percent);
        [("LRU", miss.lru), ("ARC", miss.arc), ("SIEVE", miss.sieve)]
            .map(|(policy, ratio)| (name(policy), percent(ratio)))
    });
    misses.collect()
}

fn periods(row: &TraceReport, classes: usize) -> Vec<Line> {
    let periods = &row.statistics.update_period;
    let mut lines = vec![
        line("mean update period, blocks", number(periods.mean)),
        line(&format!("buffer of {}, blocks", row.buffer), count(periods.buffer_blocks)),
        line("updated blocks", count(periods.updated_blocks)),
    ];
    for (name, share) in [("short", &periods.short), ("long", &periods.long)] {
        lines.push((format!("with {name} periods"), percent(share.share)));
        let updated =
            [("once", share.updated_once), ("twice", share.updated_twice), ("more often", share.updated_more)];
        lines.extend(updated.map(|(often, part)| (format!("  {name}, updated {often}"), percent(part))));
    }
    lines.extend((0..classes).map(|class| {
        let here = periods.distribution.get(class);
        let updates = here.map_or(0, |class| class.updates);
        (format!("updates after {} blocks", period_name(class)), count(updates))
    }));
    lines
}
