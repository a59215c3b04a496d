//! Chunks change sides: once in a period the hot buffer borrows some for its ghosts, or gives back what it does not
//! use.

use super::Amphisbaena;
use super::config::{ResizeWhen, ReturnIf, ReturnOrder, ReturnWhen};
use super::counters;
use crate::zone_buffer::ZoneBuffer;
use imbrex_core::block::{Extent, Request};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Place, Plan, Record, Why};

/// A reallocation under way.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Shift {
    /// How many chunks are still to become hot.
    Borrow(u32),
    /// The chunks listed are to become cold, and then `then` others hot.
    Return { then: u32 },
}

impl Amphisbaena {
    /// A period is over: says what changes sides.
    pub(super) fn end_period(&mut self) {
        let split = self.chunks.split();
        let (ghosts, blocks) = (self.ghost_hits, u64::from(split.chunk_blocks));
        let mut wanted = 0;
        if ghosts > blocks {
            wanted = if self.config.round_up { ghosts.div_ceil(blocks) } else { (ghosts + blocks / 2) / blocks };
        }
        if wanted == 0 || self.config.return_when == ReturnWhen::Always {
            let by = self.config.return_if;
            let unused = self.chunks.loaned().filter(|&(_, none, some)| if by == ReturnIf::None { none } else { some });
            self.returning.extend(unused.map(|(at, ..)| at));
            if self.config.return_order == ReturnOrder::Lowest {
                self.returning.reverse();
            }
        }
        let then = wanted.min(u64::from(split.chunks)) as u32;
        self.shift = if self.returning.is_empty() { self.borrowing(then) } else { Some(Shift::Return { then }) };
        self.chunks.begin_period();
        (self.requests, self.ghost_hits) = (0, 0);
    }

    /// Borrows `wanted` chunks, or as many as may be borrowed.
    fn borrowing(&self, wanted: u32) -> Option<Shift> {
        let chunks = wanted.min(self.chunks.split().most_hot - self.chunks.hot());
        (chunks > 0).then_some(Shift::Borrow(chunks))
    }
}

impl ZoneBuffer<Amphisbaena> {
    /// One step of the reallocation, until there is none under way.
    pub(super) fn shift_step(&mut self, waiting: &[Request], plan: &mut Plan) -> Option<Step> {
        loop {
            let step = match self.policy.shift? {
                Shift::Borrow(chunks) => self.borrow(chunks, waiting, plan),
                Shift::Return { then } => self.give_back(then, waiting, plan),
            };
            if step.is_some() {
                return step;
            }
        }
    }

    /// The next chunk becomes hot. A buffer that cannot be cleaned is left as it is.
    fn borrow(&mut self, chunks: u32, waiting: &[Request], plan: &mut Plan) -> Option<Step> {
        match self.policy.chunks.lend() {
            Some((key, value)) => {
                plan.record(Record::Note { key, value });
                plan.count(counters::CHUNK_TO_HOT, 1);
                self.policy.roles.resize(self.policy.hot_slots());
                self.policy.shift = (chunks > 1).then_some(Shift::Borrow(chunks - 1));
                None
            }
            None => match self.free_chunk(waiting, plan) {
                Step::Nothing => {
                    self.policy.shift = None;
                    None
                }
                step => Some(step),
            },
        }
    }

    /// The next chunk becomes cold, or is emptied by one step.
    fn give_back(&mut self, then: u32, waiting: &[Request], plan: &mut Plan) -> Option<Step> {
        let Some(&at) = self.policy.returning.last() else {
            if self.policy.config.resize_when == ResizeWhen::After {
                self.policy.roles.resize(self.policy.hot_slots());
            }
            self.policy.shift = self.policy.borrowing(then);
            return None;
        };
        self.policy.chunks.retire(at);
        if self.policy.config.resize_when == ResizeWhen::Before {
            self.policy.roles.resize(self.policy.hot_slots());
        }
        if self.move_out(at, plan) {
            return Some(self.between_steps());
        }
        if self.policy.chunks.first_in(at).is_some() {
            return Some(self.free_hot_slot(waiting, plan));
        }
        let Some((key, value)) = self.policy.chunks.take_back(at) else { return Some(Step::Wait) };
        plan.record(Record::Note { key, value });
        plan.count(counters::CHUNK_TO_COLD, 1);
        self.policy.returning.pop();
        None
    }

    /// Plans that blocks of a chunk that leaves lie in free slots of others. Says whether there was one.
    fn move_out(&mut self, at: u32, plan: &mut Plan) -> bool {
        let mut moved = false;
        while let (Some((lba, from)), Some(to)) = (self.policy.chunks.first_in(at), self.policy.chunks.free_slot()) {
            let (run, place) = (Extent::new(lba, 1), self.slot_place(to));
            plan.copy(Place::At(self.slot_place(from)), Place::At(place), 1, Why::Migrate);
            plan.record(Record::Map { at: run, to: place });
            self.policy.roles.moved(from, to);
            self.map_run(run, to);
            plan.free(Extent::new(self.slot_place(from), 1));
            moved = true;
        }
        moved
    }
}
