//! Values that runs are specified by: names of layers, sizes, parts of a whole.

use imbrex::drive::ConventionalZones;
use imbrex::layers::{self, LayerInfo};
use imbrex::replay::{BufferSize, WarmUp, Window};
use imbrex_terminal::duration::{self, nanoseconds, whole};

use crate::written::Written;

/// A number of bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Size(u64);

impl Size {
    /// How many they are.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl Written for Size {
    fn read(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(BufferSize::Bytes(bytes)) => Ok(Self(bytes)),
            _ => Err("write a size such as 64GiB or 2TB".to_owned()),
        }
    }

    fn text(&self) -> String {
        BufferSize::Bytes(self.0).to_string()
    }
}

/// A number of bytes where nothing else can be written.
///
/// # Errors
/// When `text` is no size.
pub fn size(text: &str) -> Result<u64, String> {
    Size::read(text).map(Size::bytes)
}

/// The size of the drive.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// A number of bytes.
    Bytes(u64),
    /// Large enough that the layer offers what the workload needs.
    Fit,
}

impl Capacity {
    /// The drive in that size, or as it is where the workload decides.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Fit => None,
        }
    }
}

impl Written for &'static LayerInfo {
    fn read(text: &str) -> Result<Self, String> {
        layers::find(text).map_err(|e| e.to_string())
    }

    fn text(&self) -> String {
        self.name.to_owned()
    }
}

/// The layer of a name.
///
/// # Errors
/// When there is none.
pub fn layer(name: &str) -> Result<&'static LayerInfo, layers::ConfigError> {
    layers::find(name)
}

impl Written for Capacity {
    fn read(text: &str) -> Result<Self, String> {
        let remedy = |e| format!("{e}, or fit");
        if text == "fit" { Ok(Self::Fit) } else { Size::read(text).map(|size| Self::Bytes(size.0)).map_err(remedy) }
    }

    fn text(&self) -> String {
        self.bytes().map_or("fit".to_owned(), |bytes| Size(bytes).text())
    }
}

impl Written for WarmUp {
    fn read(text: &str) -> Result<Self, String> {
        let remedy =
            || "write a number of requests such as 10000, or a time such as 500ms, 30s, 10min or 2h".to_owned();
        whole(text).map(Self::Requests).or_else(|| nanoseconds(text).map(Self::Ns)).ok_or_else(remedy)
    }

    fn text(&self) -> String {
        match self {
            Self::Requests(requests) => requests.to_string(),
            Self::Ns(ns) => duration::written(*ns),
        }
    }
}

impl Written for Window {
    fn read(text: &str) -> Result<Self, String> {
        let requests = text.strip_suffix("req").and_then(whole).map(Self::Requests);
        let remedy =
            || "write a time such as 500ms, 60s, 5min or 1h, or a number of requests such as 1000req".to_owned();
        requests.or_else(|| nanoseconds(text).map(Self::Ns)).ok_or_else(remedy)
    }

    /// Of requests.
    fn of_number(number: &str) -> Result<Self, String> {
        Self::read(&format!("{number}req"))
    }

    fn text(&self) -> String {
        match self {
            Self::Requests(requests) => format!("{requests}req"),
            Self::Ns(ns) => duration::written(*ns),
        }
    }
}

impl Written for BufferSize {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e| format!("{e}"))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Written for ConventionalZones {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e| format!("{e}"))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// A part of a whole.
///
/// # Errors
/// When it is less than nothing or more than the whole.
pub fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "write a number from 0 to 1".to_owned())
}
