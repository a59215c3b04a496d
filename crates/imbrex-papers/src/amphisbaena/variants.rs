//! The configurations that take part.

use crate::metric::Metric;
use crate::paper::{Load, Variant};

/// What the paper proposes, as it proposes it.
pub const AMPHISBAENA: &str = "amphisbaena";

/// 64 KiB chunks and λ = 0.1 unless a name says otherwise.
pub const VARIANTS: &[Variant] = &[
    own(AMPHISBAENA, &[]),
    other("fifo-log", "fifo-log", Load::OneOutstanding),
    other("loop-back", "loop-back", Load::OneOutstanding),
    other("hashed-zones", "hashed-zones", Load::OneOutstanding),
    own("128 KiB", &["amphisbaena.chunk_blocks=32"]),
    own("256 KiB", &["amphisbaena.chunk_blocks=64"]),
    own("512 KiB", &["amphisbaena.chunk_blocks=128"]),
    own("1 MiB", &["amphisbaena.chunk_blocks=256"]),
    own("λ 0.3", &["amphisbaena.lambda=0.3"]),
    own("λ 0.5", &["amphisbaena.lambda=0.5"]),
    own("no phase 2", &["amphisbaena.phase_two=false"]),
    own("fixed split", &["amphisbaena.hot_most=0.25"]),
    own("FIFO victims", &["amphisbaena.victims=fifo"]),
    own("and 4 KiB chunks", &["amphisbaena.hot_most=0.25", "amphisbaena.chunk_blocks=1"]),
    timed("amphisbaena, timed", &[]),
    other("fifo-log, timed", "fifo-log", Load::TraceTime),
    other("loop-back, timed", "loop-back", Load::TraceTime),
    other("hashed-zones, timed", "hashed-zones", Load::TraceTime),
    timed("no checkpoints", &["amphisbaena.checkpoints=false"]),
    timed("for the rest", &["amphisbaena.checkpoint_for=rest"]),
    timed("after 64 chunks", &["amphisbaena.least_collected=64"]),
    own("size in blocks", &["amphisbaena.sizes=blocks"]),
    own("hot below the mean", &["amphisbaena.hot_below=true"]),
    own("cold hits keep roles", &["amphisbaena.cold_hits=false"]),
    own("cold known stay cold", &["amphisbaena.cold_known=false"]),
    own("demoted leave last", &["amphisbaena.demote_to=mru"]),
    own("demoted on hits too", &["amphisbaena.demote_when=hit"]),
    own("demoted on hits only", &["amphisbaena.demote_when=literal"]),
    own("all remembered", &["amphisbaena.most_remembered=inf"]),
    own("hot share nearest", &["amphisbaena.hot_most_is=nearest"]),
    own("borrowed rounded up", &["amphisbaena.round_up=true"]),
    returning("returned if any is unused", &["amphisbaena.return_if=some"]),
    returning("returned always", &["amphisbaena.return_when=always"]),
    returning("used by hits", &["amphisbaena.used_by=hit"]),
    returning("returned lowest first", &["amphisbaena.return_order=lowest"]),
    returning("SUP fewer after returns", &["amphisbaena.resize_when=after"]),
    own("density as printed", &["amphisbaena.density=printed"]),
    own("no density", &["amphisbaena.density=none"]),
    own("bypass at pointers", &["amphisbaena.bypass=pointer"]),
];

const fn own(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { settings, ..other(name, "amphisbaena", Load::OneOutstanding) }
}

const fn timed(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { load: Load::TraceTime, ..own(name, settings) }
}

/// What is about chunks that go back.
const fn returning(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { reaches: Some(Metric::ToCold), ..own(name, settings) }
}

const fn other(name: &'static str, layer: &'static str, load: Load) -> Variant {
    Variant { name, layer, settings: &[], sized: &[], buffer: None, disk: None, load, reaches: None }
}
