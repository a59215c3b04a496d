//! In which order slots were last used: a list whose links lie in an array by slot, and the same with a midpoint.

use super::bitmap::Bitmap;
use imbrex_core::memory::Memory;

/// The `newer` link of a slot that is not in the list. Links of zeros are memory that the system has not given yet: the
/// list of a large buffer takes room as it fills.
const ABSENT: u32 = 0;
/// No slot; as a link of a slot, that there is none in this direction.
const NONE: u32 = 1;
/// Links name a slot by its complement.
const MOST_SLOTS: u32 = !NONE;

/// The links of a slot by number.
const NEWER: usize = 0;
const OLDER: usize = 1;

/// Slots from the least to the most recently used.
#[derive(Clone, Debug)]
pub struct RecencyList {
    links: Vec<[u32; 2]>,
    /// Named as links do.
    oldest: u32,
    newest: u32,
    length: u32,
}

impl RecencyList {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::room::<[u32; 2]>(self.links.len() as u64)
    }

    /// An empty list of slots below `slots`.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        debug_assert!(slots < MOST_SLOTS);
        Self { links: vec![[ABSENT; 2]; slots as usize], oldest: NONE, newest: NONE, length: 0 }
    }

    /// How many slots are in the list.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether `slot` is in the list.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: u32) -> bool {
        self.links[slot as usize][NEWER] != ABSENT
    }

    /// The least recently used slot.
    #[inline]
    #[must_use]
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(!self.oldest)
    }

    /// Adds `slot` as the most recently used one.
    #[inline]
    pub fn push(&mut self, slot: u32) {
        debug_assert!(!self.contains(slot));
        self.links[slot as usize] = [NONE, self.newest];
        *self.newer_link(self.newest) = !slot;
        self.newest = !slot;
        self.length += 1;
    }

    /// Adds `slot` as the least recently used one.
    pub fn push_oldest(&mut self, slot: u32) {
        debug_assert!(!self.contains(slot));
        self.links[slot as usize] = [self.oldest, NONE];
        *self.older_link(self.oldest) = !slot;
        self.oldest = !slot;
        self.length += 1;
    }

    /// Makes room for slots below `slots`.
    pub fn widen(&mut self, slots: u32) {
        debug_assert!(slots < MOST_SLOTS && slots as usize >= self.links.len());
        self.links.resize(slots as usize, [ABSENT; 2]);
    }

    /// Takes `slot` out.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        debug_assert!(self.contains(slot));
        let [newer, older] = self.links[slot as usize];
        *self.newer_link(older) = newer;
        *self.older_link(newer) = older;
        self.links[slot as usize] = [ABSENT; 2];
        self.length -= 1;
    }

    /// Makes `slot` the most recently used one.
    #[inline]
    pub fn renew(&mut self, slot: u32) {
        if !slot != self.newest {
            self.remove(slot);
            self.push(slot);
        }
    }

    /// Puts `to`, which is not in the list, in the place of `from`.
    pub fn replace(&mut self, from: u32, to: u32) {
        debug_assert!(self.contains(from) && !self.contains(to));
        let link = self.links[from as usize];
        self.links[to as usize] = link;
        *self.newer_link(link[OLDER]) = !to;
        *self.older_link(link[NEWER]) = !to;
        self.links[from as usize] = [ABSENT; 2];
    }

    /// The slots from the least to the most recently used.
    pub fn in_order(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.oldest(), |&slot| self.newer(slot))
    }

    /// Loads the slot's links, for the effect on the cache.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, slot: u32) -> u64 {
        u64::from(self.links[slot as usize][NEWER])
    }

    /// Empties the list.
    pub fn clear(&mut self) {
        *self = Self::new(self.links.len() as u32);
    }

    /// The slot that was used next after `slot`.
    #[inline]
    #[must_use]
    pub fn newer(&self, slot: u32) -> Option<u32> {
        Some(self.links[slot as usize][NEWER]).filter(|&newer| newer != NONE).map(|newer| !newer)
    }

    /// What points from the slot that `link` names, or from the list's old end, to what is newer.
    #[inline]
    fn newer_link(&mut self, link: u32) -> &mut u32 {
        if link == NONE { &mut self.oldest } else { &mut self.links[!link as usize][NEWER] }
    }

    /// What points from the slot that `link` names, or from the list's new end, to what is older.
    #[inline]
    fn older_link(&mut self, link: u32) -> &mut u32 {
        if link == NONE { &mut self.newest } else { &mut self.links[!link as usize][OLDER] }
    }
}

/// A recency list that knows which of its slots are in the less recently used half. Of an odd number of slots the
/// middle one is among them, so that the old half is empty only when the list is.
#[derive(Clone)]
pub struct RecencyHalves {
    list: RecencyList,
    old: Bitmap,
    /// The most recently used slot of the old half, named as links do.
    middle: u32,
    old_length: u32,
}

/// A slot that has crossed the middle, or come or gone in the old half.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// It is in the old half now.
    Entered(u32),
    /// It is in the old half no more.
    Left(u32),
}

impl RecencyHalves {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.list.memory() + self.old.memory()
    }

    /// An empty list of slots below `slots`.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self { list: RecencyList::new(slots), old: Bitmap::new(u64::from(slots)), middle: NONE, old_length: 0 }
    }

    /// The list.
    #[must_use]
    pub fn list(&self) -> &RecencyList {
        &self.list
    }

    /// Whether `slot` is in the old half.
    #[inline]
    #[must_use]
    pub fn is_old(&self, slot: u32) -> bool {
        self.old.contains(u64::from(slot))
    }

    /// Adds `slot` as the most recently used one, telling `crossed` who crosses the middle.
    #[inline]
    pub fn push(&mut self, slot: u32, crossed: impl FnMut(Crossing)) {
        self.list.push(slot);
        self.balance(crossed);
    }

    /// Takes `slot` out, telling `crossed` who crosses the middle.
    #[inline]
    pub fn remove(&mut self, slot: u32, mut crossed: impl FnMut(Crossing)) {
        self.leave_old_half(slot, &mut crossed);
        self.list.remove(slot);
        self.balance(crossed);
    }

    /// Makes `slot` the most recently used one, telling `crossed` who crosses the middle.
    #[inline]
    pub fn renew(&mut self, slot: u32, mut crossed: impl FnMut(Crossing)) {
        if !slot == self.list.newest {
            return;
        }
        self.leave_old_half(slot, &mut crossed);
        self.list.renew(slot);
        self.balance(crossed);
    }

    /// Puts `to`, which is not in the list, in the place of `from`.
    pub fn replace(&mut self, from: u32, to: u32) {
        self.list.replace(from, to);
        if self.old.remove(u64::from(from)) {
            self.old.insert(u64::from(to));
            if self.middle == !from {
                self.middle = !to;
            }
        }
    }

    /// Empties the list.
    pub fn clear(&mut self) {
        *self = Self::new(self.list.links.len() as u32);
    }

    #[inline]
    fn leave_old_half(&mut self, slot: u32, crossed: &mut impl FnMut(Crossing)) {
        if self.old.remove(u64::from(slot)) {
            if !slot == self.middle {
                self.middle = self.list.links[slot as usize][OLDER];
            }
            self.old_length -= 1;
            crossed(Crossing::Left(slot));
        }
    }

    /// Moves the middle to where it belongs.
    #[inline]
    fn balance(&mut self, mut crossed: impl FnMut(Crossing)) {
        let half = self.list.length.div_ceil(2);
        while self.old_length < half {
            self.middle = *self.list.newer_link(self.middle);
            self.old.insert(u64::from(!self.middle));
            self.old_length += 1;
            crossed(Crossing::Entered(!self.middle));
        }
        while self.old_length > half {
            let slot = !self.middle;
            self.middle = self.list.links[slot as usize][OLDER];
            self.old.remove(u64::from(slot));
            self.old_length -= 1;
            crossed(Crossing::Left(slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a vector from the oldest to the newest.
        #[test]
        fn keeps_the_order_and_the_halves(steps in prop::collection::vec((0u8..6, 0u32..40, 0u32..40), 1..300)) {
            let mut halves = RecencyHalves::new(40);
            let mut plain: Vec<u32> = Vec::new();
            let mut old = BTreeSet::new();
            for (kind, slot, other) in steps {
                let crossed = |crossing| match crossing {
                    Crossing::Entered(slot) => assert!(old.insert(slot)),
                    Crossing::Left(slot) => assert!(old.remove(&slot)),
                };
                match plain.iter().position(|&s| s == slot) {
                    None => {
                        halves.push(slot, crossed);
                        plain.push(slot);
                    }
                    Some(at) if kind == 0 => {
                        halves.remove(slot, crossed);
                        plain.remove(at);
                    }
                    Some(at) if kind == 1 && !plain.contains(&other) => {
                        halves.replace(slot, other);
                        plain[at] = other;
                        if old.remove(&slot) {
                            old.insert(other);
                        }
                    }
                    Some(at) => {
                        halves.renew(slot, crossed);
                        plain.remove(at);
                        plain.push(slot);
                    }
                }
                let half: BTreeSet<u32> = plain[..plain.len().div_ceil(2)].iter().copied().collect();
                prop_assert_eq!(&old, &half);
                prop_assert!((0..40).all(|s| halves.is_old(s) == half.contains(&s)));
                prop_assert!((0..40).all(|s| halves.list().contains(s) == plain.contains(&s)));
                prop_assert_eq!(halves.list().in_order().collect::<Vec<_>>(), plain.clone());
                prop_assert_eq!(halves.list().oldest(), plain.first().copied());
                prop_assert_eq!(halves.list().len() as usize, plain.len());
            }
        }
    }
}
