//! Which changes are allowed, and how they are planned.

use super::{Cells, Change, Largest};
use crate::interlaced::in_place_tracks::Care;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::tracks::{Side, Track};

impl Cells {
    /// Whether a change can be made: the tracks hold what it speaks of, and nothing of that is lost.
    pub fn allows(&self, change: Change) -> bool {
        let has = |track: u32| self.on(track).is_some_and(|cell| !self.lost.any(self.extent(cell)));
        let is_on = |track: u32, side: Side| self.track(track).side == side;
        match change {
            Change::Exchange { bottom, top } => {
                is_on(bottom, Side::Bottom) && is_on(top, Side::Top) && has(bottom) && has(top) && self.is_filled(top)
            }
            Change::Copy { bottom, top } => {
                let is_reserved = self.is_reserved(self.track(top));
                is_on(bottom, Side::Bottom) && has(bottom) && is_reserved && (self.is_empty(top) || has(top))
            }
            Change::Return { top } => self.is_reserved(self.track(top)) && has(top),
        }
    }

    /// Whether the record is durable that a reserved track is empty.
    pub(super) fn is_settled(&self, top: u32) -> bool {
        let space = self.space(top);
        !self.places.needed.any_pending(space.start.block(), space.blocks)
    }

    /// Plans a change that is allowed.
    pub(super) fn plan(&mut self, change: Change, plan: &mut Plan) {
        match change {
            Change::Exchange { bottom, top } => self.exchange(bottom, top, plan),
            Change::Copy { bottom, top } => self.copy(bottom, top, plan),
            Change::Return { top } => self.bring_home(top, plan),
        }
    }

    fn exchange(&mut self, bottom: u32, top: u32, plan: &mut Plan) {
        let (below, above) = (self.space(bottom), self.space(top));
        let cells = [self.holds[bottom as usize], self.holds[top as usize]];
        let ram = [Pba::ram(0), Pba::ram(u64::from(below.blocks))];
        plan.copy(Place::At(below.start), Place::At(ram[0]), below.blocks, Why::Swap);
        plan.copy(Place::At(above.start), Place::At(ram[1]), above.blocks, Why::Swap);
        self.overwrite(bottom, above, ram[1], Why::Swap, plan);
        plan.redo_copy(Place::At(ram[0]), Place::At(above.start), above.blocks, Why::Swap);
        self.lies_now(cells[0], top, true, plan);
        self.lies_now(cells[1], bottom, true, plan);
    }

    fn copy(&mut self, bottom: u32, top: u32, plan: &mut Plan) {
        let (from, to) = (self.space(bottom), self.space(top));
        plan.copy(Place::At(from.start), Place::At(to.start), from.blocks, Why::Migrate);
        self.lies_now(self.holds[bottom as usize], top, false, plan);
    }

    fn bring_home(&mut self, top: u32, plan: &mut Plan) {
        let (cell, from) = (self.holds[top as usize], self.space(top));
        plan.copy(Place::At(from.start), Place::At(Pba::ram(0)), from.blocks, Why::Collect);
        self.overwrite(cell, from, Pba::ram(0), Why::Destage, plan);
        self.lies_now(cell, cell, true, plan);
        plan.free(from);
        plan.count(Event::Evicted, from.blocks);
    }

    /// Plans that a cell on a bottom track is overwritten from RAM, and what that destroys saved around it, without
    /// what the plan moves from `moved`.
    fn overwrite(&mut self, bottom: u32, moved: Extent<Pba>, from: Pba, why: Why, plan: &mut Plan) {
        let (to, ram) = (self.space(bottom), 2 * u64::from(moved.blocks));
        let care = self.places.find(self.track(bottom), 0, to.blocks, Some(moved));
        self.places.save(ram, plan);
        plan.redo_copy(Place::At(from), Place::At(to.start), to.blocks, why);
        self.places.bring_back(ram, plan);
        plan.count(Event::Rmw, u32::from(care == Care::Save));
    }

    /// Plans the record that a cell lies on a track from now on.
    fn lies_now(&mut self, cell: u32, track: u32, redo: bool, plan: &mut Plan) {
        let at = self.extent(cell);
        let record = if cell == track { Record::Unmap(at) } else { Record::Map { at, to: self.space(track).start } };
        self.change(record, redo, plan);
    }

    /// The most blocks that the redo moves of a change write.
    pub(super) fn images(&self, largest: Largest) -> u32 {
        let tracks = self.places.order.tracks();
        let mut over_one = 0;
        let first = Track { group: 0, side: Side::Bottom, index: 0 };
        tracks.over(first, 0, self.cell_blocks(), |_, _, blocks| over_one = blocks);
        largest.cells * self.cell_blocks() + largest.neighbours * over_one
    }

    /// The logical blocks of a cell.
    pub(super) fn extent(&self, cell: u32) -> Extent<Lba> {
        Extent::new(self.first_of(cell), self.cell_blocks())
    }
}
