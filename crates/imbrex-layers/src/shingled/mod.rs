//! Layers for host-managed shingled disks: sequential zones beside conventional ones.

pub mod amphisbaena;
pub mod block_lru;
pub mod dm_zoned;
pub mod fifo_log;
pub mod hashed_zones;
pub mod in_place;
pub mod loop_back;
pub mod zone_ages;

use imbrex_core::info::LayerInfo;

/// The layers of the family, in the order in which they are listed.
pub(crate) const LAYERS: &[LayerInfo] = &[
    in_place::INFO,
    fifo_log::INFO,
    loop_back::INFO,
    block_lru::INFO,
    hashed_zones::INFO,
    amphisbaena::INFO,
    dm_zoned::INFO,
    zone_ages::INFO,
];

/// Whether a layer has nowhere to put a write aside, so that one into the middle of a zone rewrites what follows at once.
#[must_use]
pub fn rewrites(layer: &LayerInfo) -> bool {
    layer.name == in_place::INFO.name
}
