//! Every layer on a drive of its kind: how fast it is replayed, and what its maps weigh.
//!
//! Each is measured on two workloads: one that finds room for all that it writes, over a footprint whose maps no cache
//! of the processor holds; and one over a full disk, for which the layer cleans. How many blocks were written for each
//! of the host's says what became of that.
//!
//! A layer and a workload are measured in a process of their own, so that the memory it takes is theirs. The drives
//! are those that `compare --family all` takes, as large as the footprint needs. Machines differ, so every rate is also
//! given over that of the conventional layer, which moves blocks and does nothing else: measured in the same run, anew
//! for each workload.

use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use imbrex::drive::{ConventionalZones, Shape};
use imbrex::layers;
use imbrex::recording::Recording;
use imbrex::replay::{Observer, Outcome, ReplayOptions, WarmUp};
use imbrex::trace::Workload;
use imbrex::trace::synthetic::Pattern;
use imbrex_runs::case::Case;
use imbrex_runs::families::Families;
use imbrex_runs::settings::Setting;
use imbrex_terminal::output::{Format, Output, print_line};
use imbrex_terminal::say::note;
use imbrex_terminal::table::{grid, paragraphs};
use serde::{Deserialize, Serialize};

use super::against::{self, Earlier, Named};
use super::requests::{self, BLOCK_BYTES, InMemory};
use super::{Args, BLOCKS, Report, Scale, disksim, memory, one_message, shown};

/// The version of [`Measured`].
const SCHEMA: &str = "imbrex.layer-speed/3";
/// The part of the footprint that a layer which cleans has for its buffer.
const BUFFER_PERCENT: u64 = 1;
/// Of a disk that is full, this part is written before the clock starts: more than is spare by default.
const OVERWRITTEN_PERCENT: u64 = 12;
/// Blocks written for each of the host's by a layer that need not use up anything before it cleans.
const REWRITES: f64 = 1.5;
/// A buffer that has room for all requests is so much of them: some layers keep a part of it apart.
const ROOMY_PERCENT: u64 = 200;
/// How much of a hybrid disk belongs to no realm, which is where its buffer lies.
const FIXED: ConventionalZones = ConventionalZones::Percent(5.0);
/// Requests between two looks at the clock; as the replay reports them.
const PILOT: u64 = 1 << 16;
/// How long a replay should take at most: a layer that moves much is measured over fewer requests.
const SECONDS: f64 = 0.5;
/// What the others are held against.
const BASELINE: &str = "conventional";

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

/// What is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// There is room for it.
    Fits,
    /// Room for it has to be made.
    Cleans,
}

impl Load {
    const ALL: [Self; 2] = [Self::Fits, Self::Cleans];

    fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Cleans => "cleans",
        }
    }

    /// Where it writes, in GiB.
    fn footprint_gib(self) -> u64 {
        match self {
            Self::Fits => 256,
            Self::Cleans => 10,
        }
    }

    /// Whether a layer has anything to do for it that it has not for the other.
    fn applies(self, case: &Case) -> bool {
        self == Self::Fits || case.layer.recording != Recording::Conventional
    }
}

/// A layer under a load.
#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    schema: String,
    layer: String,
    /// Its fields that are not as they are by default.
    config: toml::Table,
    drive: String,
    load: Load,
    footprint_gib: u64,
    /// Requests that were timed, each of one block.
    requests: u64,
    host_blocks_per_second: f64,
    ns_per_block: f64,
    media_blocks_per_second: f64,
    /// Blocks that the drive wrote for each of the host's.
    written_per_host_block: f64,
    /// What the process grew by, and for each block that the layer offers or, if it has a buffer, that the buffer
    /// holds.
    resident_bytes: Option<f64>,
    mapped_blocks: u64,
    bytes_per_mapped_block: Option<f64>,
    /// Of the rate of the conventional layer, which finds room for everything, in the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_conventional: Option<f64>,
    /// Of DiskSim's rate, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_disksim: Option<f64>,
    /// Of the host's blocks in a second in the run of `--against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_earlier: Option<f64>,
}

impl Named for Measured {
    const SCHEMA: &'static str = SCHEMA;

    fn name(&self) -> String {
        format!("{}, {}", self.configured(), self.load.name())
    }
}

impl Measured {
    fn configured(&self) -> String {
        self.config.iter().fold(self.layer.clone(), |name, (field, value)| format!("{name} {field}={value}"))
    }

    /// Its rate over that of another.
    fn over(&self, other: &Self) -> f64 {
        self.host_blocks_per_second / other.host_blocks_per_second
    }

    /// Shows it while others are measured.
    fn tell(&self, report: &Report) {
        let ratio = self.to_conventional.map_or_else(String::new, |ratio| format!(", {ratio:.3} of {BASELINE}"));
        report.tell(&self.name(), Some(self.host_blocks_per_second), &format!("{BLOCKS}{ratio}"));
    }
}

pub fn run(args: &Args, scale: Scale) -> Result<()> {
    let cases = Families::All.cases(None)?;
    let chosen = |case: &Case| args.layers.iter().any(|layer| layer.is(case.layer.name));
    let mut cases: Vec<Case> = cases.into_iter().filter(chosen).collect();
    cases.sort_by_key(|case| layers::known().position(|info| info.name == case.layer.name));
    // The conventional layer is on each of the drives; once is enough.
    cases.dedup_by_key(|case| case.layer.name);
    let cases = cases.into_iter().map(with_room).collect::<Result<Vec<_>>>()?;
    Setting::check(&args.settings, |layer| cases.iter().any(|case| case.layer.name == layer.name))?;
    if let Some(load) = args.alone {
        let [case] = cases.as_slice() else { bail!("--alone takes one layer") };
        let config = configured(case, args);
        if let Some(requests) = args.counted {
            return print_line(replay(case, &config, load, requests, 0)?.outcome.requests);
        }
        return print_line(serde_json::to_string(&measure(case, &config, load, scale)?)?);
    }
    let mut earlier = args.against.as_deref().map(|file| Earlier::read(file, args.quick)).transpose()?;
    let page = args.page.open("Layers measured on this machine")?;
    let disksim = args.disksim.as_deref().map(|program| disksim::measure(program, scale, &mut Report::silent()));
    let disksim = disksim.transpose()?;
    let (mut rows, watched) = (Vec::new(), Report::watched());
    for load in Load::ALL {
        let cases: Vec<_> = cases.iter().filter(|case| load.applies(case)).collect();
        if cases.is_empty() {
            continue;
        }
        let baseline = in_a_process(BASELINE, Load::Fits, args)?;
        for layer in cases.iter().map(|case| case.layer.name) {
            let mut row = if layer == BASELINE { baseline.clone() } else { in_a_process(layer, load, args)? };
            row.to_disksim = disksim.map(|disksim| row.host_blocks_per_second / disksim);
            row.to_conventional = Some(row.over(&baseline));
            row.tell(&watched);
            rows.push(row);
        }
    }
    if let Some(earlier) = &mut earlier {
        earlier.pair(&mut rows, |row, before| row.to_earlier = Some(row.over(before)))?;
    }
    if let Some(mut page) = page {
        page.add(&rows)?;
        page.finish()?;
    }
    let missing = earlier.map_or_else(Vec::new, |earlier| earlier.missing());
    if args.format != Format::Table {
        missing.iter().for_each(note);
    }
    let shown = || format!("{}{}", shown_rows(&rows, args).trim_end_matches('\n'), against::legend(&missing));
    Output::standard(args.format).write(&rows, shown)
}

/// The fields of a layer that are not as they are by default. A hybrid disk is measured when all of it is shingled:
/// before, there is nothing to buffer.
fn configured(case: &Case, args: &Args) -> toml::Table {
    let mut config = Setting::config(&args.settings, case.layer);
    if case.layer.recording == Recording::Hybrid {
        config.entry("converted").or_insert(1.0.into());
    }
    config
}

/// A drive that has room for a buffer in which nothing need be cleaned.
fn with_room(case: Case) -> Result<Case> {
    if case.layer.recording != Recording::Hybrid {
        return Ok(case);
    }
    let shape = Shape { conventional_zones: Some(FIXED), ..Shape::default() };
    Ok(Case { drive: case.drive.shaped(&shape)?, ..case })
}

/// Measures in another process.
fn in_a_process(layer: &str, load: Load, args: &Args) -> Result<Measured> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "--layer", layer, "--alone", load.name()]);
    if args.quick {
        command.arg("--quick");
    }
    for setting in args.settings.iter().filter(|setting| setting.layer.name == layer) {
        command.args(["--set", &setting.to_string()]);
    }
    let output = command.output()?;
    let what = || format!("measuring {layer} on what {}", load.name());
    if !output.status.success() {
        bail!("{}: {}", what(), String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(what).map_err(one_message)
}

fn measure(case: &Case, config: &toml::Table, load: Load, scale: Scale) -> Result<Measured> {
    let pilot = replay(case, config, load, 2 * PILOT, PILOT)?;
    let requests = ((PILOT as f64 / pilot.seconds * SECONDS) as u64).clamp(PILOT, scale.requests - scale.lead_in);
    // What was buffered or mapped in the lead-in is written again; and a disk without a buffer has used up its spare
    // space, unless it rewrites from the first block on.
    let uses_up = load == Load::Cleans && !case.layer.buffered && pilot.outcome.write_amplification < REWRITES;
    let least = if uses_up { blocks_of(load) * OVERWRITTEN_PERCENT / 100 } else { 0 };
    let lead_in = (requests / 4).max(least).next_multiple_of(PILOT);
    let mut measured = Measured {
        schema: SCHEMA.to_owned(),
        layer: case.layer.name.to_owned(),
        config: config.clone(),
        drive: case.drive.name.clone(),
        load,
        footprint_gib: load.footprint_gib(),
        requests,
        host_blocks_per_second: 0.0,
        ns_per_block: 0.0,
        media_blocks_per_second: 0.0,
        written_per_host_block: 0.0,
        resident_bytes: pilot.resident_bytes,
        mapped_blocks: pilot.mapped_blocks,
        bytes_per_mapped_block: pilot.resident_bytes.map(|bytes| bytes / pilot.mapped_blocks as f64),
        to_conventional: None,
        to_disksim: None,
        to_earlier: None,
    };
    for _ in 0..scale.repetitions.div_ceil(2) {
        let run = replay(case, config, load, lead_in + requests, lead_in)?;
        let written = run.outcome.media_write_blocks.total();
        let media = written + run.outcome.media_read_blocks.total();
        let host = requests as f64 / run.seconds;
        if host > measured.host_blocks_per_second {
            measured.host_blocks_per_second = host;
            measured.ns_per_block = 1e9 / host;
            measured.media_blocks_per_second = host * media as f64 / requests as f64;
            measured.written_per_host_block = written as f64 / requests as f64;
        }
    }
    Ok(measured)
}

/// Blocks of its footprint.
fn blocks_of(load: Load) -> u64 {
    (load.footprint_gib() << 30) / BLOCK_BYTES
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

/// Replays uniform writes of single blocks; the clock starts after the lead-in, and what is counted does.
fn replay(case: &Case, config: &toml::Table, load: Load, requests: u64, lead_in: u64) -> Result<Run> {
    let range_bytes = load.footprint_gib() << 30;
    let spec = requests::spec(Pattern::Uniform, range_bytes, requests);
    let stream = requests::generate(&spec)?;
    // A log that is empty finds room for all; what lies before zones goes into a buffer that does.
    let prefill = if load == Load::Fits && !case.layer.buffered { 0.0 } else { 1.0 };
    let warm_up = Some(WarmUp::Requests(lead_in));
    let options = ReplayOptions { prefill, warm_up, ..ReplayOptions::default() };
    let room = if load == Load::Fits { requests * ROOMY_PERCENT / 100 } else { 0 };
    let buffer_blocks = (blocks_of(load) * BUFFER_PERCENT / 100).max(room);
    let workload = Workload::Synthetic(spec);
    let before = memory::status_bytes("VmRSS:").ok();
    let (_, simulation) = case.simulation(config, &workload, range_bytes, buffer_blocks, &options)?;
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

fn shown_rows(rows: &[Measured], args: &Args) -> String {
    let factors = [
        (rows.iter().any(|row| row.to_conventional.is_some()), ">of conventional"),
        (args.disksim.is_some(), ">of DiskSim"),
        (args.against.is_some(), ">of earlier"),
    ];
    let mut headings = vec!["layer", "load", "drive", ">M blocks/s", ">ns a block"];
    headings.extend(factors.iter().filter(|(is_asked, _)| *is_asked).map(|(_, heading)| *heading));
    headings.extend([">written a block", ">media M blocks/s", ">memory MiB", ">bytes a block"]);
    let millions = |rate: f64| format!("{:.3}", rate / 1e6);
    let cells = rows.iter().map(|row| {
        let unknown = || "-".to_owned();
        let load = format!("{}, {} GiB", row.load.name(), row.footprint_gib);
        let [rate, ns] = [millions(row.host_blocks_per_second), shown(row.ns_per_block)];
        let mut cells = vec![row.configured(), load, row.drive.clone(), rate, ns];
        let asked = factors
            .iter()
            .zip([row.to_conventional, row.to_disksim, row.to_earlier])
            .filter(|((is_asked, _), _)| *is_asked);
        cells.extend(asked.map(|(_, factor)| factor.map_or_else(unknown, |factor| format!("{factor:.3}"))));
        cells.extend([format!("{:.2}", row.written_per_host_block), millions(row.media_blocks_per_second)]);
        cells.push(row.resident_bytes.map_or_else(unknown, |bytes| format!("{:.1}", bytes / f64::from(1 << 20))));
        cells.push(row.bytes_per_mapped_block.map_or_else(unknown, |bytes| format!("{bytes:.2}")));
        cells
    });
    let legend = "Uniform writes of single blocks of the host, in millions a second and in nanoseconds each; that over \
                  the conventional layer, which finds room; what the drive wrote for each of them; media: read and \
                  written. What fits finds room; what cleans is written to a full disk. Memory: what the process grew \
                  by, drive and replay included; a block: of the buffer or, without one, of the capacity.";
    format!("{}\n\n{}\n", grid(&headings, cells), paragraphs(legend))
}
