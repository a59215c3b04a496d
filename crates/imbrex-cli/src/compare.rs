//! `imbrex compare`: every workload on every layer.

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use imbrex::layers::LayerInfo;

use crate::families::Family;
use crate::output::OutputArguments;
use crate::parallel;
use crate::progress::Progress;
use crate::row::Row;
use crate::setup::{SetupArguments, layer};
use crate::stop;
use crate::table::{self, count, number, percent, table};
use crate::trace_file::TraceFileArguments;
use crate::workload::{self, Known};

/// Replay workloads on several layers and compare them
#[derive(Args)]
pub struct Compare {
    /// Trace files, synthetic workloads ending in .toml, or names from `imbrex list workloads`
    #[arg(value_name = "TRACE|WORKLOAD", default_value = "default")]
    workloads: Vec<String>,
    /// The layers, in the order in which they are shown
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = layer)]
    #[arg(default_value = "conventional,in-place,fifo-log")]
    layers: Vec<&'static LayerInfo>,
    /// All layers of a family of disks instead, each on a drive of its kind that is as large as the workload needs
    #[arg(long, value_enum, conflicts_with_all = ["layers", "drive", "zone_size", "conventional_zones"])]
    family: Option<Family>,
    /// Runs at a time; the default is the number of cores
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    traces: TraceFileArguments,
    #[command(flatten)]
    setup: SetupArguments,
    #[command(flatten)]
    output: OutputArguments,
}

impl Compare {
    pub fn run(self) -> Result<()> {
        stop::on_ctrl_c();
        let jobs = self.jobs.map_or_else(parallel::cores, NonZeroUsize::get);
        let pairs = match self.family {
            Some(family) => family.cases(self.setup.capacity)?,
            None => self.setup.cases(&self.layers)?,
        };
        let chosen = self.setup.choose(&pairs, None)?;
        let workloads = workload::named(&self.workloads, self.setup.requests, self.setup.seed, &self.traces.options())?;
        let output = self.output.open()?;
        let reading = Progress::of_pieces("reading", workloads.len());
        let known = parallel::each(jobs, &workloads, |workload| {
            Known::survey(workload.clone(), self.setup.requests, &reading)
        })?;
        drop(reading);
        let requests: u64 = known.iter().map(|workload| workload.range.requests).sum();
        let progress = Progress::new("replaying", requests * pairs.len() as u64);
        let cases: Vec<_> = known.iter().flat_map(|workload| pairs.iter().map(move |pair| (workload, pair))).collect();
        let rows = parallel::each(jobs, &cases, |(workload, pair)| chosen.replay(workload, pair, &progress, &mut ()))?;
        drop(progress);
        output.write(&rows, || comparison(&rows))
    }
}

/// Latencies are in milliseconds.
const HEADINGS: [&str; 13] = [
    "workload",
    "layer",
    ">mean ms",
    ">p50",
    ">p99",
    ">p99.9",
    ">max",
    ">vs conv.",
    ">WA",
    ">write hits",
    ">RMW",
    ">RMW-free",
    ">padding",
];

fn comparison(rows: &[Row]) -> String {
    let one_drive = is_one_drive(rows);
    let mut text = rows.first().map(Row::circumstances).unwrap_or_default();
    if let Some(first) = rows.first().filter(|_| one_drive) {
        text = format!("{}; {text}", first.on_drive());
    }
    if let Some(buffer) = rows.iter().find_map(|row| row.buffer) {
        text += &format!("; buffer {buffer}");
    }
    text += "\n\n";
    text += &table(HEADINGS, rows.iter().map(|row| cells(row, rows, one_drive)));
    text += "\n\nLatency from arrival to completion of reads and writes. vs conv.: mean latency over that of the \
             conventional layer on the same drive.\nWA: blocks written to the media for each the host wrote. RMW: zones rewritten; \
             RMW-free: zones appended to.\n";
    let mut mended: Vec<_> = rows.iter().filter_map(Row::mended).collect();
    mended.dedup();
    for line in mended {
        text += &format!("{line}\n");
    }
    text
}

fn is_one_drive(rows: &[Row]) -> bool {
    rows.windows(2).all(|pair| pair[0].on_drive() == pair[1].on_drive())
}

fn cells(row: &Row, rows: &[Row], one_drive: bool) -> [String; 13] {
    let outcome = &row.outcome;
    let latency = &outcome.latency_ms.all;
    let is_baseline = |other: &&Row| {
        other.layer == "conventional" && (&other.trace, other.on_drive()) == (&row.trace, row.on_drive())
    };
    let baseline = rows.iter().find(is_baseline);
    let times = baseline.map(|baseline| latency.mean / baseline.outcome.latency_ms.all.mean);
    [
        row.workload(),
        if one_drive {
            row.layer.to_owned()
        } else {
            format!("{} on {} of {}", row.layer, row.drive, row.drive_size())
        },
        number(latency.mean),
        number(latency.p50),
        number(latency.p99),
        number(latency.p999),
        number(latency.max),
        times.filter(|times| times.is_finite()).map_or("-".to_owned(), |times| format!("{}×", number(times))),
        number(outcome.write_amplification),
        percent(outcome.write_hit_ratio),
        count(outcome.rmw),
        count(outcome.rmw_free),
        table::bytes(outcome.padding_blocks * u64::from(row.block_bytes)),
    ]
}
