//! Layers for hybrid disks, whose realms turn from conventional to shingled zones.

pub mod zone_alloy;

use imbrex_core::info::LayerInfo;

/// The layers of the family, in the order in which they are listed.
pub(crate) const LAYERS: &[LayerInfo] = &[zone_alloy::INFO];
