//! Swaps: which victims of a cleaning are hot, and how two blocks change places (TrackLace §3.3).
//!
//! A block that goes home costs a bottom update anyway, so a swap costs two accesses more: a cold block is read, and
//! the hot one is written on a top track. Each later write of the hot block saves four accesses where its bottom track
//! has two neighbours. So it pays with the first one. To exchange a pair back costs eight accesses, two such writes.

use super::TrackLace;
use super::config::WhenFull;
use super::relocation::Lies;
use crate::interlaced::in_place_tracks::Care;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

/// Writes that a swap costs as much as, and that one instead of another pair costs.
const PAYS: u32 = 1;
const PAYS_INSTEAD: u32 = 3;

/// The writes by which blocks of a bottom track and blocks of a top track change places.
struct Exchange {
    /// The blocks whose home is on the bottom track.
    hot: Extent<Lba>,
    /// Where on the bottom track is written.
    bottom: Pba,
    /// What is written there.
    to_bottom: Pba,
    /// Where on the top track is written.
    top: Pba,
    /// What is written there.
    to_top: Place,
    /// Why the top track is written.
    why: Why,
    /// Where both lie afterwards.
    records: [Record; 2],
}

impl TrackLace {
    /// The neighbours from a victim on that go the same way, and whether they are to be swapped. For `gain` all of them
    /// go together, by what they were written on average: what is cut apart is updated piece by piece, which costs more
    /// than a swap saves.
    pub(super) fn judged(&self, frame: u32, first: usize) -> (Extent<Lba>, bool) {
        if self.swaps.is_some() && self.job.room_for == Some(self.job.victims[first].0) {
            return (self.neighbours(frame, first, |_| false), true);
        }
        if self.config.when_full == WhenFull::Gain {
            let run = self.neighbours(frame, first, |_| true);
            return (run, self.pays(first, run));
        }
        let is_hot = self.is_recent(first);
        (self.neighbours(frame, first, |victim| self.is_recent(victim) == is_hot), is_hot)
    }

    /// Whether a victim was written no longer ago than all pairs, and there may be another pair.
    fn is_recent(&self, victim: usize) -> bool {
        let Some(swaps) = &self.swaps else { return false };
        let is_full = self.moved.pairs() >= self.moved.most_pairs;
        let written = swaps.written[self.job.victims[victim].1 as usize];
        let oldest = self.moved.oldest().map(|pair| self.moved.pair(pair).last_write);
        oldest.is_none_or(|oldest| written >= oldest) && (!is_full || self.config.when_full == WhenFull::Replace)
    }

    /// Whether the writes of a run of victims, one after the other, are as many as it costs to swap them.
    fn pays(&self, first: usize, run: Extent<Lba>) -> bool {
        let Some(swaps) = &self.swaps else { return false };
        let victims = &self.job.victims[first..first + run.blocks as usize];
        let hits: u64 = victims.iter().map(|&(_, slot)| u64::from(swaps.hits[slot as usize])).sum();
        let each = if self.moved.pairs() < self.moved.most_pairs {
            PAYS
        } else {
            let Some(pair) = self.moved.oldest().map(|pair| self.moved.pair(pair)) else { return false };
            let turn = self.frames.logs[self.frame(pair.hot) as usize].turns;
            pair.weight(turn).saturating_add(PAYS_INSTEAD)
        };
        hits >= u64::from(each) * u64::from(run.blocks)
    }

    /// Swaps hot victims that are neighbours, or first makes room for one. False if there is no block to exchange it
    /// with.
    pub(super) fn swap_victims(&mut self, frame: u32, first: usize, run: Extent<Lba>, plan: &mut Plan) -> bool {
        let room = self.moved.most_pairs - self.moved.pairs();
        if room == 0 {
            let Some(oldest) = self.moved.oldest().filter(|&pair| !self.holds_lost(pair)) else { return false };
            self.swap_back(oldest, 1, None, plan);
            self.job.room_for = Some(self.job.victims[first].0);
            return true;
        }
        let hot = run.first(room.min(self.most_swapped()));
        let Self { moved, lost, trimmed, places, swaps, .. } = self;
        let Some(swaps) = swaps else { return false };
        let is_free = |lba: Lba| moved.lies(lba).is_none() && !lost.any(Extent::new(lba, 1)) && !trimmed.contains(lba);
        let Some(cold) = swaps.cold.choose(frame, hot.blocks, places, is_free) else { return false };
        let hot = hot.first(cold.blocks);
        self.job.next += hot.blocks as usize;
        let log = &self.frames.logs[frame as usize];
        let (is_virtual, turn) = (log.is_virtual, log.turns);
        (first..self.job.next).for_each(|victim| self.dismiss(frame, victim));
        self.swap(first, hot, cold, is_virtual, plan);
        for victim in first..self.job.next {
            let (lba, slot) = self.job.victims[victim];
            if let (Some(Lies::Swapped(pair)), Some(swaps)) = (self.moved.lies(lba), &self.swaps) {
                let (written, hits) = (swaps.written[slot as usize], swaps.hits[slot as usize]);
                self.moved.hot_written(pair, written, hits, turn);
            }
        }
        true
    }

    /// Plans that victims and as many cold blocks change places. The victims come from RAM, or from home if their log
    /// is virtual.
    fn swap(&mut self, first: usize, hot: Extent<Lba>, cold: Extent<Lba>, is_virtual: bool, plan: &mut Plan) {
        let (ram, blocks) = (self.ram(), hot.blocks);
        let (bottom, top) = (self.home_place(hot.start), self.home_place(cold.start));
        let hot_ram = if is_virtual { ram.hot } else { Pba::ram(first as u64) };
        if is_virtual {
            plan.copy(Place::At(bottom), Place::At(hot_ram), blocks, Why::Swap);
        } else {
            (first..first + blocks as usize).for_each(|victim| self.read_again(victim, Why::Swap, plan));
        }
        plan.copy(Place::At(top), Place::At(ram.cold), blocks, Why::Swap);
        let records = [(hot, top), (cold, bottom)].map(|(at, to)| Record::Map { at, to });
        let to_top = Place::At(hot_ram);
        self.exchange(Exchange { hot, bottom, to_bottom: ram.cold, top, to_top, why: Why::Swap, records }, plan);
        if !is_virtual {
            for &(_, slot) in &self.job.victims[first..first + blocks as usize] {
                plan.free(Extent::new(self.frames.place_of(slot), 1));
            }
            plan.count(Event::Evicted, blocks);
        }
    }

    /// Plans that the blocks of a pair, and of as many as make `blocks` pairs beside it, are at home again; the cold
    /// ones with this content, if they are being written.
    pub(super) fn swap_back(&mut self, pair: u32, blocks: u32, content: Option<Place>, plan: &mut Plan) {
        let (hot, cold, ram) = (self.moved.pair(pair).hot, self.moved.pair(pair).cold, self.ram());
        let (bottom, top) = (self.home_place(hot), self.home_place(cold));
        plan.copy(Place::At(top), Place::At(ram.hot), blocks, Why::Swap);
        if content.is_none() {
            plan.copy(Place::At(bottom), Place::At(ram.cold), blocks, Why::Swap);
        }
        let (to_top, why) = content.map_or((Place::At(ram.cold), Why::Swap), |content| (content, Why::Host));
        let records = [hot, cold].map(|lba| Record::Unmap(Extent::new(lba, blocks)));
        let hot = Extent::new(hot, blocks);
        self.exchange(Exchange { hot, bottom, to_bottom: ram.hot, top, to_top, why, records }, plan);
        let (track, _) = self.home(cold);
        let frame = self.frames.frame_of(track);
        if let Some(swaps) = &mut self.swaps {
            swaps.cold.returned(frame, track, &self.places);
        }
    }

    /// Plans an exchange, and saves what the write to the bottom track destroys around it.
    fn exchange(&mut self, exchange: Exchange, plan: &mut Plan) {
        let Exchange { hot, bottom, to_bottom, top, to_top, why, records } = exchange;
        records.iter().for_each(|record| self.apply_own(record, plan));
        let (ram, (track, offset)) = (self.ram(), self.home(hot.start));
        let care = self.places.find(track, offset, hot.blocks, Some(Extent::new(top, hot.blocks)));
        self.places.save(ram.saved, plan);
        plan.redo_copy(Place::At(to_bottom), Place::At(bottom), hot.blocks, Why::Swap);
        self.places.bring_back(ram.saved, plan);
        plan.redo_copy(to_top, Place::At(top), hot.blocks, why);
        records.into_iter().for_each(|record| plan.redo_record(record));
        self.forgotten.free_mark(ram.mark, plan);
        plan.count(Event::Rmw, u32::from(care == Care::Save));
    }

    /// Whether one of a pair is lost.
    pub(super) fn holds_lost(&self, pair: u32) -> bool {
        let pair = self.moved.pair(pair);
        [pair.hot, pair.cold].into_iter().any(|lba| self.lost.any(Extent::new(lba, 1)))
    }
}
