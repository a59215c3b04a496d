//! Imbrex's translation layers served live: the live engine on images and on disks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`store`] | a drive as the runner uses it |
//! | [`zoned_device`] | a host-managed disk of this machine |
//! | [`block_device`] | a disk or SSD of this machine that takes writes anywhere |
//! | [`image`] | a drive emulated in a file, its rules enforced and its state kept |
//! | [`overlay`] | a drive that is only read, with what is written to it in memory |
//! | [`sums`] | a drive that keeps checksums of what is written to it |
//! | [`scrub`] | everything that has a checksum, read |
//! | [`active`] | limits on zones that are partly written |
//! | [`volume`] | one or more stores under a layer: how they are formatted, found and opened |
//! | [`engine`] | the runner among threads: requests in, operations carried out, replies out |
//! | [`service`] | a volume that is served, and what answers questions about it |
#![deny(unsafe_code)]

pub mod active;
pub mod backing;
pub mod block_device;
#[cfg(target_os = "linux")]
pub mod carriers;
pub mod direct;
pub mod engine;
pub mod explore;

pub mod frame;
pub mod image;
pub mod layout;
pub mod offline;
pub mod overlay;
pub mod panics;
mod patience;
pub mod scrub;
pub mod service;
pub mod signature;
pub mod solo;
pub mod store;
pub mod store_path;
pub mod sums;
pub mod superblock;
pub mod threads;
pub mod volume;
pub mod zoned_device;
