//! A file in memory with a volatile cache.
//!
//! What is written lies in the cache until a sync. A power cut keeps, for every sector, what was durable or any content
//! that it had since, independently of all others: so writes are torn, at sectors, and reordered.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::iter::repeat_n;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use imbrex::explore::Dice;
use imbrex::explore::content::SECTOR;

use crate::backing::Backing;

/// A file in memory. Copies are the same file.
#[derive(Clone)]
pub struct Volatile(Arc<Mutex<File>>);

struct File {
    now: Pages,
    /// Sectors written since the last sync: what was durable, and then every content since.
    since: BTreeMap<usize, Vec<[u8; SECTOR]>>,
    /// Sectors that cannot be read until they are written.
    unreadable: BTreeSet<usize>,
    /// Operations after which one fails, or after which the power is gone and all fail.
    left: Option<(u64, Ends)>,
    tears_sectors: bool,
}

/// What happens after a number of operations.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Ends {
    /// One operation fails.
    Once,
    /// All fail from then on, until [`Volatile::cut`].
    ForGood,
}

impl Volatile {
    /// `len` zeros. With `tears_sectors` a cut leaves parts of sectors.
    #[must_use]
    pub fn new(len: usize, tears_sectors: bool) -> Self {
        let (since, unreadable) = (BTreeMap::new(), BTreeSet::new());
        Self(Arc::new(Mutex::new(File { now: Pages::zeros(len), since, unreadable, left: None, tears_sectors })))
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the file.
    #[must_use]
    pub fn len(&self) -> usize {
        self.file().now.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets operations fail after `operations` more; a write that fails has written a part.
    pub fn fail_after(&self, operations: u64, ends: Ends) {
        self.file().left = Some((operations, ends));
    }

    /// Lets no operation fail any more; whether one would have.
    pub fn fail_no_more(&self) -> bool {
        self.file().left.take().is_some()
    }

    /// Cuts the power.
    pub fn cut(&self, dice: &mut Dice) {
        let mut file = self.file();
        file.left = None;
        let piece = if file.tears_sectors { SECTOR / 2 } else { SECTOR };
        for (sector, versions) in std::mem::take(&mut file.since) {
            for part in (0..SECTOR).step_by(piece) {
                let kept = dice.below(versions.len() as u64 + 1) as usize;
                if let Some(version) = versions.get(kept) {
                    let at = sector * SECTOR + part;
                    file.now.write(&version[part..part + piece], at);
                }
            }
        }
    }

    /// Whether everything in a run of bytes is durable.
    #[must_use]
    pub fn is_settled(&self, offset: u64, len: usize) -> bool {
        self.file().since.range(sectors(offset, len)).next().is_none()
    }

    /// What a run of bytes holds, readable or not.
    #[must_use]
    pub fn content(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.file().now.read(&mut bytes, offset as usize);
        bytes
    }

    /// Makes bytes unreadable until they are written again.
    pub fn make_unreadable(&self, offset: u64, len: usize) {
        self.file().unreadable.extend(sectors(offset, len));
    }

    /// Where what cannot be read lies.
    #[must_use]
    pub fn unreadable(&self) -> Vec<u64> {
        self.file().unreadable.iter().map(|sector| (sector * SECTOR) as u64).collect()
    }

    /// Damages a byte for good, in the cache and below it. `change` must not be 0.
    pub fn flip(&self, offset: u64, change: u8) {
        let mut file = self.file();
        let offset = offset as usize;
        let mut byte = [0];
        file.now.read(&mut byte, offset);
        file.now.write(&[byte[0] ^ change], offset);
        if let Some(versions) = file.since.get_mut(&(offset / SECTOR)) {
            versions.iter_mut().for_each(|version| version[offset % SECTOR] ^= change);
        }
    }

    /// A copy of the bytes in another file, all durable. It takes room for what is written to either of them since.
    #[must_use]
    pub fn copied(&self) -> Self {
        let file = self.file();
        let copy = Self::new(0, file.tears_sectors);
        copy.file().now = file.now.clone();
        copy
    }
}

/// Bytes that are copied when one of them is written.
const PAGE: usize = 8 * SECTOR;

/// The bytes of a file. Files that are copies of each other share what neither has written since.
#[derive(Clone)]
struct Pages {
    pages: Vec<Arc<[u8; PAGE]>>,
    len: usize,
}

impl Pages {
    fn zeros(len: usize) -> Self {
        Self { pages: repeat_n(Arc::new([0; PAGE]), len.div_ceil(PAGE)).collect(), len }
    }

    fn read(&self, mut bytes: &mut [u8], mut offset: usize) {
        while !bytes.is_empty() {
            let page = &self.pages[offset / PAGE][offset % PAGE..];
            let (part, rest) = bytes.split_at_mut(page.len().min(bytes.len()));
            part.copy_from_slice(&page[..part.len()]);
            (offset, bytes) = (offset + part.len(), rest);
        }
    }

    fn write(&mut self, mut bytes: &[u8], mut offset: usize) {
        while !bytes.is_empty() {
            let page = &mut Arc::make_mut(&mut self.pages[offset / PAGE])[offset % PAGE..];
            let (part, rest) = bytes.split_at(page.len().min(bytes.len()));
            page[..part.len()].copy_from_slice(part);
            (offset, bytes) = (offset + part.len(), rest);
        }
    }
}

/// The sectors that a run of bytes touches.
fn sectors(offset: u64, len: usize) -> std::ops::Range<usize> {
    let offset = offset as usize;
    offset / SECTOR..(offset + len).div_ceil(SECTOR)
}

impl File {
    /// Whether the next operation fails.
    fn fails(&mut self) -> bool {
        match &mut self.left {
            Some((0, Ends::Once)) => {
                self.left = None;
                true
            }
            Some((0, Ends::ForGood)) => true,
            Some((left, _)) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    fn put(&mut self, bytes: &[u8], offset: usize) {
        for sector in sectors(offset as u64, bytes.len()) {
            self.unreadable.remove(&sector);
            let at = sector * SECTOR;
            let mut old = [0; SECTOR];
            let end = SECTOR.min(self.now.len - at);
            self.now.read(&mut old[..end], at);
            self.since.entry(sector).or_default().push(old);
        }
        self.now.write(bytes, offset);
    }
}

fn failed() -> io::Error {
    io::Error::other("made to fail")
}

impl Backing for Volatile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let file = self.file();
        if file.unreadable.range(sectors(offset, bytes.len())).next().is_some() {
            return Err(failed());
        }
        let start = offset as usize;
        if start + bytes.len() > file.now.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.now.read(bytes, start);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut file = self.file();
        let start = offset as usize;
        if start + bytes.len() > file.now.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let fails = file.fails();
        let part = if fails { bytes.len() / 2 } else { bytes.len() };
        // Without power nothing is done at all; what was begun when it went is torn by the cut.
        if !fails || file.left.is_none() {
            file.put(&bytes[..part], start);
        }
        if fails { Err(failed()) } else { Ok(()) }
    }

    fn discard(&self, offset: u64, len: u64) {
        let mut file = self.file();
        if !file.fails() {
            file.put(&vec![0; len as usize], offset as usize);
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let mut file = self.file();
        if file.fails() {
            return Err(failed());
        }
        file.since.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_cut_keeps_what_was_synced_and_tears_the_rest_at_sectors() {
        let mut both = [false; 2];
        for seed in 0..40 {
            let file = Volatile::new(4 * SECTOR, false);
            file.write_at(&[1; 3 * SECTOR], 0).unwrap();
            file.sync().unwrap();
            file.write_at(&[2; 2 * SECTOR], SECTOR as u64).unwrap();
            assert!(file.is_settled(0, SECTOR) && !file.is_settled(0, SECTOR + 1));
            file.cut(&mut Dice::new(seed));
            let content = file.content(0, 4 * SECTOR);
            let sectors: Vec<&[u8]> = content.chunks(SECTOR).collect();
            assert!(sectors.iter().all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            assert_eq!((sectors[0][0], sectors[3][0] == 1), (1, false));
            both[usize::from(sectors[1][0] != sectors[2][0])] = true;
        }
        assert_eq!(both, [true; 2], "writes are torn, and sometimes not");
    }

    #[test]
    fn operations_fail_once_or_for_good() {
        let file = Volatile::new(SECTOR, false);
        file.fail_after(1, Ends::Once);
        assert!(file.write_at(&[1], 0).is_ok() && file.write_at(&[2; 2], 0).is_err() && file.sync().is_ok());
        assert_eq!(file.content(0, 2), [2, 0], "a part was written");
        file.fail_after(0, Ends::ForGood);
        assert!(file.write_at(&[3], 0).is_err() && file.sync().is_err());
        assert_eq!(file.content(0, 1), [2]);
        file.make_unreadable(0, 1);
        assert!(file.fail_no_more() && file.read_at(&mut [0], 100).is_err() && file.write_at(&[4], 0).is_ok());
        assert!(file.read_at(&mut [0], 0).is_ok(), "what is written can be read again");
    }
}
