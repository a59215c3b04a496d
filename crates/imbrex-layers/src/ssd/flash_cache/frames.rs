//! The frames of a flash cache: which block each holds, and whether that block is newer than its home.

use crate::parts::bitmap::Bitmap;
use crate::parts::slot_table::SlotTable;
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Frames that are free, clean, dirty or pending.
pub struct Frames {
    table: SlotTable,
    dirty: Bitmap,
    dirty_count: u32,
}

impl Frames {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        self.table.memory() + self.dirty.memory()
    }

    /// `frames` free frames.
    pub fn new(frames: u32) -> Self {
        Self { table: SlotTable::new(frames), dirty: Bitmap::new(u64::from(frames)), dirty_count: 0 }
    }

    /// Frames in all.
    pub fn count(&self) -> u32 {
        self.table.slots()
    }

    /// Frames that hold a block.
    pub fn live(&self) -> u32 {
        self.table.live()
    }

    /// Frames that hold a block that is newer than its home.
    pub fn dirty(&self) -> u32 {
        self.dirty_count
    }

    /// Frames that will be free when their Free has taken effect.
    pub fn pending(&self) -> u32 {
        self.table.pending()
    }

    /// The block that a frame holds.
    #[inline]
    pub fn owner(&self, frame: u32) -> Option<Lba> {
        self.table.owner(frame)
    }

    /// Whether a block may be put into the frame.
    pub fn is_free(&self, frame: u32) -> bool {
        self.table.is_free(frame)
    }

    /// Whether the frame holds a block that is newer than its home.
    #[inline]
    pub fn is_dirty(&self, frame: u32) -> bool {
        self.dirty.contains(u64::from(frame))
    }

    /// A frame without a block now holds `lba`, as it is at home.
    #[inline]
    pub fn hold(&mut self, frame: u32, lba: Lba) {
        debug_assert!(self.owner(frame).is_none());
        self.table.hold(frame, lba);
    }

    /// The block in the frame is newer than its home now; says whether it was not before.
    #[inline]
    pub fn dirtied(&mut self, frame: u32) -> bool {
        debug_assert!(self.owner(frame).is_some());
        let is_new = self.dirty.insert(u64::from(frame));
        self.dirty_count += u32::from(is_new);
        is_new
    }

    /// A clean block leaves. No record names its frame, so that is free at once.
    #[inline]
    pub fn drop_clean(&mut self, frame: u32) {
        debug_assert!(!self.is_dirty(frame));
        self.table.give_up(frame);
        self.table.freed(frame);
    }

    /// A block leaves whose frame a durable record may name.
    #[inline]
    pub fn give_up(&mut self, frame: u32) {
        self.dirty_count -= u32::from(self.dirty.remove(u64::from(frame)));
        self.table.give_up(frame);
    }

    /// The Free of a frame has taken effect; says whether that makes it free.
    #[inline]
    pub fn freed(&mut self, frame: u32) -> bool {
        self.table.freed(frame)
    }

    /// After a crash: nothing is pending.
    pub fn recovered(&mut self) {
        self.table.recovered();
    }

    /// Verifies the counts, and that what is dirty is there.
    pub fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        let dirty = || (0..self.count()).filter(|&frame| self.is_dirty(frame));
        if let Some(frame) = dirty().find(|&frame| self.owner(frame).is_none()) {
            return Err(Violation(format!("frame {frame} is dirty and holds no block")));
        }
        match (dirty().count(), self.dirty_count) {
            (are, counted) if are == counted as usize => Ok(()),
            (are, counted) => Err(Violation(format!("{are} frames are dirty, and {counted} are counted"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_block_leaves_a_free_frame_and_a_dirty_one_a_pending_frame() {
        let mut frames = Frames::new(2);
        frames.hold(0, Lba(7));
        frames.hold(1, Lba(8));
        assert!(frames.dirtied(1) && !frames.dirtied(1));
        frames.check().unwrap();
        frames.drop_clean(0);
        frames.give_up(1);
        assert_eq!(
            (frames.is_free(0), frames.is_free(1), frames.is_dirty(1), frames.pending()),
            (true, false, false, 1)
        );
        assert!(frames.freed(1) && !frames.freed(0));
        frames.hold(1, Lba(9));
        frames.check().unwrap();
        frames.dirty.insert(0);
        assert!(frames.check().is_err(), "a free frame is dirty");
    }
}
