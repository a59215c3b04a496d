//! Translation layers for overlapped-track hard disks, written once and run two ways: simulated on traces against a
//! mechanical disk model, and live as a crash-safe block device.
#![forbid(unsafe_code)]

#[doc(inline)]
pub use imbrex_core::{
    bands, block, buffer_size, config, contents, counters, drive, event, layer, mechanics, media, memory, plan, random,
    recording, samples, space, tracks, zones,
};
#[doc(inline)]
pub use imbrex_engine as perform;
#[doc(inline)]
pub use imbrex_explorer as explore;
#[doc(inline)]
pub use imbrex_layers as layers;
#[doc(inline)]
pub use imbrex_layers::parts;
#[doc(inline)]
pub use imbrex_simulation::{replay, validate};
#[doc(inline)]
pub use imbrex_trace as trace;
