//! A block device of this machine, read and written past the page cache; or a file, of which the system says nothing.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use imbrex_live::backing::Backing;
use imbrex_live::direct::{DeviceError, DirectDevice};
use imbrex_live::signature;
use imbrex_live::store_path::is_device;
use imbrex_live::zoned_device::{self, ZoneCounts};
use imbrex_terminal::stop;

use crate::disk::{Disk, Facts, ProbeError, Zones};

/// Bytes of the blocks that are read and written.
const BLOCK_BYTES: u32 = 4096;
/// A rest is slept in pieces of this, so that a signal ends it.
const NAP: Duration = Duration::from_millis(100);

/// A disk of this machine.
pub struct Device {
    facts: Facts,
    open: Open,
    begun: Instant,
    content: Vec<u8>,
}

enum Open {
    Device(DirectDevice),
    File(File),
}

/// Why a path cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be opened.
    #[error("cannot open {path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is neither a block device nor a file.
    #[error("{0} is neither a block device nor a file; name the disk itself, such as /dev/sdX")]
    Kind(PathBuf),
    /// It is no device, and was to be written to.
    #[error("{0} is no block device, and --write is for disks only; leave --write out to time reads of the file")]
    WriteFile(PathBuf),
    /// Something is there that would be lost.
    #[error("{path} holds {what}, which --write would destroy; add --force to destroy it")]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What is there.
        what: String,
    },
    /// The device cannot be used.
    #[error("{path}: {source}")]
    Device {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: DeviceError,
    },
}

impl Device {
    /// Opens a disk for this process alone, or a file. To write to a disk that holds something takes `force`.
    ///
    /// # Errors
    /// When there is none, or others use it.
    pub fn open(path: &Path, write: bool, force: bool) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(io)?;
        if is_device(path) {
            let of = |source| OpenError::Device { path: path.to_owned(), source };
            let device = Self::block_device(path, write).map_err(of)?;
            if write && !force {
                let file = File::open(path).map_err(io)?;
                if let Some(what) = signature::find(&file as &dyn Backing, &[]).map_err(io)? {
                    return Err(OpenError::Occupied { path: path.to_owned(), what: what.to_owned() });
                }
            }
            return Ok(device);
        }
        if !metadata.is_file() {
            return Err(OpenError::Kind(path.to_owned()));
        }
        if write {
            return Err(OpenError::WriteFile(path.to_owned()));
        }
        let file = File::open(path).map_err(io)?;
        let facts = Facts {
            model: None,
            bytes: metadata.len() / u64::from(BLOCK_BYTES) * u64::from(BLOCK_BYTES),
            block_bytes: BLOCK_BYTES,
            rotational: None,
            zones: None,
        };
        Ok(Self::new(facts, Open::File(file)))
    }

    fn block_device(path: &Path, write: bool) -> Result<Self, DeviceError> {
        let device = DirectDevice::open(path, OpenOptions::new().read(true).write(write))?;
        device.suits(BLOCK_BYTES)?;
        let is_zoned = device.attribute("zoned")?;
        let zones = if is_zoned == "none" {
            None
        } else {
            let limit = |name: &str| device.number(name).map(|limit| u32::try_from(limit).unwrap_or(0));
            let ZoneCounts { zone_bytes, writable_bytes, conventional, sequential } =
                zoned_device::count_zones(&device)?;
            Some(Zones {
                host_managed: is_zoned == "host-managed",
                zone_bytes,
                writable_bytes,
                conventional,
                sequential,
                inactive: 0,
                max_open: limit("max_open_zones")?,
                max_active: limit("max_active_zones")?,
            })
        };
        let facts = Facts {
            model: device.attribute("../device/model").ok(),
            bytes: device.bytes()? / u64::from(BLOCK_BYTES) * u64::from(BLOCK_BYTES),
            block_bytes: BLOCK_BYTES,
            rotational: device.number("rotational").ok().map(|is| is != 0),
            zones,
        };
        Ok(Self::new(facts, Open::Device(device)))
    }

    fn new(facts: Facts, open: Open) -> Self {
        Self { facts, open, begun: Instant::now(), content: Vec::new() }
    }
}

/// What an operation took that came to `result`.
fn timed(
    doing: &'static str,
    at: u64,
    blocks: u32,
    operation: impl FnOnce() -> io::Result<()>,
) -> Result<u64, ProbeError> {
    let begun = Instant::now();
    operation().map_err(|source| ProbeError::Io { doing, at, blocks, source })?;
    Ok(begun.elapsed().as_nanos() as u64)
}

impl Disk for Device {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn read(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        let (offset, len) = (at * u64::from(BLOCK_BYTES), blocks as usize * BLOCK_BYTES as usize);
        self.content.resize(len, 0);
        let Self { open, content, .. } = self;
        timed("reading", at, blocks, || match open {
            Open::Device(device) => device.read(len, offset).map(drop),
            Open::File(file) => file.read_exact_at(content, offset),
        })
    }

    fn write(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        let (offset, len) = (at * u64::from(BLOCK_BYTES), blocks as usize * BLOCK_BYTES as usize);
        self.content.resize(len, 0);
        // So that no two blocks are alike, of which a disk might keep one.
        self.content.chunks_mut(8).zip(offset..).for_each(|(chunk, number)| {
            chunk.copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()[..chunk.len()]);
        });
        let Self { open, content, .. } = self;
        timed("writing", at, blocks, || match open {
            Open::Device(device) => device.write(content, offset).and_then(|()| device.flush()),
            Open::File(_) => Err(io::ErrorKind::PermissionDenied.into()),
        })
    }

    fn rest(&mut self, ns: u64) -> Result<(), ProbeError> {
        let (begun, rest) = (Instant::now(), Duration::from_nanos(ns));
        while let Some(left) = rest.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            if stop::is_asked_for() {
                return Err(ProbeError::Stopped);
            }
            thread::sleep(left.min(NAP));
        }
        Ok(())
    }

    fn seed(&self) -> u64 {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
    }

    fn clock_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}
