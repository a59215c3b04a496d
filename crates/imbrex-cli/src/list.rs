//! `imbrex list`: what there is to choose from.

use anyhow::Result;
use clap::{Args, ValueEnum};
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::trace::workloads::built_in;
use serde::Serialize;

use crate::output::{Output, OutputArguments};
use crate::table::{bytes, count, percent, table};

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
    /// Built-in synthetic workloads
    Workloads,
    /// Formats of trace files
    Formats,
}

#[derive(Serialize)]
struct Layer {
    name: &'static str,
    family: &'static str,
    source: &'static str,
    summary: &'static str,
    buffered: bool,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    key: &'static str,
    default: &'static str,
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
    recognised: &'static str,
    holds: &'static str,
}

const FORMATS: &[Format] = &[
    Format {
        name: "MSR CSV",
        recognised: "seven fields in a line",
        holds: "MSR Cambridge: timestamp, host, disk, type, offset, size, response time; one volume a file",
    },
    Format { name: "VSCSI v1", recognised: "version in a record", holds: "CloudPhysics, records of 32 bytes" },
    Format { name: "VSCSI v2", recognised: "version in a record", holds: "CloudPhysics, records of 40 bytes" },
    Format {
        name: "Parquet",
        recognised: "PAR1 at the beginning",
        holds: "columns arrival_ns, offset_bytes, bytes, write; see docs/parquet.md",
    },
    Format { name: "synthetic", recognised: "a name ending in .toml", holds: "a workload to generate" },
];

impl List {
    pub fn run(self) -> Result<()> {
        let output = self.output.open()?;
        match self.what {
            What::Layers => list_layers(output),
            What::Drives => list_drives(output),
            What::Workloads => list_workloads(output),
            What::Formats => list_formats(output),
        }
    }
}

fn list_layers(output: Output) -> Result<()> {
    let layer = |info: &layers::LayerInfo| {
        let fields = info.fields.iter().map(|f| Field { key: f.key, default: f.default, meaning: f.meaning }).collect();
        let layers::LayerInfo { name, family, source, summary, buffered, .. } = *info;
        Layer { name, family, source, summary, buffered, fields }
    };
    let layers: Vec<_> = layers::ALL.iter().map(layer).collect();
    output.write(&layers, || {
        let own = |l: &Layer| [l.name, l.family, l.source, l.summary].map(str::to_owned);
        let fields = layers.iter().flat_map(|l| {
            l.fields.iter().map(|f| [format!("{}.{}", l.name, f.key), f.default.to_owned(), f.meaning.to_owned()])
        });
        let fields = table(["set with --set", "default", "meaning"], fields);
        format!("{}\n\n{fields}", table(["layer", "family", "source", "what it does"], layers.iter().map(own)))
    })
}

fn list_drives(output: Output) -> Result<()> {
    let drive = |(name, text): &(&str, &str)| -> Result<Drive> {
        let preset = DrivePreset::parse(name, text)?;
        let (recording, zones, conventional_zones) = match preset.media {
            MediaSpec::Conventional { .. } => ("conventional", 0, 0),
            MediaSpec::Zoned { zones, conventional_zones, .. } => ("zoned", zones, conventional_zones),
        };
        let (bytes, block_bytes) = (preset.bytes(), preset.block_bytes);
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
    let workloads = built_in().iter().map(workload).collect::<Result<Vec<_>>>()?;
    output.write(&workloads, || {
        let cells = |w: &Workload| {
            let name = format!("{} (synthetic)", w.name);
            [name, count(w.requests), bytes(w.range_bytes), percent(w.write_ratio), w.description.clone()]
        };
        table(["workload", ">requests", ">range", ">writes", "description"], workloads.iter().map(cells))
    })
}

fn list_formats(output: Output) -> Result<()> {
    output.write(FORMATS, || {
        let cells = FORMATS.iter().map(|f| [f.name, f.recognised, f.holds].map(str::to_owned));
        let compressed = "Trace files but Parquet, which compresses itself, may be compressed with zstd, gzip or \
                          xz. Names mean nothing, content does.";
        format!("{}\n\n{compressed}", table(["format", "recognised by", "holds"], cells))
    })
}
