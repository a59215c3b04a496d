//! Fields of the configurations of layers.

use std::fmt;

use anyhow::Result;
use imbrex::config::PRESET;
use imbrex::layers::{self, LayerInfo};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use toml::Table;

use crate::wrong::Wrong;

/// A field of a layer, and the value that it is given: `LAYER.FIELD=VALUE`.
#[derive(Clone)]
pub struct Setting {
    /// The layer.
    pub layer: &'static LayerInfo,
    field: String,
    value: toml::Value,
}

impl Setting {
    /// The setting of a field of a layer to a value.
    #[must_use]
    pub fn new(layer: &'static LayerInfo, field: String, value: toml::Value) -> Self {
        Self { layer, field, value }
    }

    /// Those that a configuration of a layer is.
    pub fn of(layer: &'static LayerInfo, config: Table) -> impl Iterator<Item = Self> {
        config.into_iter().map(move |(field, value)| Self { layer, field, value })
    }

    /// The configuration that `settings` are of a layer.
    #[must_use]
    pub fn config(settings: &[Self], layer: &LayerInfo) -> Table {
        let own = settings.iter().filter(|setting| setting.layer.name == layer.name);
        own.map(|setting| (setting.field.clone(), setting.value.clone())).collect()
    }

    /// Every layer that is set up must be among those that take part.
    ///
    /// # Errors
    /// When one is not.
    pub fn check(settings: &[Self], takes_part: impl Fn(&LayerInfo) -> bool) -> Result<()> {
        for Self { layer, field, .. } in settings {
            if !takes_part(layer) {
                let (of, why) = (format!("{}.{field}", layer.name), format!("layer {} takes no part", layer.name));
                return Err(Wrong::setting(of, why).into());
            }
        }
        Ok(())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}={}", self.layer.name, self.field, self.value)
    }
}

/// Reads `LAYER.FIELD=VALUE`.
///
/// # Errors
/// When it is not written like that, or there is no such layer or field.
pub fn setting(text: &str) -> Result<Setting, String> {
    let parts = text.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
    let Some(((layer, field), value)) = parts else {
        return Err("write it as LAYER.FIELD=VALUE, such as fifo-log.spare_zones=2".to_owned());
    };
    let layer = layers::find(layer).map_err(|e| e.to_string())?;
    if field != PRESET && !layer.fields.iter().any(|known| known.key == field) {
        let known = layer.fields.iter().map(|field| field.key).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        return Err(format!("layer {} has no field {field}; its fields are: {known}", layer.name));
    }
    // A word needs no quotes, which a shell would take away.
    let value = value.parse().unwrap_or_else(|_| toml::Value::String(value.to_owned()));
    Ok(Setting { layer, field: field.to_owned(), value })
}

/// Writes settings as tables by the names of their layers.
pub(crate) fn serialize<S: Serializer>(settings: &[Setting], serializer: S) -> Result<S::Ok, S::Error> {
    let mut tables = Table::new();
    for Setting { layer, field, value } in settings {
        let table = tables.entry(layer.name).or_insert_with(|| Table::new().into());
        table.as_table_mut().and_then(|table| table.insert(field.clone(), value.clone()));
    }
    tables.serialize(serializer)
}

/// Reads them. Whether a layer has such a field is said by the layer.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Setting>, D::Error> {
    let mut settings = Vec::new();
    for (name, value) in Table::deserialize(deserializer)? {
        let layer = layers::find(&name).map_err(D::Error::custom)?;
        let toml::Value::Table(config) = value else {
            return Err(D::Error::custom(format!("{name}: write a table of its fields")));
        };
        settings.extend(Setting::of(layer, config));
    }
    Ok(settings)
}
