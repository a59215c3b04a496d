//! The commands for volumes that are served.

pub mod clean;
pub mod format;
mod nbdkit;
pub mod serve;
mod socket;
pub mod status;
