//! The tables: a kind of disk each, with the layers that are held against each other on it.

use anyhow::{Result, anyhow};
use imbrex::drive::Shape;
use imbrex::layers;
use imbrex::replay::ReplayOptions;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::search::spaces::{self, Other};

/// What is to be small.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Blocks that a log moves.
    Moved,
    /// Zones that are rewritten.
    Zones,
    /// Bands that are rewritten.
    Bands,
    /// The mean time from arrival to completion, in milliseconds.
    Response,
}

impl Counted {
    /// The name in results; of counts, that of `imbrex bound`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved_blocks",
            Self::Zones => "zone_rewrites",
            Self::Bands => "band_rewrites",
            Self::Response => "mean_response_ms",
        }
    }
}

/// A table of the frontier.
pub struct Table {
    /// The name on the command line and of its file.
    pub name: &'static str,
    /// What stands above it.
    pub title: &'static str,
    /// What is to be small.
    pub counted: Counted,
    /// This project's layer, if it has one for this kind of disk.
    pub ours: Option<&'static str>,
    /// The others.
    pub others: &'static [Other],
    /// The drive, made as large as the workload takes.
    drive: &'static str,
    /// The length of its zones, where it is not the drive's own: for the drive, and as `--zone-size` takes it.
    zones: Option<(u64, &'static str)>,
    /// The buffer, as `--buffer` takes it.
    buffer: Option<&'static str>,
    /// Whether the blocks that are written lie side by side.
    pub is_dense: bool,
    /// Fields that all layers of the table have, and their values.
    fixed: &'static [&'static str],
}

/// As little before bands as makes what leaves the flash matter, and no streams past it, for which no bound holds.
const BANDS: &str = "disk_config={cache_blocks=2000,stream_blocks=1000000}";

const CACHES_RESPONSE: Table = Table {
    name: "caches-response",
    title: "The same caches before the drive as it is, at the times of the workload: mean response",
    counted: Counted::Response,
    ours: Some("band-cache"),
    others: spaces::TIMED_CACHES,
    drive: "st8000as0002",
    zones: None,
    buffer: Some("0.1%"),
    is_dense: false,
    fixed: &[],
};

/// All of them, in the order in which they are shown.
pub const TABLES: [Table; 10] = [
    Table {
        name: "logs",
        title: "Logs on full disks: blocks moved",
        counted: Counted::Moved,
        ours: Some("log-lifetimes"),
        others: spaces::LOGS,
        drive: "exos-x18z",
        zones: Some((1 << 20, "1MiB")),
        buffer: None,
        is_dense: true,
        fixed: &[],
    },
    Table {
        name: "zones-small",
        title: "Small buffers before zones, 0.02 % of the range: zones rewritten",
        counted: Counted::Zones,
        ours: Some("zone-ages"),
        others: spaces::BUFFERS,
        drive: "exos-x18z",
        zones: None,
        buffer: Some("0.02%"),
        is_dense: false,
        fixed: &[],
    },
    Table {
        name: "zones",
        title: "Buffers before zones, 0.1 % of the range: zones rewritten",
        counted: Counted::Zones,
        ours: Some("zone-ages"),
        others: spaces::LARGE_BUFFERS,
        drive: "exos-x18z",
        zones: None,
        buffer: Some("0.1%"),
        is_dense: false,
        fixed: &[],
    },
    Table {
        name: "response",
        title: "The same buffers at the times of the workload: mean response",
        counted: Counted::Response,
        ours: Some("zone-ages"),
        others: spaces::TIMED_BUFFERS,
        drive: "exos-x18z",
        zones: None,
        buffer: Some("0.1%"),
        is_dense: false,
        fixed: &[],
    },
    Table {
        name: "interlaced-80",
        title: "Interlaced tracks, 80 % allocated: mean response",
        counted: Counted::Response,
        ours: Some("tracklace"),
        others: spaces::INTERLACED,
        drive: "imr-tracklace",
        zones: None,
        buffer: None,
        is_dense: false,
        fixed: &["utilisation=0.8"],
    },
    Table {
        name: "interlaced-99",
        title: "Interlaced tracks, 99 % allocated: mean response",
        counted: Counted::Response,
        ours: Some("tracklace"),
        others: spaces::INTERLACED,
        drive: "imr-tracklace",
        zones: None,
        buffer: None,
        is_dense: false,
        fixed: &["utilisation=0.99"],
    },
    Table {
        name: "caches",
        title: "Caches on flash before bands, 0.1 % of the range: bands rewritten",
        counted: Counted::Bands,
        ours: Some("band-cache"),
        others: spaces::CACHES,
        drive: "st8000as0002",
        zones: None,
        buffer: Some("0.1%"),
        is_dense: false,
        fixed: &[BANDS],
    },
    CACHES_RESPONSE,
    Table {
        name: "caches-response-large",
        title: "Caches of 1 % of the range: mean response",
        buffer: Some("1%"),
        ..CACHES_RESPONSE
    },
    Table {
        name: "caches-response-sata",
        title: "Caches of 1 % of the range on flash as fast as on SATA: mean response",
        buffer: Some("1%"),
        fixed: &["flash_drive=ssd-sata"],
        ..CACHES_RESPONSE
    },
];

impl Table {
    /// Whether only the order of requests matters.
    pub fn is_untimed(&self) -> bool {
        self.counted != Counted::Response
    }

    /// Length of the blocks of the drive.
    pub fn block_bytes(&self) -> Result<u32> {
        Ok(named_drive(self.drive)?.block_bytes)
    }

    /// A layer on the drive with these settings, `FIELD=VALUE`.
    pub fn configured(&self, layer: &str, settings: &[String]) -> Result<(Chosen, Case)> {
        let shape = Shape { zone_bytes: self.zones.map(|(bytes, _)| bytes), ..Shape::default() };
        let drive = named_drive(self.drive)?.shaped(&shape)?;
        let options = match self.is_untimed() {
            true => ReplayOptions { queue_depth: Some(1), idle: false, untimed: true, ..ReplayOptions::default() },
            false => ReplayOptions::default(),
        };
        let buffer = self.buffer.unwrap_or("1%").parse().map_err(|e| anyhow!("{e}"))?;
        let set: Vec<_> = self.set(layer, settings).collect();
        let set: Vec<_> = set.iter().map(String::as_str).collect();
        let case = Case { layer: layers::find(layer)?, drive, fit: Fit::Workload };
        Ok((Chosen::new(buffer, options, &set)?, case))
    }

    /// The settings of a run as `--set` takes them.
    fn set(&self, layer: &str, settings: &[String]) -> impl Iterator<Item = String> {
        let own = self.fixed.iter().map(|fixed| (*fixed).to_owned()).chain(settings.iter().cloned());
        own.map(move |setting| format!("{layer}.{setting}"))
    }

    /// A run as a command. `workload` is what names it and its extent, with the words for them.
    pub fn command(&self, workload: &str, layer: &str, settings: &[String]) -> String {
        let mut words = format!("imbrex replay {workload} --layer {layer} --drive {} --capacity fit", self.drive);
        let options = [("--zone-size", self.zones.map(|(_, shown)| shown)), ("--buffer", self.buffer)];
        for (option, value) in options.into_iter().filter_map(|(option, value)| Some((option, value?))) {
            words += &format!(" {option} {value}");
        }
        let order = if self.is_untimed() { " --queue-depth 1 --no-idle --untimed" } else { "" };
        words += if self.is_dense { " --dense" } else { "" };
        words += order;
        for set in self.set(layer, settings) {
            // A shell would take a table of fields apart.
            let quote = if set.contains('{') { "'" } else { "" };
            words += &format!(" --set {quote}{set}{quote}");
        }
        words
    }
}
