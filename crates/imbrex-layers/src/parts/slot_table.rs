//! The slots of a persistent buffer: which logical block each holds, and which are free.
//!
//! A slot is live, free or *pending*: given up, but its Free has not taken effect, so durable records may still name it
//! and it must not be written.

use super::five_bytes::{FiveBytes, LIMIT};
use imbrex_core::block::Lba;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// A table of zeros is memory that the system has not given yet: a large buffer takes room as it fills.
const FREE: u64 = 0;
const PENDING: u64 = 1;
/// What a live slot's block is counted up by.
const LIVE: u64 = 2;
/// Slots of a table that is made anew when nothing is in it any more, so that the system has its memory back.
const LARGE: u32 = 1 << 20;
/// It is not made anew before one in so many of its slots was taken: idle time may empty a buffer after every burst, and
/// to fill a table with zeros takes time for all of its slots.
const USED: u32 = 64;

/// Which logical block each slot holds.
#[derive(Clone, Debug)]
pub struct SlotTable {
    owner: FiveBytes,
    live: u32,
    pending: u32,
    /// How often slots were taken since the table was made.
    taken: u32,
}

impl SlotTable {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        FiveBytes::memory(self.owner.len() as u64)
    }

    /// Logical blocks that a slot can hold are below this.
    pub const BLOCKS: u64 = LIMIT - LIVE;

    /// `slots` free slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        debug_assert!(slots > 0);
        Self { owner: FiveBytes::new(slots as usize), live: 0, pending: 0, taken: 0 }
    }

    /// Slots in all.
    #[inline]
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.owner.len() as u32
    }

    /// Slots that hold a block.
    #[inline]
    #[must_use]
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Slots that will be free when their Free has taken effect.
    #[inline]
    #[must_use]
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Whether a block may be put into the slot.
    #[inline]
    #[must_use]
    pub fn is_free(&self, slot: u32) -> bool {
        self.owner.get(slot as usize) == FREE
    }

    /// The block a slot holds.
    #[inline]
    #[must_use]
    pub fn owner(&self, slot: u32) -> Option<Lba> {
        self.owner.get(slot as usize).checked_sub(LIVE).map(Lba)
    }

    /// Reads what is known of a slot, for its effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, slot: u32) -> u64 {
        self.owner.get(slot as usize)
    }

    /// Puts `lba` into a free slot.
    #[inline]
    pub fn take(&mut self, slot: u32, lba: Lba) {
        debug_assert!(self.is_free(slot));
        self.owner.set(slot as usize, lba.0 + LIVE);
        self.live += 1;
        self.taken = self.taken.saturating_add(1);
    }

    /// Says that `slot` holds `lba`, as a record does; the block that it held before is forgotten.
    #[inline]
    pub fn hold(&mut self, slot: u32, lba: Lba) {
        let owner = self.owner.get(slot as usize);
        self.live += u32::from(owner < LIVE);
        self.pending -= u32::from(owner == PENDING);
        self.taken = self.taken.saturating_add(1);
        self.owner.set(slot as usize, lba.0 + LIVE);
    }

    /// Gives up a live slot; it stays pending until [`SlotTable::freed`].
    #[inline]
    pub fn give_up(&mut self, slot: u32) {
        debug_assert!(self.owner.get(slot as usize) >= LIVE);
        self.owner.set(slot as usize, PENDING);
        self.live -= 1;
        self.pending += 1;
    }

    /// The Free of `slot` has taken effect; says whether that makes it free.
    #[inline]
    pub fn freed(&mut self, slot: u32) -> bool {
        let was_pending = self.owner.get(slot as usize) == PENDING;
        if was_pending {
            self.owner.set(slot as usize, FREE);
            self.pending -= 1;
            if self.live + self.pending == 0 && self.slots() >= LARGE && self.taken >= self.slots() / USED {
                *self = Self::new(self.slots());
            }
        }
        was_pending
    }

    /// After a crash: nothing is pending.
    pub fn recovered(&mut self) {
        if self.pending == 0 {
            return;
        }
        for slot in 0..self.owner.len() {
            if self.owner.get(slot) == PENDING {
                self.owner.set(slot, FREE);
            }
        }
        self.pending = 0;
    }

    /// Verifies the counts.
    ///
    /// # Errors
    /// The [`Violation`], if there is one.
    pub fn check(&self) -> Result<(), Violation> {
        let live = self.owner.iter().filter(|&o| o >= LIVE).count() as u32;
        let pending = self.owner.iter().filter(|&o| o == PENDING).count() as u32;
        if (live, pending) == (self.live, self.pending) {
            return Ok(());
        }
        let counted = (self.live, self.pending);
        Err(Violation(format!("{live} live and {pending} pending slots, counted {counted:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_live_then_pending_then_free() {
        let mut table = SlotTable::new(2);
        table.take(1, Lba(7));
        assert_eq!((table.owner(1), table.is_free(0), table.is_free(1)), (Some(Lba(7)), true, false));
        table.give_up(1);
        assert_eq!((table.owner(1), table.is_free(1), table.live(), table.pending()), (None, false, 0, 1));
        assert!(!table.freed(0) && table.freed(1) && !table.freed(1));
        assert!(table.is_free(1));
        table.hold(0, Lba(3));
        table.hold(0, Lba(4));
        assert_eq!((table.owner(0), table.live()), (Some(Lba(4)), 1));
        table.give_up(0);
        table.recovered();
        assert_eq!((table.pending(), table.is_free(0)), (0, true));
        table.check().unwrap();
        table.live += 1;
        assert!(table.check().is_err());
    }

    #[test]
    fn a_large_table_is_made_anew_after_much_use_and_not_after_little() {
        let used = |slots: u32, taken: u32| {
            let mut table = SlotTable::new(slots);
            (0..taken).for_each(|slot| table.take(slot, Lba(7)));
            (0..taken).for_each(|slot| table.give_up(slot));
            assert!((0..taken).all(|slot| table.freed(slot)));
            table.check().unwrap();
            table.taken
        };
        assert_eq!((used(LARGE, LARGE / USED), used(LARGE, LARGE / USED - 1)), (0, LARGE / USED - 1));
        assert_eq!(used(LARGE - 1, LARGE / USED), LARGE / USED, "a small one stays");
    }
}
