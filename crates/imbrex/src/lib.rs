//! Translation layers for overlapped-track hard disks, written once and run two ways: simulated on traces against a
//! mechanical disk model, and live as a crash-safe block device.
#![forbid(unsafe_code)]

// What is derived names this crate as others do.
extern crate self as imbrex;

pub mod bands;
pub mod block;
pub mod buffer_size;
pub mod contents;
pub mod drive;
pub mod event;
pub mod explore;
mod footprint;
pub mod layer;
pub mod layers;
pub mod mechanics;
pub mod media;
pub mod memory;
pub mod parts;
pub mod perform;
pub mod plan;
pub mod recording;
pub mod replay;
pub mod space;
pub mod trace;
pub mod tracks;
pub mod validate;
pub mod zones;
