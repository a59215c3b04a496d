//! The configuration of `zone-alloy`.

use super::grow::{Elastic, natives_with};
use super::head::Head;
use super::quantum::Quantum;
use super::swap::{Swap, SwapConfig};
use super::{INFO, ZoneAlloy};
use crate::layer::TranslationLayer;
use crate::layers::block_lru::BlockLru;
use crate::layers::config;
use crate::layers::fifo_log::FifoLog;
use crate::layers::loop_back::LoopBack;
use crate::layers::zone_buffer::config::{AtPointer, BufferConfig, CleanFor};
use crate::layers::zone_buffer::{Policy, ZoneBuffer};
use crate::layers::{ConfigError, Field};
use crate::parts::step_size::StepSize;
use crate::parts::zone_map::ZoneMap;
use crate::space::{Realms, Space};

pub(super) const CONVERTED: Field = Field {
    key: "converted",
    default: "0.0",
    meaning: "share of the realms that are sequential at first, the innermost; one is in any case",
    samples: &["0.0", "0.4", "0.8", "1.0"],
};

pub(super) const FIRST_ZONES: Field = Field {
    key: "first_zones",
    default: "0",
    meaning: "zones that the host sees at first; 0: all that are active, but for those kept",
    samples: &["0", "1"],
};

pub(super) const BOUND_MS: Field = Field {
    key: "bound_ms",
    default: "100.0",
    meaning: "by how much a conversion may delay a request, in ms; 0: by all of it",
    samples: &["0.0", "150.0"],
};

pub(super) const BATCH_BLOCKS: Field = Field {
    key: "batch_blocks",
    default: "16384",
    meaning: "blocks of a zone that moves that are read before they are written",
    samples: &["1", "5", "64"],
};

pub(super) const POLICY: Field = Field {
    key: "policy",
    default: "\"loop-back\"",
    meaning: "\"loop-back\", \"fifo\" or \"lru\": which zone leaves the buffer",
    samples: &["\"loop-back\"", "\"fifo\"", "\"lru\""],
};

pub(super) const SWAP: Field = Field {
    key: "swap",
    default: "true",
    meaning: "whether zones are swapped; with the policy loop-back only",
    samples: &["true", "false"],
};

pub(super) const SWAP_ABOVE: Field = Field {
    key: "swap_above",
    default: "0.1",
    meaning: "share of the buffer above which a zone is a candidate",
    samples: &["0.1", "0.0", "0.5"],
};

pub(super) const PARTNER: Field = Field {
    key: "partner",
    default: "\"oldest\"",
    meaning: "\"oldest\" or \"nearest\": which idle conventional zone it changes places with",
    samples: &["\"oldest\"", "\"nearest\""],
};

pub(super) const VETO_READS: Field = Field {
    key: "veto_reads",
    default: "false",
    meaning: "a zone read more than written in an epoch is no candidate",
    samples: &["false", "true"],
};

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    LoopBack,
    Fifo,
    Lru,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
struct Config {
    converted: f64,
    first_zones: u32,
    bound_ms: f64,
    batch_blocks: u32,
    policy: Kind,
    requeue_blocks: u32,
    reads_count: bool,
    step_blocks: u32,
    interruptible: bool,
    clean_for: CleanFor,
    at_pointer: AtPointer,
    idle_free: f64,
    #[serde(flatten)]
    swap: SwapConfig,
}

impl Default for Config {
    fn default() -> Self {
        let BufferConfig { step_blocks, interruptible, clean_for, at_pointer, idle_free, .. } = BufferConfig::default();
        Self {
            converted: 0.0,
            first_zones: 0,
            bound_ms: 100.0,
            batch_blocks: 16_384,
            policy: Kind::LoopBack,
            requeue_blocks: 0,
            reads_count: false,
            step_blocks,
            interruptible,
            clean_for,
            at_pointer,
            idle_free,
            swap: SwapConfig::default(),
        }
    }
}

impl Config {
    fn buffer(&self) -> BufferConfig {
        BufferConfig {
            spare_zones: 1,
            step_blocks: self.step_blocks,
            interruptible: self.interruptible,
            clean_for: self.clean_for,
            at_pointer: self.at_pointer,
            idle_free: self.idle_free,
            // Spare zones are for swaps and growth.
            empty_trimmed: false,
        }
    }
}

pub(super) fn build(space: &Space, config: &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> {
    let mut config: Config = config::read(&INFO, config)?;
    let Some(realms) = space.realms else {
        let reason = "it needs realms that can be activated; choose a hybrid drive such as zonealloy".to_owned();
        return Err(ConfigError::Space { layer: INFO.name, reason });
    };
    config.swap.swap &= config.policy == Kind::LoopBack;
    match config.policy {
        Kind::LoopBack => {
            let (reserve, step, reads) = (config.requeue_blocks, config.step_blocks, config.reads_count);
            let policy = |slots, zones: &ZoneMap| LoopBack::with_reserve(slots, zones, reserve, step, reads);
            made(space, &realms, &config, policy)
        }
        Kind::Fifo => made(space, &realms, &config, |slots, _| FifoLog::new(slots)),
        Kind::Lru => made(space, &realms, &config, |slots, _| BlockLru::new(slots, config.reads_count)),
    }
}

fn made<P: Policy + 'static>(
    space: &Space,
    realms: &Realms,
    config: &Config,
    policy: impl FnOnce(u32, &ZoneMap) -> P,
) -> Result<Box<dyn TranslationLayer>, ConfigError> {
    let wrong = |reason: String| ConfigError::Field { layer: INFO.name, reason };
    let quantum = Quantum::new(config.bound_ms, &realms.times).map_err(wrong)?;
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
fn zones_at_first(realms: &Realms, config: &Config) -> Result<(u32, u32), ConfigError> {
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
