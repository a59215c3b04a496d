//! The fields that several layers have.

#[cfg(test)]
mod tests;

use imbrex_core::config::{ConfigError, Configuration};
use imbrex_core::layer::Unsafe;
use imbrex_core::space::Space;

use crate::parts::zone_map::ZoneMap;

/// The key of the field that says whether a cache takes a copy of what is read from home.
pub const READ_ALLOCATE: &str = "read_allocate";

/// The field of layers that rewrite zones.
#[derive(Clone, Debug, Configuration)]
pub struct Spare {
    /// zones kept free to rewrite into; 0: read, reset, rewrite
    #[field(default = 1, samples = [1, 2, 0])]
    pub spare_zones: u32,
}

impl Spare {
    /// The native zones of `layer`, beside those kept free.
    ///
    /// # Errors
    /// [`ConfigError::Space`] if there are no sequential zones, or none beside the spare ones.
    pub fn zone_map(&self, layer: &'static str, space: &Space) -> Result<ZoneMap, ConfigError> {
        let spare = self.spare_zones;
        let misfit = |reason: String| Err(ConfigError::Space { layer, reason });
        match space.zones {
            None => misfit("it needs sequential zones; choose a zoned drive".to_owned()),
            Some(zones) if zones.count <= spare => {
                misfit(format!("{} sequential zones leave none beside {spare} spare", zones.count))
            }
            Some(zones) => Ok(ZoneMap::new(zones, spare)),
        }
    }

    /// Why a power cut may lose zones that are rewritten, if it may.
    #[must_use]
    pub fn loses_zones(&self) -> Option<Unsafe> {
        let reason = "a zone that is reset before it is rewritten is lost with the power; set spare_zones to 1 or more";
        (self.spare_zones == 0).then(|| Unsafe(reason.to_owned()))
    }
}

/// The field of layers that clean in steps.
#[derive(Clone, Debug, Configuration)]
pub struct Steps {
    /// blocks one cleaning step moves at most
    #[field(default = 4096, samples = [1, 3, 7, 64])]
    pub step_blocks: u32,
}

/// The field of layers whose cleaning reads may interrupt.
#[derive(Clone, Debug, Configuration)]
pub struct Interrupts {
    /// reads may be served between the steps of an eviction
    #[field(default = true, samples = [true, false])]
    pub interruptible: bool,
}
