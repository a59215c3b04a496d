//! What of the images is metadata, copy by copy.

use imbrex::block::{Extent, Pba};
use imbrex::explore::BLOCK;

use super::images::Images;
use super::volatile::Volatile;
use crate::layout;
use crate::store::Store;

/// A copy of metadata.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is.
    pub what: &'static str,
    /// Which copy.
    pub copy: usize,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

impl Images {
    /// The metadata of a drive of which there are copies, once a volume was made: header, table, superblocks and the
    /// journal of the layer on it.
    #[must_use]
    pub fn parts(&self, drive: usize) -> Vec<Part> {
        let image = &self.images[drive];
        let of_image = image.metadata().into_iter();
        let mut parts: Vec<Part> = of_image
            .map(|part| Part { what: part.what, copy: part.copy, offset: part.offset, len: part.len })
            .collect();
        let superblocks = layout::superblocks(image.media().as_ref(), image.block_bytes()).into_iter().flatten();
        parts.extend(superblocks.enumerate().map(|(copy, at)| self.part(drive, "superblock", copy, at)));
        let journals = self.journals[drive].iter().copied().enumerate();
        parts.extend(journals.map(|(copy, at)| self.part(drive, "journal", copy, at)));
        parts
    }

    /// Where the pages of the map of the one layer there is lie, if some do: there is no second copy of them.
    #[must_use]
    pub fn pages(&self) -> Option<Part> {
        Some(self.part(0, "page", 0, self.map_home?))
    }

    fn part(&self, drive: usize, what: &'static str, copy: usize, at: Extent<Pba>) -> Part {
        let offset = self.images[drive].offset(at.start);
        Part { what, copy, offset, len: u64::from(at.blocks) * BLOCK as u64 }
    }

    /// The files that the drives are emulated in.
    #[must_use]
    pub fn files(&self) -> Vec<Volatile> {
        self.disks.iter().map(|disk| disk.file.clone()).collect()
    }
}
