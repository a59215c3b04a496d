//! What a write destroys on the drive is overwritten in the image, too. On a disk that is not full most of it has never
//! been written: it takes no room in the backing, and needs none.

use std::ops::RangeInclusive;

use imbrex::block::{Extent, Pba};

use super::Image;
use crate::backing::Backing;
use crate::store::StoreError;

/// What a block holds that another one's write destroyed.
const DESTROYED: u8 = 0xdb;
/// Blocks of a stretch, as a power of two: a part of a track.
const STRETCH: u32 = 7;
/// The most stretches that are looked at at a time.
const MOST_STRETCHES: u32 = 64;

/// Which stretches of an interlaced drive are known to hold nothing, a bit for each, so that the host's file system is
/// not asked again.
#[derive(Default)]
pub(super) struct Blank(Vec<u64>);

impl Blank {
    /// For a drive of so many blocks, of which nothing is known.
    pub fn unknown(blocks: u64) -> Self {
        Self(vec![0; (blocks >> STRETCH) as usize / 64 + 1])
    }

    fn has(&self, stretch: u64) -> bool {
        self.0[(stretch / 64) as usize] >> (stretch % 64) & 1 == 1
    }

    fn set(&mut self, stretch: u64, is_blank: bool) {
        if let Some(word) = self.0.get_mut((stretch / 64) as usize) {
            *word = *word & !(1 << (stretch % 64)) | u64::from(is_blank) << (stretch % 64);
        }
    }

    /// Blocks have been written.
    pub fn note_written(&mut self, at: Extent<Pba>) {
        if !self.0.is_empty() {
            stretches(at).for_each(|stretch| self.set(stretch, false));
        }
    }
}

/// The stretches that blocks lie in.
fn stretches(at: Extent<Pba>) -> RangeInclusive<u64> {
    at.start.block() >> STRETCH..=(at.start.block() + u64::from(at.blocks) - 1) >> STRETCH
}

impl<B: Backing> Image<B> {
    /// Overwrites what a write destroys, from the first block on that holds something.
    pub(super) fn destroy(&self, destroyed: &[Extent<Pba>]) -> Result<(), StoreError> {
        for gone in destroyed.iter().copied() {
            let Some(first) = self.first_held(gone) else { continue };
            let before = (first - self.offset(gone.start)) / u64::from(self.preset.block_bytes);
            let gone = gone.skip(before as u32);
            let garbage = vec![DESTROYED; self.bytes(gone) as usize];
            self.backing.write_at(&garbage, self.offset(gone.start)).map_err(StoreError::of("destroying", gone))?;
        }
        Ok(())
    }

    /// Where in the backing the first of the blocks begins that holds something.
    fn first_held(&self, at: Extent<Pba>) -> Option<u64> {
        if self.is_blank(at) { None } else { self.backing.first_written(self.offset(at.start), self.bytes(at)) }
    }

    /// Whether blocks are known to hold nothing, after a look at what lies around them if they were not.
    fn is_blank(&self, at: Extent<Pba>) -> bool {
        // Whoever writes takes the lock afterwards. So a stretch in which something is being written is taken for blank
        // until that is done at most, and no operation that touches the same blocks begins before.
        let blank = &mut self.state().blank;
        if blank.0.is_empty() {
            return false;
        }
        if let Some(unknown) = stretches(at).find(|stretch| !blank.has(*stretch)) {
            let ahead = Extent::new(Pba::disk(unknown << STRETCH), MOST_STRETCHES << STRETCH);
            let first = self.backing.first_written(self.offset(ahead.start), self.bytes(ahead));
            let end = first.map_or(ahead.end(), |first| self.block_at(first));
            (unknown..end.block() >> STRETCH).for_each(|stretch| blank.set(stretch, true));
        }
        stretches(at).all(|stretch| blank.has(stretch))
    }
}
