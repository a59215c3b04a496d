//! Planning a write: into the block's frame, or into frames that are to be had at once.

use super::{FlashCache, Policy};
use crate::parts::map_runs::MapRuns;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

impl<P: Policy> FlashCache<P> {
    pub(super) fn plan_write(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let (mut done, mut hits, mut kept) = (0, 0, 0);
        let mut maps = MapRuns::default();
        P::before_write(self, at);
        while done < at.blocks {
            let rest = at.skip(done);
            let cached = self.map.get(rest.start);
            if cached.is_none() && done >= kept {
                let run = self.uncached(rest);
                if self.policy.goes_past(run) {
                    done += self.write_past(run, done, plan);
                    continue;
                }
                kept = done + run.blocks;
            }
            let Some((frame, blocks)) = cached.map(|frame| (frame, 1)).or_else(|| self.take(self.uncached(rest)))
            else {
                if !self.policy.is_passed(&self.frames) {
                    break;
                }
                done += self.write_past(self.uncached(rest), done, plan);
                continue;
            };
            let (run, place) = (rest.first(blocks), self.frame_place(frame));
            plan.copy(Place::Host(done), Place::At(place), blocks, Why::Host);
            if !self.frames.is_dirty(frame) {
                maps.push(run, place, plan);
                self.map_run(run, frame);
            }
            if cached.is_some() {
                self.policy.updated(frame, rest.start);
                hits += 1;
            }
            self.policy.written(blocks);
            done += blocks;
        }
        maps.end(plan);
        plan.count(Event::WriteHit, hits);
        done
    }

    /// Writes `run`, which is not cached, home.
    fn write_past(&mut self, run: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        plan.copy(Place::Host(host), self.home_place(run.start), run.blocks, Why::Host);
        if self.lost.any(run) {
            plan.record(Record::Unmap(run));
            self.unmap(run);
        }
        plan.count(Event::Direct, run.blocks);
        self.policy.written_past(run);
        run.blocks
    }

    /// Neighbouring frames for as many blocks from the front of `run`, which is not cached, as find them at once; a
    /// clean block may have to leave.
    #[inline]
    pub(super) fn take(&mut self, run: Extent<Lba>) -> Option<(u32, u32)> {
        if let Some(found) = self.policy.free_for(run) {
            return Some(found);
        }
        let frame = self.policy.gives_way(run.start, &self.frames)?;
        if let Some(lba) = self.frames.owner(frame) {
            self.policy.gave_way(frame, lba);
        }
        self.drop_clean(frame);
        Some((frame, 1))
    }
}
