//! A preset as its text has it, and the two ways to time a drive.

use serde::{Deserialize, Serialize};

use super::{DrivePreset, MediaSpec};
use crate::mechanics::{FlashSpec, FlashTimes, GeometryError, Mechanics, MechanicsSpec};

/// What the times of a drive follow from.
#[derive(Clone, PartialEq, Debug)]
pub enum TimingSpec {
    /// A disk's moving parts: the table `mechanics` of a preset.
    Disk(MechanicsSpec),
    /// Flash, also such with zones: the table `flash`.
    Flash(FlashSpec),
}

/// How long a drive takes.
#[derive(Clone, Debug)]
pub enum DriveTiming {
    /// The moving parts of a disk.
    Disk(Mechanics),
    /// The times of flash.
    Flash(FlashTimes),
}

impl DriveTiming {
    /// About how long the drive takes to write a block anywhere: a disk to come there, flash to program a page.
    #[must_use]
    pub fn write_ns(&self) -> u64 {
        match self {
            Self::Disk(mechanics) => mechanics.mean_access_ns(),
            Self::Flash(flash) => flash.access(0, 1, true),
        }
    }
}

/// A preset as its text has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    description: String,
    #[serde(default = "default_block_bytes")]
    block_bytes: u32,
    media: MediaSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mechanics: Option<MechanicsSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flash: Option<FlashSpec>,
}

impl TryFrom<Written> for DrivePreset {
    type Error = GeometryError;

    fn try_from(written: Written) -> Result<Self, GeometryError> {
        let Written { description, block_bytes, media, mechanics, flash } = written;
        let (is_pages, is_zones) = (matches!(media, MediaSpec::Flash { .. }), matches!(media, MediaSpec::Zoned { .. }));
        let timing = match (mechanics, flash) {
            (Some(mechanics), None) if !is_pages => TimingSpec::Disk(mechanics),
            (None, Some(flash)) if is_pages || is_zones => TimingSpec::Flash(flash),
            _ => {
                let problem = "the table of times does not suit it".to_owned();
                let remedy = "give flash the table [flash], zones that or the table [mechanics], any other media the \
                              table [mechanics], and no other";
                return Err(GeometryError::new("media.kind", problem, remedy));
            }
        };
        Ok(Self { name: String::new(), description, block_bytes, media, timing })
    }
}

impl From<DrivePreset> for Written {
    fn from(preset: DrivePreset) -> Self {
        let DrivePreset { name: _, description, block_bytes, media, timing } = preset;
        let (mechanics, flash) = match timing {
            TimingSpec::Disk(mechanics) => (Some(mechanics), None),
            TimingSpec::Flash(flash) => (None, Some(flash)),
        };
        Self { description, block_bytes, media, mechanics, flash }
    }
}

const fn default_block_bytes() -> u32 {
    4096
}
