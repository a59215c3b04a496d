//! What an image lies in: bytes that are read and written at offsets, and made durable.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, fstatvfs, seek};
use rustix::io::Errno;

/// Bytes that are given back at once. Nobody reads or writes the file meanwhile, nor how its units stand: a zone in one
/// piece would keep clients waiting for a third of a second.
const DISCARDED_AT_ONCE: u64 = 4 << 20;

/// Bytes at offsets. What was never written reads as zeros.
pub trait Backing: Send + Sync {
    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// When the operating system reports an error.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes `bytes` from `offset` on. Durable after a later [`Backing::sync`] only.
    ///
    /// # Errors
    /// When the operating system reports an error.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Where the first of `len` bytes from `offset` on lies that may have been written since they were last given back,
    /// if there is one.
    fn first_written(&self, offset: u64, len: u64) -> Option<u64> {
        (len > 0).then_some(offset)
    }

    /// Makes `len` bytes from `offset` on zeros and gives their room back, or leaves them as they are.
    fn discard(&self, _offset: u64, _len: u64) {}

    /// Has room kept for `len` bytes from `offset` on. What is in them stays.
    ///
    /// # Errors
    /// When there is none; not where the file system cannot keep any.
    fn reserve(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }

    /// How many bytes could be written where nothing has been yet, where that is known.
    fn available(&self) -> Option<u64> {
        None
    }

    /// How many bytes there are, where that is known.
    ///
    /// # Errors
    /// When the operating system reports an error.
    fn size(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// When the operating system reports an error.
    fn sync(&self) -> io::Result<()>;
}

/// Where nothing is kept.
pub struct Nowhere;

impl Backing for Nowhere {
    fn read_at(&self, bytes: &mut [u8], _offset: u64) -> io::Result<()> {
        bytes.fill(0);
        Ok(())
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Backing for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn first_written(&self, offset: u64, len: u64) -> Option<u64> {
        // Nothing else goes by the file's position. Where a hole begins is not asked: the file system would go through
        // all that is written until there is one.
        let first = match seek(self, SeekFrom::Data(offset)) {
            Ok(first) => first,
            Err(Errno::NXIO) => return None,
            Err(_) => offset,
        };
        (first < offset + len).then_some(first)
    }

    fn discard(&self, offset: u64, len: u64) {
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let mut pieces = (offset..offset.saturating_add(len)).step_by(DISCARDED_AT_ONCE as usize);
        // Not every file system can; nothing depends on it.
        let _ = pieces.try_for_each(|at| fallocate(self, punch, at, DISCARDED_AT_ONCE.min(offset + len - at)));
    }

    fn reserve(&self, offset: u64, len: u64) -> io::Result<()> {
        match fallocate(self, FallocateFlags::KEEP_SIZE, offset, len) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => Ok(other?),
        }
    }

    fn available(&self) -> Option<u64> {
        let host = fstatvfs(self).ok()?;
        Some(host.f_bavail * host.f_frsize)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
