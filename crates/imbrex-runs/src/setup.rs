//! The disk of a run and how a workload is replayed on it.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use anyhow::Result;
use clap::{Args, Command, ValueEnum};
use imbrex::drive::{ConventionalZones, Shape};
use imbrex::layers::LayerInfo;
use imbrex::replay::{Beyond, BufferSize, MAX_QUEUE_DEPTH, MAX_SCHEDULER_DEPTH, ReplayOptions, Scheduler, WarmUp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::case::{Case, Fit, named_drive};
use crate::sampled::Sample;
use crate::settings::{self, Setting, setting};
use crate::steady::{ROUNDS, WINDOW};
use crate::values::{Capacity, Size, Time, part, requests};
use crate::written::{self, TextOrNumber, Written};
use crate::wrong::Wrong;

/// The drive that is taken when none is named.
const DRIVE: &str = "exos-x18z";
/// The buffer that is taken when none is asked for, in percent of the workload's range: the 1 % of Amphisbaena (§6.1).
const BUFFER_PERCENT: f64 = 1.0;

/// A disk, and how workloads are replayed on it.
#[derive(Clone, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setup {
    /// The drive: a name from `imbrex list drives`, or a preset ending in .toml; otherwise exos-x18z
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub drive: Option<String>,
    /// Shrink or stretch the drive to SIZE, such as 64GiB or 2TB, or until the workload just fits; rates and seek times
    /// stay
    #[arg(long, value_name = "SIZE|fit", value_parser = Capacity::read)]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub capacity: Option<Capacity>,
    /// Give the zones of a zoned or hybrid drive SIZE, such as 64MiB; conventional zones keep their share
    #[arg(long, value_name = "SIZE", value_parser = Size::read)]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub zone_size: Option<Size>,
    /// Make the first N zones of a zoned drive conventional, or PERCENT of them, such as 1%; on a hybrid one they stay so
    #[arg(long, value_name = "N|PERCENT")]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub conventional_zones: Option<ConventionalZones>,
    /// The persistent buffer: a size, blocks such as 4096blocks, or a percentage of the workload's address range
    #[arg(long, value_name = "SIZE|BLOCKS|PERCENT", default_value_t = BufferSize::Percent(BUFFER_PERCENT))]
    #[serde(with = "written")]
    #[schemars(with = "TextOrNumber")]
    pub buffer: BufferSize,
    /// Set a field of a layer's configuration, see `imbrex help LAYER`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting)]
    #[serde(rename = "config", with = "settings")]
    #[schemars(with = "BTreeMap<String, Map<String, Value>>")]
    pub settings: Vec<Setting>,
    /// Use the first N requests of a trace; let a synthetic workload have N requests; such as 20000, 20k or 1.5M
    #[arg(long, value_name = "N", value_parser = requests)]
    pub requests: Option<NonZeroU64>,
    /// The seed of synthetic workloads, instead of their own
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Keep N requests outstanding, ignoring the trace's times; otherwise they arrive when the trace says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_QUEUE_DEPTH)))]
    #[schemars(range(min = 1, max = MAX_QUEUE_DEPTH))]
    pub queue_depth: Option<u32>,
    /// With --queue-depth, keep the pauses that the trace has between requests, too: one arrives when there is room for it,
    /// and as long after the one before as in the trace, or longer
    #[arg(long, requires = "queue_depth")]
    pub paced: bool,
    /// Count the reads and writes that take longer than TIME, such as 7s or 2min
    #[arg(long, value_name = "TIME", default_value_t = Time(ReplayOptions::default().limit_ns), value_parser = Time::read)]
    #[serde(with = "written")]
    #[schemars(with = "TextOrNumber")]
    pub limit: Time,
    /// The order in which the disk performs the operations in its queue
    #[arg(long, value_enum, default_value_t = SchedulerArgument::Fcfs)]
    pub scheduler: SchedulerArgument,
    /// Operations in that queue at most; without meaning for fcfs
    #[arg(long, value_name = "N", default_value_t = ReplayOptions::default().scheduler_depth)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SCHEDULER_DEPTH)))]
    #[schemars(range(min = 1, max = MAX_SCHEDULER_DEPTH))]
    pub scheduler_depth: u32,
    /// The part of the capacity, such as 0.5 or 50%, that is written before the first request, free of charge, in whole zones
    #[arg(long, value_name = "PART", default_value_t = 1.0, value_parser = part)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub prefill: f64,
    /// The part of the capacity, such as 0.5 or 50%, that is trimmed after that: each MiB with this chance, free of charge
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub trimmed: f64,
    /// Leave the first N requests out of the figures, or those of the first TIME of the trace, such as 30s, 10min or 2h
    #[arg(long, value_name = "N|TIME", value_parser = WarmUp::read)]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub warm_up: Option<WarmUp>,
    /// Replay the workload N times in succession, times continued
    #[arg(long, value_name = "N", value_parser = requests)]
    pub repeat: Option<NonZeroU64>,
    /// Repeat the workload until the write amplification of each layer stands still, or the rewrites where zones are
    /// rewritten, and measure the last five rounds alone
    #[arg(long, conflicts_with_all = ["warm_up", "repeat"])]
    pub steady: bool,
    /// Give up after N rounds and measure the last five; without it after 25
    #[arg(long, value_name = "N", requires = "steady", value_parser = clap::value_parser!(u32).range(i64::from(WINDOW)..))]
    #[schemars(range(min = WINDOW))]
    pub steady_rounds: Option<u32>,
    /// Offer the layers no idle time to clean in
    #[arg(long)]
    pub no_idle: bool,
    /// Compare every read, and the whole disk at the end, with what was written
    #[arg(long)]
    pub verify: bool,
    /// Price the journal that a live device writes
    #[arg(long)]
    pub as_live: bool,
    /// Blocks of that journal; without it as many as `imbrex format` would give the layer
    #[arg(long, value_name = "N", requires = "as_live")]
    pub journal_blocks: Option<u32>,
    /// Keep no more than SIZE, such as 64MiB, of a map with an entry for each block in memory, and price reading and writing
    /// the rest; other maps have to fit
    #[arg(long, value_name = "SIZE", value_parser = Size::read, conflicts_with_all = ["as_live", "scheduler"])]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub map_memory: Option<Size>,
    /// Write what is left in RAM at the end to the media, and count that too
    #[arg(long)]
    pub flush: bool,
    /// Let the layers clean after the last request until nothing is left to clean, and say how long that takes; all other
    /// figures are without it
    #[arg(long)]
    pub rest: bool,
    /// Let accesses take no time, and measure counts alone
    #[arg(long, conflicts_with = "scheduler")]
    pub untimed: bool,
    /// Replay a sample: of so many neighbouring blocks only one, which stands for all of them, on a drive with blocks as
    /// long as these together, such as 1/16; for counts of logs alone
    #[arg(long, value_name = "1/N", value_parser = Sample::read, requires = "untimed")]
    #[arg(conflicts_with_all = ["as_live", "map_memory"])]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<String>")]
    pub sample: Option<Sample>,
    /// Number the blocks that a workload writes from 0 on, in the order of their addresses
    #[arg(long)]
    pub dense: bool,
    /// Stretch the workload's addresses until they reach over the whole disk; requests stay as long as they are
    #[arg(long, conflicts_with = "dense")]
    pub stretch: bool,
    /// What to do with a request beyond the layer's capacity
    #[arg(long, value_enum, default_value_t = BeyondArgument::Error)]
    pub beyond: BeyondArgument,
}

/// What to do with a request beyond the capacity of a layer.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename = "Beyond")]
pub enum BeyondArgument {
    /// Stop
    Error,
    /// Wrap its address around
    Wrap,
}

/// The order in which a disk performs what is in its queue.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename = "Scheduler")]
pub enum SchedulerArgument {
    /// First come, first served
    Fcfs,
    /// Upwards by address, then from the lowest again
    CLook,
    /// Shortest positioning time first; what is far away may starve
    Sptf,
}

impl From<SchedulerArgument> for Scheduler {
    fn from(argument: SchedulerArgument) -> Self {
        match argument {
            SchedulerArgument::Fcfs => Self::Fcfs,
            SchedulerArgument::CLook => Self::CLook,
            SchedulerArgument::Sptf => Self::Sptf,
        }
    }
}

impl From<BeyondArgument> for Beyond {
    fn from(argument: BeyondArgument) -> Self {
        match argument {
            BeyondArgument::Error => Self::Error,
            BeyondArgument::Wrap => Self::Wrap,
        }
    }
}

impl Default for Setup {
    fn default() -> Self {
        unchosen()
    }
}

/// What holds where nothing is chosen: what the command line says of it.
pub(crate) fn unchosen<T: Args>() -> T {
    let nothing = T::augment_args(Command::new("imbrex").no_binary_name(true)).try_get_matches_from([""; 0]);
    let read = nothing.and_then(|matches| T::from_arg_matches(&matches));
    read.expect("no option has to be given")
}

/// How long the blocks of the drives of `cases` are, for an option that needs to know.
fn block_bytes(cases: &[Case], option: &'static [&'static str]) -> Result<Option<u32>> {
    let mut lengths = cases.iter().map(|case| case.drive.block_bytes);
    let first = lengths.next();
    if let Some((first, other)) = first.and_then(|first| Some((first, lengths.find(|other| *other != first)?))) {
        let why = format!("blocks are {first} bytes on one drive, {other} on another; run them apart");
        return Err(Wrong::new(option, why).into());
    }
    Ok(first)
}

impl Setup {
    /// The drive that was chosen, for `layers`.
    ///
    /// # Errors
    /// When there is no such drive, or it cannot have such a size or such zones.
    pub fn cases(&self, layers: &[&'static LayerInfo]) -> Result<Vec<Case>> {
        let (capacity_bytes, zone_bytes) = (self.capacity.and_then(Capacity::bytes), self.zone_size.map(Size::bytes));
        let fit = self.capacity.map_or(Fit::Given, Fit::from);
        let shape = Shape { capacity_bytes, zone_bytes, conventional_zones: self.conventional_zones };
        let drive = named_drive(self.drive.as_deref().unwrap_or(DRIVE))?.shaped(&shape)?;
        Ok(layers.iter().map(|layer| Case { layer, drive: drive.clone(), fit }).collect())
    }

    /// Whether something is said about the disk, how it is simulated or what is on it.
    #[must_use]
    pub fn is_about_a_disk(&self) -> bool {
        let is_own_buffer = self.buffer != BufferSize::Percent(BUFFER_PERCENT);
        let has_own_zones = self.zone_size.is_some() || self.conventional_zones.is_some();
        let is_own_drive = self.drive.is_some() || self.capacity.is_some() || has_own_zones;
        let is_own_replay = self.untimed || self.dense || self.stretch || self.steady;
        is_own_drive || is_own_buffer || is_own_replay || !self.settings.is_empty()
    }

    /// The blocks, of the drives of `cases`, that workloads are to be numbered in, if so chosen.
    ///
    /// # Errors
    /// When the blocks of one drive are longer than those of another.
    pub fn dense(&self, cases: &[Case]) -> Result<Option<u32>> {
        if self.dense { block_bytes(cases, &["dense"]) } else { Ok(None) }
    }

    /// The part of their blocks that are followed, if not all, and how long these blocks are on the drives of `cases`.
    ///
    /// # Errors
    /// When the blocks of one drive are longer than those of another.
    pub fn sample(&self, cases: &[Case]) -> Result<Option<(Sample, u32)>> {
        let Some(sample) = self.sample else { return Ok(None) };
        Sample::check(cases)?;
        if let Some(WarmUp::Requests(_)) = self.warm_up {
            let why =
                "with --sample, write a time such as 30min: fewer requests are left than the trace has".to_owned();
            return Err(Wrong::new(&["warm_up"], why).into());
        }
        Ok(block_bytes(cases, &["sample"])?.map(|block_bytes| (sample, block_bytes)))
    }

    /// In how many rounds a layer has to become steady, if it has to.
    #[must_use]
    pub fn most_rounds(&self) -> Option<NonZeroU32> {
        self.steady.then(|| self.steady_rounds.and_then(NonZeroU32::new).unwrap_or(ROUNDS))
    }

    /// How requests are replayed, whatever the layer and the drive.
    #[must_use]
    pub fn options(&self) -> ReplayOptions {
        ReplayOptions {
            queue_depth: self.queue_depth,
            paced: self.paced,
            limit_ns: self.limit.0,
            scheduler: self.scheduler.into(),
            scheduler_depth: self.scheduler_depth,
            prefill: self.prefill,
            trimmed: self.trimmed,
            warm_up: self.warm_up,
            idle: !self.no_idle,
            verify: self.verify,
            as_live: self.as_live,
            journal_blocks: self.journal_blocks,
            map_memory: self.map_memory.map(Size::bytes),
            flush: self.flush,
            rest: self.rest,
            untimed: self.untimed,
            beyond: self.beyond.into(),
            ..ReplayOptions::default()
        }
    }
}
