//! The entries of neighbouring blocks in one cache line, in order.

/// Entries of a leaf: as many as a cache line has room for.
pub(super) const ENTRIES: usize = 10;

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

/// Up to ten entries, by ascending key.
#[derive(Copy, Clone, Debug)]
#[repr(align(64))]
pub(super) struct Leaf {
    /// The keys, and behind them the greatest one there can be: it is never less than what is looked for.
    keys: [u16; ENTRIES],
    places: [u32; ENTRIES],
    used: u8,
}

impl Leaf {
    const EMPTY: Self = Self { keys: [u16::MAX; ENTRIES], places: [0; ENTRIES], used: 0 };

    /// A leaf with one entry.
    pub fn of(entry: Entry) -> Self {
        let mut leaf = Self::EMPTY;
        leaf.set(entry);
        leaf
    }

    /// The least key.
    pub fn first(&self) -> u16 {
        self.keys[0]
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
        self.keys.iter().map(|other| u16::from(*other < key)).sum::<u16>().into()
    }

    /// How many keys are not greater than `key`.
    #[inline]
    pub fn rank_through(&self, key: u16) -> usize {
        let rank = self.rank(key);
        rank + usize::from(rank < self.len() && self.keys[rank] == key)
    }

    /// The entry with `rank` others before it, if there is one.
    #[inline]
    pub fn entry(&self, rank: usize) -> Option<Entry> {
        (rank < self.len()).then(|| Entry { key: self.keys[rank], place: self.places[rank] })
    }

    /// The entries from the one with `rank` others before it on.
    #[inline]
    pub fn entries_from(&self, rank: usize) -> impl Iterator<Item = Entry> + '_ {
        let entries = rank..self.len().max(rank);
        let (keys, places) = (&self.keys[entries.clone()], &self.places[entries]);
        keys.iter().zip(places).map(|(&key, &place)| Entry { key, place })
    }

    /// Loads the leaf, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        self.used.into()
    }

    #[inline]
    pub fn get(&self, key: u16) -> Option<u32> {
        let rank = self.rank(key);
        (rank < self.len() && self.keys[rank] == key).then(|| self.places[rank])
    }

    /// Gives an entry another place, and says the one before, or adds it to a leaf that is not full.
    #[inline]
    pub fn set(&mut self, Entry { key, place }: Entry) -> Set {
        let rank = self.rank(key);
        if rank < self.len() && self.keys[rank] == key {
            return Set::Replaced(std::mem::replace(&mut self.places[rank], place));
        }
        if self.is_full() {
            return Set::Full;
        }
        self.keys.copy_within(rank..ENTRIES - 1, rank + 1);
        self.places.copy_within(rank..ENTRIES - 1, rank + 1);
        (self.keys[rank], self.places[rank]) = (key, place);
        self.used += 1;
        Set::Added
    }

    /// Takes an entry out; its place.
    #[inline]
    pub fn remove(&mut self, key: u16) -> Option<u32> {
        let rank = self.rank(key);
        if rank >= self.len() || self.keys[rank] != key {
            return None;
        }
        let place = self.places[rank];
        self.drop_entries(rank, rank + 1);
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
        (rank..other.len()).for_each(|at| {
            self.set(Entry { key: other.keys[at], place: other.places[at] });
        });
    }

    #[inline]
    fn drop_entries(&mut self, first: usize, end: usize) {
        self.keys.copy_within(end.., first);
        self.places.copy_within(end.., first);
        self.used -= (end - first) as u8;
        let used = self.len();
        self.keys[used..].fill(u16::MAX);
    }
}
