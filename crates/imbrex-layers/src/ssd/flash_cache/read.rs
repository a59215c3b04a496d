//! Planning a read: what is cached from its frame, the rest from home, of which the cache may take a copy.

use super::{FlashCache, Policy};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::plan::{Event, Place, Plan, Why};

/// Blocks of a run that have found neighbouring frames.
#[derive(Copy, Clone)]
pub(super) struct Promotion {
    /// The first block, counted from the front of the run.
    block: u32,
    frame: u32,
    blocks: u32,
}

impl<P: Policy> FlashCache<P> {
    pub(super) fn plan_read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        let (mut done, mut hits) = (0, 0);
        while done < at.blocks {
            let rest = at.skip(done);
            if let Some(frame) = self.map.get(rest.start) {
                plan.copy(Place::At(self.frame_place(frame)), Place::Host(done), 1, Why::Host);
                self.policy.read(frame, rest.start);
                hits += 1;
                done += 1;
            } else {
                done += self.read_home(self.uncached(rest), done, plan);
            }
        }
        plan.count(Event::ReadHit, hits);
        if self.config.read_allocate && hits < done {
            P::after_read(self, plan);
        }
    }

    /// Where blocks lie, without a trace of having been asked.
    pub(super) fn plan_located(&self, at: Extent<Lba>, plan: &mut Plan) {
        let mut done = 0;
        while done < at.blocks {
            let rest = at.skip(done);
            let (from, blocks) = match self.map.get(rest.start) {
                Some(frame) => (Place::At(self.frame_place(frame)), 1),
                None => {
                    let (run, is_lost) = self.alike(self.uncached(rest));
                    (if is_lost { Place::Lost } else { self.home_place(run.start) }, run.blocks)
                }
            };
            plan.copy(from, Place::Host(done), blocks, Why::Host);
            done += blocks;
        }
    }

    /// Plans as many blocks from the front of `run`, which is not cached, as are lost or not like the first.
    fn read_home(&mut self, run: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let (run, is_lost) = self.alike(run);
        if is_lost {
            plan.copy(Place::Lost, Place::Host(host), run.blocks, Why::Host);
            return run.blocks;
        }
        if !self.config.read_allocate || !self.policy.is_admitted(run) {
            self.policy.read_past(run);
            plan.copy(self.home_place(run.start), Place::Host(host), run.blocks, Why::Host);
            return run.blocks;
        }
        let run = run.first(self.step.most());
        self.allocate(run);
        if self.promotions.is_empty() {
            plan.copy(self.home_place(run.start), Place::Host(host), run.blocks, Why::Host);
        } else {
            self.read_and_promote(run, host, plan);
        }
        run.blocks
    }

    /// Gives frames to blocks of `run`; a block that finds none stays where it is.
    fn allocate(&mut self, run: Extent<Lba>) {
        self.promotions.clear();
        let mut block = 0;
        while block < run.blocks {
            let rest = run.skip(block);
            let Some((frame, blocks)) = self.take(rest) else {
                let without = self.policy.siblings(rest);
                self.policy.read_past(rest.first(without));
                block += without;
                continue;
            };
            for (frame, lba) in (frame..frame + blocks).zip(rest.iter()) {
                self.insert(lba, frame);
            }
            self.promotions.push(Promotion { block, frame, blocks });
            block += blocks;
        }
    }

    /// Home is read once; host and frames get their copies from RAM.
    fn read_and_promote(&mut self, run: Extent<Lba>, host: u32, plan: &mut Plan) {
        let ram = self.ram_for(run.blocks);
        let at = |block: u32| Place::At(Pba::ram(u64::from(ram + block)));
        plan.copy(self.home_place(run.start), at(0), run.blocks, Why::Host);
        plan.copy(at(0), Place::Host(host), run.blocks, Why::Host);
        for promotion in &self.promotions {
            plan.copy(
                at(promotion.block),
                Place::At(self.frame_place(promotion.frame)),
                promotion.blocks,
                Why::Promote,
            );
        }
    }

    /// RAM for a read: behind that of the write-backs, and in turn, so that reads in flight seldom wait for each other.
    fn ram_for(&mut self, blocks: u32) -> u32 {
        let size = self.step.most();
        let start = if self.ram_taken + blocks > size { 0 } else { self.ram_taken };
        self.ram_taken = start + blocks;
        size + start
    }

    /// The blocks from the front of `run` that are lost, or not, as the first is.
    fn alike(&self, run: Extent<Lba>) -> (Extent<Lba>, bool) {
        if !self.lost.any(run) {
            return (run, false);
        }
        let is_lost = |lba| self.lost.any(Extent::new(lba, 1));
        let first = is_lost(run.start);
        let blocks = run.iter().take_while(|&lba| is_lost(lba) == first).count();
        (run.first(blocks as u32), first)
    }
}
