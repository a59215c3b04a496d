//! The durable state as records: applying them, giving them for a checkpoint, beginning an epoch with them, and
//! what they have to agree with.

use super::cells::{Cells, NONE};
use crate::interlaced::in_place_tracks::Filled;
use crate::parts::lost::LostBlocks;
use crate::parts::needed_blocks::NeededBlocks;
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{Corrupt, Occupancy, REGION_RECORDS, Violation, within};
use imbrex_core::plan::{Plan, Record};
use imbrex_core::tracks::Side;

/// Cells of a region at most: with half as many lost blocks as a region has records, it has not too many.
const ENTRIES: u64 = 250;

impl Cells {
    /// Changes the state as a record of this epoch says, and plans it.
    pub(super) fn change(&mut self, record: Record, redo: bool, plan: &mut Plan) {
        if let Err(corrupt) = self.apply(&record) {
            unreachable!("a record of the layer's own: {corrupt}");
        }
        if redo { plan.redo_record(record) } else { plan.record(record) }
    }

    pub(super) fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        within(record, self.places.capacity)?;
        match *record {
            Record::Map { at, to } => self.apply_map(at, to)?,
            Record::Unmap(at) => {
                let mut rest = at;
                loop {
                    let Some((first, cell)) = self.moved_in(rest).next() else { break };
                    rest = rest.skip(first.since(rest.start) as u32 + 1);
                    self.move_to(cell, cell);
                }
                self.set_lost(at, false);
            }
            Record::Lost(at) => self.set_lost(at, true),
            Record::Note { key, value } => self.places.apply(key, value)?,
            other => return Err(Corrupt(format!("a layer that maps tracks cannot take the record {other:?}"))),
        }
        Ok(())
    }

    /// A record of a part of a cell says where all of it lies.
    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = |why: &str| Err(Corrupt(format!("a record maps {at:?} to {to:?}, {why}")));
        let (home, offset) = self.places.locate(at.start);
        let is_on_disk = to.device() == Pba::DISK && to.block() < self.places.order.tracks().blocks();
        let located = if is_on_disk { self.places.order.tracks().locate(to.block()) } else { None };
        let Some((track, there)) = located else { return wrong("which is on no interlaced track") };
        let (cell, number) = (self.number(home), self.number(track));
        if there != offset || u64::from(offset) + u64::from(at.blocks) > u64::from(self.cell_blocks()) {
            return wrong("which is not the same part of a cell");
        }
        if !self.takes_part(cell) || !(self.takes_part(number) || self.is_reserved(track)) {
            return wrong("and one of the tracks takes no part");
        }
        self.move_to(cell, number);
        self.set_lost(at, false);
        Ok(())
    }

    /// A cell lies on a track, and what is needed of reserved tracks follows.
    fn move_to(&mut self, cell: u32, track: u32) {
        let from = self.lies[cell as usize];
        if from == track {
            return;
        }
        self.put(cell, track);
        if self.is_reserved(self.track(from)) {
            let space = self.space(from);
            space.iter().for_each(|block| self.places.needed.release(block.block(), false));
        }
        if self.is_reserved(self.track(track)) {
            let space = self.space(track);
            space.iter().for_each(|block| self.places.needed.set(block.block(), false, true));
        }
    }

    /// The blocks are lost, or not. The places of lost ones are not needed.
    fn set_lost(&mut self, at: Extent<Lba>, lost: bool) {
        if !lost && !self.lost.any(at) {
            return;
        }
        let mut turned = Vec::new();
        self.lost.runs(at, |run, was_lost| {
            if was_lost != lost {
                turned.extend(self.on_tops(run));
            }
        });
        turned.into_iter().for_each(|(block, ruled)| self.places.needed.set(block, ruled, !lost));
        if lost { self.lost.insert(at) } else { self.lost.remove(at) }
    }

    /// Where some of these blocks lie on top tracks, each with what the rule says of its place.
    fn on_tops(&self, at: Extent<Lba>) -> Vec<(u64, bool)> {
        let (mut rest, mut all) = (at, Vec::new());
        while !rest.is_empty() {
            let (run, track, offset) = self.run(rest);
            if track.side == Side::Top {
                let (first, ruled) = (self.places.block(track, offset).block(), self.is_ruled(track));
                all.extend((first..first + u64::from(run.blocks)).map(|block| (block, ruled)));
            }
            rest = rest.skip(run.blocks);
        }
        all
    }

    /// All that was applied is durable.
    pub(super) fn recovered(&mut self) -> Result<(), Corrupt> {
        self.holds.fill(NONE);
        for cell in 0..self.tracks() {
            let track = self.lies[cell as usize];
            if track == cell && self.is_reserved(self.track(cell)) {
                continue;
            }
            if self.holds[track as usize] != NONE {
                return Err(Corrupt(format!("two cells lie on track {track}")));
            }
            self.holds[track as usize] = cell;
        }
        self.places.needed = self.needed();
        self.check().map_err(|reason| Corrupt(format!("the records do not agree: {reason}")))
    }

    /// What is needed, by where everything lies.
    fn needed(&self) -> NeededBlocks {
        let mut needed = NeededBlocks::new(self.places.order.tracks().blocks());
        for track in self.reserved().filter(|&track| self.holds[track as usize] != NONE) {
            self.space(track).iter().for_each(|block| needed.set(block.block(), false, true));
        }
        self.places.filled_blocks().for_each(|block| needed.set(block, false, true));
        let mut start = Lba(0);
        while start.0 < self.places.capacity && !self.lost.is_empty() {
            let region = Extent::between(start, self.lost.region_end(start, self.places.capacity));
            self.lost.runs(region, |run, lost| {
                if lost {
                    self.on_tops(run).into_iter().for_each(|(block, ruled)| needed.set(block, ruled, false));
                }
            });
            start = region.end();
        }
        needed
    }

    pub(super) fn checkpoint(&self, start: Lba, plan: &mut Plan) -> Option<u64> {
        if start.0 >= self.places.capacity {
            let next = self.places.filled.as_ref()?.checkpoint(start.0 - self.places.capacity, REGION_RECORDS, plan);
            return next.map(|group| self.places.capacity + group);
        }
        let mut end = self.lost.region_end(start, self.places.capacity);
        if let Some((first, _)) = self.moved_in(Extent::between(start, end)).nth(ENTRIES as usize) {
            end = first;
        }
        let region = Extent::between(start, end);
        plan.record(Record::Unmap(region));
        for (_, cell) in self.moved_in(region) {
            let to = self.space(self.lies[cell as usize]).start;
            plan.record(Record::Map { at: self.extent(cell), to });
        }
        self.lost.runs(region, |at, lost| {
            if lost {
                plan.record(Record::Lost(at));
            }
        });
        (end.0 < self.places.capacity || self.places.filled.is_some()).then_some(end.0)
    }

    /// The most records that a checkpoint of everything takes.
    pub(super) fn most_records(&self) -> u64 {
        let most = if self.reserved_tracks > 0 {
            u64::from(self.reserved_tracks)
        } else {
            (0..self.tracks()).filter(|&track| self.takes_part(track)).count() as u64
        };
        let notes = self.places.filled.as_ref().map_or(0, Filled::groups);
        LostBlocks::regions(self.places.capacity) + most + most.div_ceil(ENTRIES) + notes
    }

    /// How much of the reserved tracks is in use, if there are any. No cell is moved elsewhere then.
    pub(super) fn occupancy(&self) -> Option<Occupancy> {
        let of = |tracks: u32| u64::from(tracks) * u64::from(self.cell_blocks());
        let some = Occupancy { used: of(self.moved), blocks: of(self.reserved_tracks) };
        (self.reserved_tracks > 0).then_some(some)
    }

    pub(super) fn check(&self) -> Result<(), Violation> {
        let wrong = |what: String| Err(Violation(what));
        let mut moved = 0;
        for cell in 0..self.tracks() {
            let (lies, is_reserved) = (self.lies[cell as usize], self.is_reserved(self.track(cell)));
            moved += u32::from(lies != cell);
            if is_reserved && lies != cell {
                return wrong(format!("the cell of reserved track {cell} lies on track {lies}"));
            }
            if !is_reserved && self.holds[lies as usize] != cell {
                return wrong(format!("cell {cell} lies on track {lies}, which holds {}", self.holds[lies as usize]));
            }
            let own_is_away = self.is_reserved(self.track(lies));
            if self.holds[cell as usize] == NONE && !is_reserved && !own_is_away {
                return wrong(format!("track {cell} holds no cell"));
            }
        }
        if moved != self.moved {
            return wrong(format!("{moved} cells are not at home, and {} are counted", self.moved));
        }
        if !self.places.needed.exceptions().eq(self.needed().exceptions()) {
            return wrong("what is needed is not what lies on top tracks".to_owned());
        }
        Ok(())
    }
}
