//! Cleaning: a track of a log at a time, in the order in which they were filled (TrackLace §3.2).

use super::TrackLace;
use super::frames::Room;
use super::relocation::Lies;
use crate::interlaced::in_place_tracks::Care;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Event, Op, Place, Plan, Why};

impl TrackLace {
    /// Plans one step towards room for a write of `lba` that took nothing.
    pub(super) fn make_room(&mut self, lba: Lba, plan: &mut Plan) -> Step {
        let frame = self.frame(lba);
        let needs_entry = self.moved.lies(lba).is_none() && !self.frames.logs[frame as usize].is_virtual;
        loop {
            if let Some(step) = self.go_on(plan) {
                return step;
            }
            if !needs_entry || self.moved.room() > 0 {
                match self.frames.room(frame, &self.places) {
                    Room::Slots(..) => return Step::Done,
                    Room::Pending => return Step::Wait,
                    Room::None => {}
                }
            }
            let own = self.frames.oldest(frame).map(|_| frame);
            let Some(frame) = own.or_else(|| self.frames.oldest_frame()) else { return Step::Nothing };
            self.begin(frame);
        }
    }

    /// Plans one step towards empty logs.
    pub(super) fn empty_logs(&mut self, plan: &mut Plan) -> Step {
        loop {
            if let Some(step) = self.go_on(plan) {
                return step;
            }
            let Some(frame) = self.frames.oldest_frame() else { return Step::Nothing };
            self.begin(frame);
        }
    }

    /// Plans one step towards logs with as much room as idle time keeps.
    pub(super) fn clean_ahead(&mut self, plan: &mut Plan) -> Step {
        loop {
            if let Some(step) = self.go_on(plan) {
                return step;
            }
            let Some(frame) = self.frames.short_of_room(self.config.idle_free) else { return Step::Nothing };
            self.begin(frame);
        }
    }

    /// Begins to clean the oldest track of a log, which holds something.
    fn begin(&mut self, frame: u32) {
        let Some(track) = self.frames.oldest(frame) else { return };
        self.frames.close(frame);
        let slots = self.frames.slots_of(track);
        let held = slots.clone().filter_map(|slot| Some((self.frames.owner(slot)?, slot)));
        self.job.begin(frame, slots.start, held, self.frames.logs[frame as usize].is_virtual);
        // Victims are looked up one after the other, so that each waits for the cache; these loads do not.
        let of = |lba| self.moved.prefetch(lba) ^ self.places.prefetch(lba);
        std::hint::black_box(self.job.victims.iter().fold(0, |sum, &(lba, _)| sum ^ of(lba)));
    }

    /// Plans the next step of the job under way; none if there is no job, or it ends.
    pub(super) fn go_on(&mut self, plan: &mut Plan) -> Option<Step> {
        let frame = self.job.frame?;
        if !self.job.is_read {
            self.job.is_read = true;
            for (slot, rank) in self.job.by_slot() {
                let (from, to) = (Place::At(self.frames.place_of(slot)), Place::At(Pba::ram(u64::from(rank))));
                plan.copy(from, to, 1, Why::Collect);
            }
            if !plan.is_empty() {
                return Some(Step::More);
            }
        }
        while self.job.next < self.job.victims.len() {
            if self.clean_next(frame, plan) {
                return Some(Step::More);
            }
        }
        self.job.frame = None;
        self.frames.pop(frame);
        self.frames.logs[frame as usize].admission.cleaned();
        None
    }

    /// Plans what becomes of the next victim, and of neighbours that go home with it. Says whether anything is.
    fn clean_next(&mut self, frame: u32, plan: &mut Plan) -> bool {
        let first = self.job.next;
        if !self.is_there(frame, first) {
            self.job.next += 1;
            self.dismiss(frame, first);
            return false;
        }
        let (run, is_hot) = self.judged(frame, first);
        if is_hot && self.swap_victims(frame, first, run, plan) {
            return true;
        }
        self.job.next += run.blocks as usize;
        if self.frames.logs[frame as usize].is_virtual {
            (first..self.job.next).for_each(|victim| self.dismiss(frame, victim));
            return false;
        }
        self.send_home(first, run, plan);
        true
    }

    /// Whether a victim is still where it was when the job began.
    fn is_there(&self, frame: u32, victim: usize) -> bool {
        let (lba, slot) = self.job.victims[victim];
        if !self.frames.logs[frame as usize].is_virtual {
            return self.moved.lies(lba) == Some(Lies::Slot(slot));
        }
        self.moved.lies(lba).is_none() && !self.lost.any(Extent::new(lba, 1)) && !self.trimmed.contains(lba)
    }

    /// A victim leaves a virtual log.
    pub(super) fn dismiss(&mut self, frame: u32, victim: usize) {
        let (lba, slot) = self.job.victims[victim];
        if let Some(swaps) = self.swaps.as_mut().filter(|_| self.frames.logs[frame as usize].is_virtual) {
            self.frames.set_owner(slot, None);
            swaps.noted.remove(lba);
        }
    }

    /// The blocks from a victim on that follow each other on one bottom track, as long as they are `like` it.
    pub(super) fn neighbours(&self, frame: u32, first: usize, like: impl Fn(usize) -> bool) -> Extent<Lba> {
        let (start, _) = self.job.victims[first];
        let most = self.places.run(Extent::new(start, self.places.update_blocks)).0;
        let behind = (first + 1..self.job.victims.len()).zip(most.iter().skip(1));
        let goes_along = |&(victim, lba): &(usize, Lba)| {
            self.job.victims[victim].0 == lba && self.is_there(frame, victim) && like(victim)
        };
        most.first(1 + behind.take_while(goes_along).count() as u32)
    }

    /// Writes a run of victims to their homes on a bottom track.
    fn send_home(&mut self, first: usize, run: Extent<Lba>, plan: &mut Plan) {
        let ram = Pba::ram(first as u64);
        for victim in first..first + run.blocks as usize {
            self.read_again(victim, Why::Collect, plan);
        }
        let record = self.leave_run(run);
        let (track, offset) = self.home(run.start);
        let care = self.places.find(track, offset, run.blocks, None);
        let to = Extent::new(self.places.block(track, offset), run.blocks);
        self.places.write_bottom(care, Place::At(ram), to, Why::Destage, self.ram().saved, plan);
        plan.push(Op::Record { record, redo: care != Care::None });
        for &(_, slot) in &self.job.victims[first..first + run.blocks as usize] {
            plan.free(Extent::new(self.frames.place_of(slot), 1));
        }
        plan.count(Event::Evicted, run.blocks);
    }

    /// Plans that a victim is read that was written since its track was.
    pub(super) fn read_again(&self, victim: usize, why: Why, plan: &mut Plan) {
        if self.job.is_stale(victim) {
            let from = self.frames.place_of(self.job.victims[victim].1);
            plan.copy(Place::At(from), Place::At(Pba::ram(victim as u64)), 1, why);
        }
    }
}
