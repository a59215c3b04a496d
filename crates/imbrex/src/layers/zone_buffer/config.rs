//! The configuration that layers over a [`ZoneBuffer`] share, and how one is made from it.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::trimmed::Trimmed;
use super::{Policy, ZoneBuffer};
use crate::layers::{ConfigError, Field, LayerInfo, zone_map};
use crate::parts::bitmap::Bitmap;
use crate::parts::block_map::BlockMap;
use crate::parts::buffered_blocks::BufferedBlocks;
use crate::parts::step_size::StepSize;
use crate::parts::zone_map::ZoneMap;
use crate::space::Space;

pub const CLEAN_FOR: Field = Field {
    key: "clean_for",
    default: "\"block\"",
    meaning: "\"block\" or \"request\": what must fit before a write",
    samples: &["\"block\"", "\"request\""],
};

pub const AT_POINTER: Field = Field {
    key: "at_pointer",
    default: "\"direct\"",
    meaning: "\"direct\" or \"buffered\": what a buffered block does",
    samples: &["\"direct\"", "\"buffered\""],
};

pub const IDLE_FREE: Field = Field {
    key: "idle_free",
    default: "0.0",
    meaning: "share of the slots that idle cleaning keeps free",
    samples: &["0.0", "0.5", "1.0"],
};

pub const READS_COUNT: Field = Field {
    key: "reads_count",
    default: "false",
    meaning: "whether a read makes a block recently used",
    samples: &["false", "true"],
};

pub const EMPTY_TRIMMED: Field = Field {
    key: "empty_trimmed",
    default: "true",
    meaning: "whether a zone that is trimmed whole is emptied",
    samples: &["true", "false"],
};

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CleanFor {
    Block,
    Request,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtPointer {
    Direct,
    Buffered,
}

/// The values of the shared fields. A layer that does not list one of them keeps its default.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
pub struct BufferConfig {
    pub spare_zones: u32,
    pub step_blocks: u32,
    pub interruptible: bool,
    pub clean_for: CleanFor,
    pub at_pointer: AtPointer,
    pub idle_free: f64,
    pub empty_trimmed: bool,
}

impl Default for BufferConfig {
    fn default() -> Self {
        Self {
            spare_zones: 1,
            step_blocks: 4096,
            interruptible: true,
            clean_for: CleanFor::Block,
            at_pointer: AtPointer::Direct,
            idle_free: 0.0,
            empty_trimmed: true,
        }
    }
}

impl<P: Policy> ZoneBuffer<P> {
    /// An empty buffer of `layer` on `space`, with the policy that `policy` makes for the slots and native zones there
    /// are.
    pub fn new(
        layer: &LayerInfo,
        space: &Space,
        config: BufferConfig,
        policy: impl FnOnce(u32, &ZoneMap) -> P,
    ) -> Result<Self, ConfigError> {
        let zones = zone_map(layer.name, space, config.spare_zones)?;
        Self::over(zones, layer, space, config, policy)
    }

    /// The same before these zones.
    pub fn over(
        zones: ZoneMap,
        layer: &LayerInfo,
        space: &Space,
        config: BufferConfig,
        policy: impl FnOnce(u32, &ZoneMap) -> P,
    ) -> Result<Self, ConfigError> {
        if config.step_blocks == 0 || !(0.0..=1.0).contains(&config.idle_free) {
            let reason = "step_blocks must be at least 1 and idle_free between 0 and 1".to_owned();
            return Err(ConfigError::Field { layer: layer.name, reason });
        }
        let slots = buffer_slots(layer.name, space)?;
        let empties = config.empty_trimmed && config.spare_zones > 0;
        Ok(Self {
            name: layer.name,
            policy: policy(slots, &zones),
            blocks: BufferedBlocks::new(space.conventional, slots, zones.most_capacity()),
            copied: Bitmap::new(u64::from(zones.zone_blocks())),
            collected: Vec::new(),
            trimmed: Trimmed::new(if empties { zones.most_natives() } else { 0 }),
            zones,
            eviction: None,
            coming: OnceCell::new(),
            apart: BTreeSet::new(),
            due: None,
            takes_vacant: true,
            newer: Vec::new(),
            step: StepSize::new(config.step_blocks),
            config,
        })
    }
}

/// How many slots the buffer has.
fn buffer_slots(layer: &'static str, space: &Space) -> Result<u32, ConfigError> {
    let slots = space.buffer_blocks;
    if slots == 0 || u64::from(slots) > space.conventional_blocks {
        let have = space.conventional_blocks;
        let reason = format!("a buffer of {slots} blocks must be at least 1 and fit the {have} conventional blocks");
        return Err(ConfigError::Space { layer, reason });
    }
    if slots > BlockMap::PLACES {
        let reason = format!("a buffer holds at most {} blocks; choose a smaller one", BlockMap::PLACES);
        return Err(ConfigError::Space { layer, reason });
    }
    Ok(slots)
}
