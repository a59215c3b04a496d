//! Blocks that were trimmed leave the cache.

use super::{FlashCache, Policy};
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::plan::{Place, Plan, Record, Why};

/// Dirty blocks that leave in one plan, which also serves the request: the next plan goes on with the rest.
const TOGETHER: usize = 256;

impl<P: Policy> FlashCache<P> {
    /// Plans that the cached blocks at the front of `at` leave the cache; how many blocks that deals with.
    pub(super) fn forget(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let may_take_dirty = self.leaving.is_empty();
        let (mut clean, mut dirty, mut end) = (Vec::new(), Vec::new(), at.end());
        for (lba, frame) in self.map.range(at) {
            if !self.frames.is_dirty(frame) {
                clean.push(frame);
            } else if dirty.len() == TOGETHER {
                end = lba;
                break;
            } else if may_take_dirty {
                dirty.push((lba, frame));
            }
        }
        clean.into_iter().for_each(|frame| self.drop_clean(frame));
        self.overwrite_homes(&dirty, plan);
        end.since(at.start) as u32
    }

    /// Plans that zeros are the homes of dirty blocks, and then that they leave.
    fn overwrite_homes(&mut self, dirty: &[(Lba, u32)], plan: &mut Plan) {
        let runs = || dirty.chunk_by(|(lba, _), (next, _)| lba.0 + 1 == next.0);
        let at = |run: &[(Lba, u32)]| Extent::new(run[0].0, run.len() as u32);
        for run in runs().map(at) {
            plan.copy(Place::Zero, self.home_place(run.start), run.blocks, Why::Pad);
        }
        for run in runs().map(at) {
            plan.record(Record::Unmap(run));
            self.unmap(run);
        }
        for &(_, frame) in dirty {
            plan.free(Extent::new(self.frame_place(frame), 1));
        }
    }
}
