//! Amphisbaena: a buffer of conventional zones in front of shingled ones. Applied Sciences 2024, 14, 630.

mod claims;
mod studies;

use super::paper::{Paper, Variant};

/// Its evaluation, sections 6.2 to 6.4, and one study that the paper leaves out: what each mechanism is worth.
///
/// The zones are empty at first: on full ones nothing could be appended and nothing be filled, and the paper shows
/// both.
pub const PAPER: Paper = Paper {
    name: "amphisbaena",
    title: "Amphisbaena: A Novel Persistent Buffer Management Strategy (Applied Sciences 2024, 14, 630)",
    drive: "exos-x18z",
    buffer: "1%",
    prefill: 0.0,
    workloads: &["hm_0", "prn_0", "prxy_0", "ts_0", "web_0", "src2_2", "src2_0", "usr_0"],
    locality: Some(("2", "3")),
    variants: VARIANTS,
    studies: studies::STUDIES,
    claims: claims::CLAIMS,
};

/// 64 KiB chunks and λ = 0.1 unless a name says otherwise.
const VARIANTS: &[Variant] = &[
    own(AMPHISBAENA, &[]),
    Variant { name: "fifo-log", layer: "fifo-log", settings: &[] },
    Variant { name: "loop-back", layer: "loop-back", settings: &[] },
    Variant { name: "skylight-zones", layer: "skylight-zones", settings: &[] },
    own("128 KiB", &["amphisbaena.chunk_blocks=32"]),
    own("256 KiB", &["amphisbaena.chunk_blocks=64"]),
    own("512 KiB", &["amphisbaena.chunk_blocks=128"]),
    own("1 MiB", &["amphisbaena.chunk_blocks=256"]),
    own("λ 0.3", &["amphisbaena.lambda=0.3"]),
    own("λ 0.5", &["amphisbaena.lambda=0.5"]),
    own("no phase 2", &["amphisbaena.phase_two=false"]),
    own("fixed split", &["amphisbaena.hot_most=0.25"]),
    own("no checkpoints", &["amphisbaena.checkpoints=false"]),
    own("FIFO victims", &["amphisbaena.victims=fifo"]),
    own("and fixed split", &["amphisbaena.checkpoints=false", "amphisbaena.hot_most=0.25"]),
    own(
        "and 4 KiB chunks",
        &["amphisbaena.checkpoints=false", "amphisbaena.hot_most=0.25", "amphisbaena.chunk_blocks=1"],
    ),
];

/// What the paper proposes, as it proposes it.
const AMPHISBAENA: &str = "amphisbaena";

const fn own(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { name, layer: "amphisbaena", settings }
}
