//! Translation layers for overlapped-track hard disks, written once and run two ways: simulated on traces against a
//! mechanical disk model, and live as a crash-safe block device.
#![forbid(unsafe_code)]

pub mod block;
pub mod drive;
pub mod mechanics;
pub mod validate;
