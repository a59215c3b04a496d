//! Layers for interlaced disks, whose top tracks overlap bottom tracks.

mod in_place_tracks;
mod mapped_tracks;
pub mod seagate;
pub mod seagate_two_phase;
pub mod track_caching;
pub mod track_flipping;
pub mod track_mapping;
pub mod tracklace;

use imbrex_core::info::LayerInfo;

/// The layers of the family, in the order in which they are listed.
pub(crate) const LAYERS: &[LayerInfo] = &[
    seagate::INFO,
    seagate_two_phase::INFO,
    track_flipping::INFO,
    track_caching::INFO,
    track_mapping::INFO,
    tracklace::INFO,
];
