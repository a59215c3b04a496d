//! What is known of a layer in Python before one is made: it follows from its class.

use std::sync::{Arc, Mutex, PoisonError};

use imbrex::event::{Counter, MOST_COUNTERS};
use imbrex::layer::TranslationLayer;
use imbrex::layers::Field;
use imbrex::layers::{self, ConfigError, Family, LayerInfo};
use imbrex::recording::Recording;
use imbrex::space::Space;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::adapter::Adapter;
use super::raised::Raised;
use super::space::PySpace;
use crate::error;
use crate::values::{dict, value_of};

/// What a class says of its layer.
#[derive(Clone, PartialEq)]
struct Described {
    name: String,
    summary: String,
    recording: Recording,
    buffered: bool,
    /// Key, default, meaning and samples.
    fields: Vec<(String, toml::Value, String, Vec<toml::Value>)>,
    /// Key, unit and meaning.
    counters: Vec<[String; 3]>,
}

/// A class that has been used, as it was then.
struct Known {
    class: Py<PyType>,
    described: Described,
    info: &'static LayerInfo,
    raised: Arc<Raised>,
}

/// Classes that have been used. What is known of a layer is kept for good, as that of those that are built in.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The layer that is named, or that a class is; and where it leaves what it raises, if it is one.
pub fn find(layer: &Bound<'_, PyAny>) -> PyResult<(&'static LayerInfo, Option<Arc<Raised>>)> {
    if let Ok(name) = layer.extract::<String>() {
        return Ok((layers::find(&name).map_err(|e| error::program(&e))?, None));
    }
    let base = layer.py().import("imbrex")?.getattr("Layer")?;
    let class = layer.cast::<PyType>().ok().filter(|class| class.is_subclass(&base).unwrap_or(false));
    let Some(class) = class else {
        let shown = layer.repr()?;
        let problem = format!("a layer is a name from imbrex.layers() or a class made from imbrex.Layer, not {shown}");
        return Err(PyTypeError::new_err(problem));
    };
    let (info, raised) = of_class(class, &base)?;
    Ok((info, Some(raised)))
}

fn of_class(class: &Bound<'_, PyType>, base: &Bound<'_, PyAny>) -> PyResult<(&'static LayerInfo, Arc<Raised>)> {
    let described = Described::of(class)?;
    if layers::known().any(|info| info.name == described.name) {
        let name = &described.name;
        return Err(error::ConfigError::new_err(format!("there is a layer '{name}' already; give yours another name")));
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&Known| known.class.is(class) && known.described == described;
    if let Some(Known { info, raised, .. }) = known.iter().find(same) {
        return Ok((info, Arc::clone(raised)));
    }
    let raised = Arc::new(Raised::default());
    let info = described.clone().leaked(class.clone().unbind(), base.clone().unbind(), Arc::clone(&raised));
    known.push(Known { class: class.clone().unbind(), described, info, raised: Arc::clone(&raised) });
    Ok((info, raised))
}

impl Described {
    fn of(class: &Bound<'_, PyType>) -> PyResult<Self> {
        let text = |name: &str| class.getattr(name)?.extract::<String>();
        let name: Option<String> = class.getattr("name")?.extract()?;
        let doc: Option<String> = class.getattr("__doc__")?.extract()?;
        let fields = class.getattr("fields")?.try_iter()?.map(|field| {
            let field = field?;
            let samples = field.getattr("samples")?.try_iter()?.map(|sample| value_of(&sample?));
            let default = value_of(&field.getattr("default")?)?;
            let (key, meaning) = (field.getattr("key")?.extract()?, field.getattr("meaning")?.extract()?);
            Ok((key, default, meaning, samples.collect::<PyResult<_>>()?))
        });
        let counters = class.getattr("counters")?.try_iter()?.map(|counter| {
            let counter = counter?;
            let text = |name: &str| counter.getattr(name)?.extract::<String>();
            Ok([text("key")?, text("unit")?, text("meaning")?])
        });
        let counters: Vec<_> = counters.collect::<PyResult<_>>()?;
        if counters.len() > MOST_COUNTERS {
            return Err(PyValueError::new_err(format!("a layer has at most {MOST_COUNTERS} counters of its own")));
        }
        Ok(Self {
            counters,
            name: name.map_or_else(|| class.name().map(|name| name.to_string()), Ok)?,
            summary: doc.unwrap_or_default().lines().next().unwrap_or_default().to_owned(),
            recording: recording(&text("recording")?)?,
            buffered: class.getattr("buffered")?.extract()?,
            fields: fields.collect::<PyResult<_>>()?,
        })
    }

    /// These facts for as long as the program runs, with how a layer is made.
    fn leaked(self, class: Py<PyType>, base: Py<PyAny>, raised: Arc<Raised>) -> &'static LayerInfo {
        let name = leaked(self.name);
        let field = |(key, default, meaning, samples): (String, toml::Value, String, Vec<toml::Value>)| Field {
            key: leaked(key),
            default: leaked(default.to_string()),
            meaning: leaked(meaning),
            samples: Box::leak(samples.iter().map(|sample| leaked(sample.to_string())).collect::<Box<[_]>>()),
            paper: None,
        };
        let defaults = self.fields.iter().map(|(key, default, ..)| (key.clone(), default.clone())).collect();
        let counter = |[key, unit, meaning]: [String; 3]| Counter {
            key: leaked(key),
            unit: leaked(unit),
            meaning: leaked(meaning),
        };
        let counters: &'static [Counter] = Box::leak(self.counters.into_iter().map(counter).collect::<Box<[_]>>());
        let make = move |space: &Space, config: &toml::Table| {
            let config = configured(name, &defaults, config)?;
            Python::attach(|py| made(name, class.bind(py), base.bind(py), space, &config, counters, &raised))
        };
        Box::leak(Box::new(LayerInfo {
            name,
            family: match self.recording {
                Recording::Zoned | Recording::WholeZones => Some(Family::Shingled),
                Recording::Flash => Some(Family::Ssd),
                _ => None,
            },
            source: "Python",
            summary: leaked(self.summary),
            recording: self.recording,
            buffered: self.buffered,
            fields: Box::leak(self.fields.into_iter().map(field).collect::<Box<[_]>>()),
            make: Box::leak(Box::new(make)),
        }))
    }
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn recording(name: &str) -> PyResult<Recording> {
    Ok(match name {
        "conventional" => Recording::Conventional,
        "zoned" => Recording::Zoned,
        "whole-zones" => Recording::WholeZones,
        "flash" => Recording::Flash,
        other => {
            let known = "conventional, zoned, whole-zones and flash";
            return Err(PyValueError::new_err(format!(
                "recording {other:?} is none that layers in Python are for: {known}"
            )));
        }
    })
}

/// The defaults, with what was chosen instead.
fn configured(name: &'static str, defaults: &toml::Table, config: &toml::Table) -> Result<toml::Table, ConfigError> {
    let wrong = |reason: String| ConfigError::Field { layer: name, reason };
    let mut all = defaults.clone();
    for (key, value) in config {
        let Some(default) = defaults.get(key) else {
            let known = defaults.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "it has none".to_owned() } else { format!("known are {known}") };
            return Err(wrong(format!("there is no field {key}; {known}")));
        };
        let is_whole = default.is_float() && value.is_integer();
        if !default.same_type(value) && !is_whole {
            return Err(wrong(format!("{key} is {value}, and takes a value of type {}", default.type_str())));
        }
        all.insert(key.clone(), value.clone());
    }
    Ok(all)
}

/// Makes the layer.
fn made(
    name: &'static str,
    class: &Bound<'_, PyType>,
    base: &Bound<'_, PyAny>,
    space: &Space,
    config: &toml::Table,
    counters: &'static [Counter],
    raised: &Arc<Raised>,
) -> Result<Box<dyn TranslationLayer>, ConfigError> {
    let py = class.py();
    let make = || {
        let object = class.call1((PySpace::new(space), dict(py, config)?))?;
        Adapter::new(name, &object, base, counters, Arc::clone(raised))
    };
    match make() {
        Ok(adapter) => Ok(Box::new(adapter)),
        // What a layer says of its configuration or its space, as others do.
        Err(e) if e.is_instance_of::<error::ConfigError>(py) => {
            Err(ConfigError::Field { layer: name, reason: e.value(py).to_string() })
        }
        Err(e) => {
            let reason = e.to_string();
            raised.keep(format!("layer {name}, __init__"), e);
            Err(ConfigError::Field { layer: name, reason })
        }
    }
}
