//! The commands for volumes that are served.

mod address;
pub mod check;
pub mod clean;
pub mod dump;
mod fitting;
pub mod format;
pub mod grow;
pub mod inspect;
mod nbdkit;
mod relay;
pub mod scrub;
pub mod serve;
mod socket;
pub mod status;
pub mod top;
#[cfg(all(feature = "ublk", target_os = "linux"))]
mod ublk;
#[cfg(feature = "web")]
pub mod web;

use std::path::PathBuf;

use anyhow::Result;
use imbrex_live::store_path;
use imbrex_live::volume::Volume;

/// The volume on stores that nobody else has, to which nothing will be written.
fn volume_to_read(stores: &[PathBuf]) -> Result<Volume> {
    let members = stores.iter().map(|path| store_path::open_to_read(path)).collect::<Result<_, _>>()?;
    Ok(Volume::open(members)?)
}

/// The volume on stores that nobody else has.
fn volume_to_write(stores: &[PathBuf]) -> Result<Volume> {
    let members = stores.iter().map(|path| store_path::open(path)).collect::<Result<_, _>>()?;
    Ok(Volume::open(members)?)
}
