//! How many others were renewed since: the order in which things were last renewed, as a set of time slots.
//!
//! Every renewal takes the next slot and gives up the one that the thing held before. How many things were renewed in
//! between is how many slots are held after the old one: exact, in one cache miss and a walk through a Fenwick tree
//! that stays in the cache, since a leaf of it counts a cache line of slots. When the slots are used up they are
//! numbered anew.
//!
//! Memory: half a byte for each thing, in slots and tree, and the slot itself, which the owner of the thing keeps.

/// Slots that a leaf of the tree counts.
const GROUP: usize = 512;
const GROUP_WORDS: usize = GROUP / 64;
/// Slots there are at first.
const FIRST_SLOTS: usize = 1 << 15;
/// How many times more slots than things there are after numbering anew.
const ROOM: u64 = 4;

/// The slots, and which of them are held.
pub struct Recency {
    /// One bit a slot, in lines of a group.
    groups: Vec<[u64; GROUP_WORDS]>,
    /// The Fenwick tree over all groups but the one that is being filled; node `i` ends with group `i - 1`.
    tree: Vec<u32>,
    /// The next slot to be taken.
    next: usize,
    /// How many slots are held.
    held: u32,
}

impl Default for Recency {
    fn default() -> Self {
        Self::with_slots(FIRST_SLOTS)
    }
}

impl Recency {
    /// More things than this cannot be told apart.
    pub const MOST: u32 = 1 << 31;

    fn with_slots(slots: usize) -> Self {
        let groups = slots.div_ceil(GROUP);
        Self { groups: vec![[0; GROUP_WORDS]; groups], tree: vec![0; groups + 1], next: 0, held: 0 }
    }

    /// Whether the slots have to be numbered anew before the next is taken.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        self.next == self.groups.len() * GROUP
    }

    /// Loads what giving up the slot needs, for its effect on the cache.
    #[inline]
    pub fn touch(&self, slot: u32) -> u64 {
        self.groups[slot as usize / GROUP][0]
    }

    /// Takes the next slot: something is renewed now.
    #[inline]
    pub fn take(&mut self) -> u32 {
        let slot = self.next;
        let (group, word) = (slot / GROUP, slot % GROUP / 64);
        self.groups[group][word] |= 1 << (slot % 64);
        self.next += 1;
        self.held += 1;
        if self.next.is_multiple_of(GROUP) {
            let held = ones(&self.groups[group]);
            self.walk_up(group, |node| *node += held);
        }
        slot as u32
    }

    /// Gives up a slot that is held, and says how many later ones are.
    #[inline]
    pub fn give_up(&mut self, slot: u32) -> u32 {
        let slot = slot as usize;
        let (group, word) = (slot / GROUP, slot % GROUP / 64);
        let upto = self.before_group(group) + self.held_in_group_below(slot) + 1;
        let later = self.held - upto;
        self.groups[group][word] &= !(1 << (slot % 64));
        self.held -= 1;
        if group < self.next / GROUP {
            self.walk_up(group, |node| *node -= 1);
        }
        later
    }

    /// Numbers the slots anew, in their order; `slots` are all that are held.
    pub fn renumber<'a>(&mut self, slots: impl Iterator<Item = &'a mut u32>) {
        let mut before = Vec::with_capacity(self.groups.len());
        let mut sum = 0;
        for group in &self.groups {
            before.push(sum);
            sum += ones(group);
        }
        for slot in slots {
            *slot = before[*slot as usize / GROUP] + self.held_in_group_below(*slot as usize);
        }
        let slots = (u64::from(self.held) * ROOM).clamp(FIRST_SLOTS as u64, u64::from(u32::MAX)) as usize;
        let held = self.held;
        *self = Self::with_slots(slots);
        (0..held).for_each(|_| {
            self.take();
        });
    }

    /// How many slots before the group are held.
    #[inline]
    fn before_group(&self, group: usize) -> u32 {
        let (mut node, mut sum) = (group, 0);
        while node > 0 {
            sum += self.tree[node];
            node &= node - 1;
        }
        sum
    }

    /// How many slots of its group that are before `slot` are held.
    #[inline]
    fn held_in_group_below(&self, slot: usize) -> u32 {
        let (group, word) = (&self.groups[slot / GROUP], slot % GROUP / 64);
        let below = group[word] & ((1 << (slot % 64)) - 1);
        ones(&group[..word]) + below.count_ones()
    }

    #[inline]
    fn walk_up(&mut self, group: usize, mut each: impl FnMut(&mut u32)) {
        let mut node = group + 1;
        while node < self.tree.len() {
            each(&mut self.tree[node]);
            node += node & node.wrapping_neg();
        }
    }
}

#[inline]
fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Renews `things` one by one and compares with a list in order of renewal.
    fn check(things: &[usize], distinct: usize) {
        let mut recency = Recency::default();
        let mut slots = vec![None; distinct];
        let mut order: Vec<usize> = Vec::new();
        for &thing in things {
            if recency.is_used_up() {
                recency.renumber(slots.iter_mut().flatten());
            }
            let later = slots[thing].map(|slot| recency.give_up(slot));
            let at = order.iter().rposition(|&other| other == thing);
            assert_eq!(later, at.map(|at| (order.len() - 1 - at) as u32));
            at.map(|at| order.remove(at));
            order.push(thing);
            slots[thing] = Some(recency.take());
        }
    }

    proptest! {
        #[test]
        fn counts_what_was_renewed_since(things in prop::collection::vec(0usize..700, 1..3000)) {
            check(&things, 700);
        }
    }

    #[test]
    fn slots_are_numbered_anew_when_they_are_used_up() {
        let things: Vec<_> = (0..3 * FIRST_SLOTS).map(|i| i * i % 101 + i % 3).collect();
        check(&things, 104);
    }

    #[test]
    fn there_are_more_slots_where_there_are_more_things() {
        let mut recency = Recency::default();
        let mut slots: Vec<u32> = (0..FIRST_SLOTS).map(|_| recency.take()).collect();
        assert!(recency.is_used_up());
        recency.renumber(slots.iter_mut());
        assert_eq!(recency.groups.len() * GROUP, FIRST_SLOTS * ROOM as usize);
        assert_eq!(recency.give_up(slots[0]), FIRST_SLOTS as u32 - 1);
        assert_eq!(recency.give_up(slots[FIRST_SLOTS - 1]), 0);
        assert_eq!(recency.give_up(slots[9]), FIRST_SLOTS as u32 - 11);
    }
}
