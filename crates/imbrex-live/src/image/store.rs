//! An image as a store: every operation obeys the recording's rules, and destroys what it would on the drive.

use std::io;

use bytes::Bytes;
use imbrex::block::{Address, Extent, Pba};
use imbrex::drive::DrivePreset;
use imbrex::layer::UnitReport;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;

use super::ahead::Ahead;
use super::{Image, ImageError, State};
use crate::active;
use crate::backing::Backing;
use crate::store::{Store, StoreError, Written};

/// Bytes of a run of blocks of which room is not kept for all at once.
const LONG_BYTES: u64 = 64 << 20;

/// Bytes of a write that takes longer than a change of threads.
const LONG_WRITE_BYTES: usize = 64 << 10;

impl<B: Backing> Image<B> {
    /// Whether a pointer rules the unit that a block lies in.
    fn pointed(state: &State, block: Pba) -> Option<Unit> {
        let unit = state.media.unit_of(block);
        state.media.has_pointer(unit).then_some(unit)
    }
}

impl<B: Backing> Store for Image<B> {
    fn block_bytes(&self) -> u32 {
        self.preset.block_bytes
    }

    fn recording(&self) -> Recording {
        self.preset.recording()
    }

    fn media(&self) -> Box<dyn Media> {
        self.state().media.copy()
    }

    fn drive(&self) -> Option<&DrivePreset> {
        Some(&self.preset)
    }

    fn is_cached(&self) -> bool {
        true
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        self.state().media.read(at)?;
        let mut content = vec![0; at.blocks as usize * self.preset.block_bytes as usize];
        self.backing.read_at(&mut content, self.offset(at.start)).map_err(StoreError::of("reading", at))?;
        Ok(content.into())
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        let mut destroyed = Vec::new();
        let (pointed, next) = {
            let mut state = self.state();
            state.media.write(at)?;
            state.media.destroys(at, &mut |gone| destroyed.push(gone));
            let next: Vec<Extent<Pba>> = state.ahead.iter_mut().filter_map(|run| run.follow(at)).collect();
            (Self::pointed(&state, at.start), next)
        };
        for next in next {
            // Where the host has no room for it, writes to the volume are refused until it has.
            let _ = self.backing.reserve(self.offset(next.start), self.bytes(next));
        }
        let written = {
            // Most file systems take one write to a file at a time, and have the others spin for it, which costs the
            // processor more than to sleep until it is one's turn.
            let _turn = (content.len() >= LONG_WRITE_BYTES).then(|| self.long_writes.lock());
            self.backing.write_at(content, self.offset(at.start))
        };
        let mut state = self.state();
        state.blank.note_written(at);
        if let Some(unit) = pointed {
            let start = state.media.extent_of(unit).start;
            let pointer = (at.start.block() - start.block()) as u32;
            if written.is_err() {
                state.media.set_pointer(unit, pointer);
            } else {
                let entry = &mut state.entries[unit.index as usize];
                (entry.pointer, entry.sequence) = (pointer + at.blocks, entry.sequence.wrapping_add(1));
                state.dirty.insert(unit.index);
            }
        }
        drop(state);
        written.map_err(StoreError::of("writing", at))?;
        self.destroy(&destroyed)
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        if let Some(realms) = self.activated_by(unit) {
            return self.activate(unit, &realms);
        }
        let (space, is_kept) = {
            let mut state = self.state();
            state.media.reset(unit)?;
            *state.emptied.entry(unit).or_default() += 1;
            let entry = &mut state.entries[unit.index as usize];
            (entry.pointer, entry.sequence) = (0, entry.sequence.wrapping_add(1));
            state.dirty.remove(&unit.index);
            let space = state.media.extent_of(unit);
            self.write_entry(&state, unit.index).map_err(StoreError::of("emptying", space))?;
            (space, state.kept.contains(&unit))
        };
        if !is_kept {
            self.discard(space);
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        let io = |source| StoreError::Io { doing: "flushing".to_owned(), source };
        {
            let mut state = self.state();
            while let Some(unit) = state.dirty.first().copied() {
                self.write_entry(&state, unit).map_err(io)?;
                state.dirty.remove(&unit);
            }
        }
        self.backing.sync().map_err(io)?;
        // What was cut off is gone, whatever has been said of it.
        let (is, needed) = (self.backing.size().map_err(io)?, self.data_at + self.preset.bytes());
        if is < needed {
            return Err(io(io::Error::new(io::ErrorKind::UnexpectedEof, ImageError::Short { is, needed })));
        }
        Ok(())
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        let mut state = self.state();
        for unit in active::crowding(state.media.as_ref()) {
            let all = state.media.extent_of(unit).blocks;
            state.media.set_pointer(unit, all);
            let entry = &mut state.entries[unit.index as usize];
            (entry.pointer, entry.sequence) = (all, entry.sequence.wrapping_add(1));
            state.dirty.insert(unit.index);
        }
        Ok(state.media.unit_report())
    }

    fn reserve(&self, at: Extent<Pba>) -> Result<(), StoreError> {
        let reserve = |offset, len| self.backing.reserve(offset, len).map_err(StoreError::of("keeping room for", at));
        // What the image says about itself, too.
        reserve(0, self.data_at)?;
        let ahead = (self.bytes(at) > LONG_BYTES).then(|| Ahead::new(at, self.preset.block_bytes));
        let now = ahead.as_ref().map_or(at, Ahead::first);
        reserve(self.offset(now.start), self.bytes(now))?;
        let mut state = self.state();
        state.ahead.extend(ahead);
        let (first, last) =
            (state.media.unit_of(at.start), state.media.unit_of(at.start.plus(u64::from(at.blocks) - 1)));
        state.kept.extend((first.index..=last.index).map(Unit::disk));
        Ok(())
    }

    fn written(&self, at: Extent<Pba>) -> Vec<Written> {
        Self::written(self, at)
    }

    fn forget(&self, blocks: &[Written]) {
        Self::forget(self, blocks);
    }

    fn available(&self) -> Option<u64> {
        self.backing.available()
    }

    fn stale(&self) -> Vec<String> {
        Self::stale(self)
    }

    fn mend(&self) -> Result<(), StoreError> {
        Self::mend(self).map_err(|source| StoreError::Io { doing: "mending the image".to_owned(), source })
    }
}
