//! Values that options take: names of layers, sizes, parts, fields of configurations.

use std::fmt;

use anyhow::{Result, bail};
use imbrex::layers::{self, LayerInfo};
use imbrex::replay::{BufferSize, WarmUp};
use imbrex_terminal::duration::{nanoseconds, whole};

/// The size of the drive on the command line.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Capacity {
    /// A number of bytes.
    Bytes(u64),
    /// Large enough that the layer offers what the workload needs.
    Fit,
}

impl Capacity {
    /// The drive in that size, or as it is where the workload decides.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Fit => None,
        }
    }
}

/// `LAYER.FIELD=VALUE`.
#[derive(Clone)]
pub struct Setting {
    pub layer: &'static LayerInfo,
    field: String,
    value: toml::Value,
}

impl Setting {
    /// The setting of a field of a layer to a value.
    pub fn new(layer: &'static LayerInfo, field: String, value: toml::Value) -> Self {
        Self { layer, field, value }
    }

    /// The configuration that `settings` are of a layer.
    pub fn config(settings: &[Self], layer: &LayerInfo) -> toml::Table {
        let own = settings.iter().filter(|setting| setting.layer.name == layer.name);
        own.map(|setting| (setting.field.clone(), setting.value.clone())).collect()
    }

    /// Every layer that is set up must be among those that take part.
    pub fn check(settings: &[Self], takes_part: impl Fn(&LayerInfo) -> bool) -> Result<()> {
        for Self { layer, field, .. } in settings {
            if !takes_part(layer) {
                bail!("--set {}.{field}: layer {} takes no part", layer.name, layer.name);
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

/// A layer's name on the command line.
pub fn layer(name: &str) -> Result<&'static LayerInfo, layers::ConfigError> {
    layers::find(name)
}

/// The size of a drive on the command line.
pub fn capacity(text: &str) -> Result<Capacity, String> {
    let remedy = |e| format!("{e}, or fit");
    if text == "fit" { Ok(Capacity::Fit) } else { size(text).map(Capacity::Bytes).map_err(remedy) }
}

/// A size on the command line.
pub fn size(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(BufferSize::Bytes(bytes)) => Ok(bytes),
        _ => Err("write a size such as 64GiB or 2TB".to_owned()),
    }
}

/// A warm-up on the command line.
pub fn warm_up(text: &str) -> Result<WarmUp, String> {
    let remedy = || "write a number of requests such as 10000, or a time such as 500ms, 30s, 10min or 2h".to_owned();
    whole(text).map(WarmUp::Requests).or_else(|| nanoseconds(text).map(WarmUp::Ns)).ok_or_else(remedy)
}

/// A part of a whole on the command line.
pub fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "write a number from 0 to 1".to_owned())
}

/// A setting on the command line.
pub fn setting(text: &str) -> Result<Setting, String> {
    let parts = text.split_once('=').and_then(|(name, value)| Some((name.split_once('.')?, value)));
    let Some(((layer, field), value)) = parts else {
        return Err("write it as LAYER.FIELD=VALUE, such as fifo-log.spare_zones=2".to_owned());
    };
    let layer = layers::find(layer).map_err(|e| e.to_string())?;
    if !layer.fields.iter().any(|known| known.key == field) {
        let known = layer.fields.iter().map(|field| field.key).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        return Err(format!("layer {} has no field {field}; its fields are: {known}", layer.name));
    }
    // A word needs no quotes, which a shell would take away.
    let value = value.parse().unwrap_or_else(|_| toml::Value::String(value.to_owned()));
    Ok(Setting { layer, field: field.to_owned(), value })
}
