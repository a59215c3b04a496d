//! The commands for volumes that are served.

pub mod check;
pub mod clean;
pub mod dump;
pub mod format;
pub mod inspect;
mod nbdkit;
pub mod serve;
mod socket;
pub mod status;

use std::path::PathBuf;

use anyhow::Result;
use imbrex_live::place;
use imbrex_live::volume::Volume;

/// The volume on stores that nobody else has.
fn open_volume(stores: &[PathBuf]) -> Result<Volume> {
    let members = stores.iter().map(|path| place::open(path)).collect::<Result<_, _>>()?;
    Ok(Volume::open(members)?)
}
