//! Whole replays, beside the straight line.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use imbrex::drive::{ConventionalZones, DrivePreset, Shape};
use imbrex::layers::{self, LayerInfo};
use imbrex::recording::Recording;
use imbrex::replay::{BufferSize, Observer, ReplayOptions, Scheduler, Setup};
use imbrex::trace::synthetic::Pattern;
use imbrex::trace::{TraceRequest, Workload};

use super::requests::{self, BLOCK_BYTES, InMemory};
use super::{Best, Report, Scale, straight_line};

/// The drive under everything but layers for interlaced disks.
pub const DRIVE: &str = "exos-x18z";
/// The drive under layers for bands.
const BANDED_DRIVE: &str = "st8000as0002";
/// The drive under those for interlaced tracks: a little larger than the range, so that what is written lies on all
/// kinds of tracks.
const INTERLACED_DRIVE: &str = "imr-tracklace";
/// Hybrid disks.
const HYBRID_DRIVE: &str = "zonealloy";
/// How many of its zones are to belong to no realm: room for the largest buffer.
const HYBRID_FIXED_ZONES: u32 = 16;
/// A layer's buffer, of the address range.
pub const BUFFER_PERCENT: u64 = 1;

const LAYERS: [&str; 11] = [
    "conventional",
    "fifo-log",
    "loop-back",
    "block-lru",
    "hashed-zones",
    "zone-ages",
    "log-greedy",
    "skylight",
    "seagate",
    "tracklace",
    "zone-alloy",
];
/// The schedulers that pick from a queue. It is always full: the requests arrive faster than the disk serves them.
const SCHEDULERS: [Scheduler; 2] = [Scheduler::CLook, Scheduler::Sptf];

/// Requests over a range of addresses.
pub(super) struct Stream {
    pub name: &'static str,
    range_bytes: u64,
    pub requests: Arc<[TraceRequest]>,
}

/// The rates over one stream.
#[derive(Default)]
struct Rates {
    in_place: Best,
    mapped: Best,
    /// By layer, without and with prefetching.
    replayed: [[Best; 2]; LAYERS.len()],
}

/// Adds the straight line, the replays and their ratios.
pub fn measure(scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    let mut ratios = Vec::new();
    for gib in [256, 4] {
        for skewed in [false, true] {
            let stream = stream(gib << 30, skewed, scale)?;
            let name = format!("{} {gib} GiB", stream.name);
            report.begin(&name);
            let rates = rates(&stream, scale)?;
            add_rates(&name, &rates, report);
            if gib == 256 && !skewed {
                add_scheduled(&name, &stream, scale, report)?;
                ratios.push((name, rates));
            }
        }
    }
    ratios.iter().for_each(|(name, rates)| add_ratios(name, rates, report));
    Ok(())
}

pub(super) fn stream(range_bytes: u64, skewed: bool, scale: Scale) -> anyhow::Result<Stream> {
    // Popular blocks lie scattered: a replay that profits from their neighbourhood would be flattered.
    let zipf = Pattern::Zipf { theta: 0.99, scatter_kib: Some(BLOCK_BYTES >> 10) };
    let (name, pattern) = if skewed { ("zipf 0.99", zipf) } else { ("uniform", Pattern::Uniform) };
    let requests = requests::generate(&requests::spec(pattern, range_bytes, scale.requests))?;
    Ok(Stream { name, range_bytes, requests })
}

fn rates(stream: &Stream, scale: Scale) -> anyhow::Result<Rates> {
    let drive = DrivePreset::named(DRIVE)?;
    let table: Vec<u32> = (0..(stream.range_bytes / BLOCK_BYTES) as u32).rev().collect();
    let mut rates = Rates::default();
    let timed = &stream.requests[scale.lead_in as usize..];
    for _ in 0..scale.repetitions {
        let mut mechanics = drive.mechanics()?;
        rates.in_place.of(timed.len() as u64, || black_box(straight_line::in_place(&mut mechanics, timed)));
        mechanics.reset();
        rates.mapped.of(timed.len() as u64, || black_box(straight_line::mapped(&mut mechanics, &table, timed)));
        for (layer, by_prefetch) in LAYERS.iter().zip(&mut rates.replayed) {
            for (prefetch, best) in [false, true].into_iter().zip(by_prefetch) {
                let options = ReplayOptions { prefetch, ..ReplayOptions::default() };
                let layer = layers::find(layer)?;
                best.rate(timed.len() as u64, replay(layer, &drive_for(layer, stream)?, stream, options, scale)?);
            }
        }
    }
    Ok(rates)
}

pub(super) fn drive_for(layer: &LayerInfo, stream: &Stream) -> anyhow::Result<DrivePreset> {
    let name = match layer.recording {
        Recording::Interlaced => {
            let bytes = stream.range_bytes + stream.range_bytes / 16;
            return Ok(DrivePreset::named(INTERLACED_DRIVE)?.with_capacity(bytes)?);
        }
        // A cache has such a disk behind it if nothing else is asked for.
        Recording::Banded | Recording::Cached => BANDED_DRIVE,
        // Its buffer lies in zones that belong to no realm.
        Recording::Hybrid => {
            let conventional_zones = Some(ConventionalZones::Count(HYBRID_FIXED_ZONES));
            return Ok(DrivePreset::named(HYBRID_DRIVE)?.shaped(&Shape { conventional_zones, ..Shape::default() })?);
        }
        Recording::Conventional | Recording::Zoned | Recording::WholeZones | Recording::Flash => DRIVE,
    };
    Ok(DrivePreset::named(name)?)
}

/// Replays the stream and returns how many seconds what follows the lead-in took.
pub(super) fn replay(
    layer: &LayerInfo,
    drive: &DrivePreset,
    stream: &Stream,
    options: ReplayOptions,
    scale: Scale,
) -> anyhow::Result<f64> {
    let buffer = BufferSize::Bytes(stream.range_bytes * BUFFER_PERCENT / 100);
    let mut config = toml::Table::new();
    if layer.recording == Recording::Hybrid {
        // Before it is shingled there is nothing to buffer.
        config.insert("converted".to_owned(), 1.0.into());
    }
    let workload = Workload::Synthetic(requests::spec(Pattern::Uniform, stream.range_bytes, scale.requests));
    let setup = Setup { drive, layer, config: &config, buffer, workload: &workload };
    let simulation = setup.simulation(&options)?;
    let mut clock = Clock { lead_in: scale.lead_in, begun: Instant::now() };
    black_box(simulation.run(&mut InMemory::new(Arc::clone(&stream.requests)), &mut clock)?);
    Ok(clock.begun.elapsed().as_secs_f64())
}

/// Starts when the lead-in has been served.
struct Clock {
    lead_in: u64,
    begun: Instant,
}

impl Observer for Clock {
    fn progress(&mut self, requests: u64) -> ControlFlow<()> {
        if requests <= self.lead_in {
            self.begun = Instant::now();
        }
        ControlFlow::Continue(())
    }
}

fn add_rates(stream: &str, rates: &Rates, report: &mut Report) {
    let mut add =
        |what: &str, best: Best, note: String| report.add(format!("{what}, {stream}"), best.0, "blocks/s", note);
    add("straight line in place", rates.in_place, "no plan, no dispatch, no media, no batches".to_owned());
    add("straight line mapped", rates.mapped, "the same with a lookup in a full table".to_owned());
    for (layer, [plain, prefetched]) in LAYERS.iter().zip(rates.replayed) {
        // Its drive is too large to fill up meanwhile.
        let appends = if *layer == "log-greedy" { "; no band is compacted" } else { "" };
        add(layer, plain, format!("replayed without prefetching{appends}"));
        add(&format!("{layer} prefetching"), prefetched, format!("replayed with prefetching{appends}"));
    }
}

/// Adds how fast the schedulers pick, on the layer that does least itself.
fn add_scheduled(name: &str, stream: &Stream, scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    let (drive, layer) = (DrivePreset::named(DRIVE)?, layers::find("conventional")?);
    let mut rates = [Best::default(); SCHEDULERS.len()];
    for _ in 0..scale.repetitions {
        for (scheduler, best) in SCHEDULERS.into_iter().zip(&mut rates) {
            let options = ReplayOptions { scheduler, ..ReplayOptions::default() };
            best.rate(scale.requests - scale.lead_in, replay(layer, &drive, stream, options, scale)?);
        }
    }
    let note = format!("replayed with prefetching through a queue of {}", ReplayOptions::default().scheduler_depth);
    for (scheduler, best) in SCHEDULERS.into_iter().zip(rates) {
        report.add(format!("{} {}, {name}", layer.name, scheduler.name()), best.0, "blocks/s", note.clone());
    }
    Ok(())
}

fn add_ratios(stream: &str, rates: &Rates, report: &mut Report) {
    let mut add = |what: String, value, note| report.add(format!("{what}, {stream}"), value, "x", note);
    for (layer, [plain, prefetched]) in LAYERS.iter().zip(rates.replayed) {
        if *layer == "conventional" {
            add(format!("{layer} / straight line"), plain.0 / rates.in_place.0, "without prefetching");
            add(format!("{layer} prefetching / straight line"), prefetched.0 / rates.in_place.0, "aim: at least 0.7");
        }
        add(format!("{layer} prefetching / without"), prefetched.0 / plain.0, "");
    }
}
