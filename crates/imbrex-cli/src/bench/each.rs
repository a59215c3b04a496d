//! Every layer on a drive of its kind: how fast it is replayed, and what its maps weigh.
//!
//! A layer and a footprint are measured in a process of their own, so that the memory it takes is theirs. The drives
//! are those that `compare --family all` takes, as large as the footprint needs.

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use imbrex::layers;
use imbrex::replay::{Observer, Outcome, ReplayOptions};
use imbrex::trace::Workload;
use imbrex::trace::synthetic::Pattern;
use serde::{Deserialize, Serialize};

use super::requests::{self, BLOCK_BYTES, InMemory};
use super::{Args, Format, Scale, memory, shown};
use crate::families::Families;
use crate::output::print_line;
use crate::setup::Case;
use crate::table::{paragraphs, table};
use crate::values::Setting;

/// The version of [`Measured`].
const SCHEMA: &str = "imbrex.layer-speed/1";
/// The footprints in GiB: one that no cache of the processor holds the maps of, and one that is filled again and again.
const FOOTPRINTS: [u64; 2] = [256, 10];
/// A layer's buffer, of the footprint.
const BUFFER_PERCENT: u64 = 1;
/// Requests between two looks at the clock; as the replay reports them.
const PILOT: u64 = 1 << 16;
/// How long a replay should take at most: a layer that moves much is measured over fewer requests.
const SECONDS: f64 = 2.0;

/// A layer, or all of them.
#[derive(Clone)]
pub enum Chosen {
    All,
    One(&'static str),
}

impl Chosen {
    pub fn parse(name: &str) -> Result<Self, layers::ConfigError> {
        if name == "all" { Ok(Self::All) } else { Ok(Self::One(layers::find(name)?.name)) }
    }

    fn is(&self, name: &str) -> bool {
        matches!(self, Self::All) || matches!(self, Self::One(one) if *one == name)
    }
}

/// A layer over a footprint.
#[derive(Serialize, Deserialize)]
struct Measured {
    schema: String,
    layer: String,
    /// Its fields that are not as they are by default.
    config: toml::Table,
    drive: String,
    footprint_gib: u64,
    /// Requests that were timed, each of one block.
    requests: u64,
    /// Without and with prefetching.
    host_blocks_per_second: [f64; 2],
    media_blocks_per_second: [f64; 2],
    /// What the process grew by, and for each block that the layer offers or, if it has a buffer, that the buffer
    /// holds.
    resident_bytes: Option<f64>,
    mapped_blocks: u64,
    bytes_per_mapped_block: Option<f64>,
}

pub fn run(args: &Args, scale: Scale) -> Result<()> {
    let cases = Families::All.cases(None)?;
    let chosen = |case: &&Case| args.layers.iter().any(|layer| layer.is(case.layer.name));
    let mut cases: Vec<&Case> = cases.iter().filter(chosen).collect();
    cases.sort_by_key(|case| layers::known().position(|info| info.name == case.layer.name));
    // The conventional layer is on each of the drives; once is enough.
    cases.dedup_by_key(|case| case.layer.name);
    Setting::check(&args.settings, |layer| cases.iter().any(|case| case.layer.name == layer.name))?;
    if let Some(gib) = args.alone {
        let [case] = cases.as_slice() else { bail!("--alone takes one layer") };
        let row = measure((case, &Setting::config(&args.settings, case.layer)), gib, scale)?;
        return print_line(serde_json::to_string(&row)?);
    }
    let page = args.page.open("Layers measured on this machine")?;
    let mut rows = Vec::new();
    for gib in FOOTPRINTS {
        for case in &cases {
            rows.push(in_a_process(case, gib, args)?);
        }
    }
    if let Some(mut page) = page {
        page.add(&rows)?;
        page.finish()?;
    }
    if args.format == Format::Json {
        return print_line(serde_json::to_string_pretty(&rows)?);
    }
    print_line(shown_rows(&rows).trim_end_matches('\n'))
}

/// Has another process measure.
fn in_a_process(case: &Case, gib: u64, args: &Args) -> Result<Measured> {
    let layer = case.layer.name;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "--layer", layer, "--alone", &gib.to_string()]);
    if args.quick {
        command.arg("--quick");
    }
    for setting in args.settings.iter().filter(|setting| setting.layer.name == layer) {
        command.args(["--set", &setting.to_string()]);
    }
    let output = command.output()?;
    if !output.status.success() {
        bail!("measuring {layer} over {gib} GiB: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("measuring {layer} over {gib} GiB"))
}

fn measure(subject: (&Case, &toml::Table), gib: u64, scale: Scale) -> Result<Measured> {
    let (case, config) = subject;
    let pilot = replay(subject, gib, (2 * PILOT, PILOT), true)?;
    let requests = ((PILOT as f64 / pilot.seconds * SECONDS) as u64).clamp(PILOT, scale.requests - scale.lead_in);
    // What was buffered or mapped in the lead-in is written again.
    let lead_in = (requests / 4).next_multiple_of(PILOT);
    let mut measured = Measured {
        schema: SCHEMA.to_owned(),
        layer: case.layer.name.to_owned(),
        config: config.clone(),
        drive: case.drive.name.clone(),
        footprint_gib: gib,
        requests,
        host_blocks_per_second: [0.0; 2],
        media_blocks_per_second: [0.0; 2],
        resident_bytes: pilot.resident_bytes,
        mapped_blocks: pilot.mapped_blocks,
        bytes_per_mapped_block: pilot.resident_bytes.map(|bytes| bytes / pilot.mapped_blocks as f64),
    };
    for _ in 0..scale.repetitions.div_ceil(2) {
        for prefetch in [false, true] {
            let run = replay(subject, gib, (lead_in + requests, lead_in), prefetch)?;
            let media = run.outcome.media_write_blocks.total() + run.outcome.media_read_blocks.total();
            let all = (lead_in + requests) as f64;
            let host = requests as f64 / run.seconds;
            let best = &mut measured.host_blocks_per_second[usize::from(prefetch)];
            *best = best.max(host);
            let best = &mut measured.media_blocks_per_second[usize::from(prefetch)];
            *best = best.max(host * media as f64 / all);
        }
    }
    Ok(measured)
}

/// What one replay came to.
struct Run {
    /// From the end of the lead-in on.
    seconds: f64,
    outcome: Outcome,
    /// What the process has grown by.
    resident_bytes: Option<f64>,
    mapped_blocks: u64,
}

/// Replays uniform writes of single blocks; the clock starts after the lead-in.
fn replay(
    (case, config): (&Case, &toml::Table),
    gib: u64,
    (requests, lead_in): (u64, u64),
    prefetch: bool,
) -> Result<Run> {
    let range_bytes = gib << 30;
    let spec = requests::spec(Pattern::Uniform, range_bytes, requests);
    let stream = requests::generate(&spec)?;
    let options = ReplayOptions { prefetch, ..ReplayOptions::default() };
    let buffer_blocks = range_bytes / BLOCK_BYTES * BUFFER_PERCENT / 100;
    let workload = Workload::Synthetic(spec);
    let before = memory::status_bytes("VmRSS:").ok();
    let (_, simulation) = case.simulation(config, &workload, (range_bytes, buffer_blocks), &options)?;
    let mapped_blocks = if case.layer.buffered { buffer_blocks } else { simulation.capacity() };
    let mut clock = Clock { lead_in, begun: Instant::now(), resident: None };
    let outcome = simulation.run(&mut InMemory::new(stream), &mut clock)?;
    let seconds = clock.begun.elapsed().as_secs_f64();
    let resident_bytes = clock.resident.zip(before).map(|(after, before)| after - before);
    Ok(Run { seconds, outcome, resident_bytes, mapped_blocks })
}

/// Starts when the lead-in has been served.
struct Clock {
    lead_in: u64,
    begun: Instant,
    resident: Option<f64>,
}

impl Observer for Clock {
    fn progress(&mut self, requests: u64) -> ControlFlow<()> {
        self.resident = memory::status_bytes("VmRSS:").ok();
        if requests <= self.lead_in {
            self.begun = Instant::now();
        }
        ControlFlow::Continue(())
    }
}

fn shown_rows(rows: &[Measured]) -> String {
    let cells = rows.iter().map(|row| {
        let [host, host_prefetch] = row.host_blocks_per_second.map(shown);
        let [media, media_prefetch] = row.media_blocks_per_second.map(shown);
        let unknown = || "-".to_owned();
        [
            row.config.iter().fold(row.layer.clone(), |name, (field, value)| format!("{name} {field}={value}")),
            format!("{} GiB", row.footprint_gib),
            row.drive.clone(),
            host,
            host_prefetch,
            media,
            media_prefetch,
            row.resident_bytes.map_or_else(unknown, |bytes| format!("{:.1}", bytes / f64::from(1 << 20))),
            row.bytes_per_mapped_block.map_or_else(unknown, |bytes| format!("{bytes:.2}")),
        ]
    });
    let headings = [
        "layer",
        ">footprint",
        "drive",
        ">host blocks/s",
        ">with prefetching",
        ">media blocks/s",
        ">with prefetching",
        ">memory MiB",
        ">bytes a block",
    ];
    let legend = "Uniform writes of single blocks. Media: read and written. Memory: what the process grew by, drive \
                  and replay included; a block: of the buffer or, without one, of the capacity.";
    format!("{}\n\n{}\n", table(headings, cells), paragraphs(legend))
}
