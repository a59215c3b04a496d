//! What layers share that map whole tracks of an interlaced disk: hot tracks lie on top, and the map stays small.
//!
//! Source: track flipping, selective track caching and dynamic track mapping of Hajkazemi, Kulkarni, Desnoyers and
//! Feldman (USENIX ATC 2019), as TrackLace (IEEE TC 2021) §7.2 describes them. The first paper was not at hand.
//!
//! # Cells
//! Tracks of the two kinds differ in length. What is mapped is a *cell*: as many blocks from the beginning of a track
//! as a top track has. The rest of a bottom track, its *tail*, stays where it is. A cell has the number of the track
//! that is its home; a track that is allocated in part takes no part.
//!
//! # State
//! - durable: the track of each cell that is not at home ([`Record::Map`]); lost blocks; where only what was written is
//!   saved, which top tracks were;
//! - fixed: the order of tracks, and which top tracks are reserved;
//! - soft: what a policy counts, and the change that is due.
//!
//! # Invariants
//! - a track holds at most one cell, and one that is not reserved holds exactly one;
//! - a block of a top track is needed exactly if its cell is allocated and it is not lost.
//!
//! # How a write is served
//! As `in_place_tracks` does it, at the place where the cell lies. Before a cell on a bottom track is updated, the
//! policy is asked what should be done first. If anything, the write takes no block, and cleaning makes the change: a
//! plan by itself. The write may come again before that, and waits on. It is made in place if nothing can be changed for
//! it. The policy hears nothing of writes of whole cells: a write of so much at once gains little from a place on top.
//!
//! # Changes
//! - *Exchange* and *return* overwrite a bottom track, so they are plans of redo moves with their records in the same
//!   entry, and with what they destroy beside them.
//! - *Copy* writes to a reserved top track that holds nothing, and its record becomes durable after it. A reserved
//!   track that a cell has left is not written before the record of that is durable.
//! - None is made of a cell with a lost block, nor of one on a top track that was never written, where only what was
//!   written is saved: nothing has to be brought out of its way.

mod cells;
mod change;
mod content;
mod state;
#[cfg(test)]
mod tests;

use crate::interlaced::in_place_tracks::Care;
use crate::{Family, Field, LayerInfo, Make};
pub(super) use cells::Cells;
use imbrex_core::block::{Extent, Lba, Pba, Request};
use imbrex_core::contents::Contents;
use imbrex_core::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Standing, Step, TranslationLayer, UnitReport, Unwritten, Violation,
    Write,
};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::recording::Recording;
use imbrex_core::tracks::Side;

/// Such a layer.
pub(super) const fn info(
    name: &'static str,
    summary: &'static str,
    fields: &'static [Field],
    make: &'static Make,
) -> LayerInfo {
    LayerInfo {
        name,
        family: Some(Family::Interlaced),
        source: "Hajkazemi et al. (USENIX ATC 2019), as TrackLace §7.2 has it",
        summary,
        recording: Recording::Interlaced,
        buffered: false,
        fields,
        make,
    }
}

/// What a policy wants done before an update.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// The cells of a bottom track and of a top track change places.
    Exchange {
        /// The bottom track.
        bottom: u32,
        /// The top track.
        top: u32,
    },
    /// The cell of a bottom track moves to a reserved top track, whose cell goes home before that.
    Copy {
        /// The bottom track.
        bottom: u32,
        /// The reserved top track.
        top: u32,
    },
    /// The cell of a reserved top track goes home.
    Return {
        /// The reserved top track.
        top: u32,
    },
}

/// What a plan of the policy's rewrites at most.
#[derive(Copy, Clone, Debug)]
pub(super) struct Largest {
    /// Cells.
    pub cells: u32,
    /// Top tracks over a bottom track, beside these cells.
    pub neighbours: u32,
}

/// Which cells lie on top, and when they move.
pub(super) trait Policy: Send {
    /// The memory that it takes.
    fn memory(&self) -> Memory;

    /// What a plan of its rewrites at most.
    fn largest(&self) -> Largest;

    /// A part of the cell on this top track is written.
    fn written(&mut self, top: u32, cells: &Cells);

    /// A part of the cell on this bottom track is about to be updated: what comes first, if anything. It is asked once
    /// for each update.
    fn before_update(&mut self, bottom: u32, cells: &Cells) -> Option<Change>;

    /// What is done next when cleaning is asked for.
    fn asked(&self, _cells: &Cells) -> Option<Change> {
        None
    }
}

/// A layer that maps whole tracks.
pub(super) struct MappedTracks<P> {
    cells: Cells,
    policy: P,
    /// What is done before the write that waits, until cleaning has done it or cannot.
    due: Option<Change>,
    /// The first block of the update about which the policy was asked last, if it has not been made.
    asked: Option<Lba>,
    /// What is left of a cell that is being written whole.
    whole: Extent<Lba>,
}

impl<P: Policy> MappedTracks<P> {
    /// A layer with these tracks and this policy.
    pub(super) const fn new(cells: Cells, policy: P) -> Self {
        Self { cells, policy, due: None, asked: None, whole: Extent::new(Lba(0), 0) }
    }

    /// Whether something comes before a write of a part of a cell. `updates` says that it is an update.
    fn comes_first(&mut self, part: Extent<Lba>, track: u32, updates: bool) -> bool {
        if !self.whole.is_empty() {
            return false;
        }
        if !updates {
            self.policy.written(track, &self.cells);
            return false;
        }
        if self.asked == Some(part.start) {
            return false;
        }
        let change = self.policy.before_update(track, &self.cells);
        self.due = change.filter(|&change| self.cells.allows(change));
        self.asked = self.due.map(|_| part.start);
        self.due.is_some()
    }

    /// Notes whether a run is a whole cell, or goes on with one.
    fn look_for_whole(&mut self, run: Extent<Lba>, offset: u32) {
        if offset == 0 && run.blocks >= self.cells.cell_blocks() {
            self.whole = run;
        } else if run.start != self.whole.start {
            self.whole = run.first(0);
        }
    }

    /// Plans that blocks which lie where they lay have been overwritten.
    fn overwritten(&mut self, at: Extent<Lba>, to: Pba, care: Care, plan: &mut Plan) {
        if !self.cells.lost.any(at) {
            return;
        }
        let record = if self.cells.is_home(at.start) { Record::Unmap(at) } else { Record::Map { at, to } };
        self.cells.change(record, care != Care::None, plan);
    }
}

impl<P: Policy> TranslationLayer for MappedTracks<P> {
    fn facts(&self) -> Facts {
        Facts {
            memory: self.cells.memory() + self.policy.memory(),
            ram_blocks: 4 * self.cells.cell_blocks(),
            unwritten: Unwritten::OldContent,
            journal: JournalFacts {
                redo_blocks: self.cells.places.most_redo_blocks().max(self.cells.images(self.policy.largest())),
                remedy: "a drive of fewer or shorter tracks",
                records: self.cells.most_records(),
                ..JournalFacts::default()
            },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        self.cells.places.capacity
    }

    fn standing(&self) -> Standing {
        Standing { occupancy: self.cells.occupancy(), ..Standing::default() }
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (run, track, offset) = self.cells.run(rest);
            let host = at.blocks - rest.blocks;
            if self.cells.is_reserved(track) {
                self.cells.lost.read(run, self.cells.places.block(track, offset), run.blocks, host, plan);
            } else {
                self.cells.places.read(&self.cells.lost, run, track, offset, host, plan);
            }
            rest = rest.skip(run.blocks);
        }
    }

    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        let mut taken = 0;
        while taken < at.blocks {
            let (mut run, track, offset) = self.cells.run(at.skip(taken));
            // A runner may try the write again before cleaning has done what comes first.
            if self.due.is_some() && self.asked == Some(run.start) {
                return taken;
            }
            self.look_for_whole(run, offset);
            let mut care = Care::None;
            if track.side == Side::Bottom {
                run = run.first(self.cells.places.update_blocks);
                care = self.cells.places.find(track, offset, run.blocks, None);
            }
            if care != Care::None && taken > 0 {
                return taken;
            }
            let is_counted = track.side == Side::Top || (care == Care::Save && offset < self.cells.cell_blocks());
            if is_counted && self.comes_first(run, self.cells.number(track), track.side == Side::Bottom) {
                return 0;
            }
            self.asked = None;
            self.whole = self.whole.skip(run.blocks.min(self.whole.blocks));
            let to = self.cells.places.block(track, offset);
            let is_kept = self.cells.is_reserved(track);
            let filled = if is_kept { Vec::new() } else { self.cells.places.fill(track, offset, run.blocks, plan) };
            self.cells.places.write_bottom(care, Place::Host(taken), Extent::new(to, run.blocks), Why::Host, 0, plan);
            self.cells.places.record(&filled, plan);
            self.overwritten(run, to, care, plan);
            let is_hit = track.side == Side::Top && self.cells.home(run.start).side == Side::Bottom;
            plan.count(Event::WriteHit, if is_hit { run.blocks } else { 0 });
            taken += run.blocks;
            if care != Care::None {
                return taken;
            }
        }
        taken
    }

    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }

    fn clean(&mut self, why: Pressure, _waiting: &[Request], plan: &mut Plan) -> Step {
        let (change, nothing) = match why {
            Pressure::Blocked(_) => (self.due, Step::Done),
            Pressure::Asked => (self.policy.asked(&self.cells), Step::Nothing),
            Pressure::Idle { .. } | Pressure::Ahead { .. } => (None, Step::Nothing),
        };
        let Some(change) = change.filter(|&change| self.cells.allows(change)) else {
            if matches!(why, Pressure::Blocked(_)) {
                self.due = None;
            }
            return nothing;
        };
        match change {
            Change::Copy { top, .. } if !self.cells.is_empty(top) => {
                self.cells.plan(Change::Return { top }, plan);
                Step::More
            }
            Change::Copy { top, .. } if !self.cells.is_settled(top) => Step::Wait,
            Change::Return { .. } => {
                self.cells.plan(change, plan);
                Step::More
            }
            Change::Copy { .. } | Change::Exchange { .. } => {
                self.cells.plan(change, plan);
                self.due = None;
                Step::Done
            }
        }
    }

    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        self.cells.places.needed.settle(space.start.block(), space.blocks);
    }

    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.cells.apply(record)
    }

    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        self.cells.recovered()
    }

    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        self.cells.checkpoint(Lba(from), plan)
    }

    fn contents(&self) -> Option<Contents> {
        Some(self.cells.contents())
    }

    fn check(&self) -> Result<(), Violation> {
        self.cells.check()
    }
}
