//! The configuration: its fields, their values, and which of them are refused.

use serde::Deserialize;

use super::INFO;
use crate::ConfigError;
use crate::fields::{Interrupts, Spare, Steps};
use crate::parts::block_map::BlockMap;
use crate::zone_buffer::config::{BufferConfig, Trimming};
use imbrex_core::config::Configuration;

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bypass {
    Zone,
    Pointer,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DemoteTo {
    Lru,
    Mru,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DemoteWhen {
    Surplus,
    Hit,
    Literal,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReturnIf {
    None,
    Some,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Victims {
    Weight,
    Lightest,
    Fifo,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Density {
    Union,
    Printed,
    None,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sizes {
    Bytes,
    Blocks,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum HotMostIs {
    Limit,
    Nearest,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReturnWhen {
    Few,
    Always,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReturnOrder {
    Highest,
    Lowest,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ResizeWhen {
    Before,
    After,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UsedBy {
    Write,
    Hit,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CheckpointFor {
    Zone,
    Rest,
}

/// What decides about roles.
#[derive(Copy, Clone, Debug)]
pub(super) struct RoleRules {
    pub phase_two: bool,
    pub lambda: f64,
    pub demote_to: DemoteTo,
    pub demote_when: DemoteWhen,
    pub most_remembered: f64,
}

impl RoleRules {
    /// How many ghosts and shadows a hot buffer of `hot` slots has at most, if there is a limit: what is above all that
    /// can be listed is none.
    pub fn remembered(&self, hot: u32) -> Option<u32> {
        let most = if self.phase_two { self.most_remembered } else { 0.0 };
        let most = most * f64::from(hot);
        (most <= f64::from(BlockMap::PLACES)).then_some(most as u32)
    }
}

#[derive(Clone, Debug, Configuration)]
pub(super) struct AmphisbaenaConfig {
    #[field(flatten)]
    spare: Spare,
    #[field(flatten)]
    steps: Steps,
    #[field(flatten)]
    interrupts: Interrupts,
    /// what goes past the buffer: "zone": writes that fill an empty zone; "pointer": whatever is at a write pointer
    #[field(default = "zone", samples = ["zone", "pointer"], paper = "zone")]
    pub bypass: Bypass,
    /// blocks of a chunk, at most a quarter of the buffer
    #[field(default = 16, samples = [1, 2, 3, 16], paper = 16)]
    pub chunk_blocks: u32,
    /// write requests whose mean size is the threshold
    #[field(default = 1024, samples = [1, 5, 1024])]
    pub window: u32,
    /// what a write request is measured in: "bytes", as the host sent it, or the "blocks" that it touches
    #[field(default = "bytes", samples = ["bytes", "blocks"])]
    pub sizes: Sizes,
    /// whether a request must be smaller than the mean to be hot
    #[field(default = false, samples = [false, true])]
    pub hot_below: bool,
    /// whether blocks have roles; else the least recently written one leaves the hot buffer
    #[field(default = true, samples = [true, true, false])]
    pub phase_two: bool,
    /// share of the hot buffer that is kept from SUP blocks
    #[field(default = 0.1, samples = [0.1, 0.3, 0.5, 1.0])]
    pub lambda: f64,
    /// the end of Q that a demoted SUP block goes to: "lru" leaves next, "mru" last
    #[field(default = "lru", samples = ["lru", "mru"])]
    pub demote_to: DemoteTo,
    /// "surplus": whenever there are too many SUP blocks; "hit": then, and when a LUP block of R is hit; "literal":
    /// only when one is
    #[field(default = "surplus", samples = ["surplus", "literal", "hit"])]
    pub demote_when: DemoteWhen,
    /// whether a cold write of a block in the hot buffer changes its role
    #[field(default = true, samples = [true, false])]
    pub cold_hits: bool,
    /// whether a cold write of a ghost or a shadow goes to the hot buffer
    #[field(default = true, samples = [true, false])]
    pub cold_known: bool,
    /// ghosts and shadows for each slot of the hot buffer, at most; inf: no limit
    #[field(default = 2.0, samples = [2.0, 0.0, 0.3, inf], paper = inf)]
    pub most_remembered: f64,
    /// share of the buffer that is hot at first and at least
    #[field(default = 0.25, samples = [0.25, 0.5, 0.0])]
    pub hot_start: f64,
    /// share of the buffer that is hot at most, but never less than hot_start; 0.0: the split is fixed
    #[field(default = 0.75, samples = [0.75, 1.0, 0.0])]
    pub hot_most: f64,
    /// in whole chunks, no more than hot_most ("limit"), or the number of chunks that is "nearest" to it
    #[field(default = "limit", samples = ["limit", "nearest"])]
    pub hot_most_is: HotMostIs,
    /// write requests between two reallocations
    #[field(default = 10_000, samples = [1, 3, 7, 30])]
    pub period: u32,
    /// whether a part of a chunk of ghost hits moves a whole one, or only half a chunk and more
    #[field(default = false, samples = [false, true])]
    pub round_up: bool,
    /// a loaned chunk goes back if "none" of its blocks was written in the period, or not every one ("some")
    #[field(default = "none", samples = ["none", "some"])]
    pub return_if: ReturnIf,
    /// loaned chunks go back after a period of "few" ghost hits, in which none is borrowed, or "always" after a period
    #[field(default = "few", samples = ["few", "always"])]
    pub return_when: ReturnWhen,
    /// of the chunks that go back, the one that does first: the "highest" of the buffer or the "lowest"
    #[field(default = "highest", samples = ["highest", "lowest"])]
    pub return_order: ReturnOrder,
    /// when there may be fewer SUP blocks: "before" each chunk that goes back is emptied, or "after" the last
    #[field(default = "before", samples = ["before", "after"])]
    pub resize_when: ResizeWhen,
    /// what makes a block of a loaned chunk count as written: any "write" into it, or only a "hit", when it was there
    #[field(default = "write", samples = ["write", "hit"])]
    pub used_by: UsedBy,
    /// the zone that leaves: of the largest "weight" (chunks x density), the smallest ("lightest"), or of the oldest
    /// chunk ("fifo")
    #[field(default = "weight", samples = ["weight", "lightest", "fifo"])]
    pub victims: Victims,
    /// density by the blocks the zone has then ("union"), as printed, which counts some twice ("printed"), or left out
    /// ("none")
    #[field(default = "union", samples = ["union", "printed", "none"])]
    pub density: Density,
    /// whether a collection stops when a write to the zone waits
    #[field(default = true, samples = [true, false])]
    pub checkpoints: bool,
    /// which waiting writes stop it: those to the "zone", or only those to chunks that are still to be collected
    /// ("rest")
    #[field(default = "zone", samples = ["zone", "rest"])]
    pub checkpoint_for: CheckpointFor,
    /// chunks collected before a checkpoint may stop the collection
    #[field(default = 1, samples = [1, 3])]
    pub least_collected: u32,
    /// share of the cold buffer's chunks that idle cleaning keeps free
    #[field(default = 0.0, samples = [0.0, 0.5, 1.0])]
    idle_free: f64,
    #[field(flatten)]
    trimming: Trimming,
}

impl AmphisbaenaConfig {
    /// Refuses values that mean nothing.
    pub fn check(&self) -> Result<(), ConfigError> {
        let shares = [self.lambda, self.hot_start, self.hot_most];
        let is_wrong = self.chunk_blocks == 0
            || self.window == 0
            || self.period == 0
            || self.least_collected == 0
            || !shares.iter().all(|share| (0.0..=1.0).contains(share))
            || self.most_remembered.is_nan()
            || self.most_remembered < 0.0;
        if !is_wrong {
            return Ok(());
        }
        let reason = "chunk_blocks, window, period and least_collected must be at least 1, lambda, hot_start and hot_most between 0 and 1, \
                      and most_remembered not below 0";
        Err(ConfigError::Field { layer: INFO.name, reason: reason.to_owned() })
    }

    /// What the buffer is set to. For what the layer does by rules of its own, that is the default.
    pub fn buffer(&self) -> BufferConfig {
        let Self { spare, steps, interrupts, idle_free, trimming, .. } = self.clone();
        BufferConfig { spare, steps, interrupts, idle_free, trimming, ..BufferConfig::default() }
    }

    pub fn role_rules(&self) -> RoleRules {
        RoleRules {
            phase_two: self.phase_two,
            lambda: self.lambda,
            demote_to: self.demote_to,
            demote_when: self.demote_when,
            most_remembered: self.most_remembered,
        }
    }
}
