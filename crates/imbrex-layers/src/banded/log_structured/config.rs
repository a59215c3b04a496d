//! What can be chosen about a log over bands, and what the choice leaves to the host.

use crate::ConfigError;
use crate::fields::Steps;
use crate::parts::full_map::FullMap;
use imbrex_core::config::Configuration;
use imbrex_core::space::{Space, Zones};

/// The order in which compaction writes the blocks of its victims.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sequence {
    /// In the order of their places, victim by victim.
    Place,
    /// The hottest first.
    Heat,
}

/// Which temperature leaves the write buffer when it holds as many blocks of both.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// Blocks that were not overwritten.
    Cold,
    /// Blocks that were.
    Hot,
}

/// Which of two bands of the same weighted score `cold-weight` takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Equal {
    /// The one with fewer live blocks, then the lower number.
    Fewest,
    /// The one closed longer ago.
    Oldest,
    /// The lower number.
    Lowest,
}

/// Which of two bands with equally few live blocks `log-greedy` takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fewest {
    /// The one that came to that number first; of large bands, to nearly that number.
    First,
    /// The one closed longest ago.
    Oldest,
    /// The lower number, as `cold-weight` with a weight of 0 does.
    Lowest,
}

/// What compaction leaves of the heat of the blocks that it moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cooling {
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
pub enum Age {
    /// The age of the youngest block ever written there. Moved blocks are as young as the youngest victim.
    Band,
    /// The age of its youngest live block. Moved blocks are as young as the youngest victim.
    Live,
    /// The age of its youngest live block. Moved blocks keep their age.
    Block,
    /// The mean of the ages of its live blocks. Moved blocks keep their age.
    Mean,
}

/// What blocks of a band count for, in whole numbers, so that bands that count alike by the decimals of the
/// configuration are equal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Weights {
    dead: i64,
    cold: i64,
}

impl Weights {
    /// Decimals beyond the ninth are rounded; a score of 2^32 blocks still fits.
    const UNIT: f64 = 1e9;

    /// What blocks count for if a hot one counts for nothing: Eq. 3 of the paper, without its denominator.
    pub fn of(cold: f64, hot: f64) -> Self {
        let whole = |weight: f64| (weight * Self::UNIT).round() as i64;
        Self { dead: whole(1.0 - hot), cold: whole(cold - hot) }
    }

    /// The score of a band with `dead` dead blocks and `cold` cold live ones.
    pub fn score(self, dead: u32, cold: u32) -> i64 {
        self.dead * i64::from(dead) + self.cold * i64::from(cold)
    }
}

/// The fields of every log.
#[derive(Clone, Debug, Configuration)]
pub struct LogConfig {
    /// share of the bands' blocks that the host does not get
    #[field(default = 0.15, samples = [0.15, 0.3, 0.5, 0.0])]
    pub spare_fraction: f64,
    /// empty bands kept to compact into; 0: victims wait in RAM, as in the paper
    #[field(default = 1, samples = [1, 2, 0], paper = 0)]
    pub spare_bands: u32,
    /// bands compacted together at most, if their live blocks fit the spare bands
    #[field(default = 2, samples = [1, 2, 3])]
    pub compact_bands: u32,
    /// size of the write buffer in RAM, in bands; 0: none, the paper has 2
    #[field(default = 0, samples = [0, 0, 1, 2], paper = 2)]
    pub buffer_bands: u32,
    /// whether the write buffer is lost with the power, so that older copies on bands stay live; the paper's is not
    #[field(default = true, samples = [true, false], paper = false)]
    pub buffer_volatile: bool,
    /// whether overwriting a block in the write buffer makes it hotter
    #[field(default = true, samples = [true, false])]
    pub buffered_heat: bool,
    /// "cold" or "hot": which blocks leave the write buffer if there are as many of both
    #[field(default = "cold", samples = ["cold", "hot"])]
    pub buffer_tie: Tie,
    /// "place" or "heat": the order in which compaction writes; the paper has heat
    #[field(default = "place", samples = ["place", "heat"], paper = "heat")]
    pub sequence: Sequence,
    /// empty bands, beside the spare ones, that are compacted for in idle time, if there are spare ones; 0: none
    #[field(default = 0, samples = [0, 2])]
    pub idle_bands: u32,
    #[field(flatten)]
    pub steps: Steps,
}

/// What is done about the heat of blocks where cold ones have a weight. Other logs have the defaults.
#[derive(Clone, Debug, Configuration)]
pub struct HeatConfig {
    /// "fewest" live blocks, "oldest" or "lowest" number: which of two bands that count alike is taken
    #[field(default = "fewest", samples = ["fewest", "oldest", "lowest"])]
    pub equal: Equal,
    /// bands open at a time: 1 for all blocks, as in the paper; 2 for hot and for cold ones; 3 for hot ones, for cold
    /// ones and for those that were hot until they were compacted
    #[field(default = 1, samples = [1, 2, 3])]
    pub open_bands: u8,
    /// overwrites since it was last compacted that make a block hot; the paper has 1
    #[field(default = 1, samples = [1, 2])]
    pub hot_from: u16,
    /// "reset" or "halve": what compaction does to the heat of blocks; the paper resets it
    #[field(default = "reset", samples = ["reset", "halve"])]
    pub cooling: Cooling,
    /// share of the host's blocks, from the first on, that are known to be hot, and all others cold, whatever is
    /// written: a bound for workloads made so; 0: heat is learned
    #[field(default = 0.0, samples = [0.0, 0.2])]
    pub oracle: f64,
}

/// More blocks of RAM than this are taken for a mistake.
const MOST_RAM: u64 = 1 << 28;

/// The error that a field has a wrong value.
pub fn wrong(layer: &'static str, reason: String) -> Result<(), ConfigError> {
    Err(ConfigError::Field { layer, reason })
}

impl LogConfig {
    /// Whether something but the score depends on heat.
    pub fn heeds_heat(&self) -> bool {
        self.buffer_bands > 0 || self.sequence == Sequence::Heat
    }

    pub fn check(&self, layer: &'static str) -> Result<(), ConfigError> {
        if self.steps.step_blocks == 0 || self.compact_bands == 0 || !(0.0..1.0).contains(&self.spare_fraction) {
            let reason = "step_blocks and compact_bands must be at least 1, spare_fraction at least 0 and below 1";
            return wrong(layer, reason.to_owned());
        }
        Ok(())
    }

    /// The bands there are for `layer`, and the host's capacity on them.
    pub fn fit(&self, layer: &'static str, space: &Space) -> Result<(Zones, u64), ConfigError> {
        let misfit = |reason: String| Err(ConfigError::Space { layer, reason });
        let Some(zones) = space.zones else {
            return misfit("it needs sequential zones; choose a zoned drive".to_owned());
        };
        if zones.count <= self.spare_bands {
            return misfit(format!("{} bands leave none beside {} spare", zones.count, self.spare_bands));
        }
        let band = u64::from(zones.zone_blocks);
        let physical = u64::from(zones.count) * band;
        let ram = (u64::from(self.buffer_bands) + u64::from(self.compact_bands)).saturating_mul(band);
        if ram > MOST_RAM || physical >= FullMap::PLACES {
            let reason = format!("buffer_bands and compact_bands make {ram} blocks of RAM; choose less");
            return misfit(if physical >= FullMap::PLACES {
                format!("it has {physical} blocks, too many")
            } else {
                reason
            });
        }
        // Whatever the host has written, a closed band then has a dead slot.
        let most = physical - u64::from(self.spare_bands) * band - 1;
        let capacity = ((physical as f64 * (1.0 - self.spare_fraction)) as u64).min(most);
        if capacity == 0 {
            return misfit(format!("{physical} blocks leave none for the host; choose a smaller spare_fraction"));
        }
        if self.buffer_bands > zones.count {
            let Self { buffer_bands, .. } = self;
            return misfit(format!(
                "buffer_bands = {buffer_bands}, and the drive has {} bands; choose less",
                zones.count
            ));
        }
        Ok((zones, capacity))
    }
}

impl HeatConfig {
    /// Refuses what no log can do.
    pub fn check(&self, layer: &'static str) -> Result<(), ConfigError> {
        let Self { open_bands, hot_from, oracle, .. } = *self;
        if !(1..=3).contains(&open_bands) || hot_from == 0 || !(0.0..=1.0).contains(&oracle) {
            let reason = format!(
                "open_bands is {open_bands}, hot_from {hot_from}, oracle {oracle}; choose 1 to 3, 1 or more, and 0 to 1"
            );
            return wrong(layer, reason);
        }
        Ok(())
    }
}
