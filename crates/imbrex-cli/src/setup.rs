//! What `compare` and `replay` let one choose, and a run of what was chosen.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use imbrex::drive::{ConventionalZones, DrivePreset, Shape};
use imbrex::layers::LayerInfo;
use imbrex::replay::{
    self, Beyond, BufferSize, MAX_QUEUE_DEPTH, MAX_SCHEDULER_DEPTH, Observer, ReplayError, ReplayOptions, Scheduler,
    Setup, Simulation, TraceMoment, WarmUp, Window,
};
use imbrex::trace::Workload;
use imbrex_terminal::progress::Progress;

use crate::row::Row;
use crate::values::{Capacity, Setting, capacity, part, setting, size, warm_up};
use crate::workload::Known;

/// The drive that is taken when none is named.
const DRIVE: &str = "exos-x18z";
/// The buffer that is taken when none is asked for, in percent of the workload's range: the 1 % of Amphisbaena (§6.1).
const BUFFER_PERCENT: f64 = 1.0;

/// The options of a replay.
#[derive(Args)]
pub struct SetupArguments {
    /// The drive: a name from `imbrex list drives`, or a preset ending in .toml; otherwise exos-x18z
    #[arg(long, value_name = "NAME|FILE.toml")]
    drive: Option<String>,
    /// Shrink or stretch the drive to SIZE, such as 64GiB or 2TB, or until the workload just fits; rates and seek times
    /// stay
    #[arg(long, value_name = "SIZE|fit", value_parser = capacity)]
    pub capacity: Option<Capacity>,
    /// Give the zones of a zoned or hybrid drive SIZE, such as 64MiB; conventional zones keep their share
    #[arg(long, value_name = "SIZE", value_parser = size)]
    zone_size: Option<u64>,
    /// Make the first N zones of a zoned drive conventional, or PERCENT of them, such as 1%; on a hybrid one they stay so
    #[arg(long, value_name = "N|PERCENT")]
    conventional_zones: Option<ConventionalZones>,
    /// The persistent buffer: a size, blocks such as 4096blocks, or a percentage of the workload's address range
    #[arg(long, value_name = "SIZE|BLOCKS|PERCENT", default_value_t = BufferSize::Percent(BUFFER_PERCENT))]
    buffer: BufferSize,
    /// Set a field of a layer's configuration, see `imbrex list layers`; may be repeated
    #[arg(long = "set", value_name = "LAYER.FIELD=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Use the first N requests of a trace; let a synthetic workload have N requests
    #[arg(long, value_name = "N")]
    pub requests: Option<NonZeroU64>,
    /// The seed of synthetic workloads, instead of their own
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Keep N requests outstanding, ignoring the trace's times; otherwise they arrive when the trace says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_QUEUE_DEPTH)))]
    queue_depth: Option<u32>,
    /// The order in which the disk performs the operations in its queue
    #[arg(long, value_enum, default_value_t = SchedulerArgument::Fcfs)]
    scheduler: SchedulerArgument,
    /// Operations in that queue at most; without meaning for fcfs
    #[arg(long, value_name = "N", default_value_t = ReplayOptions::default().scheduler_depth)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SCHEDULER_DEPTH)))]
    scheduler_depth: u32,
    /// The part of the capacity, from 0 to 1, that is written before the first request, free of charge, in whole zones
    #[arg(long, value_name = "PART", default_value_t = 1.0, value_parser = part)]
    prefill: f64,
    /// The part of the capacity, from 0 to 1, that is trimmed after that: each MiB with this chance, free of charge
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = part)]
    trimmed: f64,
    /// Leave the first N requests out of the figures, or those of the first TIME of the trace, such as 30s, 10min or 2h
    #[arg(long, value_name = "N|TIME", value_parser = warm_up)]
    warm_up: Option<WarmUp>,
    /// Offer the layers no idle time to clean in
    #[arg(long)]
    no_idle: bool,
    /// Compare every read, and the whole disk at the end, with what was written
    #[arg(long)]
    verify: bool,
    /// Price the journal that a live device writes
    #[arg(long)]
    as_live: bool,
    /// Blocks of that journal; without it as many as `imbrex format` would give the layer
    #[arg(long, value_name = "N", requires = "as_live")]
    journal_blocks: Option<u32>,
    /// Write what is left in RAM at the end to the media, and count that too
    #[arg(long)]
    flush: bool,
    /// Let accesses take no time, and measure counts alone
    #[arg(long, conflicts_with = "scheduler")]
    untimed: bool,
    /// Number the blocks that a workload writes from 0 on, in the order of their addresses
    #[arg(long)]
    dense: bool,
    /// Stretch the workload's addresses until they reach over the whole disk; requests stay as long as they are
    #[arg(long, conflicts_with = "dense")]
    pub stretch: bool,
    /// What to do with a request beyond the layer's capacity
    #[arg(long, value_enum, default_value_t = BeyondArgument::Error)]
    beyond: BeyondArgument,
}

#[derive(Copy, Clone, ValueEnum)]
enum BeyondArgument {
    /// Stop
    Error,
    /// Wrap its address around
    Wrap,
}

#[derive(Copy, Clone, ValueEnum)]
enum SchedulerArgument {
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

/// A layer and the drive it runs on.
pub struct Case {
    /// The layer.
    pub layer: &'static LayerInfo,
    /// The drive as it was named or shaped.
    pub drive: DrivePreset,
    /// How large it is in the end.
    pub fit: Fit,
}

impl Case {
    /// Whether both are the same layer on the same drive.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.layer.name, &self.drive.name, self.fit) == (other.layer.name, &other.drive.name, other.fit)
    }

    /// The layer on its drive, in the size that the workload of this range needs; and that drive.
    pub fn simulation(
        &self,
        config: &toml::Table,
        workload: &Workload,
        (range_bytes, buffer_blocks): (u64, u64),
        options: &ReplayOptions,
    ) -> Result<(DrivePreset, Simulation), ReplayError> {
        let block_bytes = u64::from(self.drive.block_bytes);
        // The range is known: what is a percentage of it needs no second reading of the workload.
        let buffer = BufferSize::Blocks(buffer_blocks);
        let on = |drive| Setup { drive, layer: self.layer, config, buffer, workload }.simulation(options);
        let needed = range_bytes.div_ceil(block_bytes);
        if self.fit != Fit::Workload {
            let simulation = on(&self.drive)?;
            if self.fit == Fit::Given || simulation.capacity() >= needed {
                return Ok((self.drive.clone(), simulation));
            }
        }
        let drive = self.sized(config, (needed, buffer_blocks), options)?;
        let simulation = on(&drive)?;
        Ok((drive, simulation))
    }

    /// The drive in the size on which the layer offers `needed` blocks.
    fn sized(
        &self,
        config: &toml::Table,
        (needed, buffer_blocks): (u64, u64),
        options: &ReplayOptions,
    ) -> Result<DrivePreset, ReplayError> {
        replay::sized(&self.drive, (self.layer, config), (needed, in_blocks(buffer_blocks)), options)
    }
}

/// A buffer's size, for what may say that it is too large.
fn in_blocks(buffer_blocks: u64) -> u32 {
    u32::try_from(buffer_blocks).unwrap_or(u32::MAX)
}

/// How large the drive is.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Fit {
    /// The size that was given: a workload that does not fit is an error.
    Given,
    /// The size of its preset, or larger where the workload needs that.
    Own,
    /// Large enough that the layer offers what the workload needs.
    Workload,
}

impl From<Capacity> for Fit {
    fn from(capacity: Capacity) -> Self {
        match capacity {
            Capacity::Bytes(_) => Self::Given,
            Capacity::Fit => Self::Workload,
        }
    }
}

/// What is seen of a replay while it goes on: the rows of a series, and when bands are looked at.
type Seen = (Option<Window>, Option<Vec<TraceMoment>>);

/// Everything about a run but its layer and its workload.
pub struct Chosen {
    /// The persistent buffer, for layers that have one.
    pub buffer: BufferSize,
    /// How requests are replayed.
    pub options: ReplayOptions,
    /// Whether the addresses of each workload are stretched over the disk.
    pub stretch: bool,
    settings: Vec<Setting>,
}

impl SetupArguments {
    /// The drive that was chosen, for `layers`.
    pub fn cases(&self, layers: &[&'static LayerInfo]) -> Result<Vec<Case>> {
        let (capacity_bytes, zone_bytes) = (self.capacity.and_then(Capacity::bytes), self.zone_size);
        let fit = self.capacity.map_or(Fit::Given, Fit::from);
        let shape = Shape { capacity_bytes, zone_bytes, conventional_zones: self.conventional_zones };
        let drive = named_drive(self.drive.as_deref().unwrap_or(DRIVE))?.shaped(&shape)?;
        Ok(layers.iter().map(|layer| Case { layer, drive: drive.clone(), fit }).collect())
    }

    /// Whether they say something about the disk, how it is simulated or what is on it.
    pub fn is_about_a_disk(&self) -> bool {
        let is_own_buffer = self.buffer != BufferSize::Percent(BUFFER_PERCENT);
        let has_own_zones = self.zone_size.is_some() || self.conventional_zones.is_some();
        let is_own_drive = self.drive.is_some() || self.capacity.is_some() || has_own_zones;
        is_own_drive || is_own_buffer || self.untimed || self.dense || self.stretch || !self.settings.is_empty()
    }

    /// What was chosen, for runs of `cases`.
    pub fn choose(&self, cases: &[Case], seen: Seen) -> Result<Chosen> {
        self.choose_with(self.settings.clone(), cases, seen)
    }

    /// What was chosen, with other settings of the layers.
    pub fn choose_with(&self, settings: Vec<Setting>, cases: &[Case], seen: Seen) -> Result<Chosen> {
        Setting::check(&settings, |layer| cases.iter().any(|case| case.layer.name == layer.name))?;
        let options = self.options(seen);
        let chosen = Chosen { buffer: self.buffer, options, stretch: self.stretch, settings };
        cases.iter().try_for_each(|case| chosen.check(case))?;
        Ok(chosen)
    }

    /// The blocks, of the drives of `cases`, that workloads are to be numbered in, if so chosen.
    pub fn dense(&self, cases: &[Case]) -> Result<Option<u32>> {
        let mut lengths = cases.iter().map(|case| case.drive.block_bytes);
        let Some(first) = lengths.next().filter(|_| self.dense) else { return Ok(None) };
        match lengths.find(|other| *other != first) {
            Some(other) => bail!("--dense: blocks are {first} bytes on one drive, {other} on another; run them apart"),
            None => Ok(Some(first)),
        }
    }

    /// How requests are replayed, whatever the layer and the drive.
    pub fn options(&self, (window, bands): Seen) -> ReplayOptions {
        ReplayOptions {
            queue_depth: self.queue_depth,
            scheduler: self.scheduler.into(),
            scheduler_depth: self.scheduler_depth,
            prefill: self.prefill,
            trimmed: self.trimmed,
            warm_up: self.warm_up,
            idle: !self.no_idle,
            verify: self.verify,
            as_live: self.as_live,
            journal_blocks: self.journal_blocks,
            flush: self.flush,
            untimed: self.untimed,
            beyond: match self.beyond {
                BeyondArgument::Error => Beyond::Error,
                BeyondArgument::Wrap => Beyond::Wrap,
            },
            window,
            bands,
            ..ReplayOptions::default()
        }
    }
}

/// The drive of a preset or of a file.
pub fn named_drive(name: &str) -> Result<DrivePreset> {
    let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    if !is_file {
        return Ok(DrivePreset::named(name)?);
    }
    let text = fs::read_to_string(name).map_err(|cause| anyhow!("cannot read drive {name}: {cause}"))?;
    Ok(DrivePreset::parse(name, &text)?)
}

impl Chosen {
    /// What was chosen, with other options.
    pub fn with(&self, options: ReplayOptions) -> Self {
        Self { options, settings: self.settings.clone(), ..*self }
    }

    /// Whether the layer of `case` says what lies where.
    pub fn says_contents(&self, case: &Case) -> bool {
        let chosen = self.with(ReplayOptions { bands: Some(Vec::new()), ..self.options.clone() });
        chosen.check(case).is_ok()
    }

    /// What no command line chose. The settings are written as for `--set`.
    pub fn new(buffer: BufferSize, options: ReplayOptions, settings: &[&str]) -> Result<Self> {
        let settings = settings.iter().map(|text| setting(text)).collect::<Result<Vec<_>, _>>();
        Ok(Self { buffer, options, stretch: false, settings: settings.map_err(|e| anyhow!("{e}"))? })
    }

    /// Makes the layer once, so that what is wrong with it is said before any work. A buffer that is a percentage of
    /// the workload's range is not known yet, nor is the size of a drive that the workload decides: it is as small as
    /// may be.
    fn check(&self, case: &Case) -> Result<(), ReplayError> {
        let buffer_blocks = match self.buffer {
            BufferSize::Bytes(_) | BufferSize::Blocks(_) => self.buffer.blocks(0, case.drive.block_bytes),
            BufferSize::Percent(_) => 1,
        };
        let config = self.config(case.layer);
        if case.fit == Fit::Workload {
            case.sized(&config, (1, buffer_blocks), &self.options)?;
        } else {
            replay::fits(&case.drive, case.layer, &config, in_blocks(buffer_blocks), &self.options)?;
        }
        Ok(())
    }

    /// Replays `workload` on the layer of `case`.
    pub fn replay(
        &self,
        workload: &Known,
        case: &Case,
        progress: &Progress,
        observer: &mut dyn Observer,
    ) -> Result<Row> {
        let layer = case.layer;
        let config = self.config(layer);
        let (range_bytes, block_bytes) = (workload.range.range_bytes, case.drive.block_bytes);
        let buffer_blocks = if layer.buffered { self.buffer.blocks(range_bytes, block_bytes) } else { 0 };
        let stretch_bytes = self.stretch.then_some(range_bytes);
        let options = ReplayOptions { stretch_bytes, ..self.options.clone() };
        let mut run = || -> Result<_, ReplayError> {
            options.check_warm_up(&workload.range)?;
            let size = (range_bytes, buffer_blocks);
            let (drive, simulation) = case.simulation(&config, workload.workload(), size, &options)?;
            let capacity_blocks = simulation.capacity();
            let mut source = workload.open(progress)?;
            let outcome = simulation.run_timed(&mut source, observer)?;
            Ok((drive, capacity_blocks, outcome))
        };
        let (drive, capacity_blocks, outcome) = run().map_err(|e| match e {
            // These name what they are about.
            ReplayError::Trace(_) | ReplayError::Drive(_) | ReplayError::Config(_) => Error::new(e),
            _ => {
                let said = format!("{} on {}: {e}", workload.info.name, layer.name);
                Error::new(e).context(said)
            }
        })?;
        let (drive, buffer) = ((&drive, capacity_blocks), (self.buffer, buffer_blocks));
        Ok(Row::new(workload, (layer, config), drive, buffer, (&options, outcome)))
    }

    fn config(&self, layer: &LayerInfo) -> toml::Table {
        Setting::config(&self.settings, layer)
    }
}
