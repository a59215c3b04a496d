//! The configuration that layers over a [`FlashCache`] share, and how one is made from it.

use super::frames::Frames;
use super::{FlashCache, Policy};
use crate::fields::{Interrupts, Steps};
use crate::parts::block_map::BlockMap;
use crate::parts::lost::LostBlocks;
use crate::parts::step_size::StepSize;
use crate::{ConfigError, LayerInfo};
use imbrex_core::block::Lba;
use imbrex_core::config::Configuration;
use imbrex_core::space::{Home, Space};

/// Blocks of a home device are fewer.
const CAPACITY: u64 = 1 << 36;

/// The fields that these layers share.
#[derive(Clone, Debug, Configuration)]
pub struct CacheConfig {
    #[field(flatten)]
    pub steps: Steps,
    #[field(flatten)]
    pub interrupts: Interrupts,
    /// whether the cache takes a copy of what is read from home
    #[field(default = true, samples = [true, false], paper = false)]
    pub read_allocate: bool,
    /// whether blocks that are trimmed leave the cache; for dirty ones zeros are written home
    #[field(default = false, samples = [false, true], paper = false)]
    pub trim: bool,
    /// whether the disk behind writes what it gathered in RAM before frames are given up, as it does on a live volume
    #[field(default = false, samples = [false, true])]
    pub flush_home: bool,
}

impl<P: Policy> FlashCache<P> {
    /// An empty cache of `layer` on `space`, with the policy that `policy` makes for the frames there are.
    pub fn new(
        layer: &LayerInfo,
        space: &Space,
        config: CacheConfig,
        policy: impl FnOnce(u32) -> P,
    ) -> Result<Self, ConfigError> {
        if config.steps.step_blocks == 0 || config.steps.step_blocks > u32::MAX / 2 {
            let reason = format!("step_blocks must be between 1 and {}", u32::MAX / 2);
            return Err(ConfigError::Field { layer: layer.name, reason });
        }
        let home = home(layer.name, space)?;
        let frames = frames(layer.name, space)?;
        Ok(Self {
            name: layer.name,
            place: space.conventional,
            home,
            policy: policy(frames),
            frames: Frames::new(frames),
            map: BlockMap::new(home.blocks, frames),
            lost: LostBlocks::default(),
            leaving: Vec::with_capacity(P::most_together(frames) as usize),
            left: 0,
            asked_from: Lba(0),
            promotions: Vec::with_capacity(config.steps.step_blocks.min(frames) as usize),
            ram_taken: 0,
            step: StepSize::new(config.steps.step_blocks),
            config,
        })
    }
}

fn home(layer: &'static str, space: &Space) -> Result<Home, ConfigError> {
    let misfit = |reason: String| Err(ConfigError::Space { layer, reason });
    match space.home {
        None => misfit("it needs a device behind it; put it in front of one".to_owned()),
        Some(home) if home.blocks == 0 || home.blocks >= CAPACITY => {
            misfit(format!("the device behind it has {} blocks, and it needs 1 to {}", home.blocks, CAPACITY - 1))
        }
        Some(home) => Ok(home),
    }
}

fn frames(layer: &'static str, space: &Space) -> Result<u32, ConfigError> {
    let frames = space.conventional_blocks.min(u64::from(space.buffer_blocks));
    match u32::try_from(frames) {
        Ok(frames) if (1..=BlockMap::PLACES).contains(&frames) => Ok(frames),
        _ => {
            let most = BlockMap::PLACES;
            let reason =
                format!("a cache of {frames} blocks must be at least 1 and at most {most}; choose another size");
            Err(ConfigError::Space { layer, reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_reads_are_cached_is_said_by_this_key() {
        assert!(CacheConfig::FIELDS.iter().any(|field| field.key == crate::fields::READ_ALLOCATE));
    }
}
