//! What a layer is better set to where it serves clients than its default, which is the paper's or that of simulations.

use super::LayerInfo;

/// A field, and the value that it has unless another one is configured.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LiveDefault {
    /// The field's key.
    pub key: &'static str,
    /// The value, as it would be written.
    pub value: &'static str,
    /// Why the layer's own default is not fit.
    pub why: &'static str,
}

const CHUNKS: LiveDefault = LiveDefault {
    key: "chunk_blocks",
    value: "1",
    why: "random writes of single blocks leave most of a longer chunk empty, and the buffer is full too soon",
};

const BYPASS: LiveDefault = LiveDefault {
    key: "bypass",
    value: "\"pointer\"",
    why: "what continues a zone would lie in the buffer and be copied to its zone later",
};

const TRIM: LiveDefault =
    LiveDefault { key: "trim", value: "true", why: "what clients discard need not be kept in the cache" };

const UPDATES: LiveDefault = LiveDefault {
    key: "updates",
    value: "\"many\"",
    why: "a commit for each bottom update would make every one of them wait for two flushes of its own",
};

const VALID: LiveDefault = LiveDefault {
    key: "valid",
    value: "\"written\"",
    why: "what was never written need not be saved, and writes over it are plain ones",
};

/// All of them, and the layers that they are for; any with the field where none is named.
const ALL: [(&[&str], LiveDefault); 5] = [
    (&["amphisbaena"], CHUNKS),
    (&["amphisbaena"], BYPASS),
    (&["lru-cache", "static-sets", "pore", "sac", "band-cache"], TRIM),
    (&[], UPDATES),
    (&[], VALID),
];

/// Fields whose default has changed since volumes were formatted without them, on which it depends where blocks lie:
/// the layer, the key, and the value that the default was.
const CHANGED: [(&str, &str, &str); 2] = [("tracklace", "frame_tracks", "32000"), ("tracklace", "least_entries", "0")];

/// What is set for `layer` where `chosen` does not.
pub fn of(layer: &LayerInfo, chosen: &toml::Table) -> impl Iterator<Item = LiveDefault> {
    let has = |key: &str| layer.fields.iter().any(|field| field.key == key);
    let is_off = |key: &str| chosen.get(key).and_then(toml::Value::as_bool) == Some(false);
    ALL.into_iter().filter_map(move |(layers, default)| {
        let is_meant = layers.is_empty() || layers.contains(&layer.name);
        // Without trims nothing says what was written.
        let is_barred = default == VALID && is_off("trim");
        (is_meant && has(default.key) && !chosen.contains_key(default.key) && !is_barred).then_some(default)
    })
}

/// The configuration of a volume for which these fields were chosen.
#[must_use]
pub fn config(layer: &LayerInfo, chosen: &toml::Table) -> toml::Table {
    let mut config = chosen.clone();
    for LiveDefault { key, value, .. } in of(layer, chosen) {
        let value = value.parse().unwrap_or_else(|_| unreachable!("{key} = {value} is written above"));
        config.insert(key.to_owned(), value);
    }
    config
}

/// Writes out what would be default in the configuration of a volume that is formatted, so that it stays what it is when
/// the default changes.
pub fn write_out(layer: &LayerInfo, config: &mut toml::Table) {
    add(layer.name, config, |key, _| layer.fields.iter().find(|field| field.key == key).map(|field| field.default));
}

/// Gives the configuration of a volume the values that were default when it was formatted, for fields that it does not
/// say because they were not written out.
pub fn read_back(layer: &str, config: &mut toml::Table) {
    add(layer, config, |_, before| Some(before));
}

fn add(layer: &str, config: &mut toml::Table, value: impl Fn(&str, &'static str) -> Option<&'static str>) {
    for (_, key, before) in CHANGED.into_iter().filter(|(of, ..)| *of == layer) {
        if let Some(value) = value(key, before).filter(|_| !config.contains_key(key)) {
            let value = value.parse().unwrap_or_else(|_| unreachable!("{key} = {value} is written in the source"));
            config.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as layers;

    #[test]
    fn each_is_another_value_of_a_field_that_some_layer_has() {
        let mut met = 0;
        for info in layers::ALL {
            for default in of(info, &toml::Table::new()) {
                let field = info.fields.iter().find(|field| field.key == default.key).unwrap();
                assert!(field.default != default.value || info.name == "tracklace", "{} {default:?}", info.name);
                assert!(default.value.parse::<toml::Value>().is_ok(), "{default:?}");
                assert!(field.paper.is_some(), "{} as its paper has it is a volume too: {default:?}", info.name);
                met += 1;
            }
        }
        assert!(met >= ALL.len(), "{met}");
    }

    #[test]
    fn a_changed_default_is_written_out_and_an_older_volume_keeps_the_old_one() {
        for (layer, key, before) in CHANGED {
            let info = layers::find(layer).unwrap();
            let field = info.fields.iter().find(|field| field.key == key).unwrap();
            assert_ne!(field.default, before, "{layer}.{key} has not changed");
            let (mut new, mut old, mut own) = (toml::Table::new(), toml::Table::new(), toml::Table::new());
            own.insert(key.to_owned(), 7.into());
            write_out(info, &mut new);
            read_back(layer, &mut old);
            assert_eq!(
                (new[key].to_string(), old[key].to_string()),
                (field.default.replace('_', ""), before.to_owned())
            );
            let written = new.clone();
            read_back(layer, &mut new);
            assert_eq!(new, written);
            write_out(info, &mut own);
            read_back(layer, &mut own);
            assert_eq!(own[key], 7.into());
        }
        let mut other = toml::Table::new();
        read_back("seagate", &mut other);
        assert!(other.is_empty());
    }

    #[test]
    fn what_was_chosen_stays_and_other_layers_get_nothing() {
        let of = |layer: &str, chosen: &str| {
            let config = config(layers::find(layer).unwrap(), &chosen.parse().unwrap());
            toml::to_string(&config).unwrap()
        };
        assert_eq!(of("amphisbaena", "bypass = \"zone\""), "bypass = \"zone\"\nchunk_blocks = 1\n");
        assert_eq!(of("seagate", ""), "updates = \"many\"\nvalid = \"written\"\n");
        assert_eq!(of("tracklace", "trim = false"), "trim = false\nupdates = \"many\"\n");
        assert_eq!(of("fifo-log", ""), "");
    }
}
