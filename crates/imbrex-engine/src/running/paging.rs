//! What waits for pages of the map: reads, the first write, and blocks that are to be recorded as lost.

use super::{Running, Unplanned, Wanted};
use crate::core::Core;
use crate::epoch::Serves;
use crate::requests::Part;
use imbrex_core::block::{Access, Extent, Lba, Pba};
use imbrex_core::layer::CachedMap;

/// Requests whose pages are brought at a time.
const TOGETHER: usize = 64;

/// A read of which blocks remain to be planned.
pub(super) struct Reading {
    id: u64,
    at: Extent<Lba>,
    /// Blocks planned so far.
    done: u32,
}

impl Reading {
    pub fn new(Wanted { id, at, .. }: Wanted) -> Self {
        Self { id, at, done: 0 }
    }
}

fn of_read(map: &dyn CachedMap, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
    map.of_read(at, each);
}

fn of_write(map: &dyn CachedMap, at: Extent<Lba>, each: &mut dyn FnMut(u64)) {
    map.of_write(at, each);
}

impl Running {
    /// Records what recovery found to be unreadable as lost, before anything else is planned. Says whether it has.
    pub(super) fn plan_lost(&mut self, core: &mut Core) -> bool {
        let mut any = false;
        while let Some(&place) = self.lost.first()
            && self.epoch.may_plan(&core.setup)
            && self.bring_for_place(core, place)
        {
            self.lost.pop_first();
            let lost = self.epoch.plan(core, Serves::Everybody, |layer, plan| {
                layer.cached_map_mut().map_or(Ok(()), |map| map.lose(place, plan))
            });
            if let Err(why) = lost {
                self.epoch.give_up(why.into());
            }
            self.epoch.let_go();
            any = true;
        }
        any
    }

    fn bring_for_place(&mut self, core: &mut Core, place: Pba) -> bool {
        self.epoch.bring(core, &|map, each| map.of_place(place, each))
    }

    /// Plans reads whose pages are cached, the oldest first.
    pub(super) fn plan_reads(&mut self, core: &mut Core) -> bool {
        let (mut any, mut next) = (false, 0);
        while next < self.reading.len().min(TOGETHER) && (next == 0 || self.epoch.may_bring_more()) {
            let Reading { id, at, done } = self.reading[next];
            let part = self.epoch.part(at.skip(done), of_read);
            if !self.epoch.may_plan(&core.setup) || !self.epoch.bring(core, &|map, each| map.of_read(part, each)) {
                next += 1;
                continue;
            }
            self.plan_read(core, Part { id, first: done }, part);
            any = true;
            self.reading[next].done += part.blocks;
            if self.reading[next].done == at.blocks {
                self.reading.remove(next);
                self.epoch.requests_mut().planned_whole(core, id);
            }
        }
        any
    }

    /// Whether the pages are cached that the first write or trim needs to take a block.
    pub(super) fn bring_first(&mut self, core: &mut Core, rest: Extent<Lba>) -> bool {
        if !self.epoch.has_pages() {
            return true;
        }
        let part = self.epoch.part(rest, of_write);
        self.epoch.bring(core, &|map, each| map.of_write(part, each))
    }

    /// Brings pages of writes that come next, as far as that is in nobody's way.
    pub(super) fn bring_ahead(&mut self, core: &mut Core) {
        for next in 1..self.unplanned.len().min(TOGETHER) {
            if !self.epoch.may_bring_more() {
                return;
            }
            let Unplanned { at, done, access, .. } = &self.unplanned[next];
            debug_assert!(*access != Access::Read);
            let part = self.epoch.part(at.skip(*done), of_write);
            self.epoch.bring(core, &|map, each| map.of_write(part, each));
        }
    }

    /// Whether the pages are cached that the next step of cleaning needs.
    pub(super) fn bring_for_cleaning(&mut self, core: &mut Core) -> bool {
        self.epoch.bring(core, &|map, each| map.of_cleaning(each))
    }
}
