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
use imbrex_live::store_path;
use imbrex_live::volume::Volume;

/// The volume on stores that nobody else has.
fn open_volume(stores: &[PathBuf]) -> Result<Volume> {
    let members = stores.iter().map(|path| store_path::open(path)).collect::<Result<_, _>>()?;
    Ok(Volume::open(members)?)
}
