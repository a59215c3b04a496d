//! The configuration that layers over a [`ZoneBuffer`] share, and how one is made from it.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::trimmed::Trimmed;
use super::{Policy, ZoneBuffer};
use crate::fields::{Interrupts, Spare, Steps};
use crate::parts::bitmap::Bitmap;
use crate::parts::block_map::BlockMap;
use crate::parts::buffered_blocks::BufferedBlocks;
use crate::parts::slot_table::SlotTable;
use crate::parts::step_size::StepSize;
use crate::parts::zone_map::ZoneMap;
use crate::{ConfigError, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::space::Space;

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

/// The fields that these layers share.
#[derive(Clone, Debug, Configuration)]
pub struct BufferConfig {
    #[field(flatten)]
    pub spare: Spare,
    #[field(flatten)]
    pub steps: Steps,
    #[field(flatten)]
    pub interrupts: Interrupts,
    /// "block" or "request": what must fit before a write
    #[field(default = "block", samples = ["block", "request"])]
    pub clean_for: CleanFor,
    /// "direct" or "buffered": what a buffered block does
    #[field(default = "direct", samples = ["direct", "buffered"])]
    pub at_pointer: AtPointer,
    /// share of the slots that idle cleaning keeps free
    #[field(default = 0.0, samples = [0.0, 0.5, 1.0])]
    pub idle_free: f64,
    #[field(flatten)]
    pub trimming: Trimming,
}

/// What is done about trims.
#[derive(Clone, Debug, Configuration)]
pub struct Trimming {
    /// whether a zone that is trimmed whole is emptied
    #[field(default = true, samples = [true, false])]
    pub empty_trimmed: bool,
}

/// What is a use of a block, for policies that go by it: reads or not.
#[derive(Clone, Debug, Configuration)]
pub struct Reads {
    /// whether a read makes a block recently used
    #[field(default = false, samples = [false, true])]
    pub reads_count: bool,
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
        let zones = config.spare.zone_map(layer.name, space)?;
        Self::over(zones, layer, space, config, policy)
    }

    /// Like [`ZoneBuffer::new`], before these zones.
    pub fn over(
        zones: ZoneMap,
        layer: &LayerInfo,
        space: &Space,
        config: BufferConfig,
        policy: impl FnOnce(u32, &ZoneMap) -> P,
    ) -> Result<Self, ConfigError> {
        if config.steps.step_blocks == 0 || !(0.0..=1.0).contains(&config.idle_free) {
            let reason = "step_blocks must be at least 1 and idle_free between 0 and 1".to_owned();
            return Err(ConfigError::Field { layer: layer.name, reason });
        }
        let slots = buffer_slots(layer.name, space)?;
        if zones.most_capacity() > SlotTable::BLOCKS {
            let reason = format!("a buffer is for at most {} blocks of zones", SlotTable::BLOCKS);
            return Err(ConfigError::Space { layer: layer.name, reason });
        }
        let empties = config.trimming.empty_trimmed && config.spare.spare_zones > 0;
        Ok(Self {
            name: layer.name,
            policy: policy(slots, &zones),
            blocks: BufferedBlocks::new(space.conventional, slots, zones.most_capacity()),
            copied: Bitmap::new(u64::from(zones.zone_blocks())),
            collected: Vec::new(),
            is_idle: false,
            trimmed: Trimmed::new(if empties { zones.most_natives() } else { 0 }),
            zones,
            eviction: None,
            coming: OnceCell::new(),
            apart: BTreeSet::new(),
            due: None,
            takes_vacant: true,
            newer: Vec::new(),
            step: StepSize::new(config.steps.step_blocks),
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
