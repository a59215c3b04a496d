//! Writing to the open zone, reading from it, and rewriting it.

use std::ops::Range;

use super::gathered::{Gathered, Stretch};
use super::{InPlace, Rewrite};
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Event, Place, Plan, Why};

impl InPlace {
    /// The open zone.
    pub(super) fn open_zone(&self) -> Option<u32> {
        self.gathered.as_ref().and_then(Gathered::native)
    }

    /// Plans a write at the write pointer, or to the zone that is open or can be. 0 when another one is open, or so
    /// much of this one has been rewritten already.
    pub(super) fn write_gathered(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (native, offset) = self.zones.native_of(at.start);
        let open = self.open_zone();
        if open != Some(native) {
            let direct = self.write_direct(at, plan);
            let can_be_rewritten =
                self.config.spare.spare_zones > 0 || self.zones.is_writable(self.zones.physical(native));
            if direct > 0 || open.is_some() || !can_be_rewritten {
                return direct;
            }
        }
        if self.rewrite.as_ref().is_some_and(|rewrite| offset < rewrite.written) {
            return 0;
        }
        let run = at.first(self.zones.zone_blocks() - offset);
        if let Some(gathered) = &mut self.gathered {
            let hits = gathered.put(native, offset, run.blocks, plan);
            plan.count(Event::WriteHit, hits);
        }
        run.blocks
    }

    /// Plans a read of blocks in RAM and in their zones.
    pub(super) fn read_gathered(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (run, in_ram) = self.alike(rest);
            let host = run.start.since(at.start) as u32;
            match in_ram {
                Some(offset) => plan.copy(Place::At(Pba::ram(offset.into())), Place::Host(host), run.blocks, Why::Host),
                None => self.zones.read(run, host, &self.lost, plan),
            }
            rest = rest.skip(run.blocks);
        }
    }

    /// The blocks from the front of `at` that lie in RAM, or not, as the first does, and where that lies.
    fn alike(&self, at: Extent<Lba>) -> (Extent<Lba>, Option<u32>) {
        let Some((gathered, native)) = self.gathered.as_ref().and_then(|g| Some((g, g.native()?))) else {
            return (at, None);
        };
        let zone = self.zones.blocks_of(native);
        if at.start < zone.start {
            return (Extent::between(at.start, at.end().min(zone.start)), None);
        }
        if at.start >= zone.end() {
            return (at, None);
        }
        let within = |lba: Lba| lba.since(zone.start) as u32;
        let run = gathered.runs(within(at.start), within(at.end().min(zone.end()))).next();
        run.map_or((at, None), |(from, to, is_newer)| (at.first(to - from), is_newer.then_some(from)))
    }

    /// Plans the next step of the rewrite of the open zone. [`Step::Done`] if none is open any more.
    pub(super) fn rewrite_open(&mut self, plan: &mut Plan) -> Step {
        let Some(native) = self.open_zone() else { return Step::Done };
        let held = self.zones.pointer(self.zones.physical(native));
        let end = held.max(self.gathered.as_ref().map_or(0, Gathered::end));
        if self.config.spare.spare_zones == 0 {
            return self.rewrite_over(native, end, plan);
        }
        let Rewrite { target, written, .. } = match self.begun(native) {
            Ok(rewrite) => rewrite,
            Err(step) => return step,
        };
        let to = end.min(written.saturating_add(self.step.blocks()));
        let place = self.zones.block(target, 0);
        self.with_stretch(native, written..to, |gathered, stretch| {
            gathered.collect(stretch, plan);
            gathered.write(stretch, place, plan);
        });
        self.zones.advance(target, to - written);
        if to < end {
            self.rewrite = Some(Rewrite { native, target, written: to });
            return Step::More;
        }
        self.zones.switch(native, target, plan);
        self.close(native, plan);
        Step::Done
    }

    /// Plans read, reset and rewrite of the open zone in one go.
    fn rewrite_over(&mut self, native: u32, end: u32, plan: &mut Plan) -> Step {
        let physical = self.zones.physical(native);
        if !self.zones.is_writable(physical) {
            return Step::Nothing;
        }
        let (place, unit) = (self.zones.block(physical, 0), self.zones.unit(physical));
        self.with_stretch(native, 0..end, |gathered, stretch| {
            gathered.collect(stretch, plan);
            plan.reset(unit);
            gathered.write(stretch, place, plan);
        });
        self.zones.emptied(physical);
        self.zones.advance(physical, end);
        self.close(native, plan);
        Step::Done
    }

    /// Hands `each` what was gathered and a stretch of the zone, if anything was gathered.
    fn with_stretch(&self, native: u32, stretch: Range<u32>, each: impl FnOnce(&Gathered, &Stretch<'_>)) {
        let physical = self.zones.physical(native);
        let old = (self.zones.block(physical, 0), self.zones.pointer(physical));
        let zone = self.zones.blocks_of(native);
        if let Some(gathered) = &self.gathered {
            each(gathered, &Stretch { zone, old, from: stretch.start, to: stretch.end, lost: &self.lost });
        }
    }

    /// All that was gathered has landed.
    fn close(&mut self, native: u32, plan: &mut Plan) {
        let Some(mut gathered) = self.gathered.take() else { return };
        let zone = self.zones.blocks_of(native);
        for (from, to, _) in gathered.runs(0, zone.blocks).filter(|&(.., is_newer)| is_newer) {
            self.found(zone.skip(from).first(to - from), plan);
        }
        plan.count(Event::Rmw, 1);
        plan.count(Event::Evicted, gathered.blocks());
        gathered.close();
        self.gathered = Some(gathered);
    }
}
