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

/// The keys of all that is said of the disk.
pub const OF_DISK: [&str; 3] = [DISK_LAYER, "disk_config", "disk_buffer"];

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

/// Refuses a cache of `blocks` blocks that is larger than the `home` blocks behind it. Volumes that exist are served
/// whatever their cache has.
///
/// # Errors
/// [`ConfigError::Space`] says how large it may be.
pub fn check_cache(layer: &LayerInfo, blocks: u32, home: u64) -> Result<(), ConfigError> {
    if u64::from(blocks) <= home {
        return Ok(());
    }
    let reason = format!("a cache of {blocks} blocks is larger than the disk behind it, which has {home}");
    Err(ConfigError::Space { layer: layer.name, reason: format!("{reason}; choose a smaller one with --buffer") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_may_be_as_large_as_the_disk_and_no_larger() {
        let layer = crate::find("lru-cache").unwrap();
        assert!(check_cache(layer, 100, 100).is_ok());
        let refused = check_cache(layer, 101, 100).unwrap_err().to_string();
        assert!(refused.contains("101 blocks is larger than the disk behind it, which has 100;"), "{refused}");
    }

    #[test]
    fn the_layers_below_are_chosen_by_these_keys() {
        let is_field = |key: &str| BelowConfig::FIELDS.iter().any(|field| field.key == key);
        assert!(OF_DISK.into_iter().chain([FLASH_LAYER]).all(is_field));
    }
}
