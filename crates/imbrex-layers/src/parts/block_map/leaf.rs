//! The entries of neighbouring blocks in one cache line, in order.
//!
//! An entry takes 41 bits, so that twelve fit: the block's number in its group, and the place in four parts.

use super::KEY_BITS;
use crate::parts::lines::Line;

/// Entries of a leaf: as many as a cache line has room for.
pub(super) const ENTRIES: usize = 12;
/// Bits of a place: the lowest in `low`, then those in `middle`, then those beside the key, and one in `high`.
pub(super) const PLACE_BITS: u32 = LOW_BITS + MIDDLE_BITS + BESIDE + 1;
const LOW_BITS: u32 = u16::BITS;
const MIDDLE_BITS: u32 = u8::BITS;
const BESIDE: u32 = u16::BITS - KEY_BITS;

/// What the map says of a block.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The block's number in its group.
    pub key: u16,
    pub place: u32,
}

/// What came of an entry that was to be set.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Set {
    /// Its place before.
    Replaced(u32),
    Added,
    /// It is not there, and there is no room.
    Full,
}

/// Up to twelve entries, by ascending key.
#[derive(Copy, Clone, Debug)]
#[repr(align(64))]
pub(super) struct Leaf {
    /// The keys above a part of the places, and behind them the greatest number there is: none that is looked for is
    /// greater.
    keys: [u16; ENTRIES],
    low: [u16; ENTRIES],
    middle: [u8; ENTRIES],
    high: u16,
    used: u8,
}

impl Line for Leaf {
    fn holding(number: u32) -> Self {
        let mut leaf = Self::EMPTY;
        (leaf.low[0], leaf.low[1]) = (number as u16, (number >> u16::BITS) as u16);
        leaf
    }

    fn held(&self) -> u32 {
        u32::from(self.low[0]) | u32::from(self.low[1]) << u16::BITS
    }
}

impl Leaf {
    const EMPTY: Self = Self { keys: [u16::MAX; ENTRIES], low: [0; ENTRIES], middle: [0; ENTRIES], high: 0, used: 0 };

    /// A leaf with one entry.
    pub fn of(entry: Entry) -> Self {
        let mut leaf = Self::EMPTY;
        leaf.set(entry);
        leaf
    }

    /// The least key.
    pub fn first(&self) -> u16 {
        self.key(0)
    }

    #[inline]
    fn key(&self, rank: usize) -> u16 {
        self.keys[rank] >> BESIDE
    }

    #[inline]
    fn place(&self, rank: usize) -> u32 {
        place(self.keys[rank], self.low[rank], self.middle[rank], self.high >> rank)
    }

    /// Writes an entry where there is none, or over another.
    #[inline]
    fn put(&mut self, rank: usize, Entry { key, place }: Entry) {
        let beside = (place >> (LOW_BITS + MIDDLE_BITS)) as u16;
        self.keys[rank] = key << BESIDE | beside & ((1 << BESIDE) - 1);
        self.low[rank] = place as u16;
        self.middle[rank] = (place >> LOW_BITS) as u8;
        self.high = self.high & !(1 << rank) | beside >> BESIDE << rank;
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.used.into()
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == ENTRIES
    }

    /// How many keys are less than `key`.
    #[inline]
    pub fn rank(&self, key: u16) -> usize {
        // Without a branch: which of them are less is as good as random.
        let least = key << BESIDE;
        self.keys.iter().map(|other| u16::from(*other < least)).sum::<u16>().into()
    }

    /// How many keys are not greater than `key`.
    #[inline]
    pub fn rank_through(&self, key: u16) -> usize {
        let rank = self.rank(key);
        rank + usize::from(self.has(rank, key))
    }

    /// Whether the entry with `rank` others before it is there and has this key.
    #[inline]
    fn has(&self, rank: usize, key: u16) -> bool {
        rank < self.len() && self.key(rank) == key
    }

    /// The entry with `rank` others before it, if there is one.
    #[inline]
    pub fn entry(&self, rank: usize) -> Option<Entry> {
        (rank < self.len()).then(|| Entry { key: self.key(rank), place: self.place(rank) })
    }

    /// The entries from the one with `rank` others before it on.
    #[inline]
    pub fn entries_from(&self, rank: usize) -> impl Iterator<Item = Entry> + '_ {
        let entries = rank..self.len().max(rank);
        let places = self.low[entries.clone()].iter().zip(&self.middle[entries.clone()]);
        self.keys[entries].iter().zip(places).zip(rank..).map(|((key, (low, middle)), rank)| Entry {
            key: key >> BESIDE,
            place: place(*key, *low, *middle, self.high >> rank),
        })
    }

    /// Loads the leaf, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.used.into()
    }

    #[inline]
    pub fn get(&self, key: u16) -> Option<u32> {
        let rank = self.rank(key);
        self.has(rank, key).then(|| self.place(rank))
    }

    /// Gives an entry another place, and says the one before, or adds it to a leaf that is not full.
    #[inline]
    pub fn set(&mut self, entry: Entry) -> Set {
        let rank = self.rank(entry.key);
        if self.has(rank, entry.key) {
            let was = self.place(rank);
            self.put(rank, entry);
            return Set::Replaced(was);
        }
        if self.is_full() {
            return Set::Full;
        }
        make_gap(&mut self.keys, rank);
        make_gap(&mut self.low, rank);
        make_gap(&mut self.middle, rank);
        let before = (1 << rank) - 1;
        self.high = self.high & before | (self.high & !before) << 1;
        self.put(rank, entry);
        self.used += 1;
        Set::Added
    }

    /// Takes an entry out; its place.
    #[inline]
    pub fn remove(&mut self, key: u16) -> Option<u32> {
        let rank = self.rank(key);
        if !self.has(rank, key) {
            return None;
        }
        let place = self.place(rank);
        close_gap(&mut self.keys, rank);
        close_gap(&mut self.low, rank);
        close_gap(&mut self.middle, rank);
        self.keys[ENTRIES - 1] = u16::MAX;
        self.forget_high(rank, rank + 1);
        Some(place)
    }

    /// Takes the entries from key `from` to key `to`, which is among them, out, telling `each` of them.
    #[inline]
    pub fn remove_range(&mut self, from: u16, to: u16, mut each: impl FnMut(Entry)) {
        let first = self.rank(from);
        let mut end = first;
        while let Some(entry) = self.entry(end).filter(|entry| entry.key <= to) {
            each(entry);
            end += 1;
        }
        self.drop_entries(first, end);
    }

    /// Moves the entries from `rank` on to a leaf of their own.
    pub fn split_off(&mut self, rank: usize) -> Self {
        let mut upper = Self::EMPTY;
        upper.append(self, rank);
        self.drop_entries(rank, self.len());
        upper
    }

    /// Takes the entries of `other` from `rank` on, whose keys are greater, and for which there is room.
    pub fn append(&mut self, other: &Self, rank: usize) {
        for entry in other.entries_from(rank) {
            self.put(self.len(), entry);
            self.used += 1;
        }
    }

    #[inline]
    fn drop_entries(&mut self, first: usize, end: usize) {
        if end - first == self.len() {
            *self = Self::EMPTY;
            return;
        }
        self.keys.copy_within(end.., first);
        self.low.copy_within(end.., first);
        self.middle.copy_within(end.., first);
        self.forget_high(first, end);
        let used = self.len();
        self.keys[used..].fill(u16::MAX);
    }

    /// Drops the highest bits of the entries from `first` to before `end`, and counts them out.
    #[inline]
    fn forget_high(&mut self, first: usize, end: usize) {
        let before = (1 << first) - 1;
        self.high = self.high & before | (self.high >> (end - first)) & !before;
        self.used -= (end - first) as u8;
    }
}

/// A place from its parts; of `high` only the lowest bit counts.
#[inline]
fn place(key: u16, low: u16, middle: u8, high: u16) -> u32 {
    let beside = u32::from(key & ((1 << BESIDE) - 1)) | u32::from(high & 1) << BESIDE;
    u32::from(low) | u32::from(middle) << LOW_BITS | beside << (LOW_BITS + MIDDLE_BITS)
}

/// Moves everything from `at` on one further. Written so that it takes few wide instructions and no branch.
#[inline]
fn make_gap<T: Copy>(list: &mut [T; ENTRIES], at: usize) {
    let old = *list;
    for i in 1..ENTRIES {
        list[i] = if i > at { old[i - 1] } else { old[i] };
    }
}

/// Moves everything behind `at` one back, in the same way.
#[inline]
fn close_gap<T: Copy>(list: &mut [T; ENTRIES], at: usize) {
    let old = *list;
    for i in 0..ENTRIES - 1 {
        list[i] = if i >= at { old[i + 1] } else { old[i] };
    }
}
