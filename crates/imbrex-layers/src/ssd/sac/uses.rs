//! When blocks were used last, and which of the dirty ones are out of date.
//!
//! A block goes out of date by what else is used, which is not noticed at once. So dirty blocks stand in the order of
//! their use, and those at the front that have gone out of date since are found when a decision needs them.

use crate::parts::bitmap::Bitmap;
use crate::parts::recency::RecencyList;
use crate::ssd::flash_cache::frames::Frames;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// The uses of the blocks in frames.
pub(super) struct Uses {
    /// By frame: the number of the last use of its block.
    last: Vec<u64>,
    /// The number of the next use.
    next: u64,
    /// A block is out of date after this many uses.
    window: u64,
    /// Dirty blocks that are not known to be out of date, by their last use.
    fresh: RecencyList,
    /// The slots that are out of date.
    out_of_date: Bitmap,
}

impl Uses {
    /// The uses of frames without blocks.
    pub(super) fn new(frames: u32, window: u64) -> Self {
        let (fresh, out_of_date) = (RecencyList::new(frames), Bitmap::new(frames.into()));
        Self { last: vec![0; frames as usize], next: 0, window, fresh, out_of_date }
    }

    /// The memory that it takes.
    pub(super) fn memory(&self) -> Memory {
        Memory::room::<u64>(self.last.len() as u64) + self.fresh.memory() + self.out_of_date.memory()
    }

    /// The block in `frame` is used. Whether it was known to be out of date.
    #[inline]
    pub(super) fn used(&mut self, frame: u32) -> bool {
        self.last[frame as usize] = self.next;
        self.next += 1;
        if self.fresh.contains(frame) {
            self.fresh.renew(frame);
            return false;
        }
        let was_out_of_date = self.out_of_date.remove(frame.into());
        if was_out_of_date {
            self.fresh.push(frame);
        }
        was_out_of_date
    }

    /// The block in `frame` has become dirty. That is a use, which has just been told or will be at once.
    #[inline]
    pub(super) fn dirtied(&mut self, frame: u32) {
        self.fresh.push(frame);
    }

    /// The dirty block in `frame` is gone. Whether it was known to be out of date.
    #[inline]
    pub(super) fn gone(&mut self, frame: u32) -> bool {
        let was_out_of_date = self.out_of_date.remove(frame.into());
        if !was_out_of_date {
            self.fresh.remove(frame);
        }
        was_out_of_date
    }

    /// Whether the block in `frame` is out of date.
    pub(super) fn is_out_of_date(&self, frame: u32) -> bool {
        self.last[frame as usize] + self.window < self.next
    }

    /// A dirty block that was not known to be out of date and is; it is known now.
    pub(super) fn next_out_of_date(&mut self) -> Option<u32> {
        let frame = self.fresh.oldest().filter(|&frame| self.is_out_of_date(frame))?;
        self.fresh.remove(frame);
        self.out_of_date.insert(frame.into());
        Some(frame)
    }

    /// Whether the block in `frame` is dirty and known to be out of date.
    pub(super) fn is_known(&self, frame: u32) -> bool {
        self.out_of_date.contains(frame.into())
    }

    /// Forgets all uses.
    pub(super) fn clear(&mut self) {
        self.next = 0;
        self.fresh.clear();
        self.out_of_date.clear();
    }

    /// Verifies that dirty frames, and no others, are listed, and the order.
    pub(super) fn check(&self, frames: &Frames) -> Result<(), Violation> {
        for frame in 0..frames.count() {
            let lists = u32::from(self.fresh.contains(frame)) + u32::from(self.is_known(frame));
            if lists != u32::from(frames.is_dirty(frame)) {
                return Err(Violation(format!("frame {frame} is among those of dirty blocks {lists} times")));
            }
        }
        if self.fresh.in_order().map(|frame| self.last[frame as usize]).is_sorted() {
            return Ok(());
        }
        Err(Violation("dirty blocks are not in the order of their use".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::Lba;

    /// Three frames with dirty blocks, used in the order of their numbers.
    fn dirty() -> (Uses, Frames) {
        let (mut uses, mut frames) = (Uses::new(3, 2), Frames::new(3));
        for frame in 0..3 {
            frames.hold(frame, Lba(frame.into()));
            frames.dirtied(frame);
            uses.dirtied(frame);
            assert!(!uses.used(frame));
        }
        uses.check(&frames).unwrap();
        (uses, frames)
    }

    #[test]
    fn a_block_is_out_of_date_until_it_is_used() {
        let (mut uses, frames) = dirty();
        assert_eq!((uses.next_out_of_date(), uses.next_out_of_date()), (Some(0), None));
        assert!(!uses.used(1));
        assert_eq!((uses.next_out_of_date(), uses.is_out_of_date(2)), (None, false), "used twice since");
        assert!(uses.is_known(0) && uses.used(0) && !uses.is_known(0));
        assert_eq!((uses.next_out_of_date(), uses.next_out_of_date()), (Some(2), None));
        uses.check(&frames).unwrap();
    }

    #[test]
    fn blocks_that_are_gone_are_forgotten() {
        let (mut uses, mut frames) = dirty();
        assert_eq!(uses.next_out_of_date(), Some(0));
        assert!(uses.gone(0) && !uses.gone(1));
        assert!(uses.check(&frames).is_err(), "they are dirty still");
        [0, 1].into_iter().for_each(|frame| frames.give_up(frame));
        uses.check(&frames).unwrap();
        uses.last[2] = 7;
        uses.dirtied(1);
        frames.freed(1);
        frames.hold(1, Lba(1));
        frames.dirtied(1);
        assert!(uses.check(&frames).is_err(), "listed behind one used later");
        uses.clear();
        assert!(uses.check(&frames).is_err());
    }
}
