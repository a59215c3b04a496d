//! The configuration of `fifo-log`: every reading of the paper that changes a result.

use crate::layers::{Field, SPARE_ZONES, STEP_BLOCKS};

pub(super) const FIELDS: &[Field] = &[
    SPARE_ZONES,
    STEP_BLOCKS,
    Field {
        key: "interruptible",
        default: "true",
        meaning: "reads may be served between the steps of an eviction",
        samples: &["true", "false"],
    },
    Field {
        key: "clean_for",
        default: "\"block\"",
        meaning: "\"block\" or \"request\": what must fit before a write",
        samples: &["\"block\"", "\"request\""],
    },
    Field {
        key: "at_pointer",
        default: "\"direct\"",
        meaning: "\"direct\" or \"buffered\": what a buffered block does",
        samples: &["\"direct\"", "\"buffered\""],
    },
    Field {
        key: "idle_free",
        default: "0.0",
        meaning: "share of the slots that idle cleaning keeps free",
        samples: &["0.0", "0.5", "1.0"],
    },
];

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CleanFor {
    Block,
    Request,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AtPointer {
    Direct,
    Buffered,
}

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    pub spare_zones: u32,
    pub step_blocks: u32,
    pub interruptible: bool,
    pub clean_for: CleanFor,
    pub at_pointer: AtPointer,
    pub idle_free: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            spare_zones: 1,
            step_blocks: 4096,
            interruptible: true,
            clean_for: CleanFor::Block,
            at_pointer: AtPointer::Direct,
            idle_free: 0.0,
        }
    }
}
