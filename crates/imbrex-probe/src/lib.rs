//! What a disk is, found out by timing it: `imbrex probe`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`disk`] | a disk whose operations are timed, and what the system says of it |
//! | [`device`] | one of this machine, or a file |
//! | [`simulated`] | a simulated one, in whose own time all of this happens |
//! | [`reads`] | what reads tell |
//! | [`writes`] | what writes to random places tell |
//! | [`cache`], [`bands`] | the inside of a drive-managed disk |
//! | [`found`] | all that was found |
//! | [`preset`] | a drive preset of it |
//! | [`command`] | the command |
//!
//! Nothing is looked up: what is not measured or reported is left out.
//!
//! # Probe a simulated disk
//!
//! ```
//! use imbrex::drive::DrivePreset;
//! use imbrex_probe::found::Kind;
//! use imbrex_probe::simulated::Simulated;
//! use imbrex_probe::{probe, steps};
//! use imbrex_terminal::progress::Progress;
//!
//! let mut disk = Simulated::new(&DrivePreset::named("ssd-sata")?, &toml::Table::new())?;
//! let found = probe(&mut disk, false, &Progress::of_pieces("probing", steps(false)))?;
//! assert_eq!(found.kind, Kind::Flash);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod bands;
pub mod cache;
pub mod command;
mod course;
#[cfg(target_os = "linux")]
pub mod device;
pub mod disk;
pub mod found;
pub mod preset;
pub mod reads;
pub mod simulated;
pub mod writes;

use imbrex::random::Random;
use imbrex_terminal::progress::Progress;

use cache::{Cache, Cached};
use course::Course;
use disk::{Disk, ProbeError};
use found::{Found, Kind};

/// The least bytes that can be timed.
const LEAST_BYTES: u64 = 1 << 20;

/// The steps that a probe has, for [`Progress::of_pieces`].
#[must_use]
pub fn steps(write: bool) -> usize {
    if write { 6 } else { 1 }
}

/// Finds out what a disk is. With `write` what it holds is destroyed.
///
/// # Errors
/// When it is too small, refuses an operation, or the probe is stopped.
pub fn probe(disk: &mut dyn Disk, write: bool, progress: &Progress) -> Result<Found, ProbeError> {
    let facts = disk.facts().clone();
    if facts.bytes < LEAST_BYTES {
        return Err(ProbeError::Small(facts.bytes));
    }
    let mut random = Random::new(disk.seed());
    let reads = reads::look(disk, &mut random, &mut Course::begin(progress))?;
    // Zones are the host's to write in order.
    let writes = if write && facts.zones.is_none() {
        Some(writes::look(disk, &mut random, &mut Course::begin(progress))?)
    } else {
        None
    };
    let kind = Kind::of(&facts, &reads, writes.as_ref());
    let (mut cache, mut bands) = (None, None);
    if kind == Kind::DriveManaged {
        let mut cached = Cached::new(disk, &reads);
        let idle_ms = cached.find_idle(&mut Course::begin(progress))?;
        let (blocks, extents) = cached.find_size(&mut Course::begin(progress))?;
        let singles = extents.or(blocks);
        let course = &mut Course::begin(progress);
        bands = singles.map(|singles| bands::find(&mut cached, singles, course)).transpose()?.flatten();
        let course = &mut Course::begin(progress);
        cached.empty(course)?;
        let near = cached.find_place(course)?;
        cached.empty(course)?;
        let bytes = blocks.map(|blocks| blocks * u64::from(facts.block_bytes));
        cache = Some(Cache { bytes, extents, idle_ms, near });
    }
    let seconds = disk.clock_ns() as f64 / 1e9;
    Ok(Found { schema: found::SCHEMA, kind, facts, reads, writes, cache, bands, seconds })
}
