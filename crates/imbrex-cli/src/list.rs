//! `imbrex list`: what there is to choose from.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use imbrex::drive::DrivePreset;
use imbrex::event::Counter;
use imbrex::layers;
use imbrex::trace::profiles::{Profile, Volume};
use imbrex::trace::workloads::built_in;
use imbrex::trace::{FORMATS, FormatInfo};
use imbrex_terminal::output::{Output, OutputArguments};
use imbrex_terminal::table::{Cell, bytes, count, grid, paragraphs, percent, table};
use serde::Serialize;

use imbrex_runs::case::recording_of;
use imbrex_runs::families::Families;
use imbrex_runs::row::called;
use imbrex_runs::schema::schema;

/// List the layers, drives, workloads or trace formats there are
#[derive(Args)]
pub struct List {
    /// What to list
    what: What,
    /// Only these, and all that there is to say of them
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// All that there is to say of each layer
    #[arg(long, conflicts_with = "names")]
    all: bool,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Copy, Clone, ValueEnum)]
enum What {
    /// Translation layers and their configuration
    Layers,
    /// Drive presets
    Drives,
    /// Built-in synthetic workloads and profiles of published volumes
    Workloads,
    /// Formats of trace files
    Formats,
    /// The JSON Schema of a specification of runs, and of the rows that come of it
    Schema,
}

#[derive(Serialize)]
struct Layer {
    name: &'static str,
    family: &'static str,
    source: &'static str,
    summary: &'static str,
    buffered: bool,
    fields: Vec<Field>,
    counters: &'static [Counter],
}

#[derive(Serialize)]
struct Field {
    key: &'static str,
    default: &'static str,
    /// What the preset "paper" sets it to, if it does.
    paper: Option<&'static str>,
    meaning: &'static str,
}

#[derive(Serialize)]
struct Drive {
    name: String,
    recording: &'static str,
    bytes: u64,
    block_bytes: u32,
    zones: u32,
    conventional_zones: u32,
    description: String,
}

#[derive(Serialize)]
struct Workload {
    name: &'static str,
    synthetic: bool,
    requests: u64,
    range_bytes: u64,
    write_ratio: f64,
    description: String,
}

#[derive(Serialize)]
struct Format {
    name: &'static str,
    trace_format: &'static str,
    recognised: &'static str,
    holds: &'static str,
}

/// Synthetic workloads are files too, but none that could be taken for a trace.
const SYNTHETIC: Format = Format {
    name: "synthetic",
    trace_format: "",
    recognised: "a name ending in .toml",
    holds: "a workload or a profile to generate",
};

impl List {
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        let names = self.names.as_slice();
        match self.what {
            What::Layers => list_layers(output, names, self.all),
            What::Drives => list_drives(output, names),
            What::Workloads => list_workloads(output, names),
            What::Formats => list_formats(output, names),
            What::Schema => output.document(&schema()),
        }
    }
}

/// Those of `all` things of a kind that are `named`, or all if none are.
fn chosen<T>(all: Vec<T>, kind: &str, named: &[String], name: impl Fn(&T) -> &str) -> Result<Vec<T>> {
    if let Some(unknown) = named.iter().find(|wanted| !all.iter().any(|one| name(one) == wanted.as_str())) {
        let known: Vec<_> = all.iter().map(&name).collect();
        bail!("there is no {kind} '{unknown}'; known are {}", known.join(", "));
    }
    Ok(all.into_iter().filter(|one| named.is_empty() || named.iter().any(|wanted| wanted == name(one))).collect())
}

/// Layers: those that are named in full, and without names all of them in a line or two each, unless `in_full`.
pub fn list_layers(output: Output, named: &[String], in_full: bool) -> Result<()> {
    let layer = |info: &layers::LayerInfo| {
        let field = |f: &layers::Field| Field { key: f.key, default: f.default, paper: f.paper, meaning: f.meaning };
        let fields = info.fields.iter().map(field).collect();
        let layers::LayerInfo { name, source, summary, buffered, .. } = *info;
        let family = Families::of(info.family).name();
        Layer { name, family, source, summary, buffered, fields, counters: info.counters() }
    };
    let layers = chosen(layers::known().map(layer).collect(), "layer", named, |layer| layer.name)?;
    let is_short = named.is_empty() && !in_full;
    let in_full = || layers.iter().map(full).collect::<Vec<_>>().join("\n\n\n");
    output.write(&layers, || if is_short { short(&layers) } else { in_full() })
}

fn short(layers: &[Layer]) -> String {
    let (mut lines, mut families) = (Vec::new(), Vec::new());
    // Layers that were added are listed last, and shown with those of their family.
    layers.iter().map(|layer| layer.family).for_each(|family| {
        if !families.contains(&family) {
            families.push(family);
        }
    });
    for family in families {
        let shown = if family == "all" { "for every disk" } else { family };
        lines.push([Cell::Text(shown.to_owned()), Cell::Continued]);
        let own = layers.iter().filter(|layer| layer.family == family);
        lines.extend(own.map(|layer| [format!("  {}", layer.name), layer.summary.to_owned()].map(Cell::Text)));
    }
    let more = "`imbrex list layers NAME` says what can be set of a layer and what it counts; --all says it of all.";
    format!("{}\n\n{}", grid(&["layer", "what it does"], lines), paragraphs(more))
}

fn full(layer: &Layer) -> String {
    let Layer { name, family, source, summary, .. } = *layer;
    let family = if family == "all" { "every disk" } else { family };
    let mut parts = vec![paragraphs(&format!("{name} ({family}): {summary}\nSource: {source}."))];
    let field = |f: &Field| {
        let key = format!("{name}.{}", f.key);
        [key, f.default.to_owned(), f.paper.unwrap_or_default().to_owned(), f.meaning.to_owned()]
    };
    let headings = ["set with --set", "default", "preset=paper", "meaning"];
    parts.extend((!layer.fields.is_empty()).then(|| table(headings, layer.fields.iter().map(field))));
    let counter = |c: &Counter| [c.key, c.unit, c.meaning].map(str::to_owned);
    let counters = || table(["counts of its own", "unit", "meaning"], layer.counters.iter().map(counter));
    parts.extend((!layer.counters.is_empty()).then(counters));
    parts.join("\n\n")
}

fn list_drives(output: Output, named: &[String]) -> Result<()> {
    let drive = |(name, text): &(&str, &str)| -> Result<Drive> {
        let preset = DrivePreset::parse(name, text)?;
        let (recording, zones, conventional_zones) = recording_of(&preset);
        let (bytes, block_bytes) = (preset.capacity_bytes(), preset.block_bytes);
        let DrivePreset { name, description, .. } = preset;
        Ok(Drive { name, recording, bytes, block_bytes, zones, conventional_zones, description })
    };
    let drives = DrivePreset::built_in().iter().map(drive).collect::<Result<Vec<_>>>()?;
    let drives = chosen(drives, "drive", named, |drive| &drive.name)?;
    output.write(&drives, || {
        let cells = |d: &Drive| {
            let zones = if d.zones == 0 { "-".to_owned() } else { count(d.zones.into()) };
            let conventional = if d.zones == 0 { "-".to_owned() } else { count(d.conventional_zones.into()) };
            [d.name.clone(), d.recording.into(), bytes(d.bytes), zones, conventional, d.description.clone()]
        };
        let headings = ["drive", "recording", ">capacity", ">zones", ">conventional", "description"];
        table(headings, drives.iter().map(cells))
    })
}

fn list_workloads(output: Output, named: &[String]) -> Result<()> {
    let workload = |built_in: &imbrex::trace::workloads::BuiltIn| -> Result<Workload> {
        let spec = built_in.spec()?;
        Ok(Workload {
            name: built_in.name,
            synthetic: true,
            requests: spec.requests,
            range_bytes: spec.range_bytes,
            write_ratio: spec.mean_write_ratio(),
            description: spec.description,
        })
    };
    let profile = |name: &'static str| -> Result<Workload> {
        let profile = Profile::named(name).context("a listed profile exists")??;
        let volume = Volume::of(&profile)?;
        Ok(Workload {
            name,
            synthetic: true,
            requests: volume.requests,
            range_bytes: volume.range_bytes(),
            write_ratio: volume.write_ratio,
            description: profile.description,
        })
    };
    let workloads = built_in().iter().map(workload).chain(Profile::names().map(profile)).collect::<Result<Vec<_>>>()?;
    let workloads = chosen(workloads, "workload", named, |workload| workload.name)?;
    output.write(&workloads, || {
        let cells = |w: &Workload| {
            [
                called(w.name, w.synthetic),
                count(w.requests),
                bytes(w.range_bytes),
                percent(w.write_ratio),
                w.description.clone(),
            ]
        };
        table(["workload", ">requests", ">range", ">writes", "description"], workloads.iter().map(cells))
    })
}

fn list_formats(output: Output, named: &[String]) -> Result<()> {
    let files = FORMATS.iter().map(|info| {
        let FormatInfo { name, key, recognised, holds, .. } = *info;
        Format { name, trace_format: key, recognised, holds }
    });
    let formats: Vec<_> = files.chain([SYNTHETIC]).collect();
    let formats = chosen(formats, "format", named, |format| format.trace_format)?;
    output.write(&formats, || {
        let cells = formats.iter().map(|f| [f.name, f.trace_format, f.recognised, f.holds].map(str::to_owned));
        let compressed = "Trace files but Parquet, which compresses itself, may be compressed with zstd, gzip or \
                          xz. Names mean nothing, content does.";
        let compressed = paragraphs(compressed);
        format!("{}\n\n{compressed}", table(["format", "--trace-format", "recognised by", "holds"], cells))
    })
}
