//! The buffer cut into chunks: hot ones, whose slots take any block, and cold ones, which hold a chunk of a zone each.

use crate::parts::bitmap::Bitmap;
use crate::parts::block_map::BlockMap;
use crate::parts::free_slots::FreeSlots;
use crate::parts::slot_table::SlotTable;
use crate::parts::zone_map::ZoneMap;
use imbrex_core::block::{Extent, Lba, unit_and_offset};
use imbrex_core::memory::Memory;

mod arrivals;
mod filled;
mod lending;
mod recovery;
mod split;

use arrivals::Arrivals;
use filled::Filled;
pub(super) use split::Split;

/// How often, at least, the chunks of the cold buffer have been replaced since one came that starves.
const STARVING_TURNOVERS: u64 = 3;
/// How often in a turnover such chunks are counted, at most.
const LOOKS: u64 = 4;
/// Chunks whose loan one note says.
const NOTE_CHUNKS: u32 = 64;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum ChunkKind {
    Hot,
    /// Hot, and to be cold when it is empty: no block comes in.
    Leaving,
    Cold,
}

/// The slot that a cold block may be put into.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum ColdSlot {
    /// Its chunk is buffered, and its slot is free or holds it.
    Usable(u32),
    /// Its chunk is buffered; its slot will be free.
    Pending,
    /// Its chunk is not buffered.
    NoChunk,
}

pub(super) struct Chunks {
    split: Split,
    zone_blocks: u32,
    zone_chunks: u32,
    table: SlotTable,
    filled: Filled,
    /// Hot chunks that are to be cold when they are empty.
    leaving: Bitmap,
    /// Chunk of a zone → chunk of the buffer (the paper's chunk location tree).
    index: BlockMap,
    /// Cold chunks that hold one, in the order in which they came.
    arrivals: Arrivals,
    /// How many had come when those that starve were counted last.
    looked: u64,
    free_slots: FreeSlots,
    free_chunks: FreeSlots,
    hot: u32,
    /// Pending slots of hot chunks.
    pending_hot: u32,
    /// Cold chunks that hold none and are not free yet.
    pending_chunks: u32,
    /// Loaned chunks.
    loans: Bitmap,
    /// Slots that were written in this period.
    written: Bitmap,
}

impl Chunks {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let bits = self.leaving.memory() + self.loans.memory() + self.written.memory();
        let free = self.free_slots.memory() + self.free_chunks.memory();
        self.table.memory() + self.filled.memory() + self.index.memory() + self.arrivals.memory() + free + bits
    }

    pub fn new(split: Split, zones: &ZoneMap) -> Self {
        let zone_chunks = zones.zone_blocks().div_ceil(split.chunk_blocks);
        let in_zones = u64::from(zones.natives()) * u64::from(zone_chunks);
        let mut chunks = Self {
            split,
            zone_blocks: zones.zone_blocks(),
            zone_chunks,
            table: SlotTable::new(split.slots()),
            filled: Filled::new(split.chunks, split.chunk_blocks),
            leaving: Bitmap::new(split.chunks.into()),
            index: BlockMap::new(in_zones, split.chunks - split.first_hot),
            arrivals: Arrivals::new(split.chunks),
            looked: 0,
            free_slots: FreeSlots::all(split.slots()),
            free_chunks: FreeSlots::all(split.chunks),
            hot: 0,
            pending_hot: 0,
            pending_chunks: 0,
            loans: Bitmap::new(split.chunks.into()),
            written: Bitmap::new(u64::from(split.slots())),
        };
        chunks.divide();
        chunks
    }

    pub fn table(&self) -> &SlotTable {
        &self.table
    }

    pub fn table_mut(&mut self) -> &mut SlotTable {
        &mut self.table
    }

    pub fn split(&self) -> Split {
        self.split
    }

    /// Hot chunks, without those that leave.
    pub fn hot(&self) -> u32 {
        self.hot
    }

    #[inline]
    fn of(&self, slot: u32) -> (u32, u32) {
        unit_and_offset(u64::from(slot), self.split.chunk_blocks)
    }

    #[inline]
    pub fn kind(&self, slot: u32) -> ChunkKind {
        self.kind_of(self.of(slot).0)
    }

    #[inline]
    fn kind_of(&self, chunk: u32) -> ChunkKind {
        if chunk >= self.split.first_hot && !self.loans.contains(chunk.into()) {
            ChunkKind::Cold
        } else if self.leaving.contains(chunk.into()) {
            ChunkKind::Leaving
        } else {
            ChunkKind::Hot
        }
    }

    #[inline]
    pub fn is_cold(&self, slot: u32) -> bool {
        self.kind(slot) == ChunkKind::Cold
    }

    /// The chunk of a zone that a block is in, and the block's place in it.
    #[inline]
    pub fn chunk_of(&self, lba: Lba) -> (u64, u32) {
        let (native, offset) = unit_and_offset(lba.0, self.zone_blocks);
        let (chunk, place) = unit_and_offset(u64::from(offset), self.split.chunk_blocks);
        (u64::from(native) * u64::from(self.zone_chunks) + u64::from(chunk), place)
    }

    /// The chunks of a native zone.
    pub fn chunks_of(&self, native: u32) -> Extent<Lba> {
        Extent::new(Lba(u64::from(native) * u64::from(self.zone_chunks)), self.zone_chunks)
    }

    /// The blocks of a chunk of a zone.
    pub fn blocks_of(&self, chunk: u64) -> Extent<Lba> {
        let (native, index) = unit_and_offset(chunk, self.zone_chunks);
        let offset = index * self.split.chunk_blocks;
        let zone = Extent::new(Lba(u64::from(native) * u64::from(self.zone_blocks)), self.zone_blocks);
        zone.skip(offset).first(self.split.chunk_blocks)
    }

    /// The slots of a chunk of the buffer.
    pub fn slots_of(&self, chunk: u32) -> std::ops::Range<u32> {
        chunk * self.split.chunk_blocks..(chunk + 1) * self.split.chunk_blocks
    }

    /// The slot that a block which is not hot may be put into.
    #[inline]
    pub fn cold_slot(&self, lba: Lba) -> ColdSlot {
        let (chunk, place) = self.chunk_of(lba);
        let Some(at) = self.index.get(Lba(chunk)) else { return ColdSlot::NoChunk };
        let slot = at * self.split.chunk_blocks + place;
        if self.table.is_free(slot) || self.table.owner(slot) == Some(lba) {
            ColdSlot::Usable(slot)
        } else {
            ColdSlot::Pending
        }
    }

    /// Gives the chunk of a block, which is not buffered, a free chunk of the buffer; returns the block's slot.
    pub fn admit(&mut self, lba: Lba) -> Option<u32> {
        let (at, _) = self.free_chunks.first_fit(1, 1)?;
        let (chunk, place) = self.chunk_of(lba);
        self.free_chunks.remove(at);
        self.assign(at, chunk);
        Some(at * self.split.chunk_blocks + place)
    }

    fn assign(&mut self, at: u32, chunk: u64) {
        self.index.set(Lba(chunk), at);
        self.arrivals.push(at);
    }

    /// How many chunks the cold buffer holds and how many of them starve: since they came it could have been filled
    /// three times with those that came later. Nothing if the last look was a moment ago.
    pub fn starving(&mut self) -> Option<(u32, u32)> {
        let cold = u64::from(self.split.chunks - self.hot);
        if self.arrivals.count() - self.looked < (cold / LOOKS).max(1) {
            return None;
        }
        self.looked = self.arrivals.count();
        Some((self.arrivals.len(), self.arrivals.older_than(STARVING_TURNOVERS * cold)))
    }

    /// The lowest free slot of the hot chunks.
    #[inline]
    pub fn free_slot(&self) -> Option<u32> {
        self.free_slots.first_fit(1, 1).map(|(slot, _)| slot)
    }

    pub fn has_free_chunk(&self) -> bool {
        self.free_chunks.count() > 0
    }

    pub fn has_pending_chunk(&self) -> bool {
        self.pending_chunks > 0
    }

    pub fn has_pending_slot(&self) -> bool {
        self.pending_hot > 0
    }

    /// Cold chunks that are free, or are about to be.
    pub fn room_for_chunks(&self) -> u32 {
        self.free_chunks.count() + self.pending_chunks
    }

    /// Hot slots that are free, or are about to be.
    pub fn room_for_hot(&self) -> u32 {
        self.free_slots.count() + self.pending_hot
    }

    /// The share of the cold chunks that hold nothing, or will not.
    pub fn free_share(&self) -> f64 {
        let cold = self.split.chunks - self.hot;
        f64::from(self.free_chunks.count() + self.pending_chunks) / f64::from(cold)
    }

    /// A block has come into a slot that held none.
    #[inline]
    pub fn occupied(&mut self, slot: u32) {
        let (at, _) = self.of(slot);
        self.filled.came(at);
        if self.kind_of(at) != ChunkKind::Cold {
            self.free_slots.remove(slot);
        }
    }

    /// The block `lba` has left its slot. Says whether a cold chunk is empty now.
    #[inline]
    pub fn left(&mut self, slot: u32, lba: Lba) -> bool {
        let (at, _) = self.of(slot);
        self.filled.left(at);
        let kind = self.kind_of(at);
        self.pending_hot += u32::from(kind == ChunkKind::Hot);
        let is_empty = kind == ChunkKind::Cold && self.filled.of(at, &self.table).live == 0;
        if is_empty {
            self.index.remove(Lba(self.chunk_of(lba).0));
            self.arrivals.remove(at);
            self.pending_chunks += 1;
        }
        is_empty
    }

    /// A slot's Free has taken effect.
    #[inline]
    pub fn freed(&mut self, slot: u32) {
        if !self.table.freed(slot) {
            return;
        }
        let (at, _) = self.of(slot);
        self.filled.freed(at);
        match self.kind_of(at) {
            ChunkKind::Hot => {
                self.pending_hot -= 1;
                self.free_slots.insert(slot);
            }
            ChunkKind::Cold if self.filled.of(at, &self.table).used == 0 => {
                self.pending_chunks -= 1;
                self.free_chunks.insert(at);
            }
            ChunkKind::Cold | ChunkKind::Leaving => {}
        }
    }

    /// The cold blocks of a zone: offset in the zone and slot, by chunk and ascending, from chunk `from` on.
    pub fn cold_of(&self, native: u32, from: u64) -> impl Iterator<Item = (u64, u32)> {
        let all = self.chunks_of(native);
        let range = Extent::between(Lba(from.max(all.start.0).min(all.end().0)), all.end());
        self.index.range(range).map(|(chunk, at)| (chunk.0, at))
    }

    /// Whether `part` of a native zone touches one of its cold chunks from chunk `from` on.
    pub fn has_cold(&self, native: u32, from: u64, part: Extent<Lba>) -> bool {
        let [first, last] = [part.start, Lba(part.end().0 - 1)].map(|lba| self.chunk_of(lba).0);
        self.cold_of(native, first.max(from)).next().is_some_and(|(chunk, _)| chunk <= last)
    }

    /// The live slots of a cold chunk and the offsets of their blocks in the zone.
    pub fn live_of(&self, at: u32) -> impl DoubleEndedIterator<Item = (u32, u32)> {
        let zone_blocks = self.zone_blocks;
        let live = self.slots_of(at).filter_map(|slot| self.table.owner(slot).map(|lba| (lba, slot)));
        live.map(move |(lba, slot)| (unit_and_offset(lba.0, zone_blocks).1, slot))
    }

    /// The offset of the last cold block of a zone.
    pub fn last_of(&self, native: u32) -> Option<u32> {
        let at = self.index.get(self.index.last(self.chunks_of(native))?)?;
        self.live_of(at).next_back().map(|(offset, _)| offset)
    }

    /// The native zone of the cold chunk that came first.
    pub fn oldest(&self) -> Option<u32> {
        let (lba, _) = self.first_in(self.arrivals.oldest()?)?;
        Some(unit_and_offset(lba.0, self.zone_blocks).0)
    }
}
