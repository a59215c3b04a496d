//! What an image lies in: bytes that are read and written at offsets, and made durable.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};

/// Bytes at offsets. What was never written reads as zeros.
pub trait Backing: Send + Sync {
    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// Those of the operating system.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes `bytes` from `offset` on. Durable after a later [`Backing::sync`] only.
    ///
    /// # Errors
    /// Those of the operating system.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes `len` bytes from `offset` on zeros and gives their room back, or leaves them as they are.
    fn discard(&self, _offset: u64, _len: u64) {}

    /// How many bytes there are, where that is known.
    ///
    /// # Errors
    /// Those of the operating system.
    fn size(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// Those of the operating system.
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

    fn discard(&self, offset: u64, len: u64) {
        // Not every file system can; nothing depends on it.
        let _ = fallocate(self, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len);
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
