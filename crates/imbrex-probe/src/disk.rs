//! A disk that is probed: what the system says of it, and operations that take time.

use std::io;

use serde::Serialize;

/// A disk whose operations are timed. Addresses and lengths are in blocks of [`Facts::block_bytes`], times in ns.
pub trait Disk {
    /// What is known before anything is timed.
    fn facts(&self) -> &Facts;

    /// Reads blocks, and says how long that took.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError>;

    /// Writes blocks durably, and says how long that took.
    ///
    /// # Errors
    /// When they cannot be written.
    fn write(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError>;

    /// Leaves the disk alone for a time.
    ///
    /// # Errors
    /// When the probe is to end meanwhile.
    fn rest(&mut self, ns: u64) -> Result<(), ProbeError>;

    /// What places are drawn from. A real disk may keep in memory what was read, so there it is another number each time.
    fn seed(&self) -> u64 {
        3
    }

    /// How long the disk has been probed: on a simulated one, by its own clock.
    fn clock_ns(&self) -> u64;
}

/// What is known of a disk before anything is timed.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// What its maker calls it, if the system says so.
    pub model: Option<String>,
    /// Bytes that it offers.
    pub bytes: u64,
    /// Bytes of the blocks that are read and written here.
    pub block_bytes: u32,
    /// Whether something turns in it, if the system says so.
    pub rotational: Option<bool>,
    /// Its zones, if the system knows of any.
    pub zones: Option<Zones>,
}

impl Facts {
    /// Blocks of the disk.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.bytes / u64::from(self.block_bytes)
    }
}

/// The zones of a disk, as it reports them.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Zones {
    /// Whether the host must write each at its pointer; if not, it should.
    pub host_managed: bool,
    /// Bytes of a zone.
    pub zone_bytes: u64,
    /// Bytes of a zone that can be written, which are fewer where zones end in a gap.
    pub writable_bytes: u64,
    /// Zones that are written anywhere.
    pub conventional: u32,
    /// Zones that are written at a pointer.
    pub sequential: u32,
    /// Zones that take the place of others once these are given up: the disk is hybrid.
    pub inactive: u32,
    /// How many may be open at a time; 0 for any number.
    pub max_open: u32,
    /// How many may be partly written at a time; 0 for any number.
    pub max_active: u32,
}

/// Why a disk is not probed to the end.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It was asked to end.
    #[error("stopped")]
    Stopped,
    /// The disk refuses an operation.
    #[error("{doing} {blocks} blocks at block {at}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The first block.
        at: u64,
        /// How many.
        blocks: u32,
        /// The error.
        source: io::Error,
    },
    /// There is too little of it to time.
    #[error("{0} bytes are too few to be timed; a disk has at least 1 MiB")]
    Small(u64),
    /// The simulated disk cannot be.
    #[error("{0}")]
    Simulated(String),
    /// No preset can be made of what was found.
    #[error("no drive can be described: {0}")]
    Preset(String),
}
