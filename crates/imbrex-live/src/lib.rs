//! Imbrex's translation layers served live: the performing runner on images and on disks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`store`] | a drive as the runner uses it |
//! | [`image`] | a drive emulated in a file, its rules enforced and its state kept |
//! | [`overlay`] | a drive that is only read, with what is written to it in memory |
//! | [`volume`] | one or more stores under a layer: how they are formatted, found and opened |
//! | [`engine`] | the runner among threads: requests in, operations carried out, replies out |
#![forbid(unsafe_code)]

pub mod backing;
pub mod engine;
pub mod explore;

pub mod frame;
pub mod image;
pub mod layout;
pub mod offline;
pub mod overlay;
pub mod place;
pub mod signature;
pub mod solo;
pub mod store;
pub mod superblock;
pub mod volume;
