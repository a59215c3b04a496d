//! The commands for volumes: how one is formatted, served, watched, cleaned, grown, checked and looked into.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod address;
pub mod attach;
#[cfg(all(any(feature = "ublk", feature = "vhost-user"), target_os = "linux"))]
mod by_itself;
pub mod check;
pub mod clean;
pub mod detach;
pub mod dump;
mod fitting;
pub mod format;
pub mod grow;
pub mod inspect;
mod manager;
mod map_memory;
mod nbdkit;
#[cfg(not(feature = "web"))]
mod no_web;
mod relay;
pub mod scrub;
pub mod serve;
mod socket;
pub mod status;
pub mod top;
#[cfg(all(feature = "ublk", target_os = "linux"))]
mod ublk;
#[cfg(all(feature = "vhost-user", target_os = "linux"))]
mod vhost;
#[cfg(feature = "web")]
pub mod web;
#[cfg(not(feature = "web"))]
use no_web as web;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use imbrex_live::service::control::{self, Question};
use imbrex_live::store::Store;
use imbrex_live::store_path::{self, StorePathError};
use imbrex_live::volume::Volume;

/// The volume on stores that nobody else has, to which nothing will be written.
fn volume_to_read(stores: &[PathBuf]) -> Result<Volume> {
    volume(stores, store_path::open_to_read)
}

/// The volume on stores that nobody else has.
fn volume_to_write(stores: &[PathBuf]) -> Result<Volume> {
    volume(stores, store_path::open)
}

fn volume(stores: &[PathBuf], open: fn(&Path) -> Result<Arc<dyn Store>, StorePathError>) -> Result<Volume> {
    let member = |path: &PathBuf| open(path).map_err(|why| told_by_its_server(path, why));
    Ok(Volume::open(stores.iter().map(member).collect::<Result<_>>()?)?)
}

/// Where a server of the volume runs, it says what nobody else can.
fn told_by_its_server(path: &Path, why: StorePathError) -> anyhow::Error {
    match control::ask(&socket::control_of(path), Question::Status) {
        Err(_) => why.into(),
        Ok(_) => anyhow!(
            "{why}; `imbrex status {}` says how what is served stands, and what was refused or restarted",
            path.display()
        ),
    }
}
