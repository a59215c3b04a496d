//! What can be chosen about a log over bands, and what the choice leaves to the host.

use crate::layers::config::{self, STEP_BLOCKS};
use crate::layers::{ConfigError, Field, LayerInfo};
use crate::parts::full_map::FullMap;
use crate::space::{Space, Zones};

/// The order in which compaction writes the blocks of its victims.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sequence {
    /// As they lie, victim by victim.
    Place,
    /// The hottest first.
    Heat,
}

/// Which temperature leaves the write buffer when it holds as many blocks of both.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Tie {
    /// Blocks that were not overwritten.
    Cold,
    /// Blocks that were.
    Hot,
}

/// Which of two bands of the same weighted score `cold-weight` takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Equal {
    /// The one with fewer live blocks, then the lower number.
    Fewest,
    /// The one closed longer ago.
    Oldest,
    /// The lower number.
    Lowest,
}

/// What compaction leaves of the heat of the blocks that it moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cooling {
    /// Nothing, as in the paper.
    Reset,
    /// Half, rounded down.
    Halve,
}

impl Cooling {
    /// What it leaves of `heat`.
    pub fn leaves(self, heat: u32) -> u32 {
        match self {
            Self::Reset => 0,
            Self::Halve => heat / 2,
        }
    }
}

/// What makes a band old, to which `log-cost-benefit` gives worth.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Age {
    /// That of the youngest block ever written there. Moved blocks are as young as the youngest victim.
    Band,
    /// That of its youngest live block. Moved blocks are as young as the youngest victim.
    Live,
    /// That of its youngest live block. Moved blocks keep their age.
    Block,
    /// The mean of the ages of its live blocks. Moved blocks keep their age.
    Mean,
}

/// What blocks of a band count for, in whole numbers, so that bands that count alike by the decimals of the
/// configuration are equal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Weights {
    dead: i64,
    cold: i64,
}

impl Weights {
    /// Decimals beyond the ninth are rounded; a score of 2^32 blocks still fits.
    const UNIT: f64 = 1e9;

    /// What a band of so many dead and cold live blocks counts for.
    pub fn score(self, dead: u32, cold: u32) -> i64 {
        self.dead * i64::from(dead) + self.cold * i64::from(cold)
    }
}

/// The values of all fields. A layer that does not list one of them keeps its default.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(default)]
pub(super) struct Config {
    pub spare_fraction: f64,
    pub spare_bands: u32,
    pub compact_bands: u32,
    pub buffer_bands: u32,
    pub buffer_volatile: bool,
    pub buffered_heat: bool,
    pub buffer_tie: Tie,
    pub sequence: Sequence,
    pub step_blocks: u32,
    pub age: Age,
    pub choices: u32,
    pub seed: u64,
    pub cold_weight: f64,
    pub hot_weight: f64,
    pub equal: Equal,
    pub open_bands: u8,
    pub cooling: Cooling,
    pub oracle: f64,
    pub idle_bands: u32,
    pub sample: u32,
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
            buffer_tie: Tie::Cold,
            sequence: Sequence::Place,
            step_blocks: 4096,
            age: Age::Block,
            choices: 10,
            seed: 1,
            cold_weight: 0.3,
            hot_weight: 0.0,
            equal: Equal::Fewest,
            open_bands: 1,
            cooling: Cooling::Reset,
            oracle: 0.0,
            idle_bands: 0,
            sample: 64,
        }
    }
}

impl Config {
    /// Whether something but the score depends on heat.
    pub fn heeds_heat(&self) -> bool {
        self.buffer_bands > 0 || self.sequence == Sequence::Heat
    }

    /// What blocks count for if a hot one counts for nothing: Eq. 3 of the paper, without its denominator.
    pub fn weights(&self) -> Weights {
        let whole = |weight: f64| (weight * Weights::UNIT).round() as i64;
        Weights { dead: whole(1.0 - self.hot_weight), cold: whole(self.cold_weight - self.hot_weight) }
    }
}

pub(super) const FIELDS: &[Field] = &[
    Field {
        key: "spare_fraction",
        default: "0.15",
        meaning: "share of the bands' blocks that the host does not get",
        samples: &["0.15", "0.3", "0.5", "0.0"],
    },
    Field {
        key: "spare_bands",
        default: "1",
        meaning: "empty bands kept to compact into; 0: victims wait in RAM, as in the paper",
        samples: &["1", "2", "0"],
    },
    Field {
        key: "compact_bands",
        default: "2",
        meaning: "bands compacted together at most, if their live blocks fit the spare bands",
        samples: &["1", "2", "3"],
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
        samples: &["true", "false"],
    },
    Field {
        key: "buffered_heat",
        default: "true",
        meaning: "whether overwriting a block in the write buffer makes it hotter",
        samples: &["true", "false"],
    },
    Field {
        key: "buffer_tie",
        default: "\"cold\"",
        meaning: "\"cold\" or \"hot\": which blocks leave the write buffer if there are as many of both",
        samples: &["\"cold\"", "\"hot\""],
    },
    Field {
        key: "sequence",
        default: "\"place\"",
        meaning: "\"place\" or \"heat\": the order in which compaction writes; the paper has heat",
        samples: &["\"place\"", "\"heat\""],
    },
    Field {
        key: "idle_bands",
        default: "0",
        meaning: "empty bands, beside the spare ones, that are compacted for in idle time, if there are spare ones; 0: none",
        samples: &["0", "2"],
    },
    STEP_BLOCKS,
];

const CHOICES: Field = Field {
    key: "choices",
    default: "10",
    meaning: "bands drawn for each victim, of which the one with the fewest live blocks is compacted",
    samples: &["10", "1", "2"],
};

const SEED: Field = Field {
    key: "seed",
    default: "1",
    meaning: "which stream of random numbers the draws are made with",
    samples: &["1", "2"],
};

const AGE: Field = Field {
    key: "age",
    default: "\"block\"",
    meaning: "\"block\", \"mean\", \"live\" or \"band\": whether each block keeps its age when it is moved, whether the \
              youngest or the mean one counts, and whether dead ones do",
    samples: &["\"block\"", "\"mean\"", "\"live\"", "\"band\""],
};

/// A layer's own fields, and those of the family.
const fn with_family<const N: usize>(own: &[Field]) -> [Field; N] {
    let mut fields = [own[0]; N];
    let mut i = 0;
    while i < N {
        fields[i] = if i < own.len() { own[i] } else { FIELDS[i - own.len()] };
        i += 1;
    }
    fields
}

/// The fields where victims are drawn.
pub(super) const FIELDS_OF_DRAWS: &[Field] = &with_family::<{ FIELDS.len() + 2 }>(&[CHOICES, SEED]);

/// The fields where bands have ages.
pub(super) const FIELDS_OF_AGES: &[Field] = &with_family::<{ FIELDS.len() + 1 }>(&[AGE]);

const COLD_WEIGHT: Field = Field {
    key: "cold_weight",
    default: "0.3",
    meaning: "what a cold live block of a band counts for, of a dead one",
    samples: &["0.3", "0.0", "0.7", "1.0"],
};

const HOT_WEIGHT: Field = Field {
    key: "hot_weight",
    default: "0.0",
    meaning: "what a hot one counts for, below 1; only (cold_weight - hot_weight) / (1 - hot_weight) matters",
    samples: &["0.0", "0.2"],
};

const EQUAL: Field = Field {
    key: "equal",
    default: "\"fewest\"",
    meaning: "\"fewest\" live blocks, \"oldest\" or \"lowest\" number: which of two bands that count alike is taken",
    samples: &["\"fewest\"", "\"oldest\"", "\"lowest\""],
};

const OPEN_BANDS: Field = Field {
    key: "open_bands",
    default: "1",
    meaning: "bands open at a time: 1 for all blocks, as in the paper; 2 for hot and for cold ones; 3 for hot ones, for \
              cold ones and for those that were hot until they were compacted",
    samples: &["1", "2", "3"],
};

const COOLING: Field = Field {
    key: "cooling",
    default: "\"reset\"",
    meaning: "\"reset\" or \"halve\": what compaction does to the heat of blocks; the paper resets it",
    samples: &["\"reset\"", "\"halve\""],
};

const ORACLE: Field = Field {
    key: "oracle",
    default: "0.0",
    meaning: "share of the host's blocks, from the first on, that are known to be hot, and all others cold, whatever is \
              written: a bound for workloads made so; 0: heat is learned",
    samples: &["0.0", "0.2"],
};

const SAMPLE: Field = Field {
    key: "sample",
    default: "64",
    meaning: "one of so many neighbours is written to the small disks that find the weight; of fewer, where bands of \
              these would have less than 32 blocks",
    samples: &["64", "1", "3"],
};

/// The fields where small disks find that weight.
pub(super) const FIELDS_OF_TUNING: &[Field] =
    &with_family::<{ FIELDS.len() + 5 }>(&[SAMPLE, EQUAL, OPEN_BANDS, COOLING, ORACLE]);

/// The fields where cold blocks have a weight.
pub(super) const FIELDS_OF_WEIGHTS: &[Field] =
    &with_family::<{ FIELDS.len() + 6 }>(&[COLD_WEIGHT, HOT_WEIGHT, EQUAL, OPEN_BANDS, COOLING, ORACLE]);

/// More choices than this are as good as greedy and only take time.
const MOST_CHOICES: u32 = 1000;

/// More blocks of RAM than this are taken for a mistake.
const MOST_RAM: u64 = 1 << 28;

/// The configuration of `layer`, the bands there are and the host's capacity on them.
pub(super) fn read(
    layer: &LayerInfo,
    space: &Space,
    config: &toml::Table,
) -> Result<(Config, Zones, u64), ConfigError> {
    let config: Config = config::read(layer, config)?;
    let layer = layer.name;
    if config.step_blocks == 0 || config.compact_bands == 0 || !(0.0..1.0).contains(&config.spare_fraction) {
        let reason =
            "step_blocks and compact_bands must be at least 1, spare_fraction at least 0 and below 1".to_owned();
        return Err(ConfigError::Field { layer, reason });
    }
    if !(1..=MOST_CHOICES).contains(&config.choices) {
        let reason = format!("choices is {}; draw at least 1 band and at most {MOST_CHOICES}", config.choices);
        return Err(ConfigError::Field { layer, reason });
    }
    if !(0.0..=1.0).contains(&config.cold_weight) || !(0.0..1.0).contains(&config.hot_weight) {
        let (cold, hot) = (config.cold_weight, config.hot_weight);
        let reason = format!("cold_weight is {cold}, hot_weight {hot}; choose from 0 to 1, the latter below 1");
        return Err(ConfigError::Field { layer, reason });
    }
    if config.sample == 0 {
        return Err(ConfigError::Field { layer, reason: "sample must be at least 1".to_owned() });
    }
    if !(1..=3).contains(&config.open_bands) || !(0.0..=1.0).contains(&config.oracle) {
        let reason =
            format!("open_bands is {}, oracle {}; choose 1 to 3, and 0 to 1", config.open_bands, config.oracle);
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
    if ram > MOST_RAM || physical >= FullMap::PLACES {
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
