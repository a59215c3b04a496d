//! The index of a group's leaves: which one a block's entry lies in.

use super::leaf::{ENTRIES, Entry, Leaf, Set};
use crate::parts::lines::Lines;
use imbrex_core::memory::Memory;

/// Leaves that an index has room for from the first one on.
const FIRST: usize = 4;
/// An index gets shorter when it has room for more than this many leaves and a quarter more than there are: one that
/// lengthens and shortens all the time should not ask for memory each time.
const FEW: usize = 16;
/// Indexes that there is room for beyond those there are, where these are few.
const MORE: usize = 64;
/// Indexes that are kept for other groups, and the room that one has at most to be kept.
const SPARE: usize = 16;
const LARGE: usize = 64;
/// A leaf that has lost entries is joined with a neighbour when both together have at most this number of them.
pub(super) const JOINED: usize = ENTRIES;
/// A leaf is compared with its neighbours when it has at most this number of entries: they have at least one.
const SMALL: usize = JOINED - 1;

/// A leaf, and above it the least key that it may have: in one word, since both are loaded together.
#[derive(Copy, Clone, Debug)]
struct Child(u64);

impl Child {
    #[inline]
    fn new(first: u16, leaf: u32) -> Self {
        Self(u64::from(first) << u32::BITS | u64::from(leaf))
    }

    #[inline]
    fn first(self) -> u16 {
        (self.0 >> u32::BITS) as u16
    }

    #[inline]
    fn leaf(self) -> u32 {
        self.0 as u32
    }
}

/// The groups of all blocks. One without an entry is a zero in a list; any other has an index.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Where the index of each is, or 0.
    places: Vec<u32>,
    /// The first of them stays empty.
    indexes: Vec<Group>,
    free: Vec<u32>,
}

impl Groups {
    /// `groups` groups, all of them empty.
    pub fn new(groups: u64) -> Self {
        Self { places: vec![0; groups as usize], indexes: vec![Group::default()], free: Vec::new() }
    }

    /// The memory that they take with at most `leaves` leaves.
    pub fn memory(&self, leaves: u64) -> Memory {
        let groups = self.places.len() as u64;
        let used = groups.min(leaves);
        let children = used * FEW as u64 + leaves + leaves / 4 + (SPARE * LARGE) as u64;
        let indexes = Memory::room::<Group>(used + used / 4 + MORE as u64);
        let lists = Memory::room::<u32>(groups) + indexes + Memory::growing::<u32>(used);
        lists + Memory::room::<Child>(children)
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// A group, which is empty where there is none.
    #[inline]
    pub fn get(&self, number: usize) -> &Group {
        &self.indexes[self.places.get(number).map_or(0, |at| *at as usize)]
    }

    /// A group to take entries out of.
    #[inline]
    pub fn get_mut(&mut self, number: usize) -> &mut Group {
        &mut self.indexes[self.places.get(number).map_or(0, |at| *at as usize)]
    }

    /// A group to add an entry to.
    #[inline]
    pub fn filled(&mut self, number: usize) -> &mut Group {
        if self.places[number] == 0 {
            self.begin(number);
        }
        &mut self.indexes[self.places[number] as usize]
    }

    #[cold]
    fn begin(&mut self, number: usize) {
        self.places[number] = self.free.pop().unwrap_or_else(|| {
            if self.indexes.len() == self.indexes.capacity() {
                self.indexes.reserve_exact((self.indexes.len() / 4).max(MORE));
            }
            self.indexes.push(Group::default());
            self.indexes.len() as u32 - 1
        });
    }

    /// A group may have become empty. Some indexes keep their memory: the next ones grow up without asking for any.
    #[inline]
    pub fn tidy(&mut self, number: usize) {
        let Some(place) = self.places.get_mut(number).filter(|place| **place > 0) else { return };
        let index = &mut self.indexes[*place as usize];
        if index.is_empty() {
            if self.free.len() >= SPARE || index.0.capacity() > LARGE {
                index.0 = Vec::new();
            }
            self.free.push(std::mem::take(place));
        }
    }
}

/// The leaves of a group, in order. The first of them begins with block 0 of the group.
#[derive(Clone, Debug, Default)]
pub(super) struct Group(Vec<Child>);

impl Group {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A leaf by its number in the order.
    #[inline]
    pub fn leaf(&self, at: usize) -> Option<u32> {
        self.0.get(at).map(|child| child.leaf())
    }

    /// Which leaf the entry of `key` lies in, or would, of a group that is not empty.
    #[inline]
    pub fn find(&self, key: u16) -> usize {
        self.0.partition_point(|child| child.first() <= key) - 1
    }

    /// Gives an entry another place, and says the one before, or adds it.
    #[inline]
    pub fn set(&mut self, entry: Entry, leaves: &mut Lines<Leaf>) -> Option<u32> {
        if self.is_empty() {
            self.begin(entry, leaves);
            return None;
        }
        let at = self.find(entry.key);
        match leaves.get_mut(self.0[at].leaf()).set(entry) {
            Set::Replaced(place) => return Some(place),
            Set::Added => {}
            Set::Full => self.make_room(at, entry, leaves),
        }
        None
    }

    #[cold]
    fn begin(&mut self, entry: Entry, leaves: &mut Lines<Leaf>) {
        self.add(0, 0, Leaf::of(entry), leaves);
    }

    /// Adds an entry that belongs into a leaf that is full. The leaf becomes two halves, each of which may go to a
    /// neighbour that has few, unless the entry comes behind all of it, as when blocks are written in order: then it goes
    /// into the next leaf, or between two that are full.
    fn make_room(&mut self, at: usize, entry: Entry, leaves: &mut Lines<Leaf>) {
        let leaf = leaves.get_mut(self.0[at].leaf());
        let rank = leaf.rank(entry.key);
        if rank < leaf.len() {
            let mut upper = leaf.split_off(leaf.len() / 2);
            let half = if rank <= leaf.len() { leaf } else { &mut upper };
            half.set(entry);
            let first = upper.first();
            self.add(at + 1, first, upper, leaves);
            self.tidy(at + 1, leaves);
            return self.tidy(at, leaves);
        }
        match self.leaf(at + 1) {
            Some(next) if !leaves.get(next).is_full() => {
                self.0[at + 1] = Child::new(entry.key, next);
                leaves.get_mut(next).set(entry);
            }
            _ => self.add(at + 1, entry.key, Leaf::of(entry), leaves),
        }
    }

    fn add(&mut self, at: usize, first: u16, leaf: Leaf, leaves: &mut Lines<Leaf>) {
        if self.0.len() == self.0.capacity() {
            // A quarter more, since there are many short ones.
            self.0.reserve_exact((self.0.len() / 4).max(FIRST));
        }
        self.0.insert(at, Child::new(first, leaves.take(leaf)));
    }

    /// Takes the entry out; its place.
    #[inline]
    pub fn remove(&mut self, key: u16, leaves: &mut Lines<Leaf>) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let at = self.find(key);
        let leaf = leaves.get_mut(self.0[at].leaf());
        let place = leaf.remove(key)?;
        if leaf.len() <= SMALL {
            self.tidy(at, leaves);
        }
        Some(place)
    }

    /// Takes the entries from key `from` to key `to`, which is among them, out, telling `each` of them.
    #[inline]
    pub fn remove_range(&mut self, from: u16, to: u16, leaves: &mut Lines<Leaf>, mut each: impl FnMut(Entry)) {
        if self.is_empty() {
            return;
        }
        let (first, last) = (self.find(from), self.find(to));
        for at in first..=last {
            if first < at && at < last {
                leaves.get(self.0[at].leaf()).entries_from(0).for_each(&mut each);
            } else {
                leaves.get_mut(self.0[at].leaf()).remove_range(from, to, &mut each);
            }
        }
        // Nothing is needed any more of those between the first and the last.
        let is_empty = |at: usize| leaves.get(self.0[at].leaf()).len() == 0;
        let empty = first + usize::from(!is_empty(first))..last + usize::from(is_empty(last));
        if !empty.is_empty() {
            self.take_out(empty.start, empty.end, leaves);
        }
        for at in [first + 1, first] {
            if at < self.0.len() {
                self.tidy(at, leaves);
            }
        }
    }

    /// Gives a leaf back that has become empty, and joins one that has become small with a neighbour.
    fn tidy(&mut self, at: usize, leaves: &mut Lines<Leaf>) {
        let entries = |at: usize| leaves.get(self.0[at].leaf()).len();
        let here = entries(at);
        let is_joined = |other: usize| here + entries(other) <= JOINED;
        if here == 0 {
            self.take_out(at, at + 1, leaves);
        } else if at + 1 < self.0.len() && is_joined(at + 1) {
            self.join(at, leaves);
        } else if at > 0 && is_joined(at - 1) {
            self.join(at - 1, leaves);
        }
    }

    /// Joins a leaf with the next one.
    fn join(&mut self, at: usize, leaves: &mut Lines<Leaf>) {
        let next = *leaves.get(self.0[at + 1].leaf());
        leaves.get_mut(self.0[at].leaf()).append(&next, 0);
        self.take_out(at + 1, at + 2, leaves);
    }

    /// Gives the leaves from `from` to before `to` back.
    fn take_out(&mut self, from: usize, to: usize, leaves: &mut Lines<Leaf>) {
        self.0.drain(from..to).for_each(|child| leaves.give_back(child.leaf()));
        if let Some(first) = self.0.first_mut() {
            *first = Child::new(0, first.leaf());
        }
        // An empty one may be kept as it is for another group.
        let leaves = self.0.len();
        if leaves > 0 && self.0.capacity() > FEW + leaves + leaves / 4 {
            self.0.shrink_to(FEW / 2 + leaves + leaves / 8);
        }
    }
}
