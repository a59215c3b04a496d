//! The configuration of `zone-alloy`.

use super::grow::{Elastic, natives_with};
use super::head::Head;
use super::quantum::Quantum;
use super::swap::{Swap, SwapConfig};
use super::{INFO, ZoneAlloy};
use crate::ConfigError;
use crate::parts::step_size::StepSize;
use crate::parts::zone_map::ZoneMap;
use crate::shingled::block_lru::BlockLru;
use crate::shingled::fifo_log::FifoLog;
use crate::shingled::loop_back::{LoopBack, LoopConfig};
use crate::zone_buffer::config::{BufferConfig, Trimming};
use crate::zone_buffer::{Policy, ZoneBuffer};
use imbrex_core::config::Configuration;
use imbrex_core::layer::TranslationLayer;
use imbrex_core::space::{Realms, Space};

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    LoopBack,
    Fifo,
    Lru,
}

#[derive(Debug, Configuration)]
pub(super) struct ZoneAlloyConfig {
    /// share of the realms that are sequential at first, the innermost; one is in any case
    #[field(default = 0.0, samples = [0.0, 0.4, 0.8, 1.0])]
    converted: f64,
    /// zones that the host sees at first; 0: all that are active, but for those kept
    #[field(default = 0, samples = [0, 1])]
    first_zones: u32,
    /// by how much a conversion may delay a request, in ms; 0: by all of it
    #[field(default = 100.0, samples = [0.0, 150.0])]
    bound_ms: f64,
    /// blocks of a zone that moves that are read before they are written
    #[field(default = 16_384, samples = [1, 5, 64])]
    batch_blocks: u32,
    /// "loop-back", "fifo" or "lru": which zone leaves the buffer
    #[field(default = "loop-back", samples = ["loop-back", "fifo", "lru"])]
    policy: Kind,
    #[field(flatten)]
    again: LoopConfig,
    #[field(flatten)]
    swap: SwapConfig,
    #[field(flatten, without(spare_zones, empty_trimmed))]
    buffer: BufferConfig,
}

impl ZoneAlloyConfig {
    fn buffer(&self) -> BufferConfig {
        // Spare zones are for swaps and growth.
        BufferConfig { trimming: Trimming { empty_trimmed: false }, ..self.buffer.clone() }
    }
}

pub(super) fn build(space: &Space, config: &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> {
    let mut config: ZoneAlloyConfig = INFO.read(config)?;
    let Some(realms) = space.realms else {
        let reason = "it needs realms that can be activated; choose a hybrid drive such as zonealloy".to_owned();
        return Err(ConfigError::Space { layer: INFO.name, reason });
    };
    config.swap.swap &= config.policy == Kind::LoopBack;
    match config.policy {
        Kind::LoopBack => {
            let (again, step_blocks) = (&config.again, config.buffer.steps.step_blocks);
            let policy = |slots, zones: &ZoneMap| LoopBack::configured(slots, zones, again, step_blocks);
            made(space, &realms, &config, policy)
        }
        Kind::Fifo => made(space, &realms, &config, |slots, _| FifoLog::new(slots)),
        Kind::Lru => made(space, &realms, &config, |slots, _| BlockLru::new(slots, config.again.reads.reads_count)),
    }
}

fn made<P: Policy + 'static>(
    space: &Space,
    realms: &Realms,
    config: &ZoneAlloyConfig,
    policy: impl FnOnce(u32, &ZoneMap) -> P,
) -> Result<Box<dyn TranslationLayer>, ConfigError> {
    let wrong = |reason: String| ConfigError::Field { layer: INFO.name, reason };
    let quantum = Quantum::new(config.bound_ms, &realms.times).map_err(|error| wrong(error.to_string()))?;
    if config.batch_blocks == 0 || !(0.0..=1.0).contains(&config.swap.swap_above) {
        return Err(wrong("batch_blocks must be at least 1 and swap_above between 0 and 1".to_owned()));
    }
    let (sequential, natives) = zones_at_first(realms, config)?;
    let most = natives_with(realms, realms.count);
    let zones = ZoneMap::hybrid(realms, sequential, natives, most);
    let buffer = ZoneBuffer::over(zones, &INFO, space, config.buffer(), policy)?;
    let batch_blocks = config.batch_blocks.min(realms.zone_blocks);
    Ok(Box::new(ZoneAlloy {
        buffer_ram: buffer.facts().ram_blocks,
        batch_blocks,
        step: StepSize::new(quantum.blocks().min(batch_blocks)),
        buffer,
        realms: *realms,
        quantum,
        head: Head::default(),
        bound_ns: (quantum != Quantum::Whole).then_some((config.bound_ms * 1e6) as u64),
        elastic: Elastic::new(natives, realms.count, sequential),
        relocation: None,
        swap: Swap::new(config.swap, most),
    }))
}

/// How many realms are sequential at first, and how many zones the host sees.
fn zones_at_first(realms: &Realms, config: &ZoneAlloyConfig) -> Result<(u32, u32), ConfigError> {
    let misfit = |reason: String| ConfigError::Space { layer: INFO.name, reason };
    if !(0.0..=1.0).contains(&config.converted) {
        let reason = format!("converted = {} is no share; give one between 0 and 1", config.converted);
        return Err(ConfigError::Field { layer: INFO.name, reason });
    }
    if realms.count < 2 || realms.sequential_zones <= realms.conventional_zones {
        return Err(misfit("it needs two realms or more that hold more when they are sequential".to_owned()));
    }
    let sequential = ((f64::from(realms.count) * config.converted).round() as u32).max(1);
    let most = natives_with(realms, sequential);
    match config.first_zones {
        0 => Ok((sequential, most)),
        zones if zones <= most => Ok((sequential, zones)),
        zones => {
            Err(misfit(format!("first_zones = {zones}, and {most} are active beside those kept; give at most those")))
        }
    }
}
