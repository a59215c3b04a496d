//! Layers for flash, and for flash in front of a disk.

pub mod band_cache;
mod flash_cache;
pub mod lru_cache;
pub mod page_ftl;
pub mod pore;
pub mod sac;
pub mod static_sets;

use imbrex_core::info::LayerInfo;

/// The layers of the family, in the order in which they are listed.
pub(crate) const LAYERS: &[LayerInfo] =
    &[page_ftl::INFO, lru_cache::INFO, static_sets::INFO, pore::INFO, sac::INFO, band_cache::INFO];
