//! Writes: which way each stretch of a request takes.

use super::config::Rewrites;
use super::counters;
use super::frames::Room;
use super::relocation::Lies;
use super::{TrackLace, trimmed::Trimmed};
use crate::interlaced::in_place_tracks::Care;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};
use imbrex_core::tracks::{Side, Track};

/// Writes of a cold block, with none of the hot one between, after which a pair is exchanged back.
const COLD_WRITES: u32 = 2;

/// The request that is being written.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Asked {
    /// What is left of it.
    rest: Extent<Lba>,
    /// Whether it is buffered, as soon as that has been asked.
    is_admitted: Option<bool>,
    /// Blocks before this one go past the buffer.
    past: Lba,
}

/// What became of the front of a request.
enum Wrote {
    /// This number of blocks is planned, and others may follow in the same plan.
    Some(u32),
    /// This number of blocks is planned, and the plan must have nothing else.
    Alone(u32),
    /// None: it needs a plan of its own, or room.
    None,
}

/// Blocks of a request that were hits: in all, and on swapped blocks.
#[derive(Default)]
struct Hits {
    all: u32,
    swapped: u32,
}

impl TrackLace {
    pub(super) fn write_request(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        if at != self.asked.rest {
            self.clock += 1;
            self.asked = Asked { rest: at, ..Asked::default() };
        }
        let (mut taken, mut hits) = (0, Hits::default());
        while taken < at.blocks {
            match self.write_front(at.skip(taken), taken, &mut hits, plan) {
                Wrote::Some(blocks) => taken += blocks,
                Wrote::Alone(blocks) => {
                    taken += blocks;
                    break;
                }
                Wrote::None => break,
            }
        }
        self.asked.rest = at.skip(taken);
        plan.count(Event::WriteHit, hits.all);
        plan.count(counters::SWAPPED_HIT, hits.swapped);
        taken
    }

    fn write_front(&mut self, rest: Extent<Lba>, host: u32, hits: &mut Hits, plan: &mut Plan) -> Wrote {
        let lba = rest.start;
        match self.moved.lies(lba) {
            Some(Lies::Slot(slot)) => self.write_buffered(lba, slot, host, hits, plan),
            Some(Lies::Swapped(pair)) if self.moved.pair(pair).hot == lba => {
                hits.all += 1;
                hits.swapped += 1;
                self.write_hot(lba, pair, host, plan)
            }
            Some(Lies::Swapped(pair)) => self.write_cold(rest, pair, host, plan),
            None => {
                let (run, track, offset) = self.places.run(rest);
                let run = self.moved.at_home(run);
                if track.side == Side::Bottom {
                    return self.write_bottom(run, track, offset, host, plan);
                }
                let frame = self.frames.frame_of(track);
                if let Some(swaps) = &mut self.swaps {
                    swaps.cold.written(frame, track, &self.places);
                }
                plan.copy(Place::Host(host), Place::At(self.places.block(track, offset)), run.blocks, Why::Host);
                self.overwritten(run, false, plan);
                Wrote::Some(run.blocks)
            }
        }
    }

    /// A buffered block is written again.
    fn write_buffered(&mut self, lba: Lba, slot: u32, host: u32, hits: &mut Hits, plan: &mut Plan) -> Wrote {
        let frame = self.frame(lba);
        let mut to = slot;
        let appends = match self.config.hits {
            Rewrites::Place => false,
            Rewrites::Append => true,
            Rewrites::Room => self.frames.is_half_empty(frame),
        };
        if appends {
            match self.frames.room(frame, &self.places) {
                Room::Slots(next, _) => to = next,
                _ if self.config.hits == Rewrites::Append => return Wrote::None,
                _ => {}
            }
        }
        hits.all += 1;
        self.frames.logs[frame as usize].admission.hit();
        plan.copy(Place::Host(host), Place::At(self.frames.place_of(to)), 1, Why::Host);
        if to == slot {
            self.job.outdated(slot);
        } else {
            self.frames.take(frame, 1);
            let at = Extent::new(lba, 1);
            self.change(Record::Map { at, to: self.frames.place_of(to) }, false, plan);
            plan.free(Extent::new(self.frames.place_of(slot), 1));
        }
        if let Some(swaps) = &mut self.swaps {
            swaps.written[to as usize] = self.clock;
            swaps.hits[to as usize] = swaps.hits[slot as usize] + 1;
        }
        Wrote::Some(1)
    }

    /// The hot block of a pair is written, on a top track.
    fn write_hot(&mut self, lba: Lba, pair: u32, host: u32, plan: &mut Plan) -> Wrote {
        let turn = self.frames.logs[self.frame(lba) as usize].turns;
        self.moved.hot_written(pair, self.clock, 1, turn);
        plan.copy(Place::Host(host), Place::At(self.place(lba)), 1, Why::Host);
        self.overwritten(Extent::new(lba, 1), false, plan);
        Wrote::Some(1)
    }

    /// Cold blocks of pairs are written that lie beside each other on a bottom track.
    fn write_cold(&mut self, rest: Extent<Lba>, pair: u32, host: u32, plan: &mut Plan) -> Wrote {
        let comes_home = self.comes_home(pair);
        let run = self.cold_run(rest, pair, comes_home);
        let (track, offset) = self.home(self.moved.pair(pair).hot);
        let care = self.places.find(track, offset, run.blocks, None);
        if care != Care::None && host > 0 {
            return Wrote::None;
        }
        if care == Care::Save && comes_home {
            let run = run.first(self.most_swapped());
            self.swap_back(pair, run.blocks, Some(Place::Host(0)), plan);
            self.overwritten(run, true, plan);
            return Wrote::Alone(run.blocks);
        }
        for lba in run.iter() {
            if let Some(Lies::Swapped(pair)) = self.moved.lies(lba) {
                self.moved.cold_written(pair);
            }
        }
        let to = Extent::new(self.places.block(track, offset), run.blocks);
        self.places.write_bottom(care, Place::Host(host), to, Why::Host, self.ram().saved, plan);
        self.overwritten(run, care != Care::None, plan);
        if care == Care::None { Wrote::Some(run.blocks) } else { Wrote::Alone(run.blocks) }
    }

    /// Whether a pair is to be exchanged back when its cold block is written, if that is an update.
    fn comes_home(&self, pair: u32) -> bool {
        self.moved.pair(pair).cold_writes + 1 >= COLD_WRITES && !self.holds_lost(pair)
    }

    /// The cold blocks at the front of `rest`, the first of them that of `pair`, that lie beside each other on a bottom
    /// track and come home or stay together, as many as are updated at once.
    fn cold_run(&self, rest: Extent<Lba>, pair: u32, comes_home: bool) -> Extent<Lba> {
        let hot = self.places.run(Extent::new(self.moved.pair(pair).hot, self.places.update_blocks)).0;
        let cold = self.places.run(rest).0;
        let goes_along = |&(cold, hot): &(Lba, Lba)| match self.moved.lies(cold) {
            Some(Lies::Swapped(pair)) => self.moved.pair(pair).hot == hot && self.comes_home(pair) == comes_home,
            None | Some(Lies::Slot(_)) => false,
        };
        cold.first(cold.iter().zip(hot.iter()).take_while(goes_along).count() as u32)
    }

    /// Blocks of one bottom track that are at home.
    fn write_bottom(&mut self, run: Extent<Lba>, track: Track, offset: u32, host: u32, plan: &mut Plan) -> Wrote {
        if run.blocks == self.places.order.tracks().bottom_blocks {
            self.asked.past = run.end();
        }
        let care = self.places.find(track, offset, run.blocks, None);
        if care == Care::None {
            plan.copy(Place::Host(host), Place::At(self.places.block(track, offset)), run.blocks, Why::Host);
            self.overwritten(run, false, plan);
            return Wrote::Some(run.blocks);
        }
        let is_past = run.start < self.asked.past;
        if care == Care::Save
            && !is_past
            && let Some(wrote) = self.buffer(run, self.frames.frame_of(track), host, plan)
        {
            return wrote;
        }
        if host > 0 {
            return Wrote::None;
        }
        let mut piece = run.first(self.places.update_blocks);
        if care == Care::Save && !is_past {
            match self.note(piece, self.frames.frame_of(track)) {
                0 => return Wrote::None,
                noted => piece = piece.first(noted),
            }
        }
        let care = if piece == run { care } else { self.places.find(track, offset, piece.blocks, None) };
        self.update(piece, track, offset, care, plan)
    }

    /// Updates blocks in place, in a plan of their own.
    fn update(&mut self, run: Extent<Lba>, track: Track, offset: u32, care: Care, plan: &mut Plan) -> Wrote {
        let to = Extent::new(self.places.block(track, offset), run.blocks);
        self.places.write_bottom(care, Place::Host(0), to, Why::Host, self.ram().saved, plan);
        self.overwritten(run, care != Care::None, plan);
        plan.count(Event::Direct, run.blocks);
        Wrote::Alone(run.blocks)
    }

    /// Buffers as many blocks of a run as there is room for in a row. None if they are not buffered.
    fn buffer(&mut self, run: Extent<Lba>, frame: u32, host: u32, plan: &mut Plan) -> Option<Wrote> {
        let log = &mut self.frames.logs[frame as usize];
        if log.is_virtual || log.tracks == 0 {
            return None;
        }
        if !*self.asked.is_admitted.get_or_insert_with(|| log.admission.admits()) {
            return None;
        }
        let entries = self.moved.room().min(u64::from(run.blocks)) as u32;
        let (slot, slots) = match self.frames.room(frame, &self.places) {
            Room::Slots(slot, slots) if entries > 0 => (slot, slots),
            _ => return Some(Wrote::None),
        };
        let run = run.first(slots.min(entries));
        self.frames.take(frame, run.blocks);
        self.frames.logs[frame as usize].admission.took(run.blocks);
        plan.copy(Place::Host(host), Place::At(self.frames.place_of(slot)), run.blocks, Why::Host);
        self.hold_run(run, slot, plan);
        self.remembered(run, false, plan);
        plan.count(Event::Admitted, run.blocks);
        if let Some(swaps) = &mut self.swaps {
            let slots = slot as usize..(slot + run.blocks) as usize;
            swaps.written[slots.clone()].fill(self.clock);
            swaps.hits[slots].fill(0);
        }
        Some(Wrote::Some(run.blocks))
    }

    /// Notes in a virtual log that blocks are updated, as many as it has room for: all where the log is not virtual.
    fn note(&mut self, run: Extent<Lba>, frame: u32) -> u32 {
        let is_virtual = self.frames.logs[frame as usize].is_virtual;
        let Some(swaps) = self.swaps.as_mut().filter(|_| is_virtual) else { return run.blocks };
        for (noted, lba) in (0..).zip(run.iter()) {
            let slot = if let Some(slot) = swaps.noted.get(lba) {
                swaps.hits[slot as usize] += 1;
                slot
            } else {
                let Room::Slots(slot, _) = self.frames.room(frame, &self.places) else { return noted };
                self.frames.take(frame, 1);
                self.frames.set_owner(slot, Some(lba));
                swaps.noted.set(lba, slot);
                swaps.hits[slot as usize] = 0;
                slot
            };
            swaps.written[slot as usize] = self.clock;
        }
        run.blocks
    }

    /// Blocks that lie where they lay have been written whole: they are neither lost, nor do they hold nothing.
    pub(super) fn overwritten(&mut self, at: Extent<Lba>, redo: bool, plan: &mut Plan) {
        if self.lost.any(at) {
            let record = match self.moved.lies(at.start) {
                None => Record::Unmap(at),
                Some(_) => Record::Map { at, to: self.place(at.start) },
            };
            self.change(record, redo, plan);
        }
        self.remembered(at, redo, plan);
    }

    /// Blocks that have been written hold something.
    fn remembered(&mut self, at: Extent<Lba>, redo: bool, plan: &mut Plan) {
        if self.trimmed.any(at) {
            for group in Trimmed::groups(at) {
                self.change(self.trimmed.record(group, at, false), redo, plan);
            }
        }
    }
}
