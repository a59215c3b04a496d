//! The configuration: its fields, their values, and which of them are refused.

use serde::Deserialize;

use super::INFO;
use crate::layers::zone_buffer::config::BufferConfig;
use crate::layers::{ConfigError, Field};

pub(super) const BYPASS: Field = Field {
    key: "bypass",
    default: "\"zone\"",
    meaning: "what goes past the buffer: \"zone\": writes that fill an empty zone; \"pointer\": whatever is at a write pointer",
    samples: &["\"zone\"", "\"pointer\""],
};

pub(super) const CHUNK_BLOCKS: Field = Field {
    key: "chunk_blocks",
    default: "16",
    meaning: "blocks of a chunk, at most a quarter of the buffer",
    samples: &["1", "2", "3", "16"],
};

pub(super) const WINDOW: Field = Field {
    key: "window",
    default: "1024",
    meaning: "write requests whose mean size is the threshold",
    samples: &["1", "5", "1024"],
};

pub(super) const SIZES: Field = Field {
    key: "sizes",
    default: "\"bytes\"",
    meaning: "what a write request is measured in: \"bytes\", as the host sent it, or the \"blocks\" that it touches",
    samples: &["\"bytes\"", "\"blocks\""],
};

pub(super) const HOT_BELOW: Field = Field {
    key: "hot_below",
    default: "false",
    meaning: "whether a request must be smaller than the mean to be hot",
    samples: &["false", "true"],
};

pub(super) const PHASE_TWO: Field = Field {
    key: "phase_two",
    default: "true",
    meaning: "whether blocks have roles; else the least recently written one leaves the hot buffer",
    samples: &["true", "true", "false"],
};

pub(super) const LAMBDA: Field = Field {
    key: "lambda",
    default: "0.1",
    meaning: "share of the hot buffer that is kept from SUP blocks",
    samples: &["0.1", "0.3", "0.5", "1.0"],
};

pub(super) const DEMOTE_TO: Field = Field {
    key: "demote_to",
    default: "\"lru\"",
    meaning: "the end of Q that a demoted SUP block goes to: \"lru\" leaves next, \"mru\" last",
    samples: &["\"lru\"", "\"mru\""],
};

pub(super) const DEMOTE_WHEN: Field = Field {
    key: "demote_when",
    default: "\"surplus\"",
    meaning: "\"surplus\": whenever there are too many SUP blocks; \"hit\": then, and when a LUP block of R is hit; \"literal\": only when one is",
    samples: &["\"surplus\"", "\"literal\"", "\"hit\""],
};

pub(super) const COLD_HITS: Field = Field {
    key: "cold_hits",
    default: "true",
    meaning: "whether a cold write of a block in the hot buffer changes its role",
    samples: &["true", "false"],
};

pub(super) const COLD_KNOWN: Field = Field {
    key: "cold_known",
    default: "true",
    meaning: "whether a cold write of a ghost or a shadow goes to the hot buffer",
    samples: &["true", "false"],
};

pub(super) const MOST_REMEMBERED: Field = Field {
    key: "most_remembered",
    default: "2.0",
    meaning: "ghosts and shadows for each slot of the hot buffer, at most; inf: no limit",
    samples: &["2.0", "0.0", "0.3", "inf"],
};

pub(super) const HOT_START: Field = Field {
    key: "hot_start",
    default: "0.25",
    meaning: "share of the buffer that is hot at first and at least",
    samples: &["0.25", "0.5", "0.0"],
};

pub(super) const HOT_MOST: Field = Field {
    key: "hot_most",
    default: "0.75",
    meaning: "share of the buffer that is hot at most, but never less than hot_start; 0.0: the split is fixed",
    samples: &["0.75", "1.0", "0.0"],
};

pub(super) const HOT_MOST_IS: Field = Field {
    key: "hot_most_is",
    default: "\"limit\"",
    meaning: "in whole chunks, no more than hot_most (\"limit\"), or the number of chunks that is \"nearest\" to it",
    samples: &["\"limit\"", "\"nearest\""],
};

pub(super) const PERIOD: Field = Field {
    key: "period",
    default: "10000",
    meaning: "write requests between two reallocations",
    samples: &["1", "3", "7", "30"],
};

pub(super) const ROUND_UP: Field = Field {
    key: "round_up",
    default: "false",
    meaning: "whether a part of a chunk of ghost hits moves a whole one, or only half a chunk and more",
    samples: &["false", "true"],
};

pub(super) const RETURN_IF: Field = Field {
    key: "return_if",
    default: "\"none\"",
    meaning: "a loaned chunk goes back if \"none\" of its blocks was written in the period, or not every one (\"some\")",
    samples: &["\"none\"", "\"some\""],
};

pub(super) const RETURN_WHEN: Field = Field {
    key: "return_when",
    default: "\"few\"",
    meaning: "loaned chunks go back after a period of \"few\" ghost hits, in which none is borrowed, or \"always\" after a period",
    samples: &["\"few\"", "\"always\""],
};

pub(super) const USED_BY: Field = Field {
    key: "used_by",
    default: "\"write\"",
    meaning: "what makes a block of a loaned chunk count as written: any \"write\" into it, or only a \"hit\", when it was there",
    samples: &["\"write\"", "\"hit\""],
};

pub(super) const RETURN_ORDER: Field = Field {
    key: "return_order",
    default: "\"highest\"",
    meaning: "of the chunks that go back, the one that does first: the \"highest\" of the buffer or the \"lowest\"",
    samples: &["\"highest\"", "\"lowest\""],
};

pub(super) const RESIZE_WHEN: Field = Field {
    key: "resize_when",
    default: "\"before\"",
    meaning: "when there may be fewer SUP blocks: \"before\" each chunk that goes back is emptied, or \"after\" the last",
    samples: &["\"before\"", "\"after\""],
};

pub(super) const VICTIMS: Field = Field {
    key: "victims",
    default: "\"weight\"",
    meaning: "the zone that leaves: of the largest \"weight\" (chunks x density), the smallest (\"lightest\"), or of the oldest chunk (\"fifo\")",
    samples: &["\"weight\"", "\"lightest\"", "\"fifo\""],
};

pub(super) const DENSITY: Field = Field {
    key: "density",
    default: "\"union\"",
    meaning: "density by the blocks the zone has then (\"union\"), as printed, which counts some twice (\"printed\"), or left out (\"none\")",
    samples: &["\"union\"", "\"printed\"", "\"none\""],
};

pub(super) const CHECKPOINTS: Field = Field {
    key: "checkpoints",
    default: "true",
    meaning: "whether a collection stops when a write to the zone waits",
    samples: &["true", "false"],
};

pub(super) const CHECKPOINT_FOR: Field = Field {
    key: "checkpoint_for",
    default: "\"zone\"",
    meaning: "which waiting writes stop it: those to the \"zone\", or only those to chunks that are still to be collected (\"rest\")",
    samples: &["\"zone\"", "\"rest\""],
};

pub(super) const LEAST_COLLECTED: Field = Field {
    key: "least_collected",
    default: "1",
    meaning: "chunks collected before a checkpoint may stop the collection",
    samples: &["1", "3"],
};

pub(super) const IDLE_FREE: Field = Field {
    key: "idle_free",
    default: "0.0",
    meaning: "share of the cold buffer's chunks that idle cleaning keeps free",
    samples: &["0.0", "0.5", "1.0"],
};

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
    /// How many ghosts and shadows a hot buffer of `hot` slots has at most, if there is a limit.
    pub fn remembered(&self, hot: u32) -> Option<u32> {
        let most = if self.phase_two { self.most_remembered } else { 0.0 };
        most.is_finite().then(|| (most * f64::from(hot)) as u32)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    #[serde(flatten)]
    pub buffer: BufferConfig,
    pub bypass: Bypass,
    pub chunk_blocks: u32,
    pub window: u32,
    pub sizes: Sizes,
    pub hot_below: bool,
    pub phase_two: bool,
    pub lambda: f64,
    pub demote_to: DemoteTo,
    pub demote_when: DemoteWhen,
    pub cold_hits: bool,
    pub cold_known: bool,
    pub most_remembered: f64,
    pub hot_start: f64,
    pub hot_most: f64,
    pub hot_most_is: HotMostIs,
    pub period: u32,
    pub round_up: bool,
    pub return_if: ReturnIf,
    pub return_when: ReturnWhen,
    pub return_order: ReturnOrder,
    pub resize_when: ResizeWhen,
    pub used_by: UsedBy,
    pub victims: Victims,
    pub density: Density,
    pub checkpoints: bool,
    pub checkpoint_for: CheckpointFor,
    pub least_collected: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            buffer: BufferConfig::default(),
            bypass: Bypass::Zone,
            chunk_blocks: 16,
            window: 1024,
            sizes: Sizes::Bytes,
            hot_below: false,
            phase_two: true,
            lambda: 0.1,
            demote_to: DemoteTo::Lru,
            demote_when: DemoteWhen::Surplus,
            cold_hits: true,
            cold_known: true,
            most_remembered: 2.0,
            hot_start: 0.25,
            hot_most: 0.75,
            hot_most_is: HotMostIs::Limit,
            period: 10_000,
            round_up: false,
            return_if: ReturnIf::None,
            return_when: ReturnWhen::Few,
            return_order: ReturnOrder::Highest,
            resize_when: ResizeWhen::Before,
            used_by: UsedBy::Write,
            victims: Victims::Weight,
            density: Density::Union,
            checkpoints: true,
            checkpoint_for: CheckpointFor::Zone,
            least_collected: 1,
        }
    }
}

impl Config {
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
