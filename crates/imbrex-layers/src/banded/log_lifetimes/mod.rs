//! `log-lifetimes`: a log that infers how long each block will live, writes blocks that will die together to bands of
//! their own, and compacts the bands that are worth it most by how much is left of their blocks' lives
//! (`log_structured/lifetimes`). It has nothing to be set for a workload.

use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;

use super::log_structured::{HeatConfig, LogConfig, LogStructured, Score, wrong};
use crate::fields::Steps;
use crate::{Family, LayerInfo};

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "log-lifetimes",
    family: Some(Family::Banded),
    source: "the same, after Wang et al., FAST 2022, and Lomet and Luo, ICDE 2021",
    summary: "Everything is appended; blocks that will live as long are together, and bands compacted by what is left of lives.",
    recording: Recording::Zoned,
    buffered: false,
    fields: LifetimesConfig::FIELDS,
    make: &|space, table| {
        let config: LifetimesConfig = INFO.read(table)?;
        let (sample, log) = (config.sample, config.log());
        log.check(INFO.name)?;
        if log.spare_bands == 0 {
            wrong(INFO.name, "spare_bands must be at least 1".to_owned())?;
        }
        let log = LogStructured::new(INFO.name, Score::Rest, space, log, HeatConfig::default())?;
        Ok(Box::new(if sample > 0 { log.tuned(sample) } else { log }))
    },
};

/// The fields of logs that nothing need be set of.
#[derive(Clone, Debug, Configuration)]
struct LifetimesConfig {
    /// one of this many neighbours is written to the miniatures that choose how blocks are divided into streams and bands
    /// compacted; 0: none, and the first strategy is always used
    #[field(default = 64, samples = [64, 1, 3, 0])]
    pub sample: u32,
    /// share of the bands' blocks that the host does not get
    #[field(default = 0.15, samples = [0.15, 0.5, 0.9])]
    pub spare_fraction: f64,
    /// empty bands kept to compact into, 1 or more
    #[field(default = 1, samples = [1, 2])]
    pub spare_bands: u32,
    /// bands compacted together at most, if their live blocks fit the spare bands
    #[field(default = 1, samples = [1, 2, 3])]
    pub compact_bands: u32,
    /// empty bands, beside the spare ones, that are compacted for in idle time; 0: none
    #[field(default = 0, samples = [0, 2])]
    pub idle_bands: u32,
    #[field(flatten)]
    pub steps: Steps,
}

impl LifetimesConfig {
    fn log(self) -> LogConfig {
        let Self { sample: _, spare_fraction, spare_bands, compact_bands, idle_bands, steps } = self;
        LogConfig { spare_fraction, spare_bands, compact_bands, idle_bands, steps, ..LogConfig::default() }
    }
}
