//! The invariants, each from what it is about and not from what is kept along the way.

use std::collections::BTreeSet;

use super::TrackLace;
use super::relocation::Lies;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::Violation;

impl TrackLace {
    pub(super) fn check_all(&self) -> Result<(), Violation> {
        self.moved.check(&self.frames)?;
        self.check_logs()?;
        self.check_frames()?;
        self.check_needed()?;
        self.swaps.as_ref().map_or(Ok(()), |swaps| swaps.cold.check())
    }

    /// Tracks of the logs are not allocated, and slots in use lie in the window of their log.
    fn check_logs(&self) -> Result<(), Violation> {
        if let Some(slot) = self.frames.stray() {
            return Err(Violation(format!("slot {slot} holds a block outside the window of its log")));
        }
        let tracks = self.places.order.tracks();
        for track in self.frames.places() {
            let allocated = tracks.locate(track.start.block()).map(|(track, _)| self.places.order.first_of(track));
            if allocated.is_none_or(|first| first < self.places.capacity) {
                return Err(Violation(format!("{track:?} is allocated, and a log has it")));
            }
        }
        Ok(())
    }

    /// Blocks are moved within their frames, and those in slots are not lost and hold something.
    fn check_frames(&self) -> Result<(), Violation> {
        for lba in self.moved_blocks() {
            let at = self.places.order.tracks().locate(self.place(lba).block());
            if at.is_none_or(|(track, _)| self.frames.frame_of(track) != self.frame(lba)) {
                return Err(Violation(format!("{lba:?} lies outside its frame")));
            }
            let is_buffered = matches!(self.moved.lies(lba), Some(Lies::Slot(_)));
            if is_buffered && (self.is_top(lba) || self.lost.any(Extent::new(lba, 1)) || self.trimmed.contains(lba)) {
                return Err(Violation(format!("{lba:?} is buffered, and need not be")));
            }
        }
        Ok(())
    }

    /// Blocks that are not at home.
    fn moved_blocks(&self) -> impl Iterator<Item = Lba> {
        (0..self.places.capacity).step_by(1 << 30).flat_map(|from| {
            let blocks = (self.places.capacity - from).min(1 << 30) as u32;
            self.moved.moved(Extent::new(Lba(from), blocks))
        })
    }

    /// What is known to be needed against the rule is what the map says.
    fn check_needed(&self) -> Result<(), Violation> {
        let mut exceptions: BTreeSet<u64> = self.places.needed.exceptions().collect();
        for lba in self.moved_blocks() {
            if let Some(Lies::Slot(slot)) = self.moved.lies(lba)
                && !exceptions.remove(&self.frames.place_of(slot).block())
            {
                return Err(Violation(format!("{lba:?} is buffered in slot {slot}, which would not be saved")));
            }
        }
        let wrong =
            |lba| Err(Violation(format!("the home of {lba:?} is saved although nobody needs it, or not saved")));
        let ruled = self.places.ruled;
        for &block in &exceptions {
            let home = self.places.order.tracks().locate(block);
            let lba = home.map(|(track, offset)| Lba(self.places.order.first_of(track) + u64::from(offset)));
            let Some(lba) = lba.filter(|lba| lba.0 < self.places.capacity && self.is_top(*lba)) else {
                return Err(Violation(format!("{:?} is saved, which nobody uses", Pba::disk(block))));
            };
            if self.needs_home(lba) == ruled {
                return wrong(lba);
            }
        }
        let changed = self.trimmed.changed().chain(self.moved_blocks()).filter(|lba| self.is_top(*lba));
        for lba in changed.filter(|lba| self.needs_home(*lba) != ruled) {
            if !exceptions.contains(&self.home_place(lba).block()) {
                return wrong(lba);
            }
        }
        Ok(())
    }
}
