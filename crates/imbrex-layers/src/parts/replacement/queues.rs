//! The slots of a cache in queues, each from the slot that came first to the one that came last. A slot is in at most
//! one.
//!
//! Where slots can be held back, each queue has a second list of those that may leave, in the same order. Slots come
//! at the new end only, so this list is kept in order by the same steps; one that may leave again does so when all are
//! sorted.

use crate::parts::bitmap::Bitmap;
use crate::parts::recency::RecencyList;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Queues of slots.
pub struct Queues {
    queues: Box<[Queue]>,
    /// The slots that may not leave; nothing if all may at all times.
    held: Option<Bitmap>,
    slots: u32,
}

struct Queue {
    all: RecencyList,
    /// The slots that may leave; `None` if all may at all times.
    leaving: Option<RecencyList>,
}

impl Queue {
    fn leaving(&self) -> &RecencyList {
        self.leaving.as_ref().unwrap_or(&self.all)
    }

    fn is_sorted(&self, held: Option<&Bitmap>) -> bool {
        let may_leave = |slot: &u32| held.is_none_or(|held| !held.contains(u64::from(*slot)));
        self.leaving().in_order().eq(self.all.in_order().filter(may_leave))
    }
}

impl Queues {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let queue = |queue: &Queue| {
            queue.all.memory() + queue.leaving.as_ref().map_or_else(Memory::default, RecencyList::memory)
        };
        let held = self.held.as_ref().map_or_else(Memory::default, Bitmap::memory);
        Memory::of::<Queue>(self.queues.len() as u64) + self.queues.iter().map(queue).sum() + held
    }

    /// `queues` empty queues of slots below `slots`, and whether slots can be held back.
    #[must_use]
    pub fn new(queues: usize, slots: u32, holds: bool) -> Self {
        let queue = |_| Queue { all: RecencyList::new(slots), leaving: holds.then(|| RecencyList::new(slots)) };
        let held = holds.then(|| Bitmap::new(u64::from(slots)));
        Self { queues: (0..queues).map(queue).collect(), held, slots }
    }

    /// Slots in a queue, held back or not.
    #[inline]
    #[must_use]
    pub fn len(&self, queue: usize) -> u32 {
        self.queues[queue].all.len()
    }

    /// Slots in all queues.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.queues.iter().map(|queue| queue.all.len()).sum()
    }

    /// The queue that a slot is in.
    #[inline]
    #[must_use]
    pub fn queue_of(&self, slot: u32) -> Option<usize> {
        self.queues.iter().position(|queue| queue.all.contains(slot))
    }

    /// Whether a slot is in one.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.queue_of(slot).is_some()
    }

    /// Whether a slot may leave if it is in a queue.
    #[inline]
    #[must_use]
    pub fn may_leave(&self, slot: u32) -> bool {
        self.held.as_ref().is_none_or(|held| !held.contains(u64::from(slot)))
    }

    /// Adds `slot`, which is in no queue, at the new end of one.
    #[inline]
    pub fn push(&mut self, queue: usize, slot: u32) {
        let may_leave = self.may_leave(slot);
        let queue = &mut self.queues[queue];
        queue.all.push(slot);
        if let Some(leaving) = queue.leaving.as_mut().filter(|_| may_leave) {
            leaving.push(slot);
        }
    }

    /// Takes `slot` out of its queue. If it was held back it still is.
    fn remove(&mut self, slot: u32) {
        if let Some(queue) = self.queue_of(slot) {
            let queue = &mut self.queues[queue];
            queue.all.remove(slot);
            if let Some(leaving) = queue.leaving.as_mut().filter(|leaving| leaving.contains(slot)) {
                leaving.remove(slot);
            }
        }
    }

    /// Puts `slot`, wherever it is, at the new end of a queue.
    #[inline]
    pub fn renew(&mut self, queue: usize, slot: u32) {
        self.remove(slot);
        self.push(queue, slot);
    }

    /// `slot` holds no block any more: it is in no queue and not held back.
    #[inline]
    pub fn forget(&mut self, slot: u32) {
        self.remove(slot);
        if let Some(held) = &mut self.held {
            held.remove(u64::from(slot));
        }
    }

    /// The slot of a queue that came first of those that may leave.
    #[inline]
    #[must_use]
    pub fn oldest(&self, queue: usize) -> Option<u32> {
        self.queues[queue].leaving().oldest()
    }

    /// The slots of a queue that may leave, from the one that came first on.
    pub fn in_order(&self, queue: usize) -> impl Iterator<Item = u32> {
        self.queues[queue].leaving().in_order()
    }

    /// The slot of a queue that came next after `slot`, of those that may leave; `slot` is one of them.
    #[inline]
    #[must_use]
    pub fn newer(&self, queue: usize, slot: u32) -> Option<u32> {
        self.queues[queue].leaving().newer(slot)
    }

    /// The first at or after `slot` in a queue that may leave; `slot` is in the queue. Takes time for each it passes.
    #[must_use]
    pub fn leaving_from(&self, queue: usize, slot: u32) -> Option<u32> {
        let all = &self.queues[queue].all;
        std::iter::successors(Some(slot), |&slot| all.newer(slot)).find(|&slot| self.may_leave(slot))
    }

    /// `slot` may not leave any more.
    #[inline]
    pub fn hold(&mut self, slot: u32) {
        let Some(held) = &mut self.held else { return };
        held.insert(u64::from(slot));
        for leaving in self.queues.iter_mut().filter_map(|queue| queue.leaving.as_mut()) {
            if leaving.contains(slot) {
                leaving.remove(slot);
            }
        }
    }

    /// Says anew of each slot that is in a queue whether it may leave.
    pub fn sort(&mut self, may_leave: &dyn Fn(u32) -> bool) {
        let Some(held) = &mut self.held else { return };
        for Queue { all, leaving } in &mut self.queues {
            let Some(leaving) = leaving else { return };
            while let Some(slot) = leaving.oldest() {
                leaving.remove(slot);
            }
            for slot in all.in_order() {
                if may_leave(slot) {
                    held.remove(u64::from(slot));
                    leaving.push(slot);
                } else {
                    held.insert(u64::from(slot));
                }
            }
        }
    }

    /// Empties all queues; nothing is held back.
    pub fn clear(&mut self) {
        *self = Self::new(self.queues.len(), self.slots, self.held.is_some());
    }

    /// Verifies that each slot is in one queue at most, and that those that may leave are listed in order.
    ///
    /// # Errors
    /// The [`Violation`], if there is one.
    pub fn check(&self) -> Result<(), Violation> {
        let queues = |slot: u32| self.queues.iter().filter(|queue| queue.all.contains(slot)).count();
        if let Some(slot) = (0..self.slots).find(|&slot| queues(slot) > 1) {
            return Err(Violation(format!("slot {slot} is in several queues")));
        }
        if let Some(slot) = (0..self.slots).find(|&slot| queues(slot) == 0 && !self.may_leave(slot)) {
            return Err(Violation(format!("slot {slot} is held back and in no queue")));
        }
        match self.queues.iter().position(|queue| !queue.is_sorted(self.held.as_ref())) {
            Some(queue) => Err(Violation(format!("queue {queue} lists others than those that may leave"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaving(queues: &Queues, queue: usize) -> Vec<u32> {
        queues.queues[queue].leaving().in_order().collect()
    }

    #[test]
    fn a_held_slot_keeps_its_place_and_is_passed_over() {
        let mut queues = Queues::new(2, 6, true);
        (0..5).for_each(|slot| queues.push(0, slot));
        queues.hold(0);
        queues.hold(2);
        queues.renew(1, 2);
        queues.renew(0, 1);
        assert_eq!((leaving(&queues, 0), leaving(&queues, 1)), (vec![3, 4, 1], vec![]));
        assert_eq!((queues.len(0), queues.len(1), queues.oldest(0), queues.oldest(1)), (4, 1, Some(3), None));
        assert_eq!(queues.leaving_from(0, 0), Some(3));
        queues.check().unwrap();
        queues.sort(&|slot| slot != 3);
        assert_eq!((leaving(&queues, 0), leaving(&queues, 1)), (vec![0, 4, 1], vec![2]));
        queues.check().unwrap();
        queues.forget(3);
        queues.push(1, 3);
        assert_eq!(leaving(&queues, 1), [2, 3], "what a slot held is forgotten with its block");
        queues.check().unwrap();
    }

    #[test]
    fn a_check_finds_wrong_lists() {
        let made = || {
            let mut queues = Queues::new(2, 4, true);
            (0..3).for_each(|slot| queues.push(0, slot));
            queues
        };
        let breaks: [fn(&mut Queues); 4] = [
            |queues| queues.queues[1].all.push(0),
            |queues| queues.held.as_mut().unwrap().insert(1).then_some(()).unwrap(),
            |queues| queues.queues[0].leaving.as_mut().unwrap().renew(0),
            |queues| queues.held.as_mut().unwrap().insert(3).then_some(()).unwrap(),
        ];
        for broken in breaks {
            let mut queues = made();
            queues.check().unwrap();
            broken(&mut queues);
            assert!(queues.check().is_err());
        }
    }
}
