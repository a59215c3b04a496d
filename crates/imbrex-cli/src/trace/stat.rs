//! `imbrex trace stat`: what a trace is like.

use std::num::{NonZeroU64, NonZeroUsize};

use anyhow::Result;
use clap::Args;
use imbrex::buffer_size::BufferSize;
use imbrex::trace::Workload;
use imbrex::trace::statistics::StatisticsOptions;
use imbrex_runs::parallel;
use imbrex_runs::row::called;
use imbrex_runs::trace_files::TraceFiles;
use imbrex_runs::trace_report::TraceReport;
use imbrex_runs::values::requests;
use imbrex_runs::workload;
use imbrex_terminal::names::Names;
use imbrex_terminal::output::OutputArguments;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::stop;
use imbrex_terminal::table::{grid, paragraphs};

use super::{lines, published};

/// Show what traces are like: volume, footprint, locality, where blocks are written and when again
///
/// docs/trace-stat.md defines every number.
#[derive(Args)]
pub struct Stat {
    /// Trace files, synthetic workloads ending in .toml, or names from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD", required = true)]
    workloads: Vec<String>,
    /// Use the first N requests of a trace; let a synthetic workload have N requests
    #[arg(long, value_name = "N", value_parser = requests)]
    requests: Option<NonZeroU64>,
    /// The seed of synthetic workloads, instead of their own
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    #[command(flatten)]
    file: TraceFiles,
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
        let progress = Progress::of_pieces("reading and simulating", TraceReport::PIECES * workloads.len());
        let options = || StatisticsOptions { caches: self.cache.clone(), buffer: self.buffer };
        let row = |workload: &Workload| TraceReport::of(workload, self.requests, options(), &progress);
        let rows = parallel::each(self.jobs.get(), &workloads, row)?;
        drop(progress);
        output.write(&rows, || shown(&rows))
    }
}

/// A table with a column for each trace, and one more for what is published of it.
fn shown(rows: &[TraceReport]) -> String {
    let classes = rows.iter().map(|row| row.statistics.update_period.distribution.len()).max().unwrap_or(0);
    let names = Names::of(rows.iter().map(|row| row.trace.as_str()));
    let mut columns = Vec::new();
    for row in rows {
        let periods = lines::periods(&row.statistics.update_period, row.buffer, classes);
        let measured = [lines::of(&row.statistics), periods].concat();
        let published = row.published.as_ref().map(|figures| published::beside(&measured, figures));
        columns.push((format!(">{}", called(names.name(&row.trace), row.synthetic)), measured));
        columns.extend(published.map(|lines| (">published".to_owned(), lines)));
    }
    let headings: Vec<_> = ["statistic"].into_iter().chain(columns.iter().map(|(name, _)| name.as_str())).collect();
    let names = columns.first().into_iter().flat_map(|(_, column)| column).map(|(name, _)| name.clone());
    let line = |(at, name): (usize, String)| {
        [name].into_iter().chain(columns.iter().map(|(_, column)| column[at].1.clone())).collect::<Vec<_>>()
    };
    let table = grid(&headings, names.enumerate().map(line));
    let legend = "Blocks are of 4 KiB. A window of N blocks is as many writes as touch N distinct ones. \
                  Its figures are means. Caches are over start offsets, sizes ignored. An update period is the number of \
                  other blocks written between two writes of a block; of a block, the mean. Long: longer than the \
                  buffer has blocks.";
    format!("{table}\n\n{}\n", paragraphs(legend))
}
