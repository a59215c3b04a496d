//! What the tracks hold, counted on demand.

use super::Cells;
use super::cells::NONE;
use crate::interlaced::in_place_tracks::TrackContents;
use imbrex_core::block::Pba;
use imbrex_core::contents::Contents;
use imbrex_core::tracks::Side;

impl Cells {
    /// The tracks as if nothing had moved; then each cell that has is taken from its home and put where it lies.
    pub(super) fn contents(&self) -> Contents {
        let mut contents = TrackContents::allocated(&self.places, |side| side == Side::Bottom || self.places.ruled);
        self.places.filled_blocks().for_each(|block| contents.set(Pba::disk(block), true));
        contents.lose(&self.lost, self.places.capacity, |lba| {
            let (home, offset) = self.places.locate(lba);
            self.places.block(home, offset)
        });
        for cell in (0..self.tracks()).filter(|&cell| self.lies[cell as usize] != cell) {
            self.count_moved(cell, &mut contents);
        }
        contents.found()
    }

    fn count_moved(&self, cell: u32, contents: &mut TrackContents) {
        let (blocks, mut lost) = (self.cell_blocks(), 0);
        self.lost.runs(self.extent(cell), |run, is_lost| lost += if is_lost { run.blocks } else { 0 });
        let home = contents.at(self.space(cell).start);
        (home.home, home.stale) = (home.home + lost - blocks, home.stale - lost);
        if self.holds[cell as usize] == NONE {
            home.stale += blocks;
        }
        let lies = self.lies[cell as usize];
        let track = contents.at(self.space(lies).start);
        track.stale += lost;
        if self.is_reserved(self.track(lies)) {
            track.buffered += blocks - lost;
        } else {
            track.swapped += blocks - lost;
        }
    }
}
