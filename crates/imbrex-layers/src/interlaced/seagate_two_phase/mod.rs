//! `seagate-two-phase`: interlaced tracks in two phases, bottom tracks updated in place.
//!
//! Source: Gao, Zhu and Gage (US patents 9 728 206 and 9 508 362, Seagate) as TrackLace (IEEE TC 2021) §7.2 describes
//! it; no measurements of it were published.
//!
//! # What it does
//! Logical blocks fill the bottom tracks first and then the top tracks, from the outside inwards. Beyond that it is
//! `seagate`. At less than full use a bottom track at the outer edge has two neighbours and one at the inner edge none,
//! where three phases give each of them one before they give any two.
//!
//! # State, invariants and how a write is served
//! As in `in_place_tracks`, which this layer gives its order.

use super::in_place_tracks::{InPlaceConfig, InPlaceTracks};
use crate::parts::track_order::{Direction::Inwards, Phase};
use crate::{Family, LayerInfo};
use imbrex_core::config::Configuration;
use imbrex_core::recording::Recording;
use imbrex_core::tracks::Side;

const PHASES: [Phase; 2] = [
    Phase { side: Side::Bottom, first: 0, step: 1, direction: Inwards },
    Phase { side: Side::Top, first: 0, step: 1, direction: Inwards },
];

pub(crate) const INFO: LayerInfo = LayerInfo {
    name: "seagate-two-phase",
    family: Some(Family::Interlaced),
    source: "Gao, Zhu and Gage (US 9 728 206), as TrackLace §7.2 has it",
    summary: "Bottom tracks, then top tracks; bottom updates rewrite what lies over them.",
    recording: Recording::Interlaced,
    buffered: false,
    fields: InPlaceConfig::FIELDS,
    make: &|space, table| Ok(Box::new(InPlaceTracks::new(&INFO, &PHASES, space, &INFO.read(table)?)?)),
};
