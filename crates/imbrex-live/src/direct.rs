//! A block device read and written past the page cache, and held so that no other program uses it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use rustix::fs::{FlockOperation, OFlags, flock, ioctl_blksszget, major, minor};

use crate::patience::until_free;

/// Where buffers begin in memory: what every device can take.
const ALIGNMENT: usize = 4096;
/// The longest transfer. The kernel cuts longer ones in pieces that are under way at the same time.
const MOST_BYTES: usize = 256 * ALIGNMENT;

/// An open block device.
pub struct DirectDevice {
    file: File,
    /// Where the kernel tells about it.
    queue: PathBuf,
    /// The longest write that the kernel does not cut.
    most_bytes: usize,
}

/// Why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// It cannot be opened.
    #[error("it cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// Another program has it.
    #[error("it is in use: it is mounted, part of another device, or served already")]
    InUse,
    /// It is no block device.
    #[error("it is no block device")]
    NoDevice,
    /// The kernel does not tell what has to be known.
    #[error("{what} cannot be found out: {source}")]
    Unknown {
        /// What.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// It is none that can be served.
    #[error("{0}")]
    Unsuited(String),
}

impl DirectDevice {
    /// Opens a device for this process alone.
    ///
    /// # Errors
    /// When it is none, or another program has it.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, DeviceError> {
        // For a block device, O_EXCL without O_CREAT refuses one that is mounted, or that another program opened so.
        let flags = OFlags::DIRECT | OFlags::EXCL | OFlags::CLOEXEC;
        let mut options = options.clone();
        options.custom_flags(flags.bits() as i32);
        let is_busy = |e: &io::Error| e.kind() == io::ErrorKind::ResourceBusy;
        let file = until_free(is_busy, || options.open(path)).map_err(|e| match is_busy(&e) {
            true => DeviceError::InUse,
            false => DeviceError::Open(e),
        })?;
        let metadata = file.metadata().map_err(DeviceError::Open)?;
        if !metadata.file_type().is_block_device() {
            return Err(DeviceError::NoDevice);
        }
        until_free(|_| true, || flock(&file, FlockOperation::NonBlockingLockExclusive))
            .map_err(|_| DeviceError::InUse)?;
        let (major, minor) = (major(metadata.rdev()), minor(metadata.rdev()));
        let of_device = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let of_disk = if of_device.join("partition").exists() { of_device.join("..") } else { of_device };
        let mut device = Self { file, queue: of_disk.join("queue"), most_bytes: MOST_BYTES };
        device.most_bytes = device.uncut()?;
        Ok(device)
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Bytes of the device.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn bytes(&self) -> Result<u64, DeviceError> {
        let end = rustix::fs::seek(&self.file, rustix::fs::SeekFrom::End(0));
        end.map_err(|e| DeviceError::Unknown { what: "its length".to_owned(), source: e.into() })
    }

    /// Refuses blocks of `block_bytes` that are no whole number of the device's own.
    ///
    /// # Errors
    /// With both sizes.
    pub fn suits(&self, block_bytes: u32) -> Result<(), DeviceError> {
        let own = ioctl_blksszget(&self.file);
        let own = own.map_err(|e| DeviceError::Unknown { what: "its block size".to_owned(), source: e.into() })?;
        if own > 0 && block_bytes.is_multiple_of(own) {
            return Ok(());
        }
        let text = format!("its blocks of {own} bytes do not fit into those of Imbrex of {block_bytes}");
        Err(DeviceError::Unsuited(text))
    }

    /// What the kernel says about the device's queue, by the name of the attribute.
    ///
    /// # Errors
    /// When it does not say.
    pub fn attribute(&self, name: &str) -> Result<String, DeviceError> {
        let path = self.queue.join(name);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|source| DeviceError::Unknown { what: path.display().to_string(), source })?;
        Ok(text.trim().to_owned())
    }

    /// What the kernel says about the device's queue in an attribute that is a number.
    ///
    /// # Errors
    /// When it does not say, or it is none.
    pub fn number(&self, name: &str) -> Result<u64, DeviceError> {
        let text = self.attribute(name)?;
        text.parse().map_err(|_| DeviceError::Unsuited(format!("its attribute {name} is {text:?}, which is no number")))
    }

    /// Reads `len` bytes, whole sectors at a whole sector.
    ///
    /// # Errors
    /// When the operating system reports an error.
    pub fn read(&self, len: usize, offset: u64) -> io::Result<Bytes> {
        let (mut buffer, skip) = aligned(len);
        self.file.read_exact_at(&mut buffer[skip..skip + len], offset)?;
        Ok(Bytes::from(buffer).slice(skip..skip + len))
    }

    /// Writes whole sectors at a whole sector, from the front to the back, one piece after the other.
    ///
    /// # Errors
    /// When the operating system reports an error; some of it may have been written.
    pub fn write(&self, content: &[u8], offset: u64) -> io::Result<()> {
        let copy;
        let content = if content.as_ptr().align_offset(ALIGNMENT) == 0 {
            content
        } else {
            let (mut buffer, skip) = aligned(content.len());
            buffer[skip..skip + content.len()].copy_from_slice(content);
            copy = buffer;
            &copy[skip..skip + content.len()]
        };
        let mut offset = offset;
        for piece in content.chunks(self.most_bytes) {
            self.file.write_all_at(piece, offset)?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// When the operating system reports an error.
    pub fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// The longest write that the kernel passes on whole: pieces of one that it cuts could reach a zone out of order
    /// where no scheduler keeps them in it.
    fn uncut(&self) -> Result<usize, DeviceError> {
        let bytes = (self.number("max_sectors_kb")? as usize) << 10;
        // A page for each segment, as if none lay beside the other in memory.
        let segments = self.number("max_segments")?.max(1) as usize * ALIGNMENT;
        Ok((bytes.min(segments).min(MOST_BYTES) / ALIGNMENT * ALIGNMENT).max(ALIGNMENT))
    }
}

/// A buffer, and where in it `len` bytes begin that lie as a device needs them.
fn aligned(len: usize) -> (Vec<u8>, usize) {
    let buffer = vec![0; len + ALIGNMENT - 1];
    let skip = buffer.as_ptr().align_offset(ALIGNMENT);
    (buffer, skip)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn buffers_lie_as_devices_need_them() {
        for len in [0, 512, 4096, 70_000] {
            let (buffer, skip) = aligned(len);
            assert_eq!(buffer[skip..].as_ptr() as usize % ALIGNMENT, 0);
            assert!(buffer.len() >= skip + len);
        }
    }

    #[test]
    fn what_is_no_device_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(
            DirectDevice::open(file.path(), OpenOptions::new().read(true)),
            Err(DeviceError::NoDevice | DeviceError::Open(_))
        ));
    }
}
