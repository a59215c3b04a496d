//! Everything about a run but its layer and its workload, and the run itself.

use std::num::NonZeroU32;

use anyhow::{Error, Result, anyhow};
use imbrex::drive::DrivePreset;
use imbrex::layers::{ConfigError, LayerInfo};
use imbrex::replay::{BufferSize, Observer, ReplayError, ReplayOptions, Simulation};
use imbrex_terminal::progress::Progress;

use crate::case::{Case, Fit};
use crate::row::{Disk, Row};
use crate::sampled::Sample;
use crate::settings::{Setting, setting};
use crate::setup::Setup;
use crate::steady::Steady;
use crate::workload::Known;
use crate::wrong::Wrong;

/// A drive on which a zone is no large part.
const LARGE_BYTES: u64 = 64 << 30;

/// Everything about a run but its layer and its workload.
pub struct Chosen {
    /// The persistent buffer, for layers that have one.
    pub buffer: BufferSize,
    /// How requests are replayed.
    pub options: ReplayOptions,
    /// Whether the addresses of each workload are stretched over the disk.
    pub stretch: bool,
    /// In how many rounds each layer has to become steady, if it has to.
    pub(crate) most_rounds: Option<NonZeroU32>,
    /// How the layer became steady of which the figures are.
    steady: Option<Steady>,
    settings: Vec<Setting>,
    /// The part of all blocks that are followed, on drives in longer blocks, if not all.
    sample: Option<Sample>,
}

impl Chosen {
    /// What was chosen, for runs of `cases`.
    ///
    /// # Errors
    /// When a layer cannot be made like that, or one that takes no part has settings.
    pub fn of(setup: &Setup, options: ReplayOptions, cases: &[Case]) -> Result<Self> {
        let settings = setup.settings.clone();
        Setting::check(&settings, |layer| cases.iter().any(|case| case.layer.name == layer.name))?;
        let (stretch, most_rounds, sample) = (setup.stretch, setup.most_rounds(), setup.sample);
        let chosen = Self { buffer: setup.buffer, options, stretch, most_rounds, steady: None, settings, sample };
        cases.iter().try_for_each(|case| chosen.check(case))?;
        chosen.check_buffer(cases)?;
        Ok(chosen)
    }

    /// Refuses a buffer that would be rounded up to a block.
    fn check_buffer(&self, cases: &[Case]) -> Result<(), Wrong> {
        let BufferSize::Bytes(bytes) = self.buffer else { return Ok(()) };
        let is_short = |case: &&Case| case.layer.buffered && bytes < u64::from(case.drive.block_bytes);
        let Some(case) = cases.iter().find(is_short) else { return Ok(()) };
        let why = format!(
            "{} is less than a block, which has {} bytes here; write 1blocks, or a larger size",
            self.buffer, case.drive.block_bytes
        );
        Err(Wrong::new(&["buffer"], why))
    }

    /// What was chosen, with other options.
    #[must_use]
    pub fn with(&self, options: ReplayOptions) -> Self {
        Self { options, steady: self.steady.clone(), settings: self.settings.clone(), ..*self }
    }

    /// What was chosen, for a layer that became steady like that, if it had to: only what comes then is measured.
    #[must_use]
    pub fn once(&self, steady: Option<&Steady>) -> Self {
        let warm_up = steady.map(Steady::warm_up).or(self.options.warm_up);
        Self { steady: steady.cloned(), ..self.with(ReplayOptions { warm_up, ..self.options.clone() }) }
    }

    /// How much replaying there is to show of so many requests: those until a layer is steady count once, and so do
    /// those that are measured.
    #[must_use]
    pub fn shown(&self, requests: u64) -> u64 {
        requests * (1 + u64::from(self.most_rounds.is_some()))
    }

    /// Whether the layer of `case` says what lies where.
    #[must_use]
    pub fn says_contents(&self, case: &Case) -> bool {
        let chosen = self.with(ReplayOptions { bands: Some(Vec::new()), ..self.options.clone() });
        chosen.check(case).is_ok()
    }

    /// What nobody specified. The settings are written as for `--set`.
    ///
    /// # Errors
    /// When one is no setting of a layer.
    pub fn new(buffer: BufferSize, options: ReplayOptions, settings: &[&str]) -> Result<Self> {
        let settings = settings.iter().map(|text| setting(text)).collect::<Result<Vec<_>, _>>();
        Ok(Self {
            buffer,
            options,
            stretch: false,
            most_rounds: None,
            steady: None,
            settings: settings.map_err(|e| anyhow!("{e}"))?,
            sample: None,
        })
    }

    /// Makes the layer once, so that what is wrong with it is said before any work. A buffer that is a percentage of
    /// the workload's range is not known yet, nor is the size of a drive that the workload decides: it is as small as
    /// may be.
    fn check(&self, case: &Case) -> Result<(), ReplayError> {
        let buffer_blocks = match self.buffer {
            BufferSize::Bytes(_) | BufferSize::Blocks(_) => self.buffer.blocks(0, case.drive.block_bytes),
            BufferSize::Percent(_) => 1,
        };
        let config = self.config(case.layer)?;
        let configured = case.configured(&config, buffer_blocks);
        if case.fit == Fit::Workload {
            configured.sized(&case.drive, 1, &self.options).map(drop)
        } else {
            configured.capacity(&case.drive, &self.options).map(drop)
        }
    }

    /// Replays `workload` on the layer of `case`.
    ///
    /// # Errors
    /// When the workload cannot be read, or does not fit the layer; when the layer fails; or when the work was to stop.
    pub fn replay(
        &self,
        workload: &Known,
        case: &Case,
        progress: &Progress,
        observer: &mut dyn Observer,
    ) -> Result<Row> {
        Ok(self.replay_weighed(workload, case, progress, observer)?.0)
    }

    /// Replays `workload` on the layer of `case`, and says how many bytes of memory its maps take at most.
    ///
    /// # Errors
    /// Those of [`Chosen::replay`].
    pub fn replay_weighed(
        &self,
        workload: &Known,
        case: &Case,
        progress: &Progress,
        observer: &mut dyn Observer,
    ) -> Result<(Row, u64)> {
        let (drive, capacity_blocks, buffer_blocks, memory, outcome) =
            self.perform(workload, case, |simulation, drive| {
                let capacity_blocks = simulation.capacity();
                let buffer_blocks = simulation.own_buffer_blocks().unwrap_or(self.buffer_blocks(workload, case));
                let memory = simulation.memory();
                let mut source = workload.open(progress)?;
                let outcome = simulation.run_timed(&mut source, observer)?;
                Ok((drive.clone(), capacity_blocks, buffer_blocks, memory, outcome))
            })?;
        let disk = Disk { drive: &drive, capacity_blocks, buffer: self.buffer, buffer_blocks };
        let (config, options) = (Setting::config(&self.settings, case.layer), self.options_for(workload));
        let row = Row::new(workload, case.layer, config, &disk, &options, outcome);
        let sample = self.sample.map(|sample| sample.of);
        Ok((Row { steady: self.steady.clone(), sample, ..row }, memory.most))
    }

    /// Blocks of the drive for each that the layer of `case` offers, where the drive is so large that it does not matter
    /// that it has whole zones, and some to spare: what another block takes.
    ///
    /// # Errors
    /// When the layer cannot be made on such a drive.
    pub fn blocks_for_each(&self, workload: &Known, case: &Case) -> Result<f64, ReplayError> {
        let large = workload.range.range_bytes.max(LARGE_BYTES);
        let config = self.config(case.layer)?;
        let offered = |bytes: u64| {
            let buffer = self.buffer.blocks(bytes, case.drive.block_bytes);
            let configured = case.configured(&config, buffer);
            let drive = configured.sized(&case.drive, bytes / u64::from(case.drive.block_bytes), &self.options)?;
            Ok::<_, ReplayError>((drive.media.capacity() as f64, configured.capacity(&drive, &self.options)? as f64))
        };
        let [(least, offers), (most, offers_more)] = [offered(large / 2)?, offered(large)?];
        Ok((most - least) / (offers_more - offers))
    }

    /// Makes the layer of `case` for `workload`, and does `run` with it and its drive.
    ///
    /// # Errors
    /// When it cannot be made, and what `run` gives; all say what they are about.
    pub(crate) fn perform<R>(
        &self,
        workload: &Known,
        case: &Case,
        run: impl FnOnce(Simulation, &DrivePreset) -> Result<R, ReplayError>,
    ) -> Result<R> {
        let options = self.options_for(workload);
        let (range_bytes, buffer_blocks) = (workload.range.range_bytes, self.buffer_blocks(workload, case));
        let done = options.check_warm_up(&workload.range).and_then(|()| {
            let config = self.config(case.layer)?;
            let (drive, simulation) =
                case.simulation(&config, workload.workload(), range_bytes, buffer_blocks, &options)?;
            run(simulation, &drive)
        });
        done.map_err(|e| match e {
            // These name what they are about.
            ReplayError::Trace(_) | ReplayError::Drive(_) | ReplayError::Config(_) => Error::new(e),
            _ => {
                let options = match e {
                    ReplayError::Beyond { .. } => " (--capacity fit, --dense or --beyond wrap)",
                    _ => "",
                };
                let said = format!("{} on {}: {e}{options}", workload.info.name, case.layer.name);
                Error::new(e).context(said)
            }
        })
    }

    /// Blocks of the buffer that the layer of `case` is given.
    pub(crate) fn buffer_blocks(&self, workload: &Known, case: &Case) -> u64 {
        let blocks = || self.buffer.blocks(workload.range.range_bytes, case.drive.block_bytes);
        if case.layer.buffered { blocks() } else { 0 }
    }

    fn options_for(&self, workload: &Known) -> ReplayOptions {
        ReplayOptions { stretch_bytes: self.stretch.then_some(workload.range.range_bytes), ..self.options.clone() }
    }

    /// The configuration of a layer, for the blocks that its drive has.
    fn config(&self, layer: &LayerInfo) -> Result<toml::Table, ConfigError> {
        let config = Setting::config(&self.settings, layer);
        match self.sample {
            Some(sample) => sample.config(layer, &config),
            None => Ok(config),
        }
    }
}
