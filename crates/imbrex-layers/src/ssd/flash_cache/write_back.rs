//! Writing dirty blocks home and giving their frames up.

use super::{FlashCache, Policy};
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Event, Place, Plan, Record, Why};

impl<P: Policy> FlashCache<P> {
    /// Lets the clean blocks go that are to leave, and orders the others by number, so that neighbours at home are
    /// written together.
    pub fn settle_leaving(&mut self) {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.retain(|&(_, frame)| {
            let is_dirty = self.frames.is_dirty(frame);
            if !is_dirty {
                self.drop_clean(frame);
            }
            is_dirty
        });
        leaving.sort_unstable();
        self.leaving = leaving;
    }

    /// Lets the next dirty blocks leave, as many as a step takes, by number, from where the last ones ended; behind the
    /// last it begins again, until there are none.
    pub(super) fn all_leave(&mut self) {
        let most = self.step.blocks().min(self.policy.most_leaving()).min(P::most_together(self.frames.count()));
        let mut leaving = std::mem::take(&mut self.leaving);
        let begins = [self.asked_from, Lba(0)];
        for from in begins.into_iter().filter(|_| self.frames.dirty() > 0) {
            if leaving.is_empty() {
                let dirty =
                    self.map.between(from, Lba(self.home.blocks)).filter(|(_, frame)| self.frames.is_dirty(*frame));
                leaving.extend(dirty.take(most as usize));
            }
        }
        self.asked_from = leaving.last().map_or(Lba(0), |(lba, _)| lba.plus(1));
        self.policy.all_leave(&leaving);
        self.leaving = leaving;
    }

    /// Plans the next step of what is to leave: all is read into RAM, then written home, and only then unmapped.
    pub fn write_back(&mut self, plan: &mut Plan) -> Step {
        let end = self.leaving.len().min(self.left + self.step.blocks().min(self.policy.most_leaving()) as usize);
        let leaving = std::mem::take(&mut self.leaving);
        let step = &leaving[self.left..end];
        let in_ram = |block: u64| Place::At(Pba::ram(block));
        for (i, &(_, frame)) in (0..).zip(step) {
            plan.copy(Place::At(self.frame_place(frame)), in_ram(i), 1, Why::Collect);
        }
        for (i, &(lba, _)) in (0..).zip(step) {
            plan.copy(in_ram(i), self.home_place(lba), 1, Why::Destage);
        }
        for run in step.chunk_by(|(lba, _), (next, _)| lba.0 + 1 == next.0) {
            let at = Extent::new(run[0].0, run.len() as u32);
            plan.record(Record::Unmap(at));
            self.unmap(at);
        }
        for &(_, frame) in step {
            plan.free(Extent::new(self.frame_place(frame), 1));
        }
        plan.count(Event::Evicted, step.len() as u32);
        self.left = end;
        self.leaving = leaving;
        if end == self.leaving.len() {
            self.forget_leaving();
        }
        if self.config.interrupts.interruptible { Step::More } else { Step::Hold }
    }

    pub(super) fn forget_leaving(&mut self) {
        self.leaving.clear();
        self.left = 0;
    }
}
