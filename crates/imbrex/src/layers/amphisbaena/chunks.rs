//! The buffer cut into chunks: hot ones, whose slots take any block, and cold ones, which hold a chunk of a zone each.

use crate::block::{Extent, Lba, unit_and_offset};
use crate::layer::{Corrupt, Violation};
use crate::parts::bitmap::Bitmap;
use crate::parts::block_map::BlockMap;
use crate::parts::free_slots::FreeSlots;
use crate::parts::recency::RecencyList;
use crate::parts::slot_table::SlotTable;
use crate::parts::zone_map::ZoneMap;

/// No chunk of a zone.
const NOTHING: u64 = u64::MAX;
/// Chunks whose loan one note says.
const NOTE_CHUNKS: u32 = 64;

/// How the buffer is divided.
#[derive(Copy, Clone, Debug)]
pub(super) struct Split {
    pub chunk_blocks: u32,
    pub chunks: u32,
    /// Hot chunks at first and at least; they are the lowest. The others are loaned to the hot buffer.
    pub first_hot: u32,
    /// Hot chunks at most.
    pub most_hot: u32,
}

impl Split {
    /// Of `slots` slots, at least one. Shares are rounded to chunks, of which each part has at least one; a single slot is
    /// cold.
    pub fn new(slots: u32, chunk_blocks: u32, (start, most): (f64, f64)) -> Self {
        let chunk_blocks = chunk_blocks.min(slots / 4).max(1);
        let chunks = slots / chunk_blocks;
        let of = |share: f64| (share * f64::from(chunks)).round() as u32;
        let first_hot = of(start).max(1).min(chunks - 1);
        Self { chunk_blocks, chunks, first_hot, most_hot: of(most).clamp(first_hot, chunks - 1) }
    }

    pub fn slots(&self) -> u32 {
        self.chunks * self.chunk_blocks
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Hot,
    /// Hot, and to be cold when it is empty: no block comes in.
    Leaving,
    Cold,
}

/// A chunk of the buffer.
#[derive(Copy, Clone, Debug)]
struct Chunk {
    kind: Kind,
    /// The chunk of a zone that a cold one holds.
    holds: u64,
    live: u32,
    /// Slots that are live or pending.
    used: u32,
}

/// Where a cold block may be put.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Its chunk is buffered, and its slot is free or holds it.
    Slot(u32),
    /// Its chunk is buffered; its slot will be free.
    Pending,
    /// Its chunk is not buffered.
    Nowhere,
}

pub(super) struct Chunks {
    split: Split,
    zone_blocks: u32,
    zone_chunks: u32,
    table: SlotTable,
    chunks: Vec<Chunk>,
    /// Chunk of a zone → chunk of the buffer (the paper's chunk location tree).
    index: BlockMap,
    /// Cold chunks that hold one, in the order in which they came.
    arrivals: RecencyList,
    free_slots: FreeSlots,
    free_chunks: FreeSlots,
    hot: u32,
    /// Pending slots of hot chunks.
    pending_hot: u32,
    /// Cold chunks that hold none and are not free yet.
    pending_chunks: u32,
    /// Loaned chunks, one bit each.
    loans: Vec<u64>,
    /// Slots that were written in this period.
    written: Bitmap,
}

impl Chunks {
    pub fn new(split: Split, zones: &ZoneMap) -> Self {
        let zone_chunks = zones.zone_blocks().div_ceil(split.chunk_blocks);
        let in_zones = u64::from(zones.natives()) * u64::from(zone_chunks);
        let mut chunks = Self {
            split,
            zone_blocks: zones.zone_blocks(),
            zone_chunks,
            table: SlotTable::new(split.slots()),
            chunks: vec![Chunk { kind: Kind::Cold, holds: NOTHING, live: 0, used: 0 }; split.chunks as usize],
            index: BlockMap::new(in_zones, split.chunks),
            arrivals: RecencyList::new(split.chunks),
            free_slots: FreeSlots::all(split.slots()),
            free_chunks: FreeSlots::all(split.chunks),
            hot: 0,
            pending_hot: 0,
            pending_chunks: 0,
            loans: vec![0; split.chunks.div_ceil(NOTE_CHUNKS) as usize],
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
    pub fn kind(&self, slot: u32) -> Kind {
        self.chunks[self.of(slot).0 as usize].kind
    }

    #[inline]
    pub fn is_cold(&self, slot: u32) -> bool {
        self.kind(slot) == Kind::Cold
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

    /// Where a block that is not hot may be put.
    #[inline]
    pub fn place_of(&self, lba: Lba) -> Place {
        let (chunk, place) = self.chunk_of(lba);
        let Some(at) = self.index.get(Lba(chunk)) else { return Place::Nowhere };
        let slot = at * self.split.chunk_blocks + place;
        if self.table.is_free(slot) || self.table.owner(slot) == Some(lba) { Place::Slot(slot) } else { Place::Pending }
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
        self.chunks[at as usize].holds = chunk;
        self.index.set(Lba(chunk), at);
        self.arrivals.push(at);
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

    /// The share of the cold chunks that hold nothing, or will not.
    pub fn free_share(&self) -> f64 {
        let cold = self.split.chunks - self.hot;
        f64::from(self.free_chunks.count() + self.pending_chunks) / f64::from(cold)
    }

    /// A block has come into a slot that held none.
    #[inline]
    pub fn occupied(&mut self, slot: u32) {
        let chunk = &mut self.chunks[(slot / self.split.chunk_blocks) as usize];
        chunk.live += 1;
        chunk.used += 1;
        if chunk.kind != Kind::Cold {
            self.free_slots.remove(slot);
        }
    }

    /// A block has left its slot. Says whether a cold chunk is empty now.
    #[inline]
    pub fn left(&mut self, slot: u32) -> bool {
        let (at, _) = self.of(slot);
        let chunk = &mut self.chunks[at as usize];
        chunk.live -= 1;
        self.pending_hot += u32::from(chunk.kind == Kind::Hot);
        let is_empty = chunk.kind == Kind::Cold && chunk.live == 0;
        if is_empty {
            self.index.remove(Lba(chunk.holds));
            chunk.holds = NOTHING;
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
        let chunk = &mut self.chunks[at as usize];
        chunk.used -= 1;
        match chunk.kind {
            Kind::Hot => {
                self.pending_hot -= 1;
                self.free_slots.insert(slot);
            }
            Kind::Cold if chunk.holds == NOTHING && chunk.used == 0 => {
                self.pending_chunks -= 1;
                self.free_chunks.insert(at);
            }
            Kind::Cold | Kind::Leaving => {}
        }
    }

    /// The cold blocks of a zone: offset in the zone and slot, by chunk and ascending, from chunk `from` on.
    pub fn cold_of(&self, native: u32, from: u64) -> impl Iterator<Item = (u64, u32)> {
        let all = self.chunks_of(native);
        let range = Extent::between(Lba(from.max(all.start.0).min(all.end().0)), all.end());
        self.index.range(range).map(|(chunk, at)| (chunk.0, at))
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
        let at = self.arrivals.oldest()?;
        Some(unit_and_offset(self.chunks[at as usize].holds, self.zone_chunks).0)
    }

    /// Lends a free chunk to the hot buffer: the key and value of the note that says so.
    pub fn lend(&mut self) -> Option<(u32, u64)> {
        let (at, _) = self.free_chunks.first_fit(1, 1)?;
        self.free_chunks.remove(at);
        self.chunks[at as usize].kind = Kind::Hot;
        self.hot += 1;
        self.slots_of(at).for_each(|slot| self.free_slots.insert(slot));
        Some(self.flip_loan(at))
    }

    /// The loaned chunks and, for each, whether it was not written in this period, or not wholly.
    pub fn loaned(&self) -> impl Iterator<Item = (u32, bool, bool)> {
        let is_loaned = |at: &u32| self.loans[(at / NOTE_CHUNKS) as usize] >> (at % NOTE_CHUNKS) & 1 == 1;
        (self.split.first_hot..self.split.chunks).filter(is_loaned).map(|at| {
            let written = self.slots_of(at).filter(|&slot| self.written.contains(u64::from(slot))).count();
            (at, written == 0, written < self.split.chunk_blocks as usize)
        })
    }

    /// The host has written into a hot slot.
    #[inline]
    pub fn note_written(&mut self, slot: u32) {
        if slot >= self.split.first_hot * self.split.chunk_blocks {
            self.written.insert(u64::from(slot));
        }
    }

    /// A period begins.
    pub fn begin_period(&mut self) {
        (0..u64::from(self.split.slots())).for_each(|slot| {
            self.written.remove(slot);
        });
    }

    /// Nothing comes into a hot chunk any more.
    pub fn retire(&mut self, at: u32) {
        let chunk = &mut self.chunks[at as usize];
        if chunk.kind == Kind::Leaving {
            return;
        }
        chunk.kind = Kind::Leaving;
        self.pending_hot -= chunk.used - chunk.live;
        self.hot -= 1;
        self.slots_of(at).for_each(|slot| self.free_slots.remove(slot));
    }

    /// The first block in a chunk that leaves, and its slot.
    pub fn first_in(&self, at: u32) -> Option<(Lba, u32)> {
        self.slots_of(at).find_map(|slot| self.table.owner(slot).map(|lba| (lba, slot)))
    }

    /// Makes a chunk that leaves a cold one, if it is empty: the key and value of the note that says so.
    pub fn take_back(&mut self, at: u32) -> Option<(u32, u64)> {
        let chunk = &mut self.chunks[at as usize];
        if chunk.used > 0 {
            return None;
        }
        chunk.kind = Kind::Cold;
        self.free_chunks.insert(at);
        Some(self.flip_loan(at))
    }

    fn flip_loan(&mut self, at: u32) -> (u32, u64) {
        let key = at / NOTE_CHUNKS;
        self.loans[key as usize] ^= 1 << (at % NOTE_CHUNKS);
        (key, self.loans[key as usize])
    }

    pub fn note_keys(&self) -> u32 {
        self.loans.len() as u32
    }

    /// The loans of the chunks that a key stands for, if there are any.
    pub fn loans(&self, key: u32) -> Option<u64> {
        Some(self.loans[key as usize]).filter(|loans| *loans != 0)
    }

    /// Sets them; says whether chunks that can be loaned are meant.
    pub fn set_loans(&mut self, key: u32, loans: u64) -> bool {
        let can_be = |bit: u32| (self.split.first_hot..self.split.chunks).contains(&(key * NOTE_CHUNKS + bit));
        let fits = key < self.note_keys() && (0..NOTE_CHUNKS).all(|bit| loans >> bit & 1 == 0 || can_be(bit));
        if fits {
            self.loans[key as usize] = loans;
        }
        fits
    }

    /// Divides the buffer by the loans, as if nothing lay in it.
    fn divide(&mut self) {
        let Split { first_hot, chunks, .. } = self.split;
        self.arrivals.clear();
        for chunk in 0..chunks as usize {
            if self.chunks[chunk].holds != NOTHING {
                self.index.remove(Lba(self.chunks[chunk].holds));
            }
            self.chunks[chunk] = Chunk { kind: Kind::Cold, holds: NOTHING, live: 0, used: 0 };
        }
        (self.hot, self.pending_hot, self.pending_chunks) = (0, 0, 0);
        for at in 0..chunks {
            let is_hot = at < first_hot || self.loans[(at / NOTE_CHUNKS) as usize] >> (at % NOTE_CHUNKS) & 1 == 1;
            for slot in self.slots_of(at) {
                if is_hot { self.free_slots.insert(slot) } else { self.free_slots.remove(slot) }
            }
            if is_hot {
                self.chunks[at as usize].kind = Kind::Hot;
                self.free_chunks.remove(at);
                self.hot += 1;
            } else {
                self.free_chunks.insert(at);
            }
        }
        self.begin_period();
    }

    /// After a crash: nothing is pending, and what lies where follows from the loans and the slots.
    pub fn recovered(&mut self) -> Result<(), Corrupt> {
        self.table.recovered();
        self.divide();
        for slot in 0..self.split.slots() {
            let Some(lba) = self.table.owner(slot) else { continue };
            let (at, place) = self.of(slot);
            if self.chunks[at as usize].kind == Kind::Cold {
                let (chunk, expected) = self.chunk_of(lba);
                let holds = self.chunks[at as usize].holds;
                if holds == NOTHING && self.index.get(Lba(chunk)).is_none() {
                    self.free_chunks.remove(at);
                    self.assign(at, chunk);
                } else if holds != chunk {
                    return Err(misplaced(lba, slot));
                }
                if place != expected {
                    return Err(misplaced(lba, slot));
                }
            }
            self.occupied(slot);
        }
        Ok(())
    }

    /// Verifies the invariants.
    pub fn check(&self) -> Result<(), Violation> {
        self.table.check()?;
        let wrong = |what: String| Err(Violation(what));
        let (mut pending_hot, mut pending_chunks, mut hot) = (0, 0, 0);
        for at in 0..self.split.chunks {
            let chunk = self.chunks[at as usize];
            let live = self.slots_of(at).filter(|&slot| self.table.owner(slot).is_some()).count() as u32;
            let used = self.slots_of(at).filter(|&slot| !self.table.is_free(slot)).count() as u32;
            if (live, used) != (chunk.live, chunk.used) {
                return wrong(format!("chunk {at} has {live} live slots of {used} in use, but {chunk:?}"));
            }
            hot += u32::from(chunk.kind == Kind::Hot);
            pending_hot += if chunk.kind == Kind::Hot { used - live } else { 0 };
            let is_free = |slot: u32| chunk.kind == Kind::Hot && self.table.is_free(slot);
            if self.slots_of(at).any(|slot| self.free_slots.contains(slot) != is_free(slot)) {
                return wrong(format!("the free slots of chunk {at} are listed wrongly"));
            }
            let holds = chunk.holds != NOTHING;
            let is_empty = chunk.kind == Kind::Cold && !holds;
            pending_chunks += u32::from(is_empty && used > 0);
            if holds != (chunk.kind == Kind::Cold && live > 0)
                || self.free_chunks.contains(at) != (is_empty && used == 0)
                || self.arrivals.contains(at) != holds
                || (holds && self.index.get(Lba(chunk.holds)) != Some(at))
            {
                return wrong(format!("chunk {at} is listed wrongly: {chunk:?}"));
            }
            for slot in self.slots_of(at).filter(|_| chunk.kind == Kind::Cold) {
                if self.table.owner(slot).is_some_and(|lba| self.chunk_of(lba) != (chunk.holds, self.of(slot).1)) {
                    return wrong(format!("slot {slot} of cold chunk {at} holds a block of another chunk or place"));
                }
            }
        }
        let counted = (self.pending_hot, self.pending_chunks, self.hot);
        if (pending_hot, pending_chunks, hot) != counted || !(self.split.first_hot..=self.split.most_hot).contains(&hot)
        {
            return wrong(format!(
                "{pending_hot} slots and {pending_chunks} chunks pending, {hot} hot; not {counted:?}"
            ));
        }
        Ok(())
    }
}

fn misplaced(lba: Lba, slot: u32) -> Corrupt {
    Corrupt(format!(
        "slot {slot} holds {lba:?}, which cannot lie there; was the buffer made with another configuration?"
    ))
}
