//! The result of a run as it is written. `docs/json.md` describes every field; its version changes with them.

use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::LayerInfo;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Scheduler, WarmUp};
use imbrex::trace::Irregularities;
use imbrex_terminal::duration;
use imbrex_terminal::names::Names;
use imbrex_terminal::table;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::described;
use crate::steady::Steady;
use crate::workload::Known;

/// The version of [`Row`].
const VERSION: &str = "imbrex.run/3";

/// One workload on one layer
#[derive(Clone, Serialize, JsonSchema)]
pub struct Row {
    /// The version of this schema
    pub schema: &'static str,
    /// The trace file as it was named, or the name of the synthetic workload
    pub trace: String,
    /// The name of a format, or `synthetic`
    pub trace_format: String,
    /// Whether the requests were generated and not recorded
    pub synthetic: bool,
    /// The seed of a synthetic workload
    pub seed: Option<u64>,
    /// The volume of the trace that was replayed; null where the workload names none
    pub volume: Option<String>,
    /// Whether the blocks that the workload writes were numbered from 0 on
    pub dense: bool,
    /// Of how many neighbouring blocks one was followed, which stands for all of them, where not all were: `block_bytes` is
    /// as long as all of them, and requests are those that touch such a block
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// The address range of the workload in bytes
    pub range_bytes: u64,
    /// How often the workload was replayed in succession; missing where it was once
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
    /// What the reader of the trace mended, and what it left out, in one pass
    #[schemars(with = "described::Irregularities")]
    pub irregularities: Irregularities,
    /// The name of the layer
    pub layer: &'static str,
    /// The fields of its configuration that were set
    #[schemars(with = "Map<String, Value>")]
    pub config: toml::Table,
    /// The name of the drive
    pub drive: String,
    /// Blocks of the drive
    pub drive_blocks: u64,
    /// Blocks of a zone; null for a drive without zones of one size
    pub zone_blocks: Option<u32>,
    /// Conventional zones, from the first on; null as above
    pub conventional_zones: Option<u32>,
    /// Bytes of a block
    pub block_bytes: u32,
    /// Blocks that the layer offers the host
    pub capacity_blocks: u64,
    /// The persistent buffer as it was asked for; null for a layer whose buffer, if it has one, has a size of its own
    #[schemars(with = "Option<String>")]
    pub buffer: Option<BufferSize>,
    /// Blocks of the persistent buffer; 0 if there is none
    pub buffer_blocks: u64,
    /// How the workload was replayed
    #[schemars(with = "described::Options")]
    pub options: ReplayOptions,
    /// How the layer became steady; missing where it did not have to
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// What should be known of the run before its numbers are compared; missing where nothing is said
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub notes: Vec<String>,
    /// What was measured
    #[serde(flatten)]
    #[schemars(with = "described::Outcome")]
    pub outcome: Outcome,
}

/// The disk that a layer made of a drive, and what was left to its buffer.
pub(crate) struct Disk<'a> {
    /// The drive in the size that was taken.
    pub drive: &'a DrivePreset,
    /// Blocks that the layer offers the host.
    pub capacity_blocks: u64,
    /// The persistent buffer as it was asked for.
    pub buffer: BufferSize,
    /// Blocks of it.
    pub buffer_blocks: u64,
}

/// What a reader mended and what it left out beside `volume`, in words, if anything.
pub fn mended(irregularities: &Irregularities, volume: Option<&str>) -> Option<String> {
    let Irregularities { out_of_order, zero_size, without_data, reordered, other_volumes, unwritten } = *irregularities;
    let volume = volume.unwrap_or_default();
    let others = format!(
        "requests of other volumes than {volume} left out (--volume chooses; else the busiest at the file's beginning is read)"
    );
    let parts = [
        (other_volumes, others.as_str()),
        (reordered, "requests put in order of time"),
        (out_of_order, "requests stamped earlier than the one before arrive together with it"),
        (zero_size, "requests of no bytes left out"),
        (without_data, "commands without data left out"),
        (unwritten, "requests for blocks that are never written left out"),
    ];
    let said = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", table::count(*n)));
    let said = said.collect::<Vec<_>>().join(", ");
    (!said.is_empty()).then_some(said)
}

/// A workload of this name as tables call it: what no disk ever saw is said to be synthetic.
pub fn called(name: &str, synthetic: bool) -> String {
    format!("{name}{}", if synthetic { " (synthetic)" } else { "" })
}

impl Row {
    pub(crate) fn new(
        workload: &Known,
        layer: &LayerInfo,
        config: toml::Table,
        disk: &Disk<'_>,
        options: &ReplayOptions,
        outcome: Outcome,
    ) -> Self {
        let Disk { drive, capacity_blocks, buffer, buffer_blocks } = *disk;
        let (zone_blocks, conventional_zones) = match drive.media {
            MediaSpec::Zoned { zone_blocks, conventional_zones, .. } => (Some(zone_blocks), Some(conventional_zones)),
            MediaSpec::Hybrid(hybrid) => (Some(hybrid.zone_blocks), Some(hybrid.fixed_zones)),
            _ => (None, None),
        };
        Self {
            schema: VERSION,
            trace: workload.info.name.clone(),
            trace_format: workload.info.format.to_string(),
            synthetic: workload.info.is_synthetic(),
            seed: workload.seed(),
            volume: workload.volume.clone(),
            dense: workload.is_dense(),
            sample: None,
            range_bytes: workload.range.range_bytes,
            repeat: Some(workload.times()).filter(|times| *times > 1),
            irregularities: workload.range.irregularities,
            layer: layer.name,
            config,
            drive: drive.name.clone(),
            drive_blocks: drive.media.capacity(),
            zone_blocks,
            conventional_zones,
            block_bytes: drive.block_bytes,
            capacity_blocks,
            buffer: layer.buffered.then_some(buffer),
            buffer_blocks,
            options: options.clone(),
            steady: None,
            notes: Vec::new(),
            outcome,
        }
    }

    /// The workload as tables call it.
    pub fn called(&self, names: &Names) -> String {
        called(names.name(&self.trace), self.synthetic)
    }

    /// Says whether the layer cannot keep up with the arrivals; its latencies then grow with the workload.
    pub fn behind(&self) -> Option<String> {
        self.outcome.falls_behind().map(|times| format!("cannot keep up: {} × the time", table::number(times)))
    }

    /// Whether people should see how many requests took longer than the limit: some did, and not because the layer cannot
    /// keep up, or a limit was chosen.
    #[must_use]
    pub fn shows_limit(&self) -> bool {
        let is_chosen = self.options.limit_ns != ReplayOptions::default().limit_ns;
        is_chosen || (self.behind().is_none() && self.outcome.requests_over_limit > 0)
    }

    /// What was mended in the trace and what was left out, if anything.
    pub fn mended(&self, names: &Names) -> Option<String> {
        let said = mended(&self.irregularities, self.volume.as_deref());
        said.map(|said| format!("{}: {said}", names.name(&self.trace)))
    }

    /// The drive in the size that was taken.
    pub fn on_drive(&self) -> String {
        format!("drive {}, {} of {}-byte blocks", self.drive, self.drive_size(), self.block_bytes)
    }

    /// That size.
    pub fn drive_size(&self) -> String {
        table::bytes(self.drive_blocks * u64::from(self.block_bytes))
    }

    /// What else the run shares with the others of a comparison, in a line.
    pub fn circumstances(&self) -> String {
        let options = &self.options;
        let load = match options.queue_depth {
            Some(depth) if options.paced => format!("arrivals as in the trace, at most {depth} at a time"),
            Some(depth) => format!("closed loop of {depth}"),
            None => "arrivals as in the trace".to_owned(),
        };
        let mut line = format!("{load}; {} prefilled", table::percent(options.prefill));
        if options.trimmed > 0.0 {
            line = format!("{line}, {} trimmed", table::percent(options.trimmed));
        }
        if options.scheduler != Scheduler::Fcfs {
            line = format!("{line}; {} queue of {}", options.scheduler.name(), options.scheduler_depth);
        }
        match options.warm_up {
            _ if self.steady.is_some() => line += "; when layers are steady",
            Some(WarmUp::Requests(requests)) => {
                line += &format!("; without the first {} requests", table::count(requests));
            }
            Some(WarmUp::Ns(ns)) => line += &format!("; without the first {}", duration::shown(ns)),
            None => {}
        }
        if let Some(times) = self.repeat.filter(|_| self.steady.is_none()) {
            line = format!("{line}; {} times in succession", table::count(times));
        }
        if let Some(most) = options.map_memory {
            line = format!("{line}; {} for maps", table::bytes(most));
        }
        if let Some(of) = self.sample {
            line = format!("{line}; a sample of one block in {of}");
        }
        let said = [
            (self.dense, "written blocks side by side"),
            (options.stretch_bytes.is_some(), "addresses stretched over the disk"),
            (options.flush, "flushed at the end"),
            (options.rest, "idle time at the end"),
            (options.untimed, "nothing takes time"),
            (!options.idle, "no idle time"),
            (options.as_live, "journal priced"),
            (options.verify, "verified"),
        ];
        for (_, what) in said.iter().filter(|(is, _)| *is) {
            line = format!("{line}; {what}");
        }
        line
    }
}
