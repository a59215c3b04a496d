//! What an image says about itself, in two copies: where they lie, which are damaged, and how they are mended.

use std::io;

use super::table::{COPIES, entry_at};
use super::unit_table::{ENTRY_BYTES, Entry};
use super::{HEADER_BYTES, Image, KIND};
use crate::backing::Backing;
use crate::frame::Frame;

/// A copy of something that an image says about itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// What it is.
    pub what: &'static str,
    /// Which copy.
    pub copy: usize,
    /// Where it begins in the backing.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

impl<B: Backing> Image<B> {
    /// Where the copies of header and table lie in the backing.
    #[must_use]
    pub fn metadata(&self) -> Vec<Metadata> {
        let table = self.state().entries.len() as u64;
        let copies = (0..COPIES).flat_map(|copy| {
            let header = ("the image's header", copy * HEADER_BYTES as u64, HEADER_BYTES as u64);
            let table = ("the image's table of units", entry_at(table, copy, 0), table * ENTRY_BYTES as u64);
            [header, table].map(|(what, offset, len)| Metadata { what, copy: copy as usize, offset, len })
        });
        copies.collect()
    }

    /// Parts of the image that are damaged or older in one of their copies.
    #[must_use]
    pub fn stale(&self) -> Vec<String> {
        self.state().stale.clone()
    }

    /// Writes every copy of the header and of the table anew.
    ///
    /// # Errors
    /// When the backing cannot be written.
    pub fn mend(&self) -> io::Result<()> {
        let mut bytes = vec![0; HEADER_BYTES];
        for copy in 0..COPIES {
            let is_read = self.backing.read_at(&mut bytes, copy * HEADER_BYTES as u64).is_ok();
            if is_read && Frame::decode(&bytes, KIND).is_ok_and(|frame| frame.uuid == self.uuid) {
                break;
            }
        }
        let mut state = self.state();
        for copy in 0..COPIES {
            self.backing.write_at(&bytes, copy * HEADER_BYTES as u64)?;
        }
        for unit in 0..state.entries.len() as u32 {
            if state.entries[unit as usize] != Entry::default() || state.dirty.contains(&unit) {
                self.write_entry(&state, unit)?;
            }
        }
        self.backing.sync()?;
        state.stale.clear();
        Ok(())
    }
}
