//! `imbrex list`: what there is to choose from.

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use imbrex::drive::DrivePreset;
use imbrex::event::Counter;
use imbrex::layers;
use imbrex::trace::profiles::{Profile, Volume};
use imbrex::trace::workloads::built_in;
use imbrex::trace::{FORMATS, FormatInfo};
use imbrex_terminal::output::{Output, OutputArguments};
use imbrex_terminal::table::{bytes, count, paragraphs, percent, table};
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
        match self.what {
            What::Layers => list_layers(output),
            What::Drives => list_drives(output),
            What::Workloads => list_workloads(output),
            What::Formats => list_formats(output),
            What::Schema => output.document(&schema()),
        }
    }
}

fn list_layers(output: Output) -> Result<()> {
    let layer = |info: &layers::LayerInfo| {
        let field = |f: &layers::Field| Field { key: f.key, default: f.default, paper: f.paper, meaning: f.meaning };
        let fields = info.fields.iter().map(field).collect();
        let layers::LayerInfo { name, source, summary, buffered, .. } = *info;
        let family = Families::of(info.family).name();
        Layer { name, family, source, summary, buffered, fields, counters: info.counters() }
    };
    let layers: Vec<_> = layers::known().map(layer).collect();
    output.write(&layers, || {
        let own = |l: &Layer| [l.name, l.family, l.source, l.summary].map(str::to_owned);
        let fields = layers.iter().flat_map(|l| {
            l.fields.iter().map(|f| {
                let name = format!("{}.{}", l.name, f.key);
                [name, f.default.to_owned(), f.paper.unwrap_or_default().to_owned(), f.meaning.to_owned()]
            })
        });
        let fields = table(["set with --set", "default", "preset=paper", "meaning"], fields);
        let counters = layers
            .iter()
            .flat_map(|l| l.counters.iter().map(|c| [l.name, c.key, c.unit, c.meaning].map(str::to_owned)));
        let counters = table(["layer", "counts of its own", "unit", "meaning"], counters);
        format!(
            "{}\n\n{fields}\n\n{counters}",
            table(["layer", "family", "source", "what it does"], layers.iter().map(own))
        )
    })
}

fn list_drives(output: Output) -> Result<()> {
    let drive = |(name, text): &(&str, &str)| -> Result<Drive> {
        let preset = DrivePreset::parse(name, text)?;
        let (recording, zones, conventional_zones) = recording_of(&preset);
        let (bytes, block_bytes) = (preset.capacity_bytes(), preset.block_bytes);
        let DrivePreset { name, description, .. } = preset;
        Ok(Drive { name, recording, bytes, block_bytes, zones, conventional_zones, description })
    };
    let drives = DrivePreset::built_in().iter().map(drive).collect::<Result<Vec<_>>>()?;
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

fn list_workloads(output: Output) -> Result<()> {
    let workload = |built_in: &imbrex::trace::workloads::BuiltIn| -> Result<Workload> {
        let spec = built_in.spec()?;
        Ok(Workload {
            name: built_in.name,
            synthetic: true,
            requests: spec.requests,
            range_bytes: spec.range_bytes,
            write_ratio: spec.write_ratio,
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

fn list_formats(output: Output) -> Result<()> {
    let files = FORMATS.iter().map(|info| {
        let FormatInfo { name, key, recognised, holds, .. } = *info;
        Format { name, trace_format: key, recognised, holds }
    });
    let formats: Vec<_> = files.chain([SYNTHETIC]).collect();
    output.write(&formats, || {
        let cells = formats.iter().map(|f| [f.name, f.trace_format, f.recognised, f.holds].map(str::to_owned));
        let compressed = "Trace files but Parquet, which compresses itself, may be compressed with zstd, gzip or \
                          xz. Names mean nothing, content does.";
        let compressed = paragraphs(compressed);
        format!("{}\n\n{compressed}", table(["format", "--trace-format", "recognised by", "holds"], cells))
    })
}
