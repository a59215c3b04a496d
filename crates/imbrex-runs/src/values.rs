//! Values that runs are specified by: names of layers, sizes, parts of a whole.

use std::fmt;
use std::num::NonZeroU64;

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

    /// Of bytes.
    fn of_number(number: &str) -> Result<Self, String> {
        Self::read(&format!("{number}B"))
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

    /// Of bytes.
    fn of_number(number: &str) -> Result<Self, String> {
        Size::of_number(number).map(|size| Self::Bytes(size.0))
    }

    fn text(&self) -> String {
        self.bytes().map_or("fit".to_owned(), |bytes| Size(bytes).text())
    }
}

/// A time in nanoseconds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Time(pub u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration::shown(self.0).replace(' ', ""))
    }
}

impl Written for Time {
    fn read(text: &str) -> Result<Self, String> {
        nanoseconds(text).map(Self).ok_or_else(|| "write a time such as 500ms, 30s, 10min or 2h".to_owned())
    }

    fn text(&self) -> String {
        duration::written(self.0)
    }
}

impl Written for WarmUp {
    fn read(text: &str) -> Result<Self, String> {
        let remedy =
            || "write a number of requests such as 10000 or 10k, or a time such as 500ms, 30s, 10min or 2h".to_owned();
        requests(text).map(|n| Self::Requests(n.get())).or_else(|_| nanoseconds(text).map(Self::Ns).ok_or_else(remedy))
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

    /// Of bytes.
    fn of_number(number: &str) -> Result<Self, String> {
        Self::read(&format!("{number}B"))
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

/// A part of a whole, as a number from 0 to 1 or in percent.
///
/// # Errors
/// When it is less than nothing or more than the whole.
pub fn part(text: &str) -> Result<f64, String> {
    let part = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let part = part.ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "write a number from 0 to 1, or a percentage such as 50%".to_owned())
}

/// A number of requests above 0, such as 20000, 20k or 1.5M.
///
/// # Errors
/// When it is none.
pub fn requests(text: &str) -> Result<NonZeroU64, String> {
    let times = [("", 1), ("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let number = times.iter().find_map(|(suffix, times)| multiplied(text.strip_suffix(suffix)?, *times));
    number.and_then(NonZeroU64::new).ok_or_else(|| "write a number of requests such as 20000, 20k or 1.5M".to_owned())
}

/// The whole number that a decimal one is when it is multiplied by a power of ten.
fn multiplied(digits: &str, times: u64) -> Option<u64> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let scale = 10u64.checked_pow(part.len().try_into().ok()?)?;
    if whole.is_empty() || !is_number(whole) || !is_number(part) || !times.is_multiple_of(scale) {
        return None;
    }
    let part = if part.is_empty() { 0 } else { part.parse::<u64>().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(times)?.checked_add(part * (times / scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_requests_are_read_as_people_write_them() {
        for (text, is) in [("0.5", 0.5), ("50%", 0.5), ("100 %", 1.0), ("0", 0.0)] {
            assert_eq!(part(text), Ok(is), "{text}");
        }
        for text in ["", "%", "50", "101%", "-1%", "NaN"] {
            assert!(part(text).is_err_and(|said| said.contains("such as 50%")), "{text}");
        }
        for (text, is) in [("7", 7), ("10k", 10_000), ("1.5M", 1_500_000), ("0.001k", 1), ("2G", 2_000_000_000)] {
            assert_eq!(requests(text).map(NonZeroU64::get), Ok(is), "{text}");
        }
        for text in ["", "0", "k", ".5k", "1.5", "0.0001k", "1e3", "-1", "+1", "10K", "99999999999999G"] {
            assert!(requests(text).is_err_and(|said| said.contains("such as 20000, 20k")), "{text}");
        }
    }

    #[test]
    fn numbers_alone_are_bytes_in_specifications_and_nothing_on_the_command_line() {
        assert_eq!((Size::of_number("4096"), Size::read("4096").is_err()), (Ok(Size(4096)), true));
        assert_eq!(Capacity::of_number("4096"), Ok(Capacity::Bytes(4096)));
        assert_eq!(BufferSize::of_number("4096"), Ok(BufferSize::Bytes(4096)));
        assert!(BufferSize::read("64").is_err_and(|said| said.starts_with("64 of what?")));
    }
}
