//! What a file says about itself, and the checksums that say whether it is still true.
//!
//! | key | value |
//! |---|---|
//! | `imbrex.schema` | `imbrex.trace/1`, or `imbrex.trace/2` of a file with the column `trim` |
//! | `imbrex.source` | the trace or workload the requests come from, without its folders |
//! | `imbrex.source_format` | that one's format |
//! | `imbrex.synthetic` | `true` or `false` |
//! | `imbrex.requests` | how many |
//! | `imbrex.duration_ns` | when the last one arrives |
//! | `imbrex.recording.…` | what a recording says about itself |
//! | `imbrex.checksum` | CRC-32C of the requests, then CRC-32C of it and of the values above, in hexadecimal |
//!
//! Checksums count only in files that Imbrex wrote itself, which their `created_by` and the name of their schema tell,
//! one of which is enough. Other programs may carry the keys over to a file whose requests they changed; of these keys
//! only `imbrex.synthetic` is believed.

use ::parquet::file::metadata::{FileMetaData, KeyValue};

use super::{CREATOR, SCHEMA_NAME, TRIM};
use crate::{TraceInfo, TraceRequest};
use imbrex_core::block::Access;

const SCHEMA: &str = "imbrex.trace/1";
/// Who knows the first version only would take a trim for a read.
const SCHEMA_WITH_TRIMS: &str = "imbrex.trace/2";

/// What the keys of a recording begin with.
const OF_RECORDING: &str = "imbrex.recording.";

/// The keys but the checksum's, in the order in which they are written and checksummed.
const KEYS: [&str; 6] = [
    "imbrex.schema",
    "imbrex.source",
    "imbrex.source_format",
    "imbrex.synthetic",
    "imbrex.requests",
    "imbrex.duration_ns",
];
const SYNTHETIC: usize = 3;
const CHECKSUM: &str = "imbrex.checksum";

/// A running checksum of requests.
#[derive(Default)]
pub(crate) struct Checksum {
    /// What the arrivals of requests count from, as the file has them.
    pub(super) base_ns: u64,
    crc: u32,
    requests: u64,
    duration_ns: u64,
    encoded: Vec<u8>,
}

/// Where the requests of a file come from.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    pub(crate) name: String,
    pub(crate) format: String,
    pub(crate) synthetic: bool,
    /// Whether requests may be trims.
    pub(crate) trims: bool,
    /// What a recording says about itself: keys without what all of them begin with, and values.
    pub(crate) notes: Vec<(String, String)>,
}

impl From<&TraceInfo> for Origin {
    fn from(info: &TraceInfo) -> Self {
        let (format, synthetic) = (info.format.to_string(), info.is_synthetic());
        Self { name: info.name.clone(), format, synthetic, ..Self::default() }
    }
}

/// Bytes of a request in a checksum: arrival, offset, length, and 1 for a write, 2 for a trim; little-endian.
const ENCODED_BYTES: usize = 24;

impl Checksum {
    pub(crate) fn add(&mut self, requests: &[TraceRequest]) {
        let Some(last) = requests.last() else { return };
        self.requests += requests.len() as u64;
        self.duration_ns = last.arrival_ns;
        self.encoded.resize(requests.len() * ENCODED_BYTES, 0);
        for (to, request) in self.encoded.chunks_exact_mut(ENCODED_BYTES).zip(requests) {
            to[..8].copy_from_slice(&(request.arrival_ns + self.base_ns).to_le_bytes());
            to[8..16].copy_from_slice(&request.offset_bytes.to_le_bytes());
            let access = match request.access {
                Access::Read => 0,
                Access::Write => 1,
                Access::Trim => 2,
            };
            to[16..].copy_from_slice(&(u64::from(request.bytes) | access << 32).to_le_bytes());
        }
        self.crc = crc32c::crc32c_append(self.crc, &self.encoded);
    }
}

/// What a file says of the recording that it is of.
#[derive(Clone, Default)]
pub(super) struct Recorded {
    /// What tells the volume from others.
    pub volume: String,
    /// When its server began to record, in milliseconds since 1970.
    pub began_ms: u64,
    /// Its number, from 1 on.
    pub file: u32,
    /// Requests that are missing in it.
    pub lost: u64,
}

impl Recorded {
    /// What a file says that is of a recording.
    pub fn of(file: &FileMetaData) -> Option<Self> {
        let note = |key: &str| {
            let mut pairs = file.key_value_metadata()?.iter();
            pairs.find(|pair| pair.key.strip_prefix(OF_RECORDING) == Some(key))?.value.clone()
        };
        let number = |key| note(key)?.parse::<u64>().ok();
        Some(Self {
            volume: note("volume")?,
            began_ms: number("began_ms")?,
            file: number("file")?.try_into().ok()?,
            lost: number("lost")?,
        })
    }
}

/// What a file that Imbrex wrote promises.
#[derive(Copy, Clone)]
pub(super) struct Promise {
    crc: u32,
}

impl Promise {
    pub(super) fn is_kept_by(self, checksum: &Checksum) -> bool {
        self.crc == checksum.crc
    }
}

/// The metadata of a file of requests from `origin` that add up to `checksum`.
pub(crate) fn metadata(origin: &Origin, checksum: &Checksum) -> Vec<KeyValue> {
    let name = origin.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let (requests, duration_ns) = (checksum.requests.to_string(), checksum.duration_ns.to_string());
    let schema = if origin.trims { SCHEMA_WITH_TRIMS } else { SCHEMA };
    let values = [schema, name, &origin.format, &origin.synthetic.to_string(), &requests, &duration_ns];
    let mut pairs: Vec<KeyValue> = KEYS.into_iter().zip(values).map(|(key, value)| pair(key, value)).collect();
    pairs.extend(origin.notes.iter().map(|(key, value)| pair(&format!("{OF_RECORDING}{key}"), value)));
    let sealed = format!("{:08x}{:08x}", checksum.crc, crc_of(checksum.crc, &sealed_values(&values, &pairs)));
    pairs.push(pair(CHECKSUM, &sealed));
    pairs
}

fn pair(key: &str, value: &str) -> KeyValue {
    KeyValue::new(key.to_owned(), value.to_owned())
}

/// What the checksum of the metadata is over: the values that every file has, and the notes of a recording.
fn sealed_values<'a>(values: &[&'a str], pairs: &'a [KeyValue]) -> Vec<&'a str> {
    let notes = pairs.iter().filter(|pair| pair.key.starts_with(OF_RECORDING));
    let notes = notes.flat_map(|pair| [pair.key.as_str(), pair.value.as_deref().unwrap_or_default()]);
    values.iter().copied().chain(notes).collect()
}

/// Whether the requests are synthetic and, in a file that Imbrex wrote, what it promises. The error says what is wrong.
pub(super) fn read(file: &FileMetaData) -> Result<(bool, Option<Promise>), &'static str> {
    let value = |key| {
        let pair = file.key_value_metadata()?.iter().find(|pair| pair.key == key)?;
        pair.value.as_deref()
    };
    let is_ours = file.schema().name() == SCHEMA_NAME || file.created_by().is_some_and(|by| by.starts_with(CREATOR));
    if !is_ours {
        // A label that is there and does not say false is rather believed than lost.
        return Ok((value(KEYS[SYNTHETIC]).is_some_and(|said| said != "false"), None));
    }
    let values = KEYS.map(value);
    let (Some(checksum), true) = (value(CHECKSUM), values.iter().all(Option::is_some)) else {
        return Err("its metadata is incomplete");
    };
    let values = values.map(Option::unwrap_or_default);
    let has_trims = file.schema_descr().columns().iter().any(|column| column.name() == TRIM);
    if values[0] != if has_trims { SCHEMA_WITH_TRIMS } else { SCHEMA } {
        return Err("it is of another version, or damaged");
    }
    let sealed_values = sealed_values(&values, file.key_value_metadata().map_or(&[][..], Vec::as_slice));
    let halves = checksum.split_at_checked(8).map(|(a, b)| [a, b].map(|half| u32::from_str_radix(half, 16)));
    match halves {
        Some([Ok(crc), Ok(sealed)]) if sealed == crc_of(crc, &sealed_values) => {
            Ok((values[SYNTHETIC] == "true", Some(Promise { crc })))
        }
        _ => Err("its metadata does not match its checksum"),
    }
}

/// The checksum of the metadata: over the requests' own and every value with its length.
fn crc_of(requests: u32, values: &[&str]) -> u32 {
    values.iter().fold(crc32c::crc32c(&requests.to_le_bytes()), |crc, value| {
        let crc = crc32c::crc32c_append(crc, &(value.len() as u64).to_le_bytes());
        crc32c::crc32c_append(crc, value.as_bytes())
    })
}
