//! What is known of a layer before one is made.

use std::borrow::Cow;

use crate::config::{ConfigError, Configuration, Field, PAPER, PRESET, derived};
use crate::event::Counter;
use crate::layer::TranslationLayer;
use crate::recording::Recording;
use crate::samples;
use crate::space::Space;

/// A family of disks: layers are compared within one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Family {
    /// Host-managed shingled disks.
    Shingled,
    /// Bands, behind the cache of a drive-managed disk or as a log with a whole map.
    Banded,
    /// Interlaced disks.
    Interlaced,
    /// Hybrid disks, whose realms are conventional or shingled.
    Hybrid,
    /// Flash, and flash in front of a disk.
    Ssd,
}

impl Family {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Shingled, Self::Banded, Self::Interlaced, Self::Hybrid, Self::Ssd];

    /// The name used on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shingled => "shingled",
            Self::Banded => "banded",
            Self::Interlaced => "interlaced",
            Self::Hybrid => "hybrid",
            Self::Ssd => "ssd",
        }
    }
}

/// What is known of a layer before one is made.
#[derive(Copy, Clone)]
pub struct LayerInfo {
    /// The name used on the command line and in results.
    pub name: &'static str,
    /// The family of disks it is for; none for the baseline of them all.
    pub family: Option<Family>,
    /// Where the mechanism comes from.
    pub source: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The recording it is for.
    pub recording: Recording,
    /// Whether it has a persistent buffer, whose size then matters.
    pub buffered: bool,
    /// Its configuration fields, their defaults and meanings.
    pub fields: &'static [Field],
    /// Makes it; callers use [`LayerInfo::build`].
    pub make: &'static Make,
}

/// Makes a layer on an empty space from its configuration, as [`LayerInfo::build`] promises it.
pub type Make = dyn Fn(&Space, &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> + Sync;

impl LayerInfo {
    /// Makes the layer on an empty `space`. Before the first request it wants its records, if any, through
    /// [`TranslationLayer::apply`] and then the drive's report through [`TranslationLayer::recovered`].
    ///
    /// # Errors
    /// [`ConfigError`] names the field or the missing space, or says that the layer has its whole map in memory where
    /// that is not wanted.
    pub fn build(&self, space: &Space, config: &toml::Table) -> Result<Box<dyn TranslationLayer>, ConfigError> {
        let config = self.settled(config)?;
        let layer = (self.make)(space, &config)?;
        if space.map_cache.is_some() && layer.cached_map().is_none() {
            let reason = "it has its whole map in memory; leave out --map-memory".to_owned();
            return Err(ConfigError::Field { layer: self.name, reason });
        }
        Ok(layer)
    }

    /// What a configuration sets, field by field: a preset is what it stands for, and what is set beside it goes before.
    /// Who keeps a configuration keeps this one, since presets may change.
    ///
    /// # Errors
    /// [`ConfigError::Field`] if there is no such preset.
    pub fn settled<'c>(&self, config: &'c toml::Table) -> Result<Cow<'c, toml::Table>, ConfigError> {
        let Some(preset) = config.get(PRESET) else { return Ok(Cow::Borrowed(config)) };
        if preset.as_str() != Some(PAPER) {
            let reason = format!("there is no preset {preset}; known is \"{PAPER}\"");
            return Err(ConfigError::Field { layer: self.name, reason });
        }
        let of_paper =
            self.fields.iter().filter_map(|field| Some((field.key.to_owned(), derived::default(field.paper?))));
        let own = config.iter().filter(|(key, _)| *key != PRESET).map(|(key, value)| (key.clone(), value.clone()));
        Ok(Cow::Owned(of_paper.chain(own).collect()))
    }

    /// Reads what `table` sets of the layer's fields, which are those of `C`. The others have their defaults.
    ///
    /// # Errors
    /// [`ConfigError::Field`] names a field that the layer does not list, or whose value is wrong.
    pub fn read<C: Configuration>(&self, table: &toml::Table) -> Result<C, ConfigError> {
        let wrong = |reason: String| ConfigError::Field { layer: self.name, reason };
        let unknown = |key: &str| {
            let fields: Vec<&str> = self.fields.iter().map(|field| field.key).collect();
            let known =
                if fields.is_empty() { "it has none".to_owned() } else { format!("known are {}", fields.join(", ")) };
            wrong(format!("there is no field {key}; {known}"))
        };
        let is_listed = |key: &str| self.fields.iter().any(|field| field.key == key);
        if let Some(key) = table.keys().find(|key| !is_listed(key)) {
            return Err(unknown(key));
        }
        let mut config = C::default();
        for (key, value) in table {
            // It is listed, so a struct without it is another layer's.
            if !config.set(key, value).map_err(|e| wrong(self.misfit(key, value, &e)))? {
                return Err(unknown(key));
            }
        }
        Ok(config)
    }

    /// What is wrong with the value of a field.
    fn misfit(&self, key: &str, value: &toml::Value, error: &toml::de::Error) -> String {
        let default = self.fields.iter().find(|field| field.key == key).map_or("", |field| field.default);
        // Serde's message about a choice that is not a text does not help.
        match default.starts_with('"') && !value.is_str() && !value.is_table() {
            true => format!("{key} is {value}, and takes a text such as {default}"),
            false => format!("{key} is {value}: {}", error.message()),
        }
    }

    /// The counters that are its own; none of a layer that its defaults do not make.
    #[must_use]
    pub fn counters(&self) -> &'static [Counter] {
        self.build(&samples::ample_space(), &toml::Table::new()).map_or(&[], |layer| layer.facts().counters)
    }
}
