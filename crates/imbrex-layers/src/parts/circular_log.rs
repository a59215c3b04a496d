//! A circular log of slots: taken at the head, given up anywhere, reclaimed when the tail passes.
//!
//! The window runs from the tail to the head. A slot in it is live, or a hole; a hole whose Free has not taken effect
//! yet is pending and cannot be taken again even when the tail has passed it. Slots outside the window are free or
//! pending. Head and tail are soft state: after a crash the largest run without live slots lies between head and tail
//! again.

use std::collections::BTreeSet;

use super::slot_table::SlotTable;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Slots that are looked at to see when room comes.
const MOST_PASSED: u32 = 1 << 16;

/// Room that comes when a number of groups of slots have been given up.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Coming {
    /// Groups.
    pub groups: u32,
    /// Slots that can be taken then.
    pub slots: u32,
}

/// The slots and the window.
#[derive(Clone, Debug)]
pub struct CircularLog {
    table: SlotTable,
    tail: u32,
    /// Slots from the tail to the head, holes included.
    window: u32,
    /// How often the head has come back to the first slot.
    laps: u64,
}

impl CircularLog {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.table.memory()
    }

    /// An empty log of `slots` slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self { table: SlotTable::new(slots), tail: 0, window: 0, laps: 0 }
    }

    /// What the slots hold.
    #[inline]
    #[must_use]
    pub fn table(&self) -> &SlotTable {
        &self.table
    }

    /// How often the head has come back to the first slot.
    #[must_use]
    pub fn laps(&self) -> u64 {
        self.laps
    }

    /// Slots that could be taken at the head if none is pending.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.table.slots() - self.window
    }

    /// Takes the slot at the head for `lba`, if it is free.
    #[inline]
    pub fn take(&mut self, lba: Lba) -> Option<u32> {
        let head = self.head();
        if self.window == self.table.slots() || !self.table.is_free(head) {
            return None;
        }
        self.table.take(head, lba);
        self.window += 1;
        self.laps += u64::from(head + 1 == self.table.slots());
        Some(head)
    }

    /// Takes adjacent slots at the head for as many blocks from the front of `run` as find one: the first, and how
    /// many.
    #[inline]
    pub fn take_run(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        let mut blocks = run.iter();
        let first = self.take(blocks.next()?)?;
        let mut taken = 1;
        for lba in blocks {
            if first + taken == self.table.slots() || self.take(lba).is_none() {
                break;
            }
            taken += 1;
        }
        Some((first, taken))
    }

    /// Whether `slots` slots can be taken at the head now.
    #[must_use]
    pub fn ready(&self, slots: u32) -> bool {
        self.free_behind(0, slots) == slots
    }

    /// How many slots, up to `most`, could be taken in a row after `skipped` others at the head.
    #[must_use]
    pub fn free_behind(&self, skipped: u32, most: u32) -> u32 {
        let most = most.min(self.room().saturating_sub(skipped));
        (0..most).take_while(|i| self.table.is_free(self.after(self.head(), skipped + i))).count() as u32
    }

    /// Says that `slot` holds `lba`, as a record does.
    #[inline]
    pub fn hold(&mut self, slot: u32, lba: Lba) {
        self.table.hold(slot, lba);
    }

    /// Gives up a live slot, which becomes a hole.
    #[inline]
    pub fn give_up(&mut self, slot: u32) {
        self.table.give_up(slot);
    }

    /// The Free of `slot` has taken effect.
    #[inline]
    pub fn freed(&mut self, slot: u32) {
        self.table.freed(slot);
    }

    /// Moves the tail past holes and returns the slot and the block it meets.
    pub fn oldest(&mut self) -> Option<(u32, Lba)> {
        while self.window > 0 {
            if let Some(lba) = self.table.owner(self.tail) {
                return Some((self.tail, lba));
            }
            self.tail = self.after(self.tail, 1);
            self.window -= 1;
        }
        None
    }

    /// The live slots from the tail to the head.
    pub fn in_order(&self) -> impl Iterator<Item = (u32, Lba)> {
        (0..self.window).filter_map(|i| {
            let slot = self.after(self.tail, i);
            self.table.owner(slot).map(|lba| (slot, lba))
        })
    }

    /// How many blocks of room come when all live slots of group `first` are given up, and of as many other groups as hold
    /// the tail up, until that is at least `enough`: groups, and slots that the tail passes. Nothing comes before the tail
    /// has passed, so the first groups gain next to nothing, and the last one a whole window.
    #[must_use]
    pub fn coming(&self, first: u32, enough: u32, group_of: impl Fn(Lba) -> u32) -> Coming {
        let (mut gone, mut slots) = (BTreeSet::from([first]), 0);
        for i in 0..self.window.min(MOST_PASSED) {
            let group = self.table.owner(self.after(self.tail, i)).map(&group_of);
            if let Some(group) = group.filter(|group| !gone.contains(group)) {
                if slots >= enough {
                    break;
                }
                gone.insert(group);
            }
            slots += 1;
        }
        Coming { groups: gone.len() as u32, slots }
    }

    /// After a crash: nothing is pending, and the window begins after the largest run without live slots.
    pub fn recovered(&mut self) {
        self.table.recovered();
        let slots = self.table.slots();
        let live: Vec<u32> = (0..slots).filter(|&s| self.table.owner(s).is_some()).collect();
        let gap = |i: usize| {
            let before = live[(i + live.len() - 1) % live.len()];
            (live[i] + slots - before - 1) % slots
        };
        let first = (0..live.len()).max_by_key(|&i| (gap(i), std::cmp::Reverse(i)));
        (self.tail, self.window) = first.map_or((0, 0), |i| (live[i], slots - gap(i)));
        if live.len() == 1 {
            self.window = 1;
        }
    }

    /// Verifies the invariants.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        let (inside, live) = (self.in_order().count() as u32, self.table.live());
        if inside != live {
            return Err(Violation(format!("{} live slots lie outside the window", live - inside)));
        }
        Ok(())
    }

    fn head(&self) -> u32 {
        self.after(self.tail, self.window)
    }

    fn after(&self, slot: u32, by: u32) -> u32 {
        let next = u64::from(slot) + u64::from(by);
        (next % u64::from(self.table.slots())) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_passes_holes_and_the_head_waits_for_pending_slots() {
        let mut log = CircularLog::new(3);
        assert_eq!((0..4).map(|i| log.take(Lba(i))).collect::<Vec<_>>(), [Some(0), Some(1), Some(2), None]);
        log.give_up(1);
        assert_eq!(log.oldest(), Some((0, Lba(0))));
        log.give_up(0);
        assert_eq!(log.oldest(), Some((2, Lba(2))));
        assert_eq!((log.room(), log.table().pending()), (2, 2));
        assert_eq!(log.take(Lba(9)), None);
        log.freed(0);
        assert_eq!(log.take(Lba(9)), Some(0));
        assert_eq!(log.take(Lba(10)), None);
        log.freed(1);
        assert_eq!(log.take(Lba(10)), Some(1));
        assert_eq!(log.in_order().collect::<Vec<_>>(), [(2, Lba(2)), (0, Lba(9)), (1, Lba(10))]);
        log.check().unwrap();
    }

    #[test]
    fn room_comes_when_all_have_gone_who_hold_the_tail_up() {
        let mut log = CircularLog::new(20);
        // The blocks are of three groups, by turns.
        (0..15).for_each(|i| assert!(log.take(Lba(i)).is_some()));
        let by_turns = |lba: Lba| (lba.0 % 3) as u32;
        assert_eq!(log.coming(0, 1, by_turns), Coming { groups: 1, slots: 1 });
        assert_eq!(log.coming(1, 1, by_turns), Coming { groups: 2, slots: 2 });
        assert_eq!(log.coming(0, 2, by_turns), Coming { groups: 2, slots: 2 });
        assert_eq!(log.coming(0, 3, by_turns), Coming { groups: 3, slots: 15 });
        (0..4).for_each(|slot| log.give_up(slot));
        assert_eq!(log.coming(0, 1, by_turns), Coming { groups: 1, slots: 4 }, "holes are passed");
    }

    #[test]
    fn a_run_of_slots_ends_with_the_log_and_with_what_is_free() {
        let mut log = CircularLog::new(4);
        let run = |at, blocks| Extent::new(Lba(at), blocks);
        assert_eq!(log.take_run(run(0, 3)), Some((0, 3)));
        log.give_up(0);
        log.give_up(1);
        log.oldest();
        log.freed(0);
        assert_eq!(log.take_run(run(10, 3)), Some((3, 1)), "the log ends");
        assert_eq!(log.take_run(run(11, 3)), Some((0, 1)), "slot 1 is pending");
        assert_eq!(log.take_run(run(12, 3)), None);
    }

    #[test]
    fn recovery_finds_a_window_with_every_live_slot() {
        for pattern in 0u32..1 << 7 {
            let mut log = CircularLog::new(7);
            (0..7).filter(|s| pattern >> s & 1 == 1).for_each(|s| log.hold(s, Lba(u64::from(s))));
            log.recovered();
            log.check().unwrap();
            let room = log.room();
            let gaps = (0..7).map(|s| (0..7).take_while(|i| pattern >> ((s + i) % 7) & 1 == 0).count()).max();
            assert_eq!(room, gaps.unwrap_or(0) as u32, "pattern {pattern:07b}");
            assert_eq!((0..room).filter(|_| log.take(Lba(1)).is_some()).count() as u32, room);
        }
    }
}
