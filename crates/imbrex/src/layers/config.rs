//! The configuration of layers: what a field is, how the values are read, and the fields that several layers have.

use serde::de::DeserializeOwned;

use super::LayerInfo;

/// A configuration field of a layer.
#[derive(Copy, Clone)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// The default, as it would be written.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Values worth trying on tiny disks, as they would be written, for the crash explorer and the property tests; none
    /// if it is not to be varied. One with which the layer does not survive power loss is left to the latter.
    pub samples: &'static [&'static str],
}

/// Why a layer cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no such layer.
    #[error("there is no layer '{name}'; known are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A layer that is to be added has the name of another one.
    #[error("there is a layer '{name}' already; give yours another name")]
    Taken {
        /// The name.
        name: &'static str,
    },
    /// A field is unknown or has a wrong value.
    #[error("layer {layer}: {reason}")]
    Field {
        /// The layer.
        layer: &'static str,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The drive does not give what the layer needs.
    #[error("layer {layer} does not fit the drive: {reason}")]
    Space {
        /// The layer.
        layer: &'static str,
        /// What is missing and how to provide it.
        reason: String,
    },
    /// A field lists a sample that is no value of it.
    #[error("layer {layer}, field {field}, sample {sample}: {reason}")]
    Sample {
        /// The layer.
        layer: String,
        /// The field's key.
        field: &'static str,
        /// The sample as it is listed.
        sample: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the configuration of `layer`.
///
/// # Errors
/// [`ConfigError::Field`] names a field that the layer does not list, or whose value is wrong.
pub fn read<C: DeserializeOwned>(layer: &LayerInfo, config: &toml::Table) -> Result<C, ConfigError> {
    let wrong = |reason: String| ConfigError::Field { layer: layer.name, reason };
    let fields: Vec<&str> = layer.fields.iter().map(|field| field.key).collect();
    if let Some(key) = config.keys().find(|key| !fields.contains(&key.as_str())) {
        let known =
            if fields.is_empty() { "it has none".to_owned() } else { format!("known are {}", fields.join(", ")) };
        return Err(wrong(format!("there is no field {key}; {known}")));
    }
    toml::Value::Table(config.clone()).try_into().map_err(|e: toml::de::Error| wrong(e.message().to_owned()))
}

/// The field of every layer that rewrites zones.
pub const SPARE_ZONES: Field = Field {
    key: "spare_zones",
    default: "1",
    meaning: "zones kept free to rewrite into; 0: read, reset, rewrite",
    samples: &["1", "2", "0"],
};

/// The key of the field that says whether a cache takes a copy of what is read from home.
pub const READ_ALLOCATE: &str = "read_allocate";

/// The field of every layer that cleans in steps.
pub const STEP_BLOCKS: Field = Field {
    key: "step_blocks",
    default: "4096",
    meaning: "blocks one cleaning step moves at most",
    samples: &["1", "3", "7", "64"],
};

/// The field of every layer whose cleaning reads may interrupt.
pub const INTERRUPTIBLE: Field = Field {
    key: "interruptible",
    default: "true",
    meaning: "reads may be served between the steps of an eviction",
    samples: &["true", "false"],
};

#[cfg(test)]
mod tests {
    use super::super::ALL;
    use super::*;
    use crate::block::Pba;
    use crate::media::Conventional;
    use crate::space::Space;

    #[test]
    fn every_layer_names_a_field_that_it_does_not_know() {
        let space = Space::of(&Conventional::new(Pba::DISK, 100), 10);
        let config = toml::toml! { no_such_field = 1 };
        for info in ALL {
            let Err(ConfigError::Field { layer, reason }) = info.build(&space, &config) else {
                panic!("{} takes it", info.name);
            };
            assert_eq!(layer, info.name);
            assert!(reason.starts_with("there is no field no_such_field; "), "{layer}: {reason}");
            assert!(info.fields.iter().all(|field| reason.contains(field.key)), "{layer}: {reason}");
        }
    }
}
