//! Imbrex's translation layers served live: the live engine on images and on disks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`store`] | a drive as the runner uses it |
//! | [`zoned_device`] | a host-managed disk of this machine |
//! | [`block_device`] | a disk or SSD of this machine that takes writes anywhere |
//! | [`image`] | a drive emulated in a file, its rules enforced and its state kept |
//! | [`overlay`] | a drive that is only read, with what is written to it in memory |
//! | [`paced`] | a drive that answers when the one that it emulates would |
//! | [`sums`] | a drive that keeps checksums of what is written to it |
//! | [`scrub`] | everything that has a checksum, read |
//! | [`active`] | limits on zones that are partly written |
//! | [`volume`] | one or more stores under a layer: how they are formatted, found and opened |
//! | [`record`] | what clients ask for, as a trace |
//! | [`engine`] | the runner among threads: requests in, operations carried out, replies out |
//! | [`service`] | a volume that is served, and what answers questions about it |
//! | [`pool`] | requests that wait for threads that answer them |
//!
//! # Open a volume
//!
//! An image of 64 MiB is formatted, written to and read; after a restart it holds what a flush has covered.
//!
//! ```
//! use imbrex::drive::DrivePreset;
//! use imbrex::layers;
//! use imbrex::perform::Request;
//! use imbrex_live::engine::{Engine, EngineOptions};
//! use imbrex_live::store_path;
//! use imbrex_live::volume::{FormatOptions, Volume, format};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("disk.img");
//! let drive = DrivePreset::named("small-zoned")?.with_capacity(64 << 20)?;
//! let mut prepared = store_path::prepare(&path, Some(&drive), false)?;
//! let options = FormatOptions {
//!     layer: layers::find("log-greedy")?,
//!     config: &toml::Table::new(),
//!     buffer: None,
//!     journal_blocks: None,
//!     map_memory: None,
//! };
//! prepared.make()?;
//! format(vec![prepared.store()], &options)?;
//! prepared.keep();
//!
//! for turn in 0..2 {
//!     let engine = Engine::start(Volume::open(vec![store_path::open(&path)?])?, EngineOptions::default())?;
//!     engine.wait_until_serving()?;
//!     let client = 0;
//!     if turn == 0 {
//!         engine.write_bytes(client, 512, b"overlapped")?;
//!         engine.call(client, Request::Flush)?;
//!     }
//!     let mut bytes = [0; 10];
//!     engine.read_bytes(client, 512, &mut bytes)?;
//!     assert_eq!(&bytes, b"overlapped");
//!     engine.stop()?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub mod paced;
pub mod panics;
mod patience;
pub mod pool;
#[cfg_attr(
    not(feature = "recording"),
    allow(dead_code, unused_imports, reason = "a build that records nothing refuses to begin")
)]
pub mod record;
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
