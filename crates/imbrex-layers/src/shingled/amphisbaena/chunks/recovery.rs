//! What lies where, from the loans and the slots alone: after a crash, and to verify it.

use super::filled::Count;
use super::{ChunkKind, Chunks, FreeSlots, Split};
use imbrex_core::block::Lba;
use imbrex_core::layer::{Corrupt, Violation};

impl Chunks {
    /// Divides the buffer by the loans, as if nothing lay in it.
    pub(super) fn divide(&mut self) {
        let Split { chunk_blocks, chunks, first_hot, .. } = self.split;
        self.arrivals.clear();
        self.index.clear();
        self.filled.clear();
        self.leaving.clear();
        (self.pending_hot, self.pending_chunks, self.hot) = (0, 0, first_hot);
        self.free_slots = FreeSlots::all(self.split.slots());
        self.free_slots.remove_run(first_hot * chunk_blocks, self.split.slots());
        self.free_chunks = FreeSlots::all(chunks);
        self.free_chunks.remove_run(0, first_hot);
        let loaned: Vec<u32> = self.all_loaned().collect();
        for at in loaned {
            let slots = self.slots_of(at);
            self.free_slots.insert_run(slots.start, slots.end);
            self.free_chunks.remove(at);
            self.hot += 1;
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
            if self.kind_of(at) == ChunkKind::Cold {
                let (chunk, expected) = self.chunk_of(lba);
                match self.index.get(Lba(chunk)) {
                    None if !self.arrivals.contains(at) => {
                        self.free_chunks.remove(at);
                        self.assign(at, chunk);
                    }
                    Some(holder) if holder == at => {}
                    _ => return Err(misplaced(lba, slot)),
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
        let (mut pending_hot, mut pending_chunks, mut hot, mut holding) = (0, 0, 0, 0);
        for at in 0..self.split.chunks {
            let (kind, count) = (self.kind_of(at), self.filled.of(at, &self.table));
            let live = self.slots_of(at).filter(|&slot| self.table.owner(slot).is_some()).count() as u32;
            let used = self.slots_of(at).filter(|&slot| !self.table.is_free(slot)).count() as u32;
            if count != (Count { live, used }) {
                return wrong(format!("chunk {at} has {live} live slots of {used} in use, but {count:?}"));
            }
            hot += u32::from(kind == ChunkKind::Hot);
            pending_hot += if kind == ChunkKind::Hot { used - live } else { 0 };
            let is_free = |slot: u32| kind == ChunkKind::Hot && self.table.is_free(slot);
            if self.slots_of(at).any(|slot| self.free_slots.contains(slot) != is_free(slot)) {
                return wrong(format!("the free slots of chunk {at} are listed wrongly"));
            }
            let holds = kind == ChunkKind::Cold && live > 0;
            let is_empty = kind == ChunkKind::Cold && !holds;
            pending_chunks += u32::from(is_empty && used > 0);
            holding += u64::from(holds);
            if self.free_chunks.contains(at) != (is_empty && used == 0) || self.arrivals.contains(at) != holds {
                return wrong(format!("chunk {at} is listed wrongly: {kind:?}, {count:?}"));
            }
            for slot in self.slots_of(at).filter(|_| holds) {
                let is_there = |lba| {
                    let (chunk, place) = self.chunk_of(lba);
                    self.index.get(Lba(chunk)) == Some(at) && place == self.of(slot).1
                };
                if !self.table.owner(slot).is_none_or(is_there) {
                    return wrong(format!("slot {slot} of cold chunk {at} holds a block of another chunk or place"));
                }
            }
        }
        if holding != self.index.mapped() {
            return wrong(format!("{holding} cold chunks hold one, and {} are listed", self.index.mapped()));
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
