//! What the tests of Imbrex read: samples that are made here, and material that lies beside the repository because its
//! owners' terms forbid shipping it.
//!
//! This crate knows nothing of Imbrex, so what it says of a sample comes from how the sample was made.

mod depth;
mod outside;
pub mod traces;

pub use depth::cases;
pub use outside::{LEFT_OUT, beside, left_out};

use std::path::{Path, PathBuf};

/// The folder of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// DiskSim's measurements of two disks, as far as they are part of the repository.
#[must_use]
pub fn disksim() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("disksim")
}
