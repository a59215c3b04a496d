//! What there is of the page and the metrics without the feature `web`.

use std::path::Path;

use anyhow::{Result, bail};

use super::address::Addresses;

/// No process for HTTP.
pub struct Child;

impl Child {
    /// Refuses to tell anything.
    pub fn start(at: &Addresses, _control: &Path) -> Result<Self> {
        if at.is_empty() {
            return Ok(Self);
        }
        bail!("this program is built without the feature `web`, which --http and --metrics need");
    }

    /// Nothing.
    pub fn told(&self) -> String {
        String::new()
    }
}
