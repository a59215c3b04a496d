//! Making room: the live pages of one erase block are copied to a free one, and then it is erased.

use super::PageFtl;
use imbrex_core::block::{Address, Extent, Lba};
use imbrex_core::layer::Step;
use imbrex_core::plan::{Place, Plan, Record, Why};

/// An erase block that is being emptied.
#[derive(Copy, Clone, Debug)]
pub(super) struct Collection {
    victim: u32,
    target: u32,
    /// The next page of the victim to look at.
    next: u32,
}

impl Collection {
    /// Whether it is that erase block that is being emptied.
    pub(super) fn is_from(&self, unit: u32) -> bool {
        self.victim == unit
    }

    /// Whether its live pages go to that erase block.
    pub(super) fn is_to(&self, unit: u32) -> bool {
        self.target == unit
    }
}

impl PageFtl {
    /// Begins to make room for a blocked write, unless there is some or will be.
    pub(super) fn make_room(&mut self, plan: &mut Plan) -> Step {
        if self.frontier().is_some() {
            return Step::Done;
        }
        let pending = self.pool.pending() > 0;
        match self.pool.least_live() {
            Some((victim, 0)) => {
                self.give_up(victim, plan);
                Step::More
            }
            _ if pending && self.pool.free() == 0 => Step::Wait,
            Some((victim, live)) if live < self.pages() => match self.pool.open() {
                Some(target) => {
                    self.pool.reopen(victim);
                    self.copied.clear();
                    let first = self.map.place(victim, 0);
                    let end = first + u64::from(self.pages());
                    std::hint::black_box(self.map.prefetch_holders(first, end, |_| 0));
                    self.collect(Collection { victim, target, next: 0 }, plan)
                }
                None => Step::Nothing,
            },
            _ if pending => Step::Wait,
            _ => Step::Nothing,
        }
    }

    /// One step: copies live pages, or switches the map when all are copied. The switch is a plan of its own, because
    /// its records are durable at once and must not be before the copies.
    pub(super) fn collect(&mut self, mut collection: Collection, plan: &mut Plan) -> Step {
        if collection.next == self.pages() {
            self.switch(collection, plan);
            return if self.frontier.is_some() { Step::Done } else { Step::More };
        }
        let mut left = self.step.blocks();
        while left > 0 && collection.next < self.pages() {
            let Collection { victim, target, next } = collection;
            let place = self.map.place(victim, next);
            let (lba, run) = self.map.owner_run(place, left.min(self.pages() - next));
            if let Some(lba) = lba {
                let (from, to) = (self.units.block(victim, next), self.units.block(target, self.copied.len() as u32));
                plan.copy(Place::At(from), Place::At(to), run, Why::Migrate);
                self.copied.extend((0..u64::from(run)).map(|i| (lba.plus(i), place + i)));
                left -= run;
            }
            collection.next += run;
        }
        self.collection = Some(collection);
        Step::More
    }

    /// The blocks that were copied, and not trimmed since, lie in the target; the victim is empty.
    fn switch(&mut self, Collection { victim, target, .. }: Collection, plan: &mut Plan) {
        let copied = std::mem::take(&mut self.copied);
        let mut done = 0;
        while let Some(&(lba, _)) = copied.get(done as usize) {
            let run = self.still_there(&copied[done as usize..]);
            if run > 0 {
                let at = Extent::new(lba, run);
                plan.redo_record(Record::Map { at, to: self.units.block(target, done) });
                self.map_run(at, self.map.place(target, done));
            }
            done += run.max(1);
        }
        self.give_up(victim, plan);
        if done == 0 {
            self.pool.put(target);
        } else {
            self.go_on(target, done);
        }
        self.copied = copied;
    }

    /// How many blocks from the first on follow each other and lie where they were copied from.
    fn still_there(&self, copied: &[(Lba, u64)]) -> u32 {
        let Some(&(first, _)) = copied.first() else { return 0 };
        let follows =
            (0..).zip(copied).take_while(|&(i, &(lba, from))| lba == first.plus(i) && self.map.get(lba) == Some(from));
        follows.count() as u32
    }

    /// Erases an erase block without live pages.
    pub(super) fn give_up(&mut self, unit: u32, plan: &mut Plan) {
        debug_assert!(self.map.live(unit) == 0);
        self.pool.give_up(unit);
        plan.reset(self.units.unit(unit));
    }
}
