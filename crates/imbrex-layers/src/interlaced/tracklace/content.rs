//! What the tracks hold, counted on demand.

use super::relocation::Lies;
use super::{TrackLace, Valid};
use crate::interlaced::in_place_tracks::TrackContents;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::contents::Contents;

impl TrackLace {
    /// The tracks as if nothing had moved; then whatever has moved is taken from its home and put where it lies.
    pub(super) fn count_contents(&self) -> Contents {
        let mut contents = TrackContents::allocated(&self.places, |_| self.config.valid == Valid::Allocated);
        for lba in self.trimmed.changed() {
            contents.set(self.home_place(lba), !self.trimmed.contains(lba));
        }
        contents.lose(&self.lost, self.places.capacity, |lba| self.home_place(lba));
        let mut from = 0;
        while from < self.places.capacity {
            let part = Extent::between(Lba(from), Lba(self.places.capacity.min(from + u64::from(u32::MAX))));
            self.moved.moved(part).for_each(|lba| self.count_moved(lba, &mut contents));
            from = part.end().0;
        }
        contents.found()
    }

    fn count_moved(&self, lba: Lba, contents: &mut TrackContents) {
        let holds = !self.trimmed.contains(lba) && !self.lost.any(Extent::new(lba, 1));
        let home = contents.at(self.home_place(lba));
        if holds {
            home.home -= 1;
        } else {
            home.stale -= 1;
        }
        let is_swapped = matches!(self.moved.lies(lba), Some(Lies::Swapped(_)));
        if !is_swapped {
            home.stale += 1;
        }
        let track = contents.at(self.place(lba));
        match (holds, is_swapped) {
            (true, true) => track.swapped += 1,
            (false, true) => track.stale += 1,
            (_, false) => track.buffered += 1,
        }
    }
}
