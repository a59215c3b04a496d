//! Blocks that are not in the hot buffer and are still known by how recently they were written.

use crate::parts::block_map::BlockMap;
use crate::parts::five_bytes::FiveBytes;
use crate::parts::recency::RecencyList;
use imbrex_core::block::Lba;
use imbrex_core::memory::Memory;

/// Why a block is remembered.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum GhostKind {
    /// It was evicted from the hot buffer.
    Ghost,
    /// It was refused.
    Shadow,
}

/// Where room begins when there is no limit.
const FIRST_ROOM: u32 = 1024;

/// Ghosts and shadows, numbered below [`Remembered::room`].
pub(super) struct Remembered {
    index: BlockMap,
    /// Twice the block, and one more if it is a shadow; of a number that was given back, one more than the next that
    /// was, or 0.
    blocks: FiveBytes,
    /// One more than the number that was given back last, or 0; and below which all were given once.
    unused: u64,
    given: u32,
    /// In which order they came.
    order: RecencyList,
    limit: u32,
}

impl Remembered {
    /// The memory that it takes for blocks below `capacity`.
    pub fn memory(&self, capacity: u64) -> Memory {
        if self.is_limited() {
            return self.index.memory() + FiveBytes::memory(self.room().into()) + self.order.memory();
        }
        let places = capacity.min(BlockMap::PLACES.into()) as u32;
        // Lists that grow have room for twice as many.
        let lists = FiveBytes::memory(2 * capacity) + Memory::growing::<[u32; 2]>(capacity);
        BlockMap::new(capacity, places).memory() + lists
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit < u32::MAX
    }

    /// Room for `most` blocks below `capacity`; without a limit it grows.
    pub fn new(capacity: u64, most: Option<u32>) -> Self {
        let room = most.unwrap_or(FIRST_ROOM);
        Self {
            index: BlockMap::new(capacity, room),
            blocks: FiveBytes::new(room as usize),
            unused: 0,
            given: 0,
            order: RecencyList::new(room),
            limit: most.unwrap_or(u32::MAX),
        }
    }

    fn widen(&mut self, room: u32) {
        self.blocks.resize(room as usize);
        self.order.widen(room);
        self.index.widen(room);
    }

    pub fn room(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The most blocks that are remembered.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    pub fn limit(&self) -> u32 {
        self.limit
    }

    pub fn len(&self) -> u32 {
        self.order.len()
    }

    #[inline]
    pub fn find(&self, lba: Lba) -> Option<(u32, GhostKind)> {
        let number = self.index.get(lba)?;
        let kind = if self.blocks.get(number as usize) & 1 == 1 { GhostKind::Shadow } else { GhostKind::Ghost };
        Some((number, kind))
    }

    /// The one that came first.
    pub fn oldest(&self) -> Option<u32> {
        self.order.oldest()
    }

    /// Adds a block that is not remembered, and returns its number. Room is made, whatever the limit says.
    pub fn add(&mut self, lba: Lba, kind: GhostKind) -> u32 {
        let number = self.unused_number();
        self.blocks.set(number as usize, 2 * lba.0 + u64::from(kind == GhostKind::Shadow));
        self.index.set(lba, number);
        self.order.push(number);
        number
    }

    pub fn remove(&mut self, number: u32) {
        self.index.remove(Lba(self.blocks.get(number as usize) / 2));
        self.order.remove(number);
        self.blocks.set(number as usize, self.unused);
        self.unused = u64::from(number) + 1;
    }

    fn unused_number(&mut self) -> u32 {
        if let Some(number) = self.unused.checked_sub(1) {
            self.unused = self.blocks.get(number as usize);
            return number as u32;
        }
        if self.given == self.room() {
            self.widen(2 * self.room().max(1));
        }
        self.given += 1;
        self.given - 1
    }
}
