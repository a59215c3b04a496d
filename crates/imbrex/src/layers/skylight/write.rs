//! Planning a write: past the cache if it is part of a stream, else into the cache.

use super::Skylight;
use crate::block::{Address, Extent, Lba, Pba};
use crate::plan::{Place, Plan, Record, Why};

impl Skylight {
    /// Where a slot lies.
    pub fn slot_place(&self, slot: u32) -> Pba {
        self.place.plus(u64::from(slot))
    }

    /// Plans as many blocks from the front of `run`, which lies in one band, as fit; `host` is its first block's number in
    /// the request. `hits` grows by those that were in the cache.
    pub(super) fn write_run(
        &mut self,
        run: Extent<Lba>,
        is_stream: bool,
        (host, hits): (u32, &mut u32),
        plan: &mut Plan,
    ) -> u32 {
        let (band, offset) = self.home.locate(run.start);
        if let Some(stream) = self.stream.as_ref().filter(|stream| stream.band == band) {
            if stream.gathered == offset {
                return self.gather(run, host, plan);
            }
            self.spill(plan);
        }
        if is_stream && let Some(taken) = self.write_stream(run, host, plan) {
            return taken;
        }
        if !self.has_room() {
            return 0;
        }
        let run = run.first(self.cache.room(self.reserved(), run.blocks));
        let (taken, superseded) = self.put(run, Place::Host(host), plan);
        *hits += superseded;
        taken
    }

    /// Plans an entry for as many blocks from the front of `run` as find adjacent slots: how many, and how many of them
    /// were in the cache.
    fn put(&mut self, run: Extent<Lba>, from: Place, plan: &mut Plan) -> (u32, u32) {
        let Some((slot, taken)) = self.cache.take(run) else { return (0, 0) };
        let (at, to) = (run.first(taken), self.slot_place(slot));
        plan.copy(from, Place::At(to), taken, Why::Host);
        plan.record(Record::Map { at, to });
        self.given_up.clear();
        self.given_up.extend(self.map.range(at).map(|(_, slot)| slot));
        self.map_run(at, slot);
        self.outdate_copies(at);
        self.free_given_up(plan);
        (taken, self.given_up.len() as u32)
    }

    /// Plans that all blocks of `run`, for which there are slots, go into the cache.
    pub(super) fn put_all(&mut self, run: Extent<Lba>, from: Place, plan: &mut Plan) {
        let (mut rest, mut from) = (run, from);
        while !rest.is_empty() {
            let (taken, _) = self.put(rest, from, plan);
            if taken == 0 {
                unreachable!("slots were kept for {rest:?}");
            }
            (rest, from) = (rest.skip(taken), from.continued(taken));
        }
    }

    /// Plans that no block of `run` is in the cache or lost any more.
    pub(super) fn forget(&mut self, run: Extent<Lba>, plan: &mut Plan) {
        self.given_up.clear();
        self.given_up.extend(self.map.range(run).map(|(_, slot)| slot));
        if self.given_up.is_empty() && !self.lost.any(run) {
            return;
        }
        plan.record(Record::Unmap(run));
        self.unmap(run);
        self.free_given_up(plan);
    }

    /// Plans that the slots given up are free.
    pub(super) fn free_given_up(&self, plan: &mut Plan) {
        for &slot in &self.given_up {
            plan.free(Extent::new(self.slot_place(slot), 1));
        }
    }
}
