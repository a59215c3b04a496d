//! Room that is kept ahead of where a long run of blocks is written, one after the other.
//!
//! A journal for the map of a whole drive takes gigabytes, of which a small map never writes much. So the host has to
//! keep what is written next, and not all of it.

use imbrex::block::{Extent, Pba};

/// Bytes that are kept at a time.
const KEPT_BYTES: u64 = 16 << 20;

/// A run of blocks that is written in order, again and again.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    at: Extent<Pba>,
    /// Blocks from its beginning that have been written or are kept, as far as that is known.
    kept: u32,
    /// Blocks that are kept at a time.
    step: u32,
}

impl Ahead {
    /// Nothing of it is kept.
    pub fn new(at: Extent<Pba>, block_bytes: u32) -> Self {
        Self { at, kept: 0, step: (KEPT_BYTES / u64::from(block_bytes)) as u32 }
    }

    /// What is to be kept before anything is written.
    pub fn first(&self) -> Extent<Pba> {
        self.at.first(self.step)
    }

    /// What is to be kept now that `written` is written: from its end on, if less than half a step is.
    pub fn follow(&mut self, written: Extent<Pba>) -> Option<Extent<Pba>> {
        if !self.at.contains(written.start) {
            return None;
        }
        let end = (written.end().block() - self.at.start.block()) as u32;
        // What lies before was written when the image was open before.
        let from = self.kept.max(end);
        if self.kept >= end && self.kept - end >= self.step / 2 {
            return None;
        }
        let more = self.at.skip(from.min(self.at.blocks)).first(self.step);
        self.kept = from + more.blocks;
        (!more.is_empty()).then_some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_next_is_kept() {
        let run = |start, blocks| Extent::new(Pba::disk(100u64 + start), blocks);
        let mut ahead = Ahead::new(run(0, 70), 1 << 20);
        assert_eq!(ahead.follow(Extent::new(Pba::disk(99), 1)), None);
        assert_eq!(ahead.follow(run(0, 1)), Some(run(1, 16)));
        assert_eq!(ahead.follow(run(1, 8)), None);
        assert_eq!(ahead.follow(run(9, 1)), Some(run(17, 16)));
        // Opened again, the journal goes on further behind.
        assert_eq!(ahead.follow(run(40, 2)), Some(run(42, 16)));
        assert_eq!(ahead.follow(run(57, 2)), Some(run(59, 11)));
        assert_eq!(ahead.follow(run(69, 1)), None, "all of it has been written once");
        assert_eq!(ahead.follow(run(0, 60)), None);
    }
}
