//! What lies below a layer for [`Recording::Cached`](crate::recording::Recording::Cached): flash and a disk, each
//! behind a layer.
//!
//! The layer itself does not see these fields: whoever sets a stack up reads them and makes the devices.

use std::borrow::Cow;

use serde::Deserialize;

use super::config;
use super::{ConfigError, Field, LayerInfo};
use crate::buffer_size::BufferSize;

/// The preset of the flash.
pub const FLASH_DRIVE: Field = Field {
    key: "flash_drive",
    default: "\"ssd-pore\"",
    meaning: "the preset of the flash; its capacity follows from the size of the cache",
    samples: &[],
};

/// The layer on the flash.
pub const FLASH_LAYER: Field =
    Field { key: "flash_layer", default: "\"page-ftl\"", meaning: "the layer on the flash", samples: &[] };

/// The fields of the layer on the flash.
pub const FLASH_CONFIG: Field =
    Field { key: "flash_config", default: "{}", meaning: "the fields of that layer, as a table", samples: &[] };

/// The layer on the disk.
pub const DISK_LAYER: Field = Field {
    key: "disk_layer",
    default: "\"skylight\"",
    meaning: "the layer on the disk behind the flash; the drive must suit it",
    samples: &[],
};

/// The fields of the layer on the disk.
pub const DISK_CONFIG: Field =
    Field { key: "disk_config", default: "{}", meaning: "the fields of that layer, as a table", samples: &[] };

/// The size of the persistent buffer of the layer on the disk.
pub const DISK_BUFFER: Field = Field {
    key: "disk_buffer",
    default: "\"1%\"",
    meaning: "the persistent buffer of that layer, if it has one: a size, blocks, or a percentage of the address range",
    samples: &[],
};

const KEYS: [&str; 6] =
    [FLASH_DRIVE.key, FLASH_LAYER.key, FLASH_CONFIG.key, DISK_LAYER.key, DISK_CONFIG.key, DISK_BUFFER.key];

/// What lies below a cache.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BelowConfig {
    /// The preset of the flash.
    pub flash_drive: String,
    /// The layer on the flash.
    pub flash_layer: String,
    /// Its fields.
    pub flash_config: toml::Table,
    /// The layer on the disk.
    pub disk_layer: String,
    /// Its fields.
    pub disk_config: toml::Table,
    /// The size of its persistent buffer, if it has one.
    pub disk_buffer: BufferSize,
}

impl Default for BelowConfig {
    fn default() -> Self {
        Self {
            flash_drive: "ssd-pore".to_owned(),
            flash_layer: "page-ftl".to_owned(),
            flash_config: toml::Table::new(),
            disk_layer: "skylight".to_owned(),
            disk_config: toml::Table::new(),
            disk_buffer: BufferSize::Percent(1.0),
        }
    }
}

impl BelowConfig {
    /// What a layer's configuration says of the devices below it.
    ///
    /// # Errors
    /// [`ConfigError::Field`] names what is wrong.
    pub fn read(layer: &LayerInfo, config: &toml::Table) -> Result<Self, ConfigError> {
        let below = config.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
        config::read(layer, &below.map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

/// The rest of the configuration: the layer's own fields.
pub(super) fn without(config: &toml::Table) -> Cow<'_, toml::Table> {
    let own = config.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()));
    Cow::Owned(own.map(|(key, value)| (key.clone(), value.clone())).collect())
}
