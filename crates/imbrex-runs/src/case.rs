//! Layers on drives.

use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow};
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::LayerInfo;
use imbrex::replay::{BufferSize, Configured, ReplayError, ReplayOptions, Setup, Simulation};
use imbrex::trace::Workload;

use crate::values::Capacity;

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
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.layer.name, &self.drive.name, self.fit) == (other.layer.name, &other.drive.name, other.fit)
    }

    /// The layer on its drive, in the size that the workload of this range needs; and that drive.
    ///
    /// # Errors
    /// When the layer cannot be made on it.
    pub fn simulation(
        &self,
        config: &toml::Table,
        workload: &Workload,
        range_bytes: u64,
        buffer_blocks: u64,
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
        let drive = self.configured(config, buffer_blocks).sized(&self.drive, needed, options)?;
        let simulation = on(&drive)?;
        Ok((drive, simulation))
    }

    /// The layer with these fields. A buffer that is too large for any layer is as large as can be said, so that the
    /// layer refuses it.
    pub(crate) fn configured<'a>(&self, config: &'a toml::Table, buffer_blocks: u64) -> Configured<'a> {
        let buffer_blocks = u32::try_from(buffer_blocks).unwrap_or(u32::MAX);
        Configured { layer: self.layer, config, buffer_blocks }
    }
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

/// The drive of a preset or of a file.
///
/// # Errors
/// When there is none, or it makes no sense.
pub fn named_drive(name: &str) -> Result<DrivePreset> {
    let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    if !is_file {
        return Ok(DrivePreset::named(name)?);
    }
    let text = fs::read_to_string(name).map_err(|cause| anyhow!("cannot read drive {name}: {cause}"))?;
    Ok(DrivePreset::parse(name, &text)?)
}

/// How a drive records, in a word; its zones; and how many of them are conventional.
#[must_use]
pub fn recording_of(preset: &DrivePreset) -> (&'static str, u32, u32) {
    match preset.media {
        MediaSpec::Conventional { .. } => ("conventional", 0, 0),
        MediaSpec::Banded { .. } => ("banded", 0, 0),
        MediaSpec::Interlaced(_) => ("interlaced", 0, 0),
        MediaSpec::Hybrid(hybrid) => {
            let zones = hybrid.fixed_zones + hybrid.realms * hybrid.sequential_zones;
            ("hybrid", zones, hybrid.fixed_zones)
        }
        MediaSpec::Zoned { zones, conventional_zones, .. } => ("zoned", zones, conventional_zones),
        MediaSpec::Flash { .. } => ("flash", 0, 0),
    }
}
