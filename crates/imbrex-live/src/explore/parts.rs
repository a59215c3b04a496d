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
    /// The metadata of a drive, once a volume was made: header, table, superblocks, the journal of the layer on it, and
    /// where pages of its map lie, if some do.
    #[must_use]
    pub fn parts(&self, drive: usize) -> Vec<Part> {
        let image = &self.images[drive];
        let of_image = image.metadata().into_iter();
        let mut parts: Vec<Part> = of_image
            .map(|part| Part { what: part.what, copy: part.copy, offset: part.offset, len: part.len })
            .collect();
        let superblocks = layout::superblocks(image.media().as_ref(), image.block_bytes()).into_iter().flatten();
        let part = |what| {
            move |(copy, at): (usize, Extent<Pba>)| {
                let (offset, len) = (image.offset(at.start), u64::from(at.blocks) * BLOCK as u64);
                Part { what, copy, offset, len }
            }
        };
        parts.extend(superblocks.enumerate().map(part("superblock")));
        parts.extend(self.journals[drive].iter().copied().enumerate().map(part("journal")));
        parts.extend(self.map_home.into_iter().map(|at| part("page")((0, at))));
        parts
    }

    /// The files that the drives are emulated in.
    #[must_use]
    pub fn files(&self) -> Vec<Volatile> {
        self.disks.iter().map(|disk| disk.file.clone()).collect()
    }
}
