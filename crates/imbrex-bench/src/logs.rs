//! Layers that compact a log, replayed without mechanics, beside a log that is nothing but arrays.
//!
//! Bands are as long as those of the cold-weight paper, and as many as leave the host a map of 6.4 million blocks with
//! 8 % spare. The host writes single blocks from all over it: measured before any band is compacted, and again when
//! everything has been overwritten, so that other blocks are moved for each that is written.

use std::hint::black_box;
use std::sync::Arc;

use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Setup, WarmUp};
use imbrex::trace::synthetic::Pattern;
use imbrex::trace::{TraceRequest, Workload};

use super::array_log::ArrayLog;
use super::requests::{self, BLOCK_BYTES, InMemory};
use super::{Best, Report, Scale};

const LAYERS: [&str; 3] = ["log-greedy", "cold-weight", "log-cost-benefit"];
/// The drive whose media are replaced; nothing takes time here.
const DRIVE: &str = "cold-weight-40m";
const BANDS: u32 = 679;
/// 40 MiB, and no power of two, as in the paper.
const BAND_BLOCKS: u32 = 10_240;
const SPARE_FRACTION: f64 = 0.08;

/// What is measured of each log.
struct Regime {
    name: &'static str,
    /// Part of the map that is full before the first request.
    prefill: f64,
    /// Lead-ins of other measurements. Ten of a quick run use up the spare bands of a full map; ten others overwrite
    /// more than the map holds.
    lead_in: u64,
    /// What greedy cleaning is to come to.
    aim: &'static str,
}

const REGIMES: [Regime; 2] = [
    Regime { name: "no band compacted", prefill: 0.0, lead_in: 1, aim: "aim: at least 5 M" },
    Regime { name: "compacting", prefill: 1.0, lead_in: 10, aim: "aim: at least 1.5 M" },
];

/// One log in one regime.
#[derive(Copy, Clone, Default)]
struct Log {
    rate: Best,
    /// Blocks written for each that the host wrote.
    amplification: f64,
}

/// What is compared in a regime.
struct Logs {
    /// A log on arrays.
    straight: Log,
    /// The layers, replayed.
    replayed: [Log; LAYERS.len()],
}

/// Adds the rates of layers and of arrays, and their ratios.
pub fn measure(scale: Scale, report: &mut Report) -> anyhow::Result<()> {
    let mut measured = Vec::new();
    for regime in &REGIMES {
        report.begin(&format!("untimed logs, {}", regime.name));
        let logs = logs(regime, scale)?;
        add_rates(regime, &logs, report);
        measured.push((regime.name, logs));
    }
    for (regime, Logs { straight, replayed }) in measured {
        for (layer, log) in LAYERS.iter().zip(replayed) {
            let name = format!("{layer} untimed / straight line log, {regime}");
            report.add(name, log.rate.0 / straight.rate.0, "x", "with prefetching; by blocks of the host");
        }
    }
    Ok(())
}

/// The bands, and a zone that layers of a log leave alone.
fn drive() -> anyhow::Result<DrivePreset> {
    let (zones, zone_blocks) = (BANDS + 1, BAND_BLOCKS);
    let media = MediaSpec::Zoned { zones, zone_blocks, conventional_zones: 1, max_open: 0, max_active: 0 };
    Ok(DrivePreset { block_bytes: BLOCK_BYTES as u32, media, ..DrivePreset::named(DRIVE)? })
}

fn logs(regime: &Regime, scale: Scale) -> anyhow::Result<Logs> {
    let map_blocks = (f64::from(BANDS * BAND_BLOCKS) * (1.0 - SPARE_FRACTION)) as u32;
    let (lead_in, timed) = (scale.lead_in * regime.lead_in, scale.requests - scale.lead_in);
    let spec = requests::spec(Pattern::Uniform, u64::from(map_blocks) * BLOCK_BYTES, lead_in + timed);
    let stream = requests::generate(&spec)?;
    let workload = Workload::Synthetic(spec);
    let options = ReplayOptions {
        untimed: true,
        prefill: regime.prefill,
        warm_up: Some(WarmUp::Requests(lead_in)),
        ..ReplayOptions::default()
    };
    let (mut straight, mut replayed) = (Log::default(), [Log::default(); LAYERS.len()]);
    // Half as often as other things: what comes before the clock starts takes longer than what it measures.
    for _ in 0..scale.repetitions.div_ceil(2) {
        let mut log = ArrayLog::new(BANDS, BAND_BLOCKS, map_blocks);
        (0..(f64::from(map_blocks) * regime.prefill) as u32).for_each(|block| log.write(block));
        write(&mut log, &stream[..lead_in as usize]);
        let before = log.written;
        straight.rate.of(timed, || write(&mut log, &stream[lead_in as usize..]));
        straight.amplification = (log.written - before) as f64 / timed as f64;
        for (layer, log) in LAYERS.iter().zip(&mut replayed) {
            let outcome = replay(layer, &workload, Arc::clone(&stream), &options)?;
            log.rate.rate(timed, outcome.replay_seconds);
            log.amplification = outcome.write_amplification;
        }
    }
    Ok(Logs { straight, replayed })
}

fn write(log: &mut ArrayLog, requests: &[TraceRequest]) {
    requests.iter().for_each(|request| log.write((request.offset_bytes / BLOCK_BYTES) as u32));
    black_box(&log.written);
}

fn replay(
    layer: &str,
    workload: &Workload,
    stream: Arc<[TraceRequest]>,
    options: &ReplayOptions,
) -> anyhow::Result<Outcome> {
    let config = toml::Table::from_iter([("spare_fraction".to_owned(), SPARE_FRACTION.into())]);
    let (drive, layer, buffer) = (drive()?, layers::find(layer)?, BufferSize::Bytes(0));
    let setup = Setup { drive: &drive, layer, config: &config, buffer, workload };
    Ok(setup.simulation(options)?.run_timed(&mut InMemory::new(stream), &mut ())?)
}

fn add_rates(regime: &Regime, logs: &Logs, report: &mut Report) {
    let Logs { straight, replayed } = logs;
    let written = |log: &Log| format!("{:.2} blocks written for each of the host's", log.amplification);
    let name = format!("straight line log, {}", regime.name);
    report.add(name, straight.rate.0, "blocks/s", format!("greedy cleaning on arrays; {}", written(straight)));
    for (layer, log) in LAYERS.iter().zip(replayed) {
        let note = format!("replayed with prefetching; {}; {}", written(log), regime.aim);
        report.add(format!("{layer} untimed, {}", regime.name), log.rate.0, "blocks/s", note);
    }
}
