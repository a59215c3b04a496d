//! `imbrex bench`: how fast imbrex is on this machine, and how far that is from what the machine could do.
//!
//! All of it is measured in one run, because only ratios of numbers from one run mean something on a machine that
//! others use too. What is measured is repeated, in turns with what it is compared to, and the best of the repetitions
//! counts: noise only ever slows down.

mod array_log;
mod decoding;
mod each;
mod layers;
mod logs;
mod lookups;
mod memory;
mod requests;
mod stacks;
mod straight_line;

use std::io::IsTerminal;
use std::time::Instant;

use clap::ValueEnum;
use each::Chosen;
use serde::Serialize;

use crate::output::print_line;
use crate::page::PageArgument;
use crate::say::note;
use crate::table::table;
use crate::values::{Setting, setting};

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
    /// Set a field of a layer's configuration, see `imbrex list layers`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting, requires = "layers")]
    settings: Vec<Setting>,
    #[command(flatten)]
    page: PageArgument,
    /// Measure one layer over so many GiB in this process alone, whose memory is then the layer's
    #[arg(long, value_name = "GIB", hide = true, requires = "layers")]
    alone: Option<u64>,
}

#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// One measured or derived number.
#[derive(Serialize)]
struct Measurement {
    schema: &'static str,
    name: String,
    value: f64,
    unit: &'static str,
    note: String,
}

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
    fn add(&mut self, name: impl Into<String>, value: f64, unit: &'static str, note: impl Into<String>) {
        self.rows.push(Measurement { schema: SCHEMA, name: name.into(), value, unit, note: note.into() });
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
    let page = args.page.open("What was measured on this machine")?;
    let mut report = Report { rows: Vec::new(), talks: std::io::stderr().is_terminal() };
    // First, while the peak of the process is still the layer's own.
    memory::measure(&mut report)?;
    lookups::measure(scale, &mut report);
    layers::measure(scale, &mut report)?;
    logs::measure(scale, &mut report)?;
    stacks::measure(scale, &mut report)?;
    decoding::measure(scale, &mut report)?;
    memory::peak(&mut report);
    if let Some(mut page) = page {
        page.add(&report.rows)?;
        page.finish()?;
    }
    print(&report.rows, args)
}

fn print(rows: &[Measurement], args: &Args) -> anyhow::Result<()> {
    if args.format == Format::Json {
        let all = serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "quick": args.quick, "rows": rows });
        return print_line(serde_json::to_string_pretty(&all)?);
    }
    let cells = |row: &Measurement| [row.name.clone(), shown(row.value), row.unit.to_owned(), row.note.clone()];
    print_line(table(["measured", ">value", "unit", "note"], rows.iter().map(cells)))
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

    /// Has `work` done, which handles `count` things.
    fn of<T>(&mut self, count: u64, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.rate(count, begun.elapsed().as_secs_f64());
        result
    }
}
