//! Layers for bands: logs with a whole map, and the cache of a drive-managed disk.

pub mod cold_weight;
pub mod log_choices;
pub mod log_cost_benefit;
pub mod log_fifo;
pub mod log_greedy;
pub mod log_lifetimes;
mod log_structured;
pub mod sepbit;
pub mod skylight;
pub mod tuned_weight;

use imbrex_core::info::LayerInfo;

/// The layers of the family, in the order in which they are listed.
pub(crate) const LAYERS: &[LayerInfo] = &[
    log_greedy::INFO,
    log_fifo::INFO,
    log_cost_benefit::INFO,
    log_choices::INFO,
    cold_weight::INFO,
    tuned_weight::INFO,
    sepbit::INFO,
    log_lifetimes::INFO,
    skylight::INFO,
];
