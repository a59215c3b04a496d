//! What a file says about itself, and the checksums that say whether it is still true.
//!
//! | key | value |
//! |---|---|
//! | `imbrex.schema` | `imbrex.trace/1` |
//! | `imbrex.source` | the trace or workload the requests come from, without its folders |
//! | `imbrex.source_format` | that one's format |
//! | `imbrex.synthetic` | `true` or `false` |
//! | `imbrex.requests` | how many |
//! | `imbrex.duration_ns` | when the last one arrives |
//! | `imbrex.checksum` | CRC-32C of the requests, then CRC-32C of it and of the values above, in hexadecimal |
//!
//! Checksums count only in files that Imbrex wrote itself, which their `created_by` and the name of their schema tell,
//! one of which is enough. Other programs may carry the keys over to a file whose requests they changed; of these keys
//! only `imbrex.synthetic` is believed.

use ::parquet::file::metadata::{FileMetaData, KeyValue};

use super::{CREATOR, SCHEMA_NAME};
use crate::{TraceInfo, TraceRequest};
use imbrex_core::block::Access;

const SCHEMA: &str = "imbrex.trace/1";

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
    crc: u32,
    requests: u64,
    duration_ns: u64,
    encoded: Vec<u8>,
}

/// Bytes of a request in a checksum: arrival, offset, length, and 1 for a write; little-endian.
const ENCODED_BYTES: usize = 24;

impl Checksum {
    pub(crate) fn add(&mut self, requests: &[TraceRequest]) {
        let Some(last) = requests.last() else { return };
        self.requests += requests.len() as u64;
        self.duration_ns = last.arrival_ns;
        self.encoded.resize(requests.len() * ENCODED_BYTES, 0);
        for (to, request) in self.encoded.chunks_exact_mut(ENCODED_BYTES).zip(requests) {
            to[..8].copy_from_slice(&request.arrival_ns.to_le_bytes());
            to[8..16].copy_from_slice(&request.offset_bytes.to_le_bytes());
            let write = u64::from(request.access == Access::Write);
            to[16..].copy_from_slice(&(u64::from(request.bytes) | write << 32).to_le_bytes());
        }
        self.crc = crc32c::crc32c_append(self.crc, &self.encoded);
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

/// The metadata of a file of requests from `source` that add up to `checksum`.
pub(crate) fn metadata(source: &TraceInfo, checksum: &Checksum) -> Vec<KeyValue> {
    let name = source.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let (requests, duration_ns) = (checksum.requests.to_string(), checksum.duration_ns.to_string());
    let (format, synthetic) = (source.format.to_string(), source.is_synthetic().to_string());
    let values = [SCHEMA, name, &format, &synthetic, &requests, &duration_ns];
    let checksum = format!("{:08x}{:08x}", checksum.crc, crc_of(checksum.crc, &values));
    let pairs = KEYS.into_iter().zip(values).chain([(CHECKSUM, checksum.as_str())]);
    pairs.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned())).collect()
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
    if values[0] != SCHEMA {
        return Err("it is of another version, or damaged");
    }
    let halves = checksum.split_at_checked(8).map(|(a, b)| [a, b].map(|half| u32::from_str_radix(half, 16)));
    match halves {
        Some([Ok(crc), Ok(sealed)]) if sealed == crc_of(crc, &values) => {
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
