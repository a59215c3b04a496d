//! What lies where, from the loans and the slots alone: after a crash, and to verify it.

use super::{ChunkKind, Chunks, NO_CHUNK, NOTHING, Split};
use imbrex_core::block::Lba;
use imbrex_core::layer::{Corrupt, Violation};

impl Chunks {
    /// Divides the buffer by the loans, as if nothing lay in it.
    pub(super) fn divide(&mut self) {
        let Split { first_hot, chunks, .. } = self.split;
        self.arrivals.clear();
        for chunk in 0..chunks as usize {
            if self.chunks[chunk].holds != NOTHING {
                self.index.remove(Lba(self.chunks[chunk].holds));
            }
            self.chunks[chunk] = NO_CHUNK;
        }
        (self.hot, self.pending_hot, self.pending_chunks) = (0, 0, 0);
        for at in 0..chunks {
            let is_hot = at < first_hot || self.is_loaned(at);
            for slot in self.slots_of(at) {
                if is_hot { self.free_slots.insert(slot) } else { self.free_slots.remove(slot) }
            }
            if is_hot {
                self.chunks[at as usize].kind = ChunkKind::Hot;
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
            if self.chunks[at as usize].kind == ChunkKind::Cold {
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
            hot += u32::from(chunk.kind == ChunkKind::Hot);
            pending_hot += if chunk.kind == ChunkKind::Hot { used - live } else { 0 };
            let is_free = |slot: u32| chunk.kind == ChunkKind::Hot && self.table.is_free(slot);
            if self.slots_of(at).any(|slot| self.free_slots.contains(slot) != is_free(slot)) {
                return wrong(format!("the free slots of chunk {at} are listed wrongly"));
            }
            let holds = chunk.holds != NOTHING;
            let is_empty = chunk.kind == ChunkKind::Cold && !holds;
            pending_chunks += u32::from(is_empty && used > 0);
            if holds != (chunk.kind == ChunkKind::Cold && live > 0)
                || self.free_chunks.contains(at) != (is_empty && used == 0)
                || self.arrivals.contains(at) != holds
                || (holds && self.index.get(Lba(chunk.holds)) != Some(at))
            {
                return wrong(format!("chunk {at} is listed wrongly: {chunk:?}"));
            }
            for slot in self.slots_of(at).filter(|_| chunk.kind == ChunkKind::Cold) {
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
