//! Cleaning at the tail: evict the zone of the block there, or append the block at the head again.

use super::LoopBack;
use crate::parts::map_runs::MapRuns;
use crate::zone_buffer::{Goal, InPlace, ZoneBuffer};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Place, Plan, Why};

impl ZoneBuffer<LoopBack> {
    /// One step towards room for a blocked write of `at`.
    pub(super) fn make_room(&mut self, at: Extent<Lba>, plan: &mut Plan) -> Step {
        let want = self.wanted(at).min(self.policy.most());
        let oldest = self.policy.log.oldest();
        let enough = want + self.policy.reserve;
        if self.policy.log.room() >= enough {
            self.policy.requeued = 0;
            return if self.policy.ready(want) { Step::Done } else { Step::Wait };
        }
        oldest.map_or(Step::Wait, |(_, lba)| self.clean_tail(lba, enough, plan))
    }

    /// One step towards the free share that idle time is used for, or towards an empty log: then nothing is re-queued.
    pub(super) fn clean_ahead(&mut self, goal: Goal, plan: &mut Plan) -> Step {
        match self.policy.log.oldest() {
            Some((_, lba)) if goal == Goal::All => self.evict(lba, plan),
            Some((_, lba)) if !self.is_reached(goal) => {
                // What is kept back for re-queuing is no room for writes.
                let enough = match goal {
                    Goal::Room(room) => u32::try_from(room).unwrap_or(u32::MAX).saturating_add(self.policy.reserve),
                    Goal::Idle | Goal::All => u32::MAX,
                };
                self.clean_tail(lba, enough, plan)
            }
            _ => {
                self.policy.requeued = 0;
                Step::Nothing
            }
        }
    }

    /// One step with the tail at `lba`, towards a room of `enough` slots.
    fn clean_tail(&mut self, lba: Lba, enough: u32, plan: &mut Plan) -> Step {
        if self.apart.contains(&self.zones.native_of(lba).0) {
            return self.evict(lba, plan);
        }
        let policy = &mut self.policy;
        if policy.batch == 0 || policy.log.room() == 0 || !policy.is_hot(lba) {
            return self.evict(lba, plan);
        }
        let cycle = policy.log.table().live();
        if policy.requeued < cycle {
            let most = policy.batch.min(cycle - policy.requeued).min(self.step.blocks());
            return self.requeue(most, enough, plan);
        }
        policy.requeued = 0;
        let coldest = policy.recency.list().oldest().and_then(|slot| policy.log.table().owner(slot));
        self.evict(coldest.unwrap_or(lba), plan)
    }

    /// Plans that at most `most` blocks of hot zones at the tail lie at the head, unless passing holes gives room
    /// enough.
    fn requeue(&mut self, most: u32, enough: u32, plan: &mut Plan) -> Step {
        self.blocks.given_up.clear();
        self.policy.moved.clear();
        while (self.policy.moved.len() as u32) < most {
            let Some((from, lba)) = self.policy.log.oldest().filter(|(_, lba)| self.is_requeued(*lba)) else { break };
            if self.policy.log.room() >= enough {
                break;
            }
            let Some(to) = self.policy.log.take(lba) else { break };
            let ram = Pba::ram(self.policy.moved.len() as u64);
            plan.copy(Place::At(self.slot_place(from)), Place::At(ram), 1, Why::Collect);
            self.policy.recency.replace(from, to);
            self.map_run(Extent::new(lba, 1), to);
            self.policy.moved.push((lba, to));
            self.blocks.given_up.push(from);
        }
        self.policy.requeued += self.policy.moved.len() as u32;
        self.write_moved(plan);
        self.blocks.free_given_up(plan);
        if self.policy.moved.is_empty() { Step::Wait } else { self.between_steps() }
    }

    /// Whether a block at the tail is re-queued: its zone is hot, and there are no other plans for it.
    fn is_requeued(&self, lba: Lba) -> bool {
        self.policy.is_hot(lba) && !self.apart.contains(&self.zones.native_of(lba).0)
    }

    /// Plans the writes of the batch in RAM, and the records of where its blocks lie then.
    fn write_moved(&self, plan: &mut Plan) {
        let moved = &self.policy.moved;
        for (ram, &(_, slot)) in (0..).zip(moved) {
            plan.copy(Place::At(Pba::ram(ram)), Place::At(self.slot_place(slot)), 1, Why::Migrate);
        }
        let mut maps = MapRuns::default();
        for &(lba, slot) in moved {
            maps.push(Extent::new(lba, 1), self.slot_place(slot), plan);
        }
        maps.end(plan);
    }
}
