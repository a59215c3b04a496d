//! What lies below a layer for [`Recording::Cached`](imbrex_core::recording::Recording::Cached): flash and a disk, each
//! behind a layer.
//!
//! A cache lists these fields and has no use for them: the code that sets a stack up reads them and makes the devices.

use super::{ConfigError, LayerInfo};
use imbrex_core::buffer_size::BufferSize;
use imbrex_core::config::Configuration;

/// The key of the layer on the flash.
pub const FLASH_LAYER: &str = "flash_layer";

/// The key of the layer on the disk.
pub const DISK_LAYER: &str = "disk_layer";

/// What lies below a cache.
#[derive(Clone, PartialEq, Debug, Configuration)]
pub struct BelowConfig {
    /// the preset of the flash; its capacity follows from the size of the cache
    #[field(default = "ssd-pore")]
    pub flash_drive: String,
    /// the layer on the flash
    #[field(default = "page-ftl", paper = "conventional")]
    pub flash_layer: String,
    /// the fields of that layer, as a table
    #[field(default = {})]
    pub flash_config: toml::Table,
    /// the layer on the disk behind the flash; the drive must suit it
    #[field(default = "skylight")]
    pub disk_layer: String,
    /// the fields of that layer, as a table
    #[field(default = {})]
    pub disk_config: toml::Table,
    /// the persistent buffer of that layer, if it has one: a size, blocks, or a percentage of the address range
    #[field(default = "1%")]
    pub disk_buffer: BufferSize,
}

impl BelowConfig {
    /// What a layer's configuration says of the devices below it.
    ///
    /// # Errors
    /// [`ConfigError::Field`] names what is wrong.
    pub fn read(layer: &LayerInfo, config: &toml::Table) -> Result<Self, ConfigError> {
        let is_below = |key: &str| Self::FIELDS.iter().any(|field| field.key == key);
        let config = layer.settled(config)?;
        let below = config.iter().filter(|(key, _)| is_below(key));
        layer.read(&below.map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layers_below_are_chosen_by_these_keys() {
        let is_field = |key: &str| BelowConfig::FIELDS.iter().any(|field| field.key == key);
        assert!([FLASH_LAYER, DISK_LAYER].into_iter().all(is_field));
    }
}
