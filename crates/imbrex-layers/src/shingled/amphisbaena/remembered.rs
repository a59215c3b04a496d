//! Blocks that are not in the hot buffer and are still known by how recently they were written.

use crate::parts::block_map::BlockMap;
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

/// No unused number.
const NONE: u64 = u64::MAX;
/// Where room begins when there is no limit.
const FIRST_ROOM: u32 = 1024;

/// Ghosts and shadows, numbered below [`Remembered::room`].
pub(super) struct Remembered {
    index: BlockMap,
    /// Twice the block, and one more if it is a shadow; of an unused number, the next that is.
    blocks: Vec<u64>,
    unused: u64,
    /// In which order they came.
    order: RecencyList,
    limit: u32,
}

impl Remembered {
    /// The memory that it takes for blocks below `capacity`.
    pub fn memory(&self, capacity: u64) -> Memory {
        let room = if self.limit == u32::MAX { capacity } else { self.room().into() };
        let places = u32::try_from(room).unwrap_or(u32::MAX).min(BlockMap::PLACES);
        let order = Memory::growing::<[u32; 2]>(room);
        BlockMap::new(capacity, places).memory() + Memory::growing::<u64>(room) + order
    }

    /// Room for `most` blocks below `capacity`; without a limit it grows.
    pub fn new(capacity: u64, most: Option<u32>) -> Self {
        let room = most.unwrap_or(FIRST_ROOM);
        let mut remembered = Self {
            index: BlockMap::new(capacity, room),
            blocks: Vec::new(),
            unused: NONE,
            order: RecencyList::new(0),
            limit: most.unwrap_or(u32::MAX),
        };
        remembered.widen(room);
        remembered
    }

    fn widen(&mut self, room: u32) {
        let (before, after) = (u64::from(self.room()), u64::from(room));
        self.blocks.extend(before + 1..=after);
        if let Some(last) = self.blocks.last_mut().filter(|_| before < after) {
            *last = std::mem::replace(&mut self.unused, before);
        }
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
        let kind = if self.blocks[number as usize] & 1 == 1 { GhostKind::Shadow } else { GhostKind::Ghost };
        Some((number, kind))
    }

    /// The one that came first.
    pub fn oldest(&self) -> Option<u32> {
        self.order.oldest()
    }

    /// Adds a block that is not remembered, and returns its number. Room is made, whatever the limit says.
    pub fn add(&mut self, lba: Lba, kind: GhostKind) -> u32 {
        if self.unused == NONE {
            self.widen(2 * self.room().max(1));
        }
        let number = self.unused as u32;
        self.unused = self.blocks[number as usize];
        self.blocks[number as usize] = 2 * lba.0 + u64::from(kind == GhostKind::Shadow);
        self.index.set(lba, number);
        self.order.push(number);
        number
    }

    pub fn remove(&mut self, number: u32) {
        self.index.remove(Lba(self.blocks[number as usize] / 2));
        self.order.remove(number);
        self.blocks[number as usize] = std::mem::replace(&mut self.unused, u64::from(number));
    }
}
