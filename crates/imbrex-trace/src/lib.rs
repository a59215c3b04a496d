//! Workloads: block traces read from files, and synthetic ones generated from a specification.
//!
//! Both are [`TraceSource`]s that hand out [`TraceRequest`]s in batches; what a source keeps in memory does not depend
//! on how long the trace is. A [`Workload`] names a source and opens it as often as passes are needed.
//!
//! What a reader of any format does with what it finds:
//! - Arrivals count from the first request, and never decrease: a request stamped earlier than its predecessor arrives
//!   together with it. A format known to be written in order of completion (SYSTOR '17) is put in order of time first,
//!   within a window of [`formats::SORT_WINDOW`] requests.
//! - One volume is read: the one chosen, or else the one with most requests in the first [`formats::LOOK_BYTES`] bytes.
//!   Addresses of several volumes on one disk would collide, and nothing in a file says how large its volumes are.
//! - A request of no bytes is left out.
//! - Each of these is counted in [`Irregularities`], as is a command that carries no data; everything else that is
//!   wrong is a [`TraceError`] with the line or the byte where it stands.

#![forbid(unsafe_code)]

mod compression;
pub mod derived;
mod doubts;
mod error;
mod folder;
mod format;
pub mod formats;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod profiles;
pub mod provided;
pub mod statistics;
pub mod synthetic;
mod trace_file;
pub mod workloads;
pub mod write;

pub use compression::Compression;
use derived::dense::Dense;
use derived::held::Held;
use derived::prepopulated::Prepopulated;
use derived::sampled::Sampled;
pub use doubts::doubt;
pub use error::{Position, Problem, TraceError};
pub use folder::traces_in;
pub use format::{FORMATS, FormatInfo, NoSuchFormat, TraceFormat};
use imbrex_core::block::{Access, Extent, Lba};
use profiles::{Profile, ProfileSource};
use provided::Provided;
use serde::Serialize;
use synthetic::{Generator, SyntheticSpec};
pub use trace_file::{BlockEvent, FileOptions, TraceFile};

/// Requests per batch where nothing else decides: 96 KiB of them.
const BATCH: usize = 4096;

/// One request of a trace, in bytes as it was recorded.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TraceRequest {
    /// When it arrives, counted from the first request of its trace.
    pub arrival_ns: u64,
    /// The first byte. `offset_bytes + bytes` does not overflow.
    pub offset_bytes: u64,
    /// How many bytes; at least one.
    pub bytes: u32,
    /// What is asked for.
    pub access: Access,
}

impl TraceRequest {
    /// The byte after the last.
    #[must_use]
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes + u64::from(self.bytes)
    }

    /// Every block the request touches, be it by a single byte. The bytes are in the request.
    ///
    /// # Panics
    /// When `block_bytes` is not a power of two.
    #[must_use]
    pub fn blocks(&self, block_bytes: u32) -> Extent<Lba> {
        assert!(block_bytes.is_power_of_two(), "a block is a power of two of bytes, not {block_bytes}");
        let shift = block_bytes.trailing_zeros();
        let last = (self.end_bytes() - 1) >> shift;
        Extent::between(Lba(self.offset_bytes >> shift), Lba(last + 1))
    }
}

/// What a source is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceInfo {
    /// The file as it was named, or the name of the synthetic workload.
    pub name: String,
    /// How its requests are written down.
    pub format: TraceFormat,
    /// How the file is compressed.
    pub compression: Compression,
    /// Whether the requests were generated, by [`synthetic`] or [`profiles`], be it by way of a file that says so.
    pub synthetic: bool,
}

impl TraceInfo {
    /// Whether no disk ever saw these requests. Every result shown from such a workload says so.
    #[must_use]
    pub fn is_synthetic(&self) -> bool {
        self.synthetic
    }
}

/// What a reader met and mended, up to now.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Irregularities {
    /// Requests stamped earlier than their predecessor; they arrive together with it.
    pub out_of_order: u64,
    /// Requests of no bytes; left out.
    pub zero_size: u64,
    /// Commands that neither read nor write, such as a cache flush; left out.
    pub without_data: u64,
    /// Requests that the file holds later than their time; put in order.
    pub reordered: u64,
    /// Requests of volumes other than the one that is read; left out.
    pub other_volumes: u64,
    /// Requests of a dense workload for blocks that are never written; left out.
    pub unwritten: u64,
}

/// A stream of requests in order of arrival.
pub trait TraceSource: Send {
    /// What this source is.
    fn info(&self) -> &TraceInfo;

    /// Replaces the content of `batch` by the next requests, at most `limit` (at least one). An empty batch is the end.
    /// A source that returned an error is spent.
    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError>;

    /// The volume whose requests these are, once the first has been handed out; none where a source has no names for
    /// volumes.
    fn volume(&self) -> Option<String> {
        None
    }

    /// Which part of the source has been used, from 0 to 1, where that can be told.
    fn share_done(&self) -> Option<f64> {
        None
    }

    /// What was mended in what was read so far.
    fn irregularities(&self) -> Irregularities {
        Irregularities::default()
    }

    /// What was decided about the source because nobody had said it, each in half a sentence that names the option.
    fn remarks(&self) -> &[String] {
        &[]
    }
}

/// What only a whole pass over a workload tells.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceRange {
    /// How many requests there are.
    pub requests: u64,
    /// The address range in bytes: up to the highest byte touched, or as a synthetic workload specifies it.
    pub range_bytes: u64,
    /// When the last request arrives.
    pub duration_ns: u64,
    /// What was mended.
    pub irregularities: Irregularities,
}

/// A source of requests that can be opened again for a second pass.
#[derive(Clone, PartialEq, Debug)]
pub enum Workload {
    /// A trace file, see [`formats`].
    File(TraceFile),
    /// A generated workload, see [`synthetic`].
    Synthetic(SyntheticSpec),
    /// A generated volume like a published one, see [`profiles`].
    Profile(Box<Profile>),
    /// Another workload with its written blocks side by side, see [`derived`].
    Dense(Box<Dense>),
    /// A part of the blocks of another workload, see [`derived`].
    Sampled(Box<Sampled>),
    /// Another workload behind writes of its own in another order, see [`derived`].
    Prepopulated(Box<Prepopulated>),
    /// Some of the requests of another workload, held in memory, see [`derived`].
    Held(Box<Held>),
    /// Requests of the program that embeds the library, see [`provided`].
    Provided(Provided),
}

impl Workload {
    /// Opens the workload at its first request.
    pub fn open(&self) -> Result<Box<dyn TraceSource>, TraceError> {
        match self {
            Self::File(file) => formats::open_file(file),
            Self::Synthetic(spec) => Ok(Box::new(Generator::new(spec)?)),
            Self::Profile(profile) => Ok(Box::new(ProfileSource::new(profile)?)),
            Self::Dense(dense) => Ok(Box::new(dense.open()?)),
            Self::Sampled(sampled) => Ok(Box::new(sampled.open()?)),
            Self::Prepopulated(prepopulated) => Ok(Box::new(prepopulated.open()?)),
            Self::Held(held) => Ok(Box::new(held.open())),
            Self::Provided(provided) => provided.open(),
        }
    }

    /// Reads the workload once from end to end.
    pub fn range(&self) -> Result<TraceRange, TraceError> {
        self.range_of(&mut *self.open()?)
    }

    /// Reads `source`, which is this workload or the beginning of it, to its end.
    pub fn range_of(&self, source: &mut dyn TraceSource) -> Result<TraceRange, TraceError> {
        let mut range = TraceRange::of(source)?;
        match self {
            // A short run may miss the end of what is specified; a profile's first new extent lies there.
            Self::Synthetic(spec) => range.range_bytes = spec.range_bytes,
            Self::Sampled(sampled) => range.range_bytes = sampled.range_bytes(),
            _ => {}
        }
        Ok(range)
    }

    /// The file that its requests are read from, if they are.
    #[must_use]
    pub fn file(&self) -> Option<&TraceFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Synthetic(_) | Self::Profile(_) | Self::Provided(_) => None,
            Self::Dense(dense) => dense.original().file(),
            Self::Sampled(sampled) => sampled.original().file(),
            Self::Prepopulated(prepopulated) => prepopulated.original().file(),
            Self::Held(held) => held.original().file(),
        }
    }

    /// Whether requests are generated, and so drawn from a seed.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        match self {
            Self::File(_) | Self::Provided(_) => None,
            Self::Synthetic(spec) => Some(spec.seed),
            Self::Profile(profile) => Some(profile.seed),
            Self::Dense(dense) => dense.original().seed(),
            Self::Sampled(sampled) => sampled.original().seed(),
            Self::Prepopulated(prepopulated) => prepopulated.original().seed(),
            Self::Held(held) => held.original().seed(),
        }
    }

    /// Draws from `seed`; changes nothing about a file, nor about what was made from another workload.
    pub fn set_seed(&mut self, seed: u64) {
        match self {
            Self::Synthetic(spec) => spec.seed = seed,
            Self::Profile(profile) => profile.seed = seed,
            _ => {}
        }
    }

    /// Generates `requests` requests; changes nothing about a file, nor about what was made from another workload.
    pub fn set_requests(&mut self, requests: u64) {
        match self {
            Self::Synthetic(spec) => spec.requests = requests,
            Self::Profile(profile) => profile.shortened = Some(requests),
            _ => {}
        }
    }
}

impl TraceRange {
    /// Reads `source` to its end; the range is up to the highest byte touched.
    pub fn of(source: &mut dyn TraceSource) -> Result<Self, TraceError> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut range = Self::default();
        loop {
            source.fill(&mut batch, BATCH)?;
            let Some(last) = batch.last() else { break };
            range.requests += batch.len() as u64;
            range.duration_ns = last.arrival_ns;
            range.range_bytes = batch.iter().map(TraceRequest::end_bytes).fold(range.range_bytes, u64::max);
        }
        range.irregularities = source.irregularities();
        Ok(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(offset_bytes: u64, bytes: u32) -> TraceRequest {
        TraceRequest { arrival_ns: 0, offset_bytes, bytes, access: Access::Write }
    }

    #[test]
    fn a_block_touched_by_one_byte_counts() {
        assert_eq!(request(4096, 4096).blocks(4096), Extent::new(Lba(1), 1));
        assert_eq!(request(4095, 2).blocks(4096), Extent::new(Lba(0), 2));
        assert_eq!(request(4095, 4098).blocks(4096), Extent::new(Lba(0), 3));
        assert_eq!(request(512, 1024).blocks(512), Extent::new(Lba(1), 2));
    }

    #[test]
    fn the_last_addresses_do_not_overflow() {
        let end = request(u64::MAX - u64::from(u32::MAX), u32::MAX);
        assert_eq!(end.blocks(1).blocks, u32::MAX);
        assert_eq!(end.blocks(4096).blocks, 1 << 20);
    }

    #[test]
    fn a_range_pass_sees_every_batch() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: String =
            (0..=5000u64).map(|i| format!("{},h,0,Write,{},512,0\n", 7 + i, (5000 - i) * 512)).collect();
        std::fs::write(file.path(), lines).unwrap();
        let workload = Workload::File(file.path().to_path_buf().into());
        let irregularities = Irregularities::default();
        let range = TraceRange { requests: 5001, range_bytes: 5001 * 512, duration_ns: 500_000, irregularities };
        assert_eq!(workload.range().unwrap(), range);
        assert_eq!(workload.range().unwrap(), range, "a second pass sees the same");
    }

    #[test]
    fn a_request_is_three_words() {
        assert_eq!(size_of::<TraceRequest>(), 24);
    }
}
