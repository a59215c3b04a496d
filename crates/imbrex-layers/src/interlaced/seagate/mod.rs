//! `seagate`: interlaced tracks in three phases, bottom tracks updated in place.
//!
//! Source: Gao, Zhu and Gage (US patents 9 728 206 and 9 508 362, Seagate) as TrackLace (IEEE TC 2021) §2.1 describes
//! and measures it: the baseline of the paper.
//!
//! # What it does
//! Logical blocks fill the bottom tracks first, then every other top track, then the other top tracks, always from the
//! outside inwards. A block never moves. Its bottom track is free of penalty as long as no allocated block lies over
//! what is written; otherwise those blocks are read, the bottom track is written, and they are written back.
//!
//! # State, invariants and how a write is served
//! As in `in_place_tracks`, which this layer gives its order.
//!
//! # Decisions
//! - *Which top tracks first*: the ones with even numbers, so that every bottom track has a neighbour from phase 2 on.
//! - *Several groups*: a phase goes through all of them before the next begins; the paper looks at one.
//! - What it shares with `seagate-two-phase`: see there.

use super::in_place_tracks::{InPlaceConfig, InPlaceTracks};
use crate::parts::track_order::{Direction::Inwards, Phase};
use crate::{Family, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;
use imbrex_core::tracks::Side;

/// The order of the tracks.
pub(super) const PHASES: [Phase; 3] = [
    Phase { side: Side::Bottom, first: 0, step: 1, direction: Inwards },
    Phase { side: Side::Top, first: 0, step: 2, direction: Inwards },
    Phase { side: Side::Top, first: 1, step: 2, direction: Inwards },
];

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "seagate",
    family: Some(Family::Interlaced),
    source: "Gao, Zhu and Gage (US 9 728 206), as TrackLace §2.1 has it",
    summary: "Bottom tracks, every other top track, the rest; bottom updates rewrite what lies over them.",
    recording: Recording::Interlaced,
    buffered: false,
    fields: InPlaceConfig::FIELDS,
    make: &|space, table| Ok(Box::new(InPlaceTracks::new(&INFO, &PHASES, space, &INFO.read(table)?)?)),
};
