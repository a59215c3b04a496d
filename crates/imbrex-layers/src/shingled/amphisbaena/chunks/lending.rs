//! Chunks that the cold buffer lends to the hot one.

use super::{ChunkKind, Chunks, NOTE_CHUNKS};
use imbrex_core::block::Lba;

impl Chunks {
    /// Lends a free chunk to the hot buffer: the key and value of the note that says so.
    pub fn lend(&mut self) -> Option<(u32, u64)> {
        let (at, _) = self.free_chunks.first_fit(1, 1)?;
        self.free_chunks.remove(at);
        self.chunks[at as usize].kind = ChunkKind::Hot;
        self.hot += 1;
        self.slots_of(at).for_each(|slot| self.free_slots.insert(slot));
        Some(self.flip_loan(at))
    }

    /// The loaned chunks and, for each, whether it was not written in this period, or not wholly.
    pub fn loaned(&self) -> impl Iterator<Item = (u32, bool, bool)> {
        (self.split.first_hot..self.split.chunks).filter(|&at| self.is_loaned(at)).map(|at| {
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
        if chunk.kind == ChunkKind::Leaving {
            return;
        }
        chunk.kind = ChunkKind::Leaving;
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
        chunk.kind = ChunkKind::Cold;
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

    pub(super) fn is_loaned(&self, at: u32) -> bool {
        self.loans[(at / NOTE_CHUNKS) as usize] >> (at % NOTE_CHUNKS) & 1 == 1
    }
}
