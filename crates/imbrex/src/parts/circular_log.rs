//! A circular log of slots: taken at the head, given up anywhere, reclaimed when the tail passes.
//!
//! The window runs from the tail to the head. A slot in it is live, or a hole; a hole whose Free has not taken effect yet
//! is pending and cannot be taken again even when the tail has passed it. Slots outside the window are free or pending.
//! Head and tail are soft state: after a crash the largest run without live slots lies between head and tail again.

use crate::block::Lba;
use crate::layer::Violation;

const FREE: u64 = u64::MAX;
const PENDING: u64 = u64::MAX - 1;

/// Which logical block each slot holds, and the window.
#[derive(Clone, Debug)]
pub struct CircularLog {
    owner: Vec<u64>,
    tail: u32,
    /// Slots from the tail to the head, holes included.
    window: u32,
    live: u32,
    pending: u32,
}

impl CircularLog {
    /// An empty log of `slots` slots.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        debug_assert!(slots > 0);
        Self { owner: vec![FREE; slots as usize], tail: 0, window: 0, live: 0, pending: 0 }
    }

    /// Slots in all.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.owner.len() as u32
    }

    /// Slots that hold a block.
    #[must_use]
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Slots that could be taken at the head if none is pending.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.slots() - self.window
    }

    /// Takes the slot at the head for `lba`, if it is free.
    #[inline]
    pub fn take(&mut self, lba: Lba) -> Option<u32> {
        let head = self.head();
        if self.window == self.slots() || self.owner[head as usize] != FREE {
            return None;
        }
        self.owner[head as usize] = lba.0;
        self.window += 1;
        self.live += 1;
        Some(head)
    }

    /// Whether `slots` slots can be taken at the head now.
    #[must_use]
    pub fn ready(&self, slots: u32) -> bool {
        slots <= self.room() && (0..slots).all(|i| self.owner[self.after(self.head(), i) as usize] == FREE)
    }

    /// Says that `slot` holds `lba`, as a record does; whoever held it before is forgotten.
    #[inline]
    pub fn hold(&mut self, slot: u32, lba: Lba) {
        let owner = &mut self.owner[slot as usize];
        self.live += u32::from(*owner >= PENDING);
        self.pending -= u32::from(*owner == PENDING);
        *owner = lba.0;
    }

    /// Gives up a live slot; it stays pending until [`CircularLog::freed`].
    #[inline]
    pub fn give_up(&mut self, slot: u32) {
        debug_assert!(self.owner[slot as usize] < PENDING);
        self.owner[slot as usize] = PENDING;
        self.live -= 1;
        self.pending += 1;
    }

    /// The Free of `slot` has taken effect.
    #[inline]
    pub fn freed(&mut self, slot: u32) {
        if self.owner[slot as usize] == PENDING {
            self.owner[slot as usize] = FREE;
            self.pending -= 1;
        }
    }

    /// Moves the tail past holes and returns the block it meets.
    pub fn oldest(&mut self) -> Option<Lba> {
        while self.window > 0 {
            let owner = self.owner[self.tail as usize];
            if owner < PENDING {
                return Some(Lba(owner));
            }
            self.tail = self.after(self.tail, 1);
            self.window -= 1;
        }
        None
    }

    /// The block a slot holds.
    #[must_use]
    pub fn owner(&self, slot: u32) -> Option<Lba> {
        let owner = self.owner[slot as usize];
        (owner < PENDING).then_some(Lba(owner))
    }

    /// After a crash: nothing is pending, and the window begins after the largest run without live slots.
    pub fn recovered(&mut self) {
        for owner in &mut self.owner {
            if *owner == PENDING {
                *owner = FREE;
            }
        }
        self.pending = 0;
        let slots = self.slots();
        let live: Vec<u32> = (0..slots).filter(|&s| self.owner[s as usize] < PENDING).collect();
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
        let live = self.owner.iter().filter(|&&o| o < PENDING).count() as u32;
        let pending = self.owner.iter().filter(|&&o| o == PENDING).count() as u32;
        if (live, pending) != (self.live, self.pending) {
            let counted = (self.live, self.pending);
            return Err(Violation(format!("{live} live and {pending} pending slots, counted {counted:?}")));
        }
        let inside = (0..self.window).filter(|&i| self.owner[self.after(self.tail, i) as usize] < PENDING).count();
        if inside as u32 != live {
            return Err(Violation(format!("{} live slots lie outside the window", live - inside as u32)));
        }
        Ok(())
    }

    fn head(&self) -> u32 {
        self.after(self.tail, self.window)
    }

    fn after(&self, slot: u32, by: u32) -> u32 {
        let next = u64::from(slot) + u64::from(by);
        (next % u64::from(self.slots())) as u32
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
        assert_eq!(log.oldest(), Some(Lba(0)));
        log.give_up(0);
        assert_eq!(log.oldest(), Some(Lba(2)));
        assert_eq!((log.room(), log.pending), (2, 2));
        assert_eq!(log.take(Lba(9)), None);
        log.freed(0);
        assert_eq!(log.take(Lba(9)), Some(0));
        assert_eq!(log.take(Lba(10)), None);
        log.freed(1);
        assert_eq!(log.take(Lba(10)), Some(1));
        log.check().unwrap();
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
