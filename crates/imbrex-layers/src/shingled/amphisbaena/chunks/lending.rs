//! Chunks that the cold buffer lends to the hot one.

use super::filled::Count;
use super::{Chunks, NOTE_CHUNKS};
use imbrex_core::block::Lba;

impl Chunks {
    /// Lends a free chunk to the hot buffer: the key and value of the note that says so.
    pub fn lend(&mut self) -> Option<(u32, u64)> {
        let (at, _) = self.free_chunks.first_fit(1, 1)?;
        self.free_chunks.remove(at);
        self.hot += 1;
        let slots = self.slots_of(at);
        self.free_slots.insert_run(slots.start, slots.end);
        Some(self.flip_loan(at))
    }

    /// The loaned chunks and, for each, whether it was not written in this period, or not wholly.
    pub fn loaned(&self) -> impl Iterator<Item = (u32, bool, bool)> {
        self.all_loaned().map(|at| {
            let slots = self.slots_of(at);
            let written = self.written.count(slots.start.into(), slots.end.into());
            (at, written == 0, written < self.split.chunk_blocks.into())
        })
    }

    /// The loaned chunks, ascending.
    pub(super) fn all_loaned(&self) -> impl Iterator<Item = u32> {
        let next = |from: u64| self.loans.next(from, self.split.chunks.into());
        std::iter::successors(next(0), move |&at| next(at + 1)).map(|at| at as u32)
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
        self.written.clear();
    }

    /// Nothing comes into a hot chunk any more.
    pub fn retire(&mut self, at: u32) {
        if !self.leaving.insert(at.into()) {
            return;
        }
        let Count { live, used } = self.filled.of(at, &self.table);
        self.pending_hot -= used - live;
        self.hot -= 1;
        let slots = self.slots_of(at);
        self.free_slots.remove_run(slots.start, slots.end);
    }

    /// The first block in a chunk, and its slot.
    pub fn first_in(&self, at: u32) -> Option<(Lba, u32)> {
        self.slots_of(at).find_map(|slot| self.table.owner(slot).map(|lba| (lba, slot)))
    }

    /// Makes a chunk that leaves a cold one, if it is empty: the key and value of the note that says so.
    pub fn take_back(&mut self, at: u32) -> Option<(u32, u64)> {
        if self.filled.of(at, &self.table).used > 0 {
            return None;
        }
        self.leaving.remove(at.into());
        self.free_chunks.insert(at);
        Some(self.flip_loan(at))
    }

    fn flip_loan(&mut self, at: u32) -> (u32, u64) {
        if !self.loans.remove(at.into()) {
            self.loans.insert(at.into());
        }
        let key = at / NOTE_CHUNKS;
        (key, self.loans_of(key))
    }

    /// The loans of the chunks that a key stands for, a bit each.
    fn loans_of(&self, key: u32) -> u64 {
        let (from, end) = chunks_of_key(key);
        self.loans.bits(from, end)
    }

    pub fn note_keys(&self) -> u32 {
        self.split.chunks.div_ceil(NOTE_CHUNKS)
    }

    /// The loans of the chunks that a key stands for, if there are any.
    pub fn loans(&self, key: u32) -> Option<u64> {
        Some(self.loans_of(key)).filter(|loans| *loans != 0)
    }

    /// Sets them; says whether chunks that can be loaned are meant.
    pub fn set_loans(&mut self, key: u32, loans: u64) -> bool {
        let can_be = |bit: u32| (self.split.first_hot..self.split.chunks).contains(&(key * NOTE_CHUNKS + bit));
        let fits = key < self.note_keys() && (0..NOTE_CHUNKS).all(|bit| loans >> bit & 1 == 0 || can_be(bit));
        if fits {
            let (from, end) = chunks_of_key(key);
            self.loans.remove_run(from, end);
            (from..end).filter(|at| loans >> (at - from) & 1 == 1).for_each(|at| {
                self.loans.insert(at);
            });
        }
        fits
    }
}

/// The chunks that a key stands for: the first, and the one behind the last.
fn chunks_of_key(key: u32) -> (u64, u64) {
    let first = u64::from(key) * u64::from(NOTE_CHUNKS);
    (first, first + u64::from(NOTE_CHUNKS))
}
