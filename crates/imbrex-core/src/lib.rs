//! What a translation layer and those who run it have in common: the vocabulary, the contract, and drives, which forbid
//! and price.
#![forbid(unsafe_code)]

// What is derived names the library as others know it.
extern crate self as imbrex;

pub mod bands;
pub mod block;
pub mod buffer_size;
pub mod config;
pub mod contents;
pub mod drive;
pub mod event;
pub mod footprint;
pub mod info;
pub mod layer;
pub mod mechanics;
pub mod media;
pub mod memory;
pub mod plan;
pub mod random;
pub mod recording;
pub mod samples;
pub mod space;
pub mod spatial_sample;
pub mod tracks;
pub mod zones;
