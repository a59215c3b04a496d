//! `imbrex bench`: how fast imbrex is on this machine, and how far that is from what the machine could do.
//!
//! All of it is measured in one run, because only ratios of numbers from one run mean something on a machine that
//! others use too. What is measured is repeated, in turns with what it is compared to, and the best of the repetitions
//! counts: noise only ever slows down.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod against;
mod array_log;
mod decoding;
mod disksim;
mod each;
mod layers;
mod logs;
mod lookups;
mod memory;
mod requests;
mod stacks;
mod straight_line;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use against::{Earlier, Named};
use each::Chosen;
use imbrex_runs::page::PageArgument;
use imbrex_runs::settings::{Setting, setting};
use imbrex_terminal::output::{Format, Output, print_line};
use imbrex_terminal::say::note;
use imbrex_terminal::table::grid;
use serde::{Deserialize, Serialize};

/// What `imbrex bench` takes.
#[derive(clap::Args)]
pub struct Args {
    /// How the rows are written.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// A few seconds instead of minutes; good to see that it works, not to compare.
    #[arg(long)]
    quick: bool,
    /// Measure these layers, or `all`, each on a drive of its kind, instead of the machine and the core
    #[arg(long = "layer", value_name = "NAMES", value_delimiter = ',', value_parser = Chosen::parse)]
    layers: Vec<Chosen>,
    /// Set a field of a layer's configuration, see `imbrex help LAYER`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting, requires = "layers")]
    settings: Vec<Setting>,
    /// Measure DiskSim too, whose program is at PATH, and say how many times as fast everything else is
    #[arg(long, value_name = "PATH")]
    disksim: Option<PathBuf>,
    /// Compare with what an earlier run wrote with --format json, row by row
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    page: PageArgument,
    /// Measure one layer under one load in this process alone, whose memory is then the layer's
    #[arg(long, value_enum, hide = true, requires = "layers")]
    alone: Option<each::Load>,
    /// Replay N requests of that load once and time nothing: for those who count instructions
    #[arg(long, value_name = "N", hide = true, requires = "alone")]
    counted: Option<u64>,
}

/// One measured or derived number.
#[derive(Serialize, Deserialize)]
struct Measurement {
    schema: String,
    name: String,
    /// Nothing where it could not be had.
    value: Option<f64>,
    unit: String,
    /// What a rate of blocks is for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ns_per_block: Option<f64>,
    /// Of DiskSim's rate, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_disksim: Option<f64>,
    /// Of what it was in the run of `--against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_earlier: Option<f64>,
    note: String,
}

impl Named for Measurement {
    const SCHEMA: &'static str = SCHEMA;

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// The unit of rates that DiskSim's is one of.
const BLOCKS: &str = "blocks/s";

/// The version of [`Measurement`].
const SCHEMA: &str = "imbrex.measurement/1";

/// How much is measured.
#[derive(Copy, Clone)]
struct Scale {
    /// Requests of a stream.
    requests: u64,
    /// Of these, how many go by before the clock starts: a layer's buffer is full then, and the memory is mapped.
    lead_in: u64,
    /// Requests of a trace to decode.
    traced: u64,
    repetitions: u32,
}

const FULL: Scale = Scale { requests: 4 << 20, lead_in: 1 << 20, traced: 1 << 19, repetitions: 4 };
const QUICK: Scale = Scale { requests: 3 << 16, lead_in: 1 << 16, traced: 1 << 14, repetitions: 1 };

/// The rows so far.
struct Report {
    rows: Vec<Measurement>,
    /// Whether somebody watches.
    talks: bool,
}

impl Report {
    /// One that is followed where standard error is a terminal.
    fn watched() -> Self {
        Self { rows: Vec::new(), talks: std::io::stderr().is_terminal() }
    }

    /// One that nobody reads.
    fn silent() -> Self {
        Self { rows: Vec::new(), talks: false }
    }

    fn add(&mut self, name: impl Into<String>, value: f64, unit: &str, note: impl Into<String>) {
        let (value, unit) = (Some(value).filter(|value| value.is_finite()), unit.to_owned());
        let ns_per_block = value.filter(|rate| unit == BLOCKS && *rate > 0.0).map(|rate| 1e9 / rate);
        let (schema, name, note) = (SCHEMA.to_owned(), name.into(), note.into());
        self.tell(&name, value, &unit);
        self.rows.push(Measurement {
            schema,
            name,
            value,
            unit,
            ns_per_block,
            to_disksim: None,
            to_earlier: None,
            note,
        });
    }

    /// Shows a number when it is there; the table comes when all of them are.
    fn tell(&self, name: &str, value: Option<f64>, unit: &str) {
        if self.talks {
            note(format_args!("  {name}: {} {unit}", value.map_or_else(|| "-".to_owned(), shown)));
        }
    }

    fn begin(&self, what: &str) {
        if self.talks {
            note(format_args!("measuring {what} ..."));
        }
    }
}

/// Measures everything and prints it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let scale = if args.quick { QUICK } else { FULL };
    if !args.layers.is_empty() {
        return each::run(args, scale);
    }
    let mut earlier = args.against.as_deref().map(|file| Earlier::read(file, args.quick)).transpose()?;
    let page = args.page.open("What was measured on this machine")?;
    let mut report = Report::watched();
    // First, while the peak of the process is still the layer's own.
    memory::measure(&mut report)?;
    let disksim = args.disksim.as_deref().map(|program| disksim::measure(program, scale, &mut report)).transpose()?;
    lookups::measure(scale, &mut report);
    layers::measure(scale, &mut report)?;
    logs::measure(scale, &mut report)?;
    stacks::measure(scale, &mut report)?;
    decoding::measure(scale, &mut report)?;
    memory::peak(&mut report);
    for row in report.rows.iter_mut().filter(|row| row.unit == BLOCKS) {
        row.to_disksim = row.value.zip(disksim).map(|(rate, disksim)| rate / disksim);
    }
    if let Some(earlier) = &mut earlier {
        earlier.pair(&mut report.rows, |row, before| row.to_earlier = ratio(row.value, before.value))?;
    }
    if let Some(mut page) = page {
        page.add(&report.rows)?;
        page.finish()?;
    }
    print(&report.rows, args, &earlier.map_or_else(Vec::new, |earlier| earlier.missing()))
}

/// An error whose reasons are part of what it says: only that is shown.
fn one_message(error: anyhow::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

/// One number over another, where both are known.
fn ratio(now: Option<f64>, before: Option<f64>) -> Option<f64> {
    now.zip(before).map(|(now, before)| now / before).filter(|ratio| ratio.is_finite())
}

fn print(rows: &[Measurement], args: &Args, missing: &[String]) -> anyhow::Result<()> {
    if args.format != Format::Table {
        missing.iter().for_each(note);
    }
    if args.format == Format::Json {
        let all = serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "quick": args.quick, "rows": rows });
        return print_line(serde_json::to_string_pretty(&all)?);
    }
    Output::standard(args.format).write(rows, || format!("{}{}", shown_rows(rows, args), against::legend(missing)))
}

fn shown_rows(rows: &[Measurement], args: &Args) -> String {
    let factors = [(args.disksim.is_some(), ">of DiskSim"), (args.against.is_some(), ">of earlier")];
    let mut headings = vec!["measured", ">value", "unit", ">ns a block"];
    headings.extend(factors.iter().filter(|(is_asked, _)| *is_asked).map(|(_, heading)| *heading));
    headings.push("note");
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), shown);
    let factor = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    let cells = |row: &Measurement| {
        let ns = row.ns_per_block.map_or_else(String::new, shown);
        let mut cells = vec![row.name.clone(), number(row.value), row.unit.clone(), ns];
        let factors = factors.iter().zip([row.to_disksim, row.to_earlier]);
        cells.extend(factors.filter(|((is_asked, _), _)| *is_asked).map(|(_, value)| factor(value)));
        cells.push(row.note.clone());
        cells
    };
    grid(&headings, rows.iter().map(cells))
}

/// Three digits or so, large numbers in millions.
fn shown(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 100.0 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    }
}

/// The best rate, in things per second, of several measurements of the same thing.
#[derive(Copy, Clone, Default)]
struct Best(f64);

impl Best {
    fn rate(&mut self, count: u64, seconds: f64) {
        self.0 = self.0.max(count as f64 / seconds);
    }

    /// Times `work`, which handles `count` things.
    fn of<T>(&mut self, count: u64, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.rate(count, begun.elapsed().as_secs_f64());
        result
    }
}
