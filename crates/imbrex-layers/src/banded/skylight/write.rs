//! Planning a write: past the cache if it is part of a stream, else into the cache.

use super::Skylight;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Place, Plan, Record, Why};

impl Skylight {
    /// Plans as many blocks from the front of `run`, which lies in one band, as fit; `host` is its first block's number
    /// in the request. `hits` grows by those that were in the cache.
    pub(super) fn write_run(
        &mut self,
        run: Extent<Lba>,
        is_stream: bool,
        host: u32,
        hits: &mut u32,
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
        let (at, to) = (run.first(taken), self.blocks.place_of(slot));
        plan.copy(from, Place::At(to), taken, Why::Host);
        plan.record(Record::Map { at, to });
        self.blocks.note_given_up(at);
        self.blocks.map_run(at, slot, &mut self.cache);
        self.outdate_copies(at);
        self.blocks.free_given_up(plan);
        (taken, self.blocks.given_up.len() as u32)
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
}
