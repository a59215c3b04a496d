//! How a volume is served, as it is said in pairs of a key and a value: those that nbdkit hands to a plugin.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use imbrex::buffer_size::BufferSize;

use crate::engine::EngineOptions;
use crate::overlay;
use crate::record::{FILE_BYTES, LEAST_FILE_BYTES, LEAST_FREE, RecordOptions};

/// How a volume is served.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// Its stores, in order.
    pub stores: Vec<PathBuf>,
    /// Whether the stores are left as they are and clients may only read.
    pub read_only: bool,
    /// Bytes that are kept in memory for each store that is only read.
    pub overlay_bytes: u64,
    /// When the stores answer.
    pub pace: Pace,
    /// The control socket.
    pub control: Option<PathBuf>,
    /// The Unix socket that clients know, which is removed in the end: it is not the one that nbdkit made.
    pub shown: Option<PathBuf>,
    /// Whether a server ended just before without making everything durable, so that clients come back to this one.
    pub restarted: bool,
    /// Whether the memory of the process is locked while the volume is served.
    pub lock_memory: bool,
    /// Bytes of the map in memory, of one that has pages on the drive; as it was formatted if nothing is said.
    pub map_memory: Option<u64>,
    /// What is recorded where, if something is.
    pub record: Option<PathBuf>,
    /// Bytes of a file of the recording, nearly.
    pub record_bytes: u64,
    /// Bytes that the recording leaves free where its files lie.
    pub record_least_free: u64,
    /// How the engine works.
    pub engine: EngineOptions,
}

/// When stores answer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pace {
    /// As soon as this machine has done what was asked.
    Host,
    /// When the drives that they emulate would.
    Drive,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            stores: Vec::new(),
            read_only: false,
            overlay_bytes: overlay::KEEPS,
            pace: Pace::Host,
            control: None,
            shown: None,
            restarted: false,
            lock_memory: false,
            map_memory: None,
            record: None,
            record_bytes: FILE_BYTES,
            record_least_free: LEAST_FREE,
            engine: EngineOptions::default(),
        }
    }
}

/// Why a key does not take a value.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// The value is none that the key takes.
    #[error("{key}={value}: it takes {takes}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The values that it takes.
        takes: &'static str,
    },
    /// The path cannot be made absolute.
    #[error("{path}: {source}")]
    Path {
        /// The path.
        path: String,
        /// Why not.
        source: io::Error,
    },
}

impl OptionError {
    /// `key` takes something else than `value`.
    #[must_use]
    pub fn value(key: &str, value: &str, takes: &'static str) -> Self {
        Self::Value { key: key.to_owned(), value: value.to_owned(), takes }
    }
}

/// What a key means, and what its value looks like. The order is that of the help.
pub const KEYS: [(&str, &str); 15] = [
    ("store=PATH", "a store of the volume; repeated, in order, if there are several"),
    ("readonly=true", "leave the stores as they are and let clients only read"),
    ("overlay=MIB", "MiB kept in memory for each store that is only read"),
    ("pace=drive", "let images answer when the drives that they emulate would, and not at once, as with pace=host"),
    ("control=PATH", "a socket for `imbrex status`, `clean`, `grow` and `scrub`"),
    ("idle-after=MS", "milliseconds without a request before cleaning is offered the time"),
    (
        "step-ms=MS",
        "how long a cleaning step may take: steps are made small enough; 100 unless said otherwise, 0: any time",
    ),
    ("throttle=PERCENT", "how much of the time background cleaning may take"),
    ("shown=PATH", "a socket that is removed in the end"),
    ("restarted=true", "a server ended just before: let the first flush fail, since what was not flushed may be lost"),
    ("lock-memory=true", "keep the server's memory and its program in memory, whatever else needs some"),
    ("map-memory=SIZE", "how much of a map that has pages on the drive is in memory; otherwise as it was formatted"),
    (
        "record=FILE",
        "record requests as Parquet traces: NAME.parquet gives NAME-0001.parquet and so on, none of which is there",
    ),
    ("record-size=SIZE", "how long such a file gets, at least 64KiB; 1GiB unless said otherwise"),
    ("workers=N", "threads that carry operations out, beside those that ask"),
];

impl ServiceOptions {
    /// Takes what a key says. False when the key is not one of [`KEYS`].
    ///
    /// # Errors
    /// When the key does not take the value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<bool, OptionError> {
        match key {
            "store" => self.stores.push(absolute(value)?),
            "readonly" => self.read_only = read(key, value, "true or false")?,
            "overlay" => self.overlay_bytes = read::<u64>(key, value, "a number of MiB")?.saturating_mul(1 << 20),
            "pace" => {
                self.pace = match value {
                    "drive" => Pace::Drive,
                    "host" => Pace::Host,
                    _ => return Err(OptionError::value(key, value, "drive or host")),
                }
            }
            "control" => self.control = Some(absolute(value)?),
            "idle-after" => self.engine.idle_after = milliseconds(key, value)?,
            "step-ms" => self.engine.step_limit = Some(milliseconds(key, value)?).filter(|limit| !limit.is_zero()),
            "throttle" => self.engine.throttle = percent(key, value)?,
            "shown" => self.shown = Some(absolute(value)?),
            "restarted" => self.restarted = read(key, value, "true or false")?,
            "lock-memory" => self.lock_memory = read(key, value, "true or false")?,
            "map-memory" => self.map_memory = Some(size(key, value)?),
            "record" => self.record = Some(absolute(value)?),
            "record-size" => {
                self.record_bytes = size(key, value)?;
                if self.record_bytes < LEAST_FILE_BYTES {
                    return Err(OptionError::value(key, value, "a size of 64KiB or more"));
                }
            }
            "workers" => self.engine.workers = read(key, value, "a number of threads")?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is recorded where, if something is.
    pub(super) fn recording(&self) -> Option<RecordOptions> {
        let file = self.record.clone()?;
        Some(RecordOptions {
            file_bytes: self.record_bytes,
            least_free: self.record_least_free,
            ..RecordOptions::to(file)
        })
    }
}

/// A path that stays the same when the working directory changes.
fn absolute(path: &str) -> Result<PathBuf, OptionError> {
    std::path::absolute(path).map_err(|source| OptionError::Path { path: path.to_owned(), source })
}

fn read<T: std::str::FromStr>(key: &str, value: &str, takes: &'static str) -> Result<T, OptionError> {
    value.parse().map_err(|_| OptionError::value(key, value, takes))
}

fn size(key: &str, value: &str) -> Result<u64, OptionError> {
    const TAKES: &str = "a size such as 512MiB or 4GiB";
    match read(key, value, TAKES)? {
        BufferSize::Bytes(bytes) => Ok(bytes),
        _ => Err(OptionError::value(key, value, TAKES)),
    }
}

fn milliseconds(key: &str, value: &str) -> Result<Duration, OptionError> {
    read(key, value, "a number of milliseconds").map(Duration::from_millis)
}

fn percent(key: &str, value: &str) -> Result<u8, OptionError> {
    const TAKES: &str = "a percentage from 1 to 100";
    match read(key, value, TAKES)? {
        percent @ 1..=100 => Ok(percent),
        _ => Err(OptionError::value(key, value, TAKES)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_key_is_known_and_bad_values_are_named() {
        for (form, _) in KEYS {
            let key = form.split('=').next().unwrap();
            assert!(!matches!(ServiceOptions::default().set(key, "1"), Ok(false)), "{key}");
            let taken = matches!(key, "store" | "control" | "shown" | "record");
            let refused = ServiceOptions::default().set(key, "maybe");
            assert!(taken || refused.unwrap_err().to_string().starts_with(&format!("{key}=maybe: it takes ")), "{key}");
        }
        assert!(matches!(ServiceOptions::default().set("color", "red"), Ok(false)));
        assert!(ServiceOptions::default().set("throttle", "0").is_err());
        let mut options = ServiceOptions::default();
        assert!(options.set("map-memory", "1.5GiB").is_ok() && options.map_memory == Some(3 << 29));
        assert!(options.set("map-memory", "10%").is_err() && options.set("map-memory", "4096").is_err());
    }
}
