//! What can be chosen about a log over bands, and what the choice leaves to the host.

use crate::layers::{ConfigError, Field, LayerInfo, STEP_BLOCKS, configure};
use crate::parts::block_map::BlockMap;
use crate::parts::full_map::FullMap;
use crate::space::{Space, Zones};

/// Which bands are compacted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Score {
    /// Those closed longest ago.
    Fifo,
    /// Those with the fewest live blocks: the paper's Empty.
    Greedy,
    /// Those with the most (1 − u)·age / (1 + u).
    CostBenefit,
}

/// The order in which compaction writes the blocks of its victims.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sequence {
    /// As they lie, victim by victim.
    Place,
    /// The hottest first.
    Heat,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    pub spare_fraction: f64,
    pub spare_bands: u32,
    pub compact_bands: u32,
    pub buffer_bands: u32,
    pub buffer_volatile: bool,
    pub buffered_heat: bool,
    pub sequence: Sequence,
    pub step_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            spare_fraction: 0.15,
            spare_bands: 1,
            compact_bands: 2,
            buffer_bands: 0,
            buffer_volatile: true,
            buffered_heat: true,
            sequence: Sequence::Place,
            step_blocks: 4096,
        }
    }
}

pub(super) const FIELDS: &[Field] = &[
    Field {
        key: "spare_fraction",
        default: "0.15",
        meaning: "share of the bands' blocks that the host does not get",
        samples: &["0.15", "0.3", "0.5"],
    },
    Field {
        key: "spare_bands",
        default: "1",
        meaning: "empty bands kept to compact into; 0: victims wait in RAM, as in the paper",
        samples: &["1", "2"],
    },
    Field {
        key: "compact_bands",
        default: "2",
        meaning: "bands compacted together at most, if their live blocks fit the spare bands",
        samples: &["1", "2", "4"],
    },
    Field {
        key: "buffer_bands",
        default: "0",
        meaning: "size of the write buffer in RAM, in bands; 0: none, the paper has 2",
        samples: &["0", "0", "1", "2"],
    },
    Field {
        key: "buffer_volatile",
        default: "true",
        meaning: "whether the write buffer is lost with the power, so that older copies on bands stay live; the paper's is not",
        samples: &["true"],
    },
    Field {
        key: "buffered_heat",
        default: "true",
        meaning: "whether overwriting a block in the write buffer makes it hotter",
        samples: &["true", "false"],
    },
    Field {
        key: "sequence",
        default: "\"place\"",
        meaning: "\"place\" or \"heat\": the order in which compaction writes; the paper has heat",
        samples: &["\"place\"", "\"heat\""],
    },
    STEP_BLOCKS,
];

/// The configuration of `layer`, the bands there are and the host's capacity on them.
pub(super) fn read(
    layer: &LayerInfo,
    space: &Space,
    config: &toml::Table,
) -> Result<(Config, Zones, u64), ConfigError> {
    let config: Config = configure(layer.name, config)?;
    let layer = layer.name;
    if config.step_blocks == 0 || config.compact_bands == 0 || !(0.0..1.0).contains(&config.spare_fraction) {
        let reason =
            "step_blocks and compact_bands must be at least 1, spare_fraction at least 0 and below 1".to_owned();
        return Err(ConfigError::Field { layer, reason });
    }
    let misfit = |reason: String| Err(ConfigError::Space { layer, reason });
    let Some(zones) = space.zones else {
        return misfit("it needs sequential zones; choose a zoned drive".to_owned());
    };
    if zones.count <= config.spare_bands {
        return misfit(format!("{} bands leave none beside {} spare", zones.count, config.spare_bands));
    }
    let band = u64::from(zones.zone_blocks);
    let physical = u64::from(zones.count) * band;
    let ram = (u64::from(config.buffer_bands) + u64::from(config.compact_bands)).saturating_mul(band);
    if ram > u64::from(BlockMap::PLACES) || physical >= FullMap::PLACES {
        let reason = format!("buffer_bands and compact_bands make {ram} blocks of RAM; choose less");
        return misfit(if physical >= FullMap::PLACES {
            format!("it has {physical} blocks, too many")
        } else {
            reason
        });
    }
    // Whatever the host has written, a closed band then has a dead slot.
    let most = physical - u64::from(config.spare_bands) * band - 1;
    let capacity = ((physical as f64 * (1.0 - config.spare_fraction)) as u64).min(most);
    if capacity == 0 {
        return misfit(format!("{physical} blocks leave none for the host; choose a smaller spare_fraction"));
    }
    Ok((config, zones, capacity))
}
