//! The commands for volumes that are served.

pub mod format;
