//! Everything about a run but its layer and its workload, and the run itself.

use anyhow::{Error, Result, anyhow};
use imbrex::layers::LayerInfo;
use imbrex::replay::{BufferSize, Observer, ReplayError, ReplayOptions};
use imbrex_terminal::progress::Progress;

use crate::case::{Case, Fit};
use crate::row::{Disk, Row};
use crate::settings::{Setting, setting};
use crate::setup::Setup;
use crate::workload::Known;
use crate::wrong::Wrong;

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

impl Chosen {
    /// What was chosen, for runs of `cases`.
    ///
    /// # Errors
    /// When a layer cannot be made like that, or one that takes no part has settings.
    pub fn of(setup: &Setup, options: ReplayOptions, cases: &[Case]) -> Result<Self> {
        let settings = setup.settings.clone();
        Setting::check(&settings, |layer| cases.iter().any(|case| case.layer.name == layer.name))?;
        let chosen = Self { buffer: setup.buffer, options, stretch: setup.stretch, settings };
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
        Self { options, settings: self.settings.clone(), ..*self }
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
        let layer = case.layer;
        let config = self.config(layer);
        let (range_bytes, block_bytes) = (workload.range.range_bytes, case.drive.block_bytes);
        let buffer_blocks = if layer.buffered { self.buffer.blocks(range_bytes, block_bytes) } else { 0 };
        let stretch_bytes = self.stretch.then_some(range_bytes);
        let options = ReplayOptions { stretch_bytes, ..self.options.clone() };
        let mut run = || -> Result<_, ReplayError> {
            options.check_warm_up(&workload.range)?;
            let (drive, simulation) =
                case.simulation(&config, workload.workload(), range_bytes, buffer_blocks, &options)?;
            let capacity_blocks = simulation.capacity();
            let buffer_blocks = simulation.own_buffer_blocks().unwrap_or(buffer_blocks);
            let mut source = workload.open(progress)?;
            let outcome = simulation.run_timed(&mut source, observer)?;
            Ok((drive, capacity_blocks, buffer_blocks, outcome))
        };
        let (drive, capacity_blocks, buffer_blocks, outcome) = run().map_err(|e| match e {
            // These name what they are about.
            ReplayError::Trace(_) | ReplayError::Drive(_) | ReplayError::Config(_) => Error::new(e),
            _ => {
                let options = match e {
                    ReplayError::Beyond { .. } => " (--capacity fit, --dense or --beyond wrap)",
                    _ => "",
                };
                let said = format!("{} on {}: {e}{options}", workload.info.name, layer.name);
                Error::new(e).context(said)
            }
        })?;
        let disk = Disk { drive: &drive, capacity_blocks, buffer: self.buffer, buffer_blocks };
        Ok(Row::new(workload, layer, config, &disk, &options, outcome))
    }

    fn config(&self, layer: &LayerInfo) -> toml::Table {
        Setting::config(&self.settings, layer)
    }
}
